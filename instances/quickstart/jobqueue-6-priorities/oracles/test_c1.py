import ast
import pathlib
import re

import pytest

from jobqueue import Queue, State, Tasks, Worker


def blocks():
    text = pathlib.Path("README.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def puts(block):
    try:
        return [node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "put"]
    except SyntaxError:
        return []


def prioritised(call):
    """Whether *call* puts a job with a whole number as its priority, by name or place."""
    values = [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg == "priority")]
    return any(isinstance(value, ast.Constant) and type(value.value) is int for value in values)


def run_all():
    """The names that the blocks leave behind, run one after the other as a reader would.

    A block that puts nothing into a queue is not what this is about: it may need a file or a module.
    """
    names = {}
    for number, block in enumerate(blocks(), start=1):
        try:
            exec(compile(block, f"README.md, block {number}", "exec"), names)
        except Exception as error:
            if "put(" in block:
                pytest.fail(f"block {number} does not run: {error!r}")
    return names


def found(names, kind):
    return [value for value in names.values() if isinstance(value, kind)]


def test_the_examples_run():
    names = run_all()
    for queue in found(names, Queue):
        for tasks in found(names, Tasks):
            Worker(queue, tasks).run_due()
        assert [job.error for job in queue if job.state is State.FAILED] == []


def test_one_of_them_has_a_priority():
    assert [call for block in blocks() for call in puts(block) if prioritised(call)]
    assert any(job.priority > 0 for queue in found(run_all(), Queue) for job in queue)


def said_to_be_first():
    """The calls beside which a comment says that theirs is the first."""
    for block in blocks():
        for call in puts(block):
            lines = block.splitlines()[call.lineno - 1 : call.end_lineno]
            if any("first" in line.partition("#")[2].lower() for line in lines):
                yield "\n".join(lines)


def test_that_job_is_the_first():
    jobs = [job for queue in found(run_all(), Queue) for job in queue]
    highest = max(jobs, key=lambda job: job.priority)
    said = list(said_to_be_first())
    assert not said or any(all(repr(value)[1:-1] in text for value in highest.arguments.values()) for text in said)

import ast
import pathlib
import re

import pytest

from jobqueue import Queue, State, Tasks, Worker


def blocks():
    text = pathlib.Path("README.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def prioritised(call):
    """Whether *call* puts a job with a whole number as its priority, by name or place."""
    if not (isinstance(call, ast.Call) and getattr(call.func, "attr", None) == "put"):
        return False
    values = [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg == "priority")]
    return any(isinstance(value, ast.Constant) and type(value.value) is int for value in values)


def run_all():
    """The names that the blocks leave behind, run one after the other as a reader would."""
    names = {}
    for number, block in enumerate(blocks(), start=1):
        try:
            exec(compile(block, f"README.md, block {number}", "exec"), names)
        except Exception as error:
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


def test_the_line_that_says_first_is_first():
    lines = [line for block in blocks() for line in block.splitlines() if "put(" in line]
    first = [line for line in lines if "first" in line.partition("#")[2]]
    assert all(any(map(prioritised, ast.walk(ast.parse(line.strip())))) for line in first)


def test_one_of_them_has_a_priority():
    assert [call for block in blocks() for call in ast.walk(ast.parse(block)) if prioritised(call)]
    assert any(job.priority > 0 for queue in found(run_all(), Queue) for job in queue)


def test_that_job_is_the_first():
    lines = [line for block in blocks() for line in block.splitlines() if "put(" in line and "first" in line.partition("#")[2]]
    jobs = [job for queue in found(run_all(), Queue) for job in queue]
    highest = max(jobs, key=lambda job: job.priority)
    for line in lines:
        assert all(repr(value)[1:-1] in line for value in highest.arguments.values()), line

"""Jobs are picked by tag in as few places as before: pausing and resuming add none."""

import ast
from pathlib import Path

import schedule


def comparisons_with_tags():
    """The lines at which something is looked up in the tags of a job."""
    tree = ast.parse(Path("schedule/__init__.py").read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
            right = node.comparators[-1]
            if isinstance(right, ast.Attribute) and right.attr == "tags":
                found.append(node.lineno)
        if isinstance(node, ast.Attribute) and node.attr in ("issubset", "isdisjoint", "intersection", "__contains__"):
            found.append(node.lineno)
    return found


def test_the_selection_is_not_repeated():
    # get_jobs() and clear() have one each
    assert len(comparisons_with_tags()) <= 2


def test_pausing_by_tag_still_works():
    scheduler = schedule.Scheduler()
    jobs = [scheduler.every().hour.do(print).tag(*tags) for tags in ("a", "ab", "")]
    scheduler.pause("a")
    assert [job.paused for job in jobs] == [True, True, False]
    scheduler.pause()
    assert [job.paused for job in jobs] == [True, True, True]
    scheduler.resume("b")
    assert [job.paused for job in jobs] == [True, False, True]
    scheduler.resume()
    assert [job.paused for job in jobs] == [False, False, False]


def test_a_tag_may_be_zero():
    scheduler = schedule.Scheduler()
    jobs = [scheduler.every().hour.do(print).tag(tag) for tag in (0, 1)]
    scheduler.pause(0)
    assert [job.paused for job in jobs] == [True, False]
    scheduler.pause(1)
    scheduler.resume(0)
    assert [job.paused for job in jobs] == [False, True]


def test_neither_method_looks_at_tags_itself():
    tree = ast.parse(Path("schedule/__init__.py").read_text(encoding="utf-8"))
    [scheduler] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Scheduler"]
    looks = {node.name for node in scheduler.body if isinstance(node, ast.FunctionDef) for part in ast.walk(node) if isinstance(part, ast.Attribute) and part.attr == "tags"}
    assert not {"pause", "resume"} & looks
    assert len(looks) <= 2, looks
    others = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) for part in ast.walk(node) if isinstance(part, ast.Attribute) and part.attr == "tags"}
    assert others == set()

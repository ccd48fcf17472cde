import ast
import inspect
import pathlib

import pytest

from jobqueue import Job, QueueError, SqliteStore, State

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def parameters(function):
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {arg.arg for arg in every if arg is not None} - {"self", "cls"}


def thrown_away(node):
    """``del x``, ``_ = x``, and a bare ``x``: none of them does anything with x."""
    if isinstance(node, ast.Delete):
        return True
    if isinstance(node, ast.Assign):
        idle = isinstance(node.value, (ast.Name, ast.Tuple))
        return idle and all(isinstance(target, ast.Name) and target.id.startswith("_") for target in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, (ast.Name, ast.Tuple, ast.Compare))


def used(node):
    if thrown_away(node):
        return set()
    names = {node.id} if isinstance(node, ast.Name) else set()
    return names.union(*map(used, ast.iter_child_nodes(node)))


def idle_parameters():
    tree = ast.parse(pathlib.Path("src/jobqueue/sqlite_store.py").read_text(encoding="utf-8"))
    for function in [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS) and node.name == "jobs"]:
        idle = parameters(function) - set().union(*map(used, function.body))
        yield from (f"{function.name}: {name}" for name in sorted(idle))


def test_every_parameter_of_jobs_does_something():
    assert list(idle_parameters()) == []


@pytest.mark.parametrize(("options", "ids"), [({}, [1, 2, 3]), ({"state": State.WAITING}, [1, 3]), ({"state": State.DONE}, [2])])
def test_jobs_are_still_found(tmp_path, options, ids):
    store = SqliteStore(tmp_path / "jobs.db")
    store.add_many([Job(1, "a"), Job(2, "b", state=State.DONE), Job(3, "c")])
    assert [job.id for job in store.jobs(**options)] == ids
    store.close()


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(tmp_path / "jobs.db")
    store.add_many([Job(id, "a", state=State.DONE if id % 2 else State.WAITING) for id in (6, 1, 4, 2, 5, 3)])
    yield store
    store.close()


def is_there(store):
    left = inspect.signature(store.jobs).parameters
    return "limit" in left or any(given.kind is given.VAR_KEYWORD for given in left.values())


@pytest.mark.parametrize("state", [None, State.WAITING])
@pytest.mark.parametrize("limit", [1, 2, 3, 9, None])
def test_a_limit_that_stayed_limits(store, state, limit):
    if is_there(store):
        ids = [2, 4, 6] if state else [1, 2, 3, 4, 5, 6]
        assert [job.id for job in store.jobs(state=state, limit=limit)] == ids[:limit]


def test_a_limit_of_zero_is_not_all(store):
    if is_there(store):
        try:
            assert list(store.jobs(limit=0)) == []
        except (ValueError, QueueError):
            pass  # a limit that makes no sense may be refused

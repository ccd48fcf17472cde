import ast
import pathlib

from jobqueue import Queue, State, Tasks, Worker

OWNER = "queue.py"


def reaches_inside(tree):
    """Lines that use another object's private attribute, by a dot or by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            if not (isinstance(owner, ast.Name) and owner.id in {"self", "cls", "super"}):
                yield node.lineno
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"getattr", "setattr", "vars"}:
            if node.func.id == "vars" or any(isinstance(arg, ast.Constant) and str(arg.value).startswith("_") for arg in node.args):
                yield node.lineno


def knows_the_heap(tree):
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if "heapq" in names or (isinstance(node, ast.ImportFrom) and node.module == "heapq"):
            yield node.lineno


def makes_pairs(tree):
    """Lines that put together what the heap is made of: when a job is due, and its id."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Tuple, ast.List)):
            if {"due", "id"} <= {part.attr for part in node.elts if isinstance(part, ast.Attribute)}:
                yield node.lineno


def test_only_the_queue_knows_how_it_keeps_jobs():
    found = []
    for path in sorted(pathlib.Path("src/jobqueue").rglob("*.py")):
        if path.name != OWNER:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found += [f"{path}:{line}" for line in (*reaches_inside(tree), *knows_the_heap(tree), *makes_pairs(tree))]
    assert found == []


def test_a_job_still_gets_its_second_attempt():
    now, calls = [100.0], []
    tasks = Tasks()

    @tasks.task
    def ping():
        calls.append(now[0])
        raise OSError("no")

    queue = Queue(clock=lambda: now[0])
    job = queue.put("ping")
    worker = Worker(queue, tasks, retries=2, backoff=lambda attempts: 10.0 * attempts)
    for now[0] in (100.0, 109.0, 110.0, 129.0):
        worker.run_due()
        assert (job.state, len(queue)) == (State.WAITING, 1)
    now[0] = 130.0
    worker.run_due()
    assert (job.state, len(queue), calls) == (State.FAILED, 0, [100.0, 110.0, 130.0])

import ast
import dataclasses
import pathlib

from jobqueue import Queue, State, Tasks, Worker

OWNER = "queue.py"


INSIDE = {name for name in vars(Queue()) if name.startswith("_")}


def reaches_inside(tree):
    """Lines that use what a queue keeps for itself, by a dot or by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in INSIDE:
            if not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}):
                yield node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in INSIDE:
            yield node.lineno


def knows_the_heap(tree):
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if "heapq" in names or (isinstance(node, ast.ImportFrom) and node.module == "heapq"):
            yield node.lineno


def makes_pairs(tree):
    """Lines that put together what the heap is made of: a moment, and the id of a job."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == 2:
            if isinstance(node.elts[1], ast.Attribute) and node.elts[1].attr == "id":
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
        assert job.due == {1: 110.0, 2: 130.0}[job.attempts]
    now[0] = 130.0
    worker.run_due()
    assert (job.state, len(queue), calls) == (State.FAILED, 0, [100.0, 110.0, 130.0])


def test_jobs_that_wait_again_take_their_place():
    now, wait = [100.0], [0.0]
    tasks = Tasks()

    @tasks.task
    def ping(name, waits):
        wait[0] = waits
        raise OSError("no")

    queue = Queue(clock=lambda: now[0])
    queue.put("ping", delay=20.0, name="first", waits=0)
    for name, waits in [("far", 50.0), ("near", 10.0), ("middle", 30.0)]:
        queue.put("ping", name=name, waits=waits)
    Worker(queue, tasks, retries=1, backoff=lambda attempts: wait[0]).run_due()
    for same in (Queue(map(dataclasses.replace, queue), clock=lambda: now[0]), queue):
        order = []
        for now[0] in (109.0, 110.0, 120.0, 129.0, 130.0, 150.0):
            while (job := same.claim()) is not None:
                order.append((now[0], job.arguments["name"]))
                same.finish(job)
        assert order == [(110.0, "near"), (120.0, "first"), (130.0, "middle"), (150.0, "far")]


def test_it_overtakes_those_that_are_due_later():
    now, calls = [100.0], []
    tasks = Tasks()

    @tasks.task
    def ping(name):
        calls.append((now[0], name))
        if len(calls) == 1:
            raise OSError("no")

    queue = Queue(clock=lambda: now[0])
    queue.put("ping", name="again")
    for hours in (1, 2, 3):
        queue.put("ping", delay=3600.0 * hours, name=f"in {hours} hours")
    worker = Worker(queue, tasks, retries=1, backoff=lambda attempts: 10.0)
    for now[0] in (100.0, 110.0, 3700.0):
        worker.run_due()
    assert calls == [(100.0, "again"), (110.0, "again"), (3700.0, "in 1 hours")]

import pytest

from jobqueue import DuplicateTask, Queue, State, Tasks, UnknownTask, Worker


@pytest.fixture
def tasks():
    tasks = Tasks()

    @tasks.task
    def divide(a, b):
        return a / b

    return tasks


def test_good_and_bad(tasks):
    queue = Queue()
    good, bad = queue.put("divide", a=6, b=3), queue.put("divide", a=6, b=0)
    assert Worker(queue, tasks).run_due() == 2
    assert (good.state, good.attempts) == (State.DONE, 1)
    assert (bad.state, bad.error) == (State.FAILED, "ZeroDivisionError: division by zero")


def test_unknown_task(tasks):
    queue = Queue()
    job = queue.put("multiply", a=1, b=2)
    Worker(queue, tasks).run_due()
    assert (job.state, job.error) == (State.FAILED, "UnknownTask: no task is called 'multiply'")


def test_names(tasks):
    assert list(tasks) == ["divide"]
    with pytest.raises(DuplicateTask):
        tasks.add(lambda: None, "divide")
    with pytest.raises(UnknownTask):
        tasks.find("other")

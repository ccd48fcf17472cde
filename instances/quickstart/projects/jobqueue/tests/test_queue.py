import pytest

from jobqueue import JobNotFound, Queue, State, StorageError, load, save


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(clock):
    return Queue(clock=clock)


def test_in_the_order_in_which_they_were_put(queue):
    first, second = queue.put("a"), queue.put("b", colour="red")
    assert queue.claim() is first
    assert queue.claim() is second
    assert queue.claim() is None
    assert second.arguments == {"colour": "red"}


def test_not_before_they_are_due(queue, clock):
    late, early = queue.put("late", delay=60), queue.put("early", delay=30)
    assert queue.claim() is None
    clock.now += 60
    assert [queue.claim(), queue.claim()] == [early, late]


def test_states(queue):
    good, bad = queue.put("good"), queue.put("bad")
    assert (good.state, len(queue)) == (State.WAITING, 2)
    queue.finish(queue.claim())
    queue.fail(queue.claim(), "no")
    assert (good.state, bad.state, bad.error, len(queue)) == (State.DONE, State.FAILED, "no", 0)


def test_get(queue):
    job = queue.put("a")
    assert queue.get(job.id) is job
    with pytest.raises(JobNotFound):
        queue.get(99)


def test_saved_and_loaded(queue, clock, tmp_path):
    queue.put("a", n=1)
    queue.put("b", delay=5)
    queue.finish(queue.claim())
    save(queue, tmp_path / "jobs")
    again = Queue(load(tmp_path / "jobs"), clock=clock)
    assert list(again) == list(queue)
    assert len(again) == 1
    assert again.put("c").id == 3


@pytest.mark.parametrize("line", ["no json", "[]", "{}", '{"id": 1, "state": "lost"}'])
def test_bad_files(line, tmp_path):
    path = tmp_path / "jobs"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(StorageError, match="line 1"):
        load(path)

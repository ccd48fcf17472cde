import json

import pytest

from jobqueue import Queue, QueueError, State, StorageError, load, save


def written_by_1_2(**changes):
    record = {"id": 1, "task": "a", "arguments": {}, "due": 10.0, "state": "waiting", "attempts": 0, "error": ""}
    return json.dumps({**record, **changes}) + "\n"


def queue_of(path):
    try:
        return Queue(load(path), clock=lambda: 1000.0)
    except (QueueError, TypeError) as error:
        pytest.fail(f"the file cannot be read: {error!r}")


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "jobs"
    text = written_by_1_2() + written_by_1_2(id=2, due=5.0, arguments={"n": 1}) + written_by_1_2(id=3, state="failed", error="no")
    path.write_text(text, encoding="utf-8")
    return path


def claimed(queue):
    ids = []
    while (job := queue.claim()) is not None:
        ids.append(job.id)
    return ids


def test_an_old_file_is_read(old):
    queue = queue_of(old)
    assert [(job.id, job.state) for job in queue] == [(1, State.WAITING), (2, State.WAITING), (3, State.FAILED)]
    assert queue.get(2).arguments == {"n": 1}
    assert claimed(queue) == [2, 1]


def test_its_jobs_stand_between_higher_and_lower_ones(old):
    queue = queue_of(old)
    queue.put("low", priority=-1)
    queue.put("same")
    queue.put("high", priority=1)
    assert claimed(queue) == [6, 2, 1, 5, 4]


def test_new_files_keep_priorities(tmp_path):
    queue = Queue(clock=lambda: 1000.0)
    queue.put("low")
    queue.put("high", priority=7)
    save(queue, tmp_path / "jobs")
    assert claimed(queue_of(tmp_path / "jobs")) == [2, 1]


@pytest.mark.parametrize("line", ["{}", "[]", "noise"])
def test_what_is_no_job_is_still_an_error(line, tmp_path):
    (tmp_path / "jobs").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(StorageError):
        load(tmp_path / "jobs")

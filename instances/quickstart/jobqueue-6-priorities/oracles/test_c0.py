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


def test_its_jobs_stand_behind_higher_ones_and_with_those_without_a_priority(old):
    queue = queue_of(old)
    queue.put("same")
    queue.put("high", priority=1)
    assert claimed(queue) == [5, 2, 1, 4]


def test_new_files_keep_priorities(tmp_path):
    queue = Queue(clock=lambda: 1000.0)
    queue.put("low")
    queue.put("high", priority=7)
    queue.put("middle", priority=3)
    queue.put("done", priority=9)
    queue.finish(queue.claim())
    save(queue, tmp_path / "jobs")
    again = queue_of(tmp_path / "jobs")
    assert [job.priority for job in again] == [0, 7, 3, 9]
    assert claimed(again) == [2, 3, 1]


def without(key):
    record = {**json.loads(written_by_1_2()), "priority": 3}
    del record[key]
    return json.dumps(record)


def test_old_and_new_lines_in_one_file(old):
    with open(old, "a", encoding="utf-8") as file:
        file.write(written_by_1_2(id=4, priority=2) + written_by_1_2(id=5, priority=1) + written_by_1_2(id=6))
    queue = queue_of(old)
    assert [job.priority for job in queue] == [0, 0, 0, 2, 1, 0]
    assert claimed(queue) == [4, 5, 2, 1, 6]


def test_an_old_file_is_written_and_read_once_more(old):
    save(queue_of(old), old)
    assert [job.priority for job in queue_of(old)] == [0, 0, 0]


@pytest.mark.parametrize("line", ["{}", "[]", "noise", *map(without, ["id", "task"])])
def test_what_is_no_job_is_still_an_error(line, tmp_path):
    (tmp_path / "jobs").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(StorageError):
        load(tmp_path / "jobs")

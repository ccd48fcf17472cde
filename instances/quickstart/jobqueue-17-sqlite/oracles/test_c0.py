import sqlite3

import pytest

TRUE_CONNECT = sqlite3.connect
writes, connections = [], []


def connect(*args, **options):
    """A connection that counts what it has to bring to the disk."""
    connection = TRUE_CONNECT(*args, **options)
    connections.append(connection)

    def trace(statement):
        word = statement.split()[0].upper()
        if word in {"COMMIT", "END"}:
            writes.append(word)
        elif word in {"INSERT", "REPLACE"} and not connection.in_transaction:
            writes.append(word)
        if len(writes) > 25:
            connection.interrupt()  # it is known by now, and 20,000 would take minutes

    connection.set_trace_callback(trace)
    return connection


sqlite3.connect = connect

from jobqueue import Job, SqliteStore  # noqa: E402


def is_open(connection):
    try:
        return connection.in_transaction
    except sqlite3.ProgrammingError:
        return False  # the connection is closed


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(tmp_path / "jobs.db")
    del writes[:], connections[:-1]
    yield store
    store.close()


def stored(tmp_path):
    connection = TRUE_CONNECT(tmp_path / "jobs.db")
    try:
        return [id for (id,) in connection.execute("SELECT id FROM jobs ORDER BY id")]
    finally:
        connection.close()


def numbered(count):
    """So many jobs, given one after the other for as long as there is one transaction at most."""
    for number in range(1, count + 1):
        assert len(writes) <= 1
        yield Job(number, "a", {"n": number})


@pytest.mark.parametrize("count", [2, 25, 20_000])
def test_many_jobs_are_one_transaction(store, tmp_path, count):
    store.add_many(numbered(count))
    assert len(writes) <= 1
    assert stored(tmp_path) == list(range(1, count + 1))
    assert [job.arguments for job in store.jobs()] == [{"n": number} for number in range(1, count + 1)]


def nothing_was_left(store, tmp_path, here):
    """No transaction is open, which would keep others waiting, and nothing of it is written later."""
    assert not any(map(is_open, connections))
    store.add(Job(4, "later"))
    assert stored(tmp_path) == sorted([*here, 4])


@pytest.mark.parametrize("ids", [(1, 2, 3), (3, 1, 2), (1, 3, 2), (1, 2, 1)], ids=["last", "first", "between", "twice"])
def test_all_or_nothing(store, tmp_path, ids):
    store.add(Job(3, "here"))
    with pytest.raises(Exception):
        store.add_many([Job(id, "new") for id in ids])
    assert [job.task for job in store.jobs()] == ["here"]
    nothing_was_left(store, tmp_path, [3])


def test_nothing_if_one_cannot_be_written(store, tmp_path):
    with pytest.raises(Exception):
        store.add_many([Job(1, "a"), Job(2, "b", {"n": object()})])
    nothing_was_left(store, tmp_path, [])


def test_nothing_if_they_stop_coming(store, tmp_path):
    def jobs():
        yield Job(1, "a")
        yield Job(2, "b")
        raise OSError("no more")

    with pytest.raises(Exception):
        store.add_many(jobs())
    nothing_was_left(store, tmp_path, [])


def test_nothing_to_do(store, tmp_path):
    store.add_many([])
    assert stored(tmp_path) == []

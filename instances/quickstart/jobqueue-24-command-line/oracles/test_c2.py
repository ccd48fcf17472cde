import contextlib
import signal

import pytest

from jobqueue import Queue, State, load, save
from jobqueue.cli import main

MODULE = """
import signal

from jobqueue import Tasks

tasks = Tasks()
sent = []


@tasks.task
def send(n):
    if n == stop:
        signal.raise_signal(signal.SIGINT)
    sent.append(n)


stop = 3
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    (tmp_path / "mail_tasks_of_the_oracle.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    queue = Queue()
    for n in (1, 2, 3, 4):
        queue.put("send", n=n)
    save(queue, tmp_path / "jobs")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield str(tmp_path / "jobs")
    signal.signal(signal.SIGINT, before)


def work(file):
    with contextlib.suppress(KeyboardInterrupt, SystemExit):
        main(["work", file, "--tasks", "mail_tasks_of_the_oracle"])
    import mail_tasks_of_the_oracle as module

    return module


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_what_was_done_is_not_done_again(file, stop):
    import mail_tasks_of_the_oracle as module

    module.stop, module.sent[:] = stop, []
    work(file)
    states = [job.state for job in load(file)]
    assert states[: stop - 1] == [State.DONE] * (stop - 1)
    assert states[stop:] == [State.WAITING] * (4 - stop)
    assert stop in module.sent or states[stop - 1] is not State.DONE
    module.stop = None
    work(file)
    assert [module.sent.count(n) for n in (1, 2, 3, 4) if n != stop] == [1, 1, 1]


def test_without_an_interruption_all_is_done(file):
    import mail_tasks_of_the_oracle as module

    module.stop, module.sent[:] = None, []
    work(file)
    assert module.sent == [1, 2, 3, 4]
    assert {job.state for job in load(file)} == {State.DONE}

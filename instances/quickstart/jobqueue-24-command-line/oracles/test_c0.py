import logging

import pytest

from jobqueue import Job, Queue, Tasks, Worker

VALUES = {
    "to": "ada@shop.example",
    "token": "tk-5521-9943",
    "q": "zebra crossing",
    "n": 8_675_309,
    "options": {"reply": "grace@shop.example", "cc": ["linus@shop.example"]},
}
SECRETS = ["ada@", "tk-5521", "zebra", "8675309", "grace@", "linus@", "shop.example"]


def fails(**arguments):
    raise OSError("no route")


@pytest.fixture(params=["works", "fails", "unknown"])
def told(request, caplog):
    """What a third party gets of each record: its text, and what a handler may send beside it."""
    tasks = Tasks()
    if request.param != "unknown":
        tasks.add(fails if request.param == "fails" else lambda **arguments: None, "send")
    queue = Queue([Job(4711, "send", dict(VALUES))])
    with caplog.at_level(logging.DEBUG):
        assert Worker(queue, tasks).run_due() == 1
    plain = set(vars(logging.makeLogRecord({}))) - {"args"}
    beside = [{name: value for name, value in vars(record).items() if name not in plain} for record in caplog.records]
    return [(record.levelno, f"{logging.Formatter().format(record)} {more!r}") for record, more in zip(caplog.records, beside, strict=True)]


def test_no_value_is_logged(told):
    assert [text for _, text in told if any(secret in text for secret in SECRETS)] == []


def test_the_job_still_is(told):
    assert [text for level, text in told if level >= logging.INFO and "send" in text and "4711" in text] != []

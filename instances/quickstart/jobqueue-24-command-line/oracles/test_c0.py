import logging

import pytest

from jobqueue import Queue, Tasks, Worker

VALUES = {
    "to": "ada@shop.example",
    "token": "tk-5521-9943",
    "q": "zebra crossing",
    "n": 8_675_309,
    "options": {"reply": "grace@shop.example", "cc": ["linus@shop.example"]},
}
SECRETS = ["ada@", "tk-5521", "zebra", "8675309", "grace@", "linus@", "shop.example"]


@pytest.fixture
def told(caplog):
    tasks = Tasks()
    tasks.add(lambda **arguments: None, "send")
    queue = Queue()
    queue.put("send", **VALUES)
    with caplog.at_level(logging.DEBUG):
        assert Worker(queue, tasks).run_due() == 1
    return [(record.levelno, logging.Formatter().format(record)) for record in caplog.records]


def test_no_value_is_logged(told):
    assert [text for _, text in told if any(secret in text for secret in SECRETS)] == []


def test_the_job_still_is(told):
    assert [text for level, text in told if level >= logging.INFO and "send" in text and "1" in text] != []

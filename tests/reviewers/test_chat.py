"""What the reviewers that ask a model share."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_crab.reviewers.chat import ask_side_by_side


class MeetingChat:
    """A chat whose every question waits until ``size`` are asked at a time; ``most`` is how many ever were."""

    asked_again = 0

    def __init__(self, size: int) -> None:
        self._met = threading.Barrier(size, timeout=60)
        self._lock = threading.Lock()
        self._here = self.most = 0

    def branch(self) -> MeetingChat:
        return self

    def ask(self, messages: Sequence[Mapping[str, str]]) -> str:
        with self._lock:
            self._here += 1
            self.most = max(self.most, self._here)
        self._met.wait()
        with self._lock:
            self._here -= 1
        return json.dumps([{"line": 1, "body": messages[0]["content"]}])


def test_so_many_questions_are_asked_at_a_time_and_no_more() -> None:
    chat: Any = MeetingChat(3)
    reviews = ask_side_by_side(chat, list("abcdef"), ["x.py"] * 6, jobs=3)
    assert [finding.body for review in reviews for finding in review.findings] == list("abcdef")
    assert chat.most == 3

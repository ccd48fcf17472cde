"""Recorded answers: one file per request content, found again by any later run, in any home and on any date."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.atomic import SHARED, write_atomically
from pytest_crab.formats import format_names
from pytest_crab.locks import locked_folder
from pytest_crab.models.request_key import difference, lines_of
from pytest_crab.redaction import Redactor
from pytest_crab.types import TrialId

SCHEMA = 1

#: The answers that are recorded: what a provider would say again. Others are the weather of that day.
RECORDED = frozenset({200, 400, 404, 413, 422})

#: So many recordings are looked at in full to find the nearest one of a miss.
_MOST_COMPARED = 400

#: So many other recordings of a request are named in a miss.
_MOST_NAMED = 4

_EVENT = re.compile(rb".+?(?:\r?\n\r?\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One recorded answer."""

    status: int
    type: str
    #: Of a stream it holds the events as they came.
    body: bytes

    def chunks(self) -> Iterator[bytes]:
        """The body as it is sent: a stream event by event."""
        if not self.type.startswith("text/event-stream"):
            yield self.body
            return
        yield from (found.group() for found in _EVENT.finditer(self.body))

    def plain(self) -> dict[str, Any]:
        """For the file: text as text."""
        try:
            return {"status": self.status, "type": self.type, "body": self.body.decode()}
        except UnicodeDecodeError:
            return {"status": self.status, "type": self.type, "base64": base64.b64encode(self.body).decode()}

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Answer:
        """From the file."""
        body = entry["body"].encode() if "body" in entry else base64.b64decode(entry["base64"])
        return cls(status=int(entry["status"]), type=str(entry["type"]), body=body)


@dataclass(frozen=True, slots=True, kw_only=True)
class CassetteQuestion:
    """A request as a cassette knows it: its key, and what the key was made of."""

    key: str
    provider: str
    path: str
    content: Mapping[str, Any]
    #: Which trial and step asks.
    label: str
    #: How often it asked the same before.
    number: int


class Miss(Exception):
    """No recording answers this question; the text says what differs from the nearest one."""


class Cassettes:
    """Recordings in a folder, ``<k>/<key>.json``; many processes may read and write it at once.

    ``secrets`` are texts that are taken out of every question and answer that is written.
    """

    def __init__(self, folder: Path, secrets: Iterable[str] = ()) -> None:
        self.folder = folder
        self._secrets = dict.fromkeys(secrets, "<key>")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from recording meanwhile. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked_folder(self.folder):
            yield

    def record(self, question: CassetteQuestion, answer: Answer, also: Iterable[str] = ()) -> None:
        """Keep the n-th answer of a label; what the label had from there on is replaced.

        To be called within ``locked``. Raises OSError, and ValueError where the recording that is there is damaged.
        """
        path = self._path(question.key)
        redactor = Redactor({**self._secrets, **dict.fromkeys(also, "<token>")})
        tape = self._load(path) or _blank(question, redactor)
        answers = tape["answers"].setdefault(question.label, [])
        answers[question.number :] = [dataclasses.replace(answer, body=redactor.body(answer.body)).plain()]
        lines = (f'"{name}": {json.dumps(tape[name], sort_keys=True)}' for name in sorted(tape))
        content = "{{\n{}\n}}\n".format(",\n".join(lines)).encode()
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, content, SHARED, durable=False)  # waiting for the disk costs more than the rest

    def find(self, question: CassetteQuestion) -> tuple[str, Answer]:
        """The answer to a question, and whose it is: the label's own, or that of the same step under another name.

        As in the store, the same step of the same instance and repeat is the same, whatever its reviewer is called.
        Another instance, step or repeat is another draw, and never stands in. Raises Miss, and OSError.
        """
        tape = self._load(self._path(question.key))
        if tape is None:
            raise Miss(self._nearest(question))
        own = Scope.of(question.label)
        fitting = [label for label in sorted(tape["answers"]) if Scope.of(label) == own]
        if not fitting:
            raise Miss(f"the same request was recorded elsewhere alone: {own.beside(sorted(tape['answers']))}")
        label = question.label if question.label in fitting else fitting[0]
        answers = tape["answers"][label]
        if question.number >= len(answers):
            times = "once" if len(answers) == 1 else f"{len(answers)} times"
            raise Miss(f"the same request was recorded {times} by {label} and is asked once more")
        return label, Answer.read(answers[question.number])

    def _nearest(self, question: CassetteQuestion) -> str:
        asked = set(lines_of(question.content))
        best: tuple[float, Any] = (-1.0, None)
        for tape in self._candidates(question):
            lines = set(lines_of(tape["request"]))
            near = len(asked & lines) / (len(asked | lines) or 1) + (0.5 if question.label in tape["answers"] else 0)
            if near > best[0]:
                best = (near, tape["request"])
        if best[1] is None:
            return f"there is no recording of {question.provider}{question.path} in {self.folder}"
        return f"the nearest recording differs:\n{difference(best[1], question.content)}"

    def _candidates(self, question: CassetteQuestion) -> Iterator[Any]:
        """Recordings for the same provider and path, the newest first."""
        files = sorted(self.folder.glob("??/*.json"), key=lambda file: -file.stat().st_mtime)
        for file in files[:_MOST_COMPARED]:
            tape = self._load(file)
            if tape and (tape["provider"], tape["path"]) == (question.provider, question.path):
                yield tape

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    @staticmethod
    def _load(path: Path) -> dict[str, Any] | None:
        """Return the content of a cassette; None if there is none, or one that a power cut has emptied.

        Raises OSError, and ValueError if damaged.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        if not text:
            return None
        try:
            tape = json.loads(text)
            answers = tape["answers"]
            sound = tape["schema"] == SCHEMA and all(isinstance(given, list) for given in answers.values())
        except (ValueError, KeyError, TypeError, AttributeError):
            sound = False
        if not sound:
            raise ValueError(f"the cassette {path} is damaged or of another version; remove it and record it again")
        assert isinstance(tape, dict)
        return tape


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The step that a recording is used for; its label also names who made it."""

    instance: str
    step: str
    repeat: int

    @classmethod
    def of(cls, label: str) -> Scope:
        """The scope of a label: INSTANCE::REVIEWER[REPEAT] STEP."""
        name, _, step = label.rpartition(" ")
        try:
            trial = TrialId.parse(name)
        except ValueError:  # what asks is no trial
            trial = TrialId(name, "")
        return cls(instance=trial.instance, step=step, repeat=trial.repeat)

    def beside(self, labels: Iterable[str]) -> str:
        """In what the scopes of these labels differ from this one, in words."""
        told = []
        for label in labels:
            other = serialization.dump(Scope.of(label))
            own = serialization.dump(self)
            differing = [f"{name} {other[name]} instead of {own[name]}" for name in own if other[name] != own[name]]
            told.append(f"{label} ({', '.join(differing)})")
        return format_names(told, _MOST_NAMED, "; ")


def _blank(question: CassetteQuestion, redactor: Redactor) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "provider": question.provider,
        "path": question.path,
        "request": redactor.data(question.content),
        "answers": {},
    }

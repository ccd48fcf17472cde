"""Small files that become large, deep or alive when they are read."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import yaml
from hostile.paths import TRUSTING
from hostile.record import Play
from hostile.shape import Kind, Refusal

from pytest_crab import errors
from pytest_crab.ecosystems.node.inside import runner as node_runner
from pytest_crab.ecosystems.python.inside import runner as pytest_runner
from pytest_crab.harness.inside import reports, supervisor
from pytest_crab.parsing.review_output import read_review
from pytest_crab.sources import sdist
from pytest_crab.yaml_reader import read_document

REFUSED, REVIEW = "the instance is refused", "unknown (reviewer error)"
#: The real limits are 1024 MiB and 50,000 files; here they are as small as the bombs.
SMALL = {"MOST_MIB": 1, "MOST_MEMBERS": 100}


def archive(folder: Path, sizes: list[int]) -> Path:
    with tarfile.open(folder / "a.tar.gz", "w:gz") as tar:
        for number, size in enumerate(sizes):
            info = tarfile.TarInfo(f"top/{number}")
            info.size = size
            tar.addfile(info, io.BytesIO(bytes(size)))
    assert (folder / "a.tar.gz").stat().st_size < 20_000
    (folder / "into").mkdir()
    return folder / "a.tar.gz"


def unpacking(sizes: list[int]) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        with mock.patch.multiple(sdist, **SMALL):
            try:
                sdist.unpack(archive(folder, sizes), folder / "into", "the sdist")
            except errors.SourceError as error:
                return str(error)
        raise AssertionError("the archive was taken")

    return attempt


def extracting(sizes: list[int]) -> Callable[[Path], bool]:
    def twin(folder: Path) -> bool:
        with tarfile.open(archive(folder, sizes)) as tar:
            tar.extractall(folder / "into", **TRUSTING)
        found = [path.stat().st_size for path in (folder / "into" / "top").iterdir()]
        return sum(found) > SMALL["MOST_MIB"] << 20 or len(found) > SMALL["MOST_MEMBERS"]

    return twin


def writing(text: str) -> Callable[[Path], Path]:
    def plant(folder: Path) -> Path:
        (folder / "instance.yaml").write_text(text.replace("{folder}", str(folder)))
        return folder

    return plant


def reading(text: str) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        writing(text)(folder)
        try:
            read_document(folder / "instance.yaml")
        except errors.BadInput as error:
            assert not (folder / "out").exists()
            return str(error)
        raise AssertionError("the file was taken")

    return attempt


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 6)
)
ALIVE = "schema: !!python/object/apply:os.mkdir ['{folder}/out']\n"
DEEP = "x: " + "[" * 5000 + "]" * 5000
LONG = "x: " + "y" * (2 << 20)


def laughing(folder: Path) -> bool:
    return len(LAUGHS) < 1000 and len(json.dumps(yaml.safe_load(LAUGHS))) > 1_000_000


def living(folder: Path) -> bool:
    yaml.unsafe_load(ALIVE.replace("{folder}", str(folder)))
    return (folder / "out").exists()


def sinking(read: Callable[[str], Any], text: str) -> Callable[[Path], bool]:
    """The naive way: a reader that calls itself, and an error that nobody has thought of."""

    def twin(folder: Path) -> bool:
        with contextlib.suppress(RecursionError):
            read(text)
            return False
        return True

    return twin


XML = '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a0 "' + "x" * 100 + '">' + "".join(
    f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 5)
) + ']>\n<testsuites><testcase name="&a4;"/></testsuites>\n<!-- crab:e30= -->\n'  # fmt: skip


def reported(folder: Path) -> str:
    spec = {"runner": "node", "wires": {}, "name": "x", "entry": "x", "root": str(folder), "file": "x"}
    host, seen = (
        SimpleNamespace(reports=reports),
        {"killed": None, "status": 1 << 8, "grown": {}, "report": XML.encode()},
    )
    result = supervisor.conclude(seen, lambda data, code: node_runner.read(host, spec, data, code))
    return str(result["detail"])


def expanding(folder: Path) -> bool:
    case = ElementTree.fromstring(XML).find("testcase")
    return case is not None and len(case.get("name", "")) > 900_000


NESTED = "[" * 200_000


def told(folder: Path) -> str:
    result, problem = pytest_runner.understand(NESTED.encode(), "token", 1)
    assert result is None
    return str(problem)


def reviewing(text: str) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        problems: list[str] = []
        assert read_review(text, problems) is None
        return problems[0]

    return attempt


MANY = json.dumps({"schema": 1, "findings": [{"body": "x" * 1400}] * 5000})
LARGE = json.dumps({"schema": 1, "findings": [{"body": "x" * (1 << 20)}]})


def pasting(text: str) -> Callable[[Path], bool]:
    """The naive way: every finding is a word of a client's command, which is more than a command may hold."""

    def twin(folder: Path) -> bool:
        words = [finding["body"] for finding in json.loads(text)["findings"]]
        try:
            subprocess.run(["true", *words], check=True)
        except OSError as error:
            return error.errno == errno.E2BIG
        return False

    return twin


def bomb(name: str, attempt: Any, twin: Any, said: str, becomes: str, plant: Any = None) -> Refusal:
    return Refusal(kind=Kind.BOMBS, name=name, attempt=attempt, twin=twin, said=said, becomes=becomes, plant=plant)


def alive(name: str, text: str, twin: Any, said: str) -> Refusal:
    return bomb(name, reading(text), twin, said, REFUSED, writing(text))


def review(name: str, text: str, twin: Any, said: str) -> Refusal:
    return bomb(name, reviewing(text), twin, said, REVIEW, lambda _: Play(name=name, review=text))


def nested_report(folder: Path) -> Play:
    """Tells the harness this instead of a report, by whatever door it has."""
    text = (
        f"import os\nfor end in range(3, 1024):\n    try:\n        os.write(end, b'[' * {len(NESTED)})\n"
        "    except OSError:\n        pass\nos._exit(0)\n"
    )
    return Play(name="a harness report that is nested without end", files={"ledger.py": text})


ZEROS, CROWD = [2 << 20], [0] * 200
REFUSALS = [
    bomb("an sdist of zeros", unpacking(ZEROS), extracting(ZEROS), "holds over .* MiB", "unknown (broken)"),
    bomb("an sdist of very many files", unpacking(CROWD), extracting(CROWD), "holds over 100 files",
         "unknown (broken)"),
    alive("aliases of aliases in YAML", LAUGHS, laughing, "holds an anchor"),
    alive("a YAML tag that runs code", ALIVE, living, "holds a tag"),
    alive("YAML that is nested without end", DEEP, sinking(yaml.safe_load, DEEP), "nested more than 32 deep"),
    alive("YAML of megabytes", LONG, lambda _: len(yaml.safe_load(LONG)["x"]) > 1 << 20, "larger than 1 MiB"),
    bomb("entities of entities in a JUnit report", reported, expanding, "not well-formed", "missed (exited early)"),
    bomb("a harness report that is nested without end", told, sinking(json.loads, NESTED), "not well-formed",
         "missed (exited early)", nested_report),
    review("a review that is nested without end", NESTED, sinking(json.loads, NESTED), "no list of findings"),
    review("a review of thousands of findings", MANY, pasting(MANY), "at most 1000 are read"),
    review("a finding of a megabyte", LARGE, pasting(LARGE), "at most 65536 are read"),
]  # fmt: skip

"""Small files that become large, deep or alive when they are read."""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import yaml
from hostile.paths import TRUSTING
from hostile.shape import Kind
from hostile.shape import Refusal

from pytest_crab import errors
from pytest_crab.harness.inside import javascript
from pytest_crab.harness.inside import supervisor
from pytest_crab.instances.document import read_document
from pytest_crab.parsing.findings import read_review
from pytest_crab.sources import sdist

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


def reading(text: str) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        (folder / "instance.yaml").write_text(text.replace("{folder}", str(folder)))
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
    spec = {"jest": False, "wires": {}, "name": "x", "entry": "x", "root": str(folder), "file": "x"}
    told, problem = javascript.read(spec, XML.encode(), 1)
    assert told is None
    return str(problem)


def expanding(folder: Path) -> bool:
    case = ElementTree.fromstring(XML).find("testcase")
    return case is not None and len(case.get("name", "")) > 900_000


NESTED = "[" * 200_000


def told(folder: Path) -> str:
    result, problem = supervisor.understand(NESTED.encode(), "token", 1)
    assert result is None
    return str(problem)


def reviewing(text: str) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        problems: list[str] = []
        assert read_review(text, problems) is None
        return problems[0]

    return attempt


MANY = json.dumps({"schema": 1, "findings": [{"body": "x"}] * 5000})
LARGE = json.dumps({"schema": 1, "findings": [{"body": "x" * (1 << 20)}]})


def pasting(text: str, least: int) -> Callable[[Path], bool]:
    """The naive way: every finding goes into the agent's prompt as it is."""

    def twin(folder: Path) -> bool:
        findings = json.loads(text)["findings"]
        prompt = "\n".join(finding["body"] for finding in findings)
        return max(len(findings), len(prompt)) >= least

    return twin


def bomb(name: str, attempt: Any, twin: Any, said: str, becomes: str) -> Refusal:
    return Refusal(kind=Kind.BOMBS, name=name, attempt=attempt, twin=twin, said=said, becomes=becomes)


ZEROS, CROWD = [2 << 20], [0] * 200
REFUSALS = [
    bomb("an sdist of zeros", unpacking(ZEROS), extracting(ZEROS), "holds over .* MiB", "the source is refused"),
    bomb("an sdist of very many files", unpacking(CROWD), extracting(CROWD), "holds over 100 files",
         "the source is refused"),
    bomb("aliases of aliases in YAML", reading(LAUGHS), laughing, "holds an anchor", REFUSED),
    bomb("a YAML tag that runs code", reading(ALIVE), living, "holds a tag", REFUSED),
    bomb("YAML that is nested without end", reading(DEEP), sinking(yaml.safe_load, DEEP),
         "nested more than 32 deep", REFUSED),
    bomb("YAML of megabytes", reading(LONG), lambda _: len(yaml.safe_load(LONG)["x"]) > 1 << 20,
         "larger than 1 MiB", REFUSED),
    bomb("entities of entities in a JUnit report", reported, expanding, "not well-formed", "missed (exited early)"),
    bomb("a harness report that is nested without end", told, sinking(json.loads, NESTED), "not well-formed",
         "missed (exited early)"),
    bomb("a review that is nested without end", reviewing(NESTED), sinking(json.loads, NESTED), "it is no JSON",
         REVIEW),
    bomb("a review of thousands of findings", reviewing(MANY), pasting(MANY, 5000), "at most 1000 are read", REVIEW),
    bomb("a finding of a megabyte", reviewing(LARGE), pasting(LARGE, 1 << 20), "at most 65536 are read", REVIEW),
]  # fmt: skip

"""The index of a set's unchanged files: what it gives is what reading gives, or it gives nothing."""

from __future__ import annotations

import os
import pickle
import zlib
from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instance
from pytest_crab.instances.index import Index
from pytest_crab.yaml_reader import MOST_BYTES

SHIPPED = sorted(Path(__file__).parents[2].glob("instances/*/*/instance.yaml"))

TEXT = """\
schema: 1
id: one
provenance: github
repo: owner/name
license: MIT
pull_request: {number: 1, title: First}
source:
  git:
    url: https://github.com/owner/name
    base: 8bf257f0e5c0a1b1a2a3a4a5a6a7a8a9b0b1b2b3
    head: 7bf257f0e5c0a1b1a2a3a4a5a6a7a8a9b0b1b2b3
    merged: 6bf257f0e5c0a1b1a2a3a4a5a6a7a8a9b0b1b2b3
environment: {dockerfile: python}
comments:
  - {id: c0, path: a.py, body: No., category: design, kind: behavioral, oracle: oracles/test_c0.py}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of an instance."""
    path = tmp_path / "one" / "instance.yaml"
    (path.parent / "oracles").mkdir(parents=True)
    (path.parent / "oracles" / "test_c0.py").write_text("def test_one():\n    assert False\n")
    path.write_text(TEXT)
    return path


def kept(file: Path) -> bytes:
    """The index of a set of this one instance."""
    index = Index()
    index.load(file)
    assert index.changed
    return index.dump()


def test_every_shipped_instance_comes_back_as_it_is_read() -> None:
    index = Index()
    read = [index.load(path) for path in SHIPPED]
    again = Index(index.dump())
    assert [again.load(path) for path in SHIPPED] == read == [load_instance(path) for path in SHIPPED]
    assert not again.changed


def test_a_changed_file_is_read_anew_though_its_size_and_times_are_the_old_ones(file: Path) -> None:
    data, before = kept(file), file.stat()
    file.write_text(TEXT.replace("First", "Other"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    index = Index(data)
    assert index.load(file).pull_request.title == "Other"
    assert index.changed


def test_a_file_that_is_too_large_is_refused(file: Path) -> None:
    file.write_text(TEXT + "#" * MOST_BYTES)
    with pytest.raises(BadInput, match="larger than 1 MiB"):
        Index().load(file)


@pytest.mark.parametrize("what", ["gone", "link"])
def test_a_file_that_the_instance_names_is_missed_all_the_same(file: Path, what: str) -> None:
    data, oracle = kept(file), file.parent / "oracles" / "test_c0.py"
    oracle.rename(file.parent / "elsewhere.py")
    if what == "link":
        oracle.symlink_to(file.parent / "elsewhere.py")
    with pytest.raises(BadInput, match=r"oracle\.file"):
        Index(data).load(file)


def test_what_is_no_longer_there_leaves_the_index(file: Path) -> None:
    assert Index(kept(file)).changed


def test_an_index_of_which_one_letter_changed_counts_as_none(file: Path) -> None:
    whole = kept(file)
    assert whole.count(b"First") == 1
    index = Index(whole.replace(b"First", b"Fjrst"))
    assert index.load(file) == load_instance(file)
    assert index.changed


def sealed(content: bytes) -> bytes:
    """The content with its checksum, as an index is written."""
    return zlib.crc32(content).to_bytes(4, "big") + content


class Hostile:
    """What runs a command where it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.trace),)


def test_a_file_that_is_no_index_runs_nothing_and_counts_as_none(file: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    pickle.loads(pickle.dumps(Hostile(trace)))  # the twin that shows it works
    trace.rmdir()
    whole = kept(file)
    made = [b"nonsense", whole[:-20], whole[:40], b""]
    made += [sealed(pickle.dumps(thing)) for thing in (Hostile(trace), ("x", "y", {}), {})]
    for data in (*made, sealed(b"nonsense"), pickle.dumps(Hostile(trace))):
        index = Index(data)
        assert index.load(file) == load_instance(file)
        assert index.changed
    assert not trace.exists()

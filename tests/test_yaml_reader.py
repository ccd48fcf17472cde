"""Reading YAML without evaluating anything of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from pytest_crab import yaml_reader
from pytest_crab.errors import BadInput
from pytest_crab.yaml_reader import read_document


def faults(tmp_path: Path, content: str | bytes) -> tuple[str, ...]:
    path = tmp_path / "file.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(BadInput) as caught:
        read_document(path)
    assert caught.value.where == str(path)
    return caught.value.problems


@pytest.fixture(params=["c", "python"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to read: with libyaml, and where PyYAML came without it."""
    if request.param == "python":
        monkeypatch.setattr(yaml_reader, "_LOADER", yaml.BaseLoader)


@pytest.mark.usefixtures("loader")
def test_every_scalar_is_a_text(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("a: yes\nb: 3.10\nc: [1, ~, 2020-01-01]\nd: {e: 0x10}\nf:\n")
    assert read_document(path) == {"a": "yes", "b": "3.10", "c": ["1", "~", "2020-01-01"], "d": {"e": "0x10"}, "f": ""}


@pytest.mark.usefixtures("loader")
def test_all_doubled_keys_are_named_with_their_lines(tmp_path: Path) -> None:
    assert faults(tmp_path, "a: 1\nb: {c: 1, c: 2}\na: 2\n") == (
        "c stands twice in one mapping, on lines 2 and 2; one should go",
        "a stands twice in one mapping, on lines 1 and 3; one should go",
    )


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("content", "telling"),
    [
        ("a: &x [1]\n", "line 1 holds an anchor (&x)"),
        ("a: 1\nb: *x\n", "line 2 "),
        ("a: !!python/object/apply:os.system [echo]\n", "line 1 holds a tag (tag:yaml.org,2002:python"),
        ("a: !own 1\n", "line 1 holds a tag (!own)"),
        ("<<: {a: 1}\n", "line 1 holds a merge key"),
        ("[a]: 1\n", "line 1 has a list or a mapping for a key"),
        ("a: 1\n---\nb: 2\n", "a second document"),
        ("a: [1\n", "; close the brace or bracket, or put "),
        ("a: {b: c\n", "; close the brace or bracket, or put "),
        ("a: [b, c: d: e]\n", "a brace or a bracket in quotes"),
        ("a:\n\tb: 1\n", "indent with spaces"),
        ("a: 1\nb:\n  c: x\n\td: 1\n", "indent with spaces"),
        ("a: Fix: b\n", "a colon and a space in quotes"),
        ("a: {b: Fix: c}\n", "a colon, a comma, a brace or a bracket in quotes"),
        ("a: \x00\n", "is not YAML"),
        ("- a\n", "should hold one mapping"),
        ("", "should hold one mapping"),
        ("# nothing\n", "should hold one mapping"),
        ("a: " + "[" * 60 + "]" * 60, "nested more than 32 deep"),
        (b"a: 1\nb: \xff\n", "line 2 is not UTF-8"),
        (b"a: " + b"x" * (1 << 20), "larger than 1 MiB"),
    ],
)
def test_what_is_no_plain_mapping_is_refused(tmp_path: Path, content: str | bytes, telling: str) -> None:
    (problem,) = faults(tmp_path, content)
    assert telling in problem


def test_a_quoted_merge_key_is_a_key_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text('"<<": 1\n')
    assert read_document(path) == {"<<": "1"}


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_document(tmp_path / "none.yaml")


def test_what_is_no_regular_file_is_a_sentence_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    kept = os.open(tmp_path / "pipe.yaml", os.O_RDWR)  # so that whoever reads it has something, instead of for ever
    os.write(kept, b"a: 1\n")
    (tmp_path / "folder.yaml").mkdir()
    for name in ("pipe.yaml", "folder.yaml"):
        with pytest.raises(BadInput, match=f"{name}: the file is a folder, a pipe or a device"):
            read_document(tmp_path / name)
    os.close(kept)


def test_deep_nesting_is_no_recursion_error(tmp_path: Path) -> None:
    (problem,) = faults(tmp_path, "a: " + "[" * 5000)
    assert problem


DOCUMENTS = st.recursive(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=12,
)


@given(value=DOCUMENTS)
def test_what_yaml_writes_is_read_back(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.yaml"
    dumper = type("NoAliases", (yaml.SafeDumper,), {"ignore_aliases": lambda self, data: True})
    path.write_text(yaml.dump({"key": value}, Dumper=dumper, allow_unicode=True), encoding="utf-8")
    assert read_document(path) == {"key": value}


@given(content=st.binary(max_size=60))
def test_no_bytes_make_anything_but_a_mapping_or_bad_input(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    document: object = None
    problems: tuple[str, ...] = ()
    try:
        document = read_document(path)
    except BadInput as error:
        problems = error.problems
    assert isinstance(document, dict) is not bool(problems)

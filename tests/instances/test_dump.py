from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from pytest_crab.instances import load_instance
from pytest_crab.instances.dump import instance_yaml
from pytest_crab.types import Comment, Environment, Instance, OraclePart


def again(folder: Path, instance: Instance) -> Instance:
    (folder / "instance.yaml").write_bytes(instance_yaml(instance).encode())
    return load_instance(folder)


def test_a_written_instance_is_read_as_the_same(write_instance: Callable[..., Path]) -> None:
    instance = load_instance(write_instance())
    environment = Environment(
        dockerfile="python",
        python="3.10",
        packages=("pytest==8.3.4",),
        env={"TZ": "no", "N": "1e3"},
        paths=(".", "src"),
    )
    comments = (*instance.comments, dataclasses.replace(instance.comments[0], id="1.0", lines=None, url="https://x/y"))
    comments = (comments[0], Comment(id="on", path="a", body="x", category=comments[0].category))
    parts = (OraclePart(asks="one: a", tests=("test_a",)), OraclePart(asks="b", tests=("test_b", "test_c")))
    halves = dataclasses.replace(comments[0].required_oracle, parts=parts)
    comments = (dataclasses.replace(comments[0], oracle=halves), comments[1])
    changed = dataclasses.replace(
        instance, environment=environment, comments=comments, tags={"true": "~"}, pass_to_pass=("a", "- b")
    )
    assert again(Path(instance.folder), changed) == changed


def test_defaults_are_left_out_and_lines_stand_as_they_are(write_instance: Callable[..., Path]) -> None:
    instance = load_instance(write_instance())
    facts = dataclasses.replace(instance.pull_request, body="One.\n\n  Two: #3\n")
    text = instance_yaml(dataclasses.replace(instance, pull_request=facts))
    assert "  body: |\n    One.\n\n      Two: #3\n" in text
    assert "workdir" not in text
    assert "folder" not in text


FIRST: dict[Path, bytes] = {}
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text("\r\n\t :#-'\"|>\x85\u2028\ufeff\0ä", max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(text=TEXTS)
def test_any_text_comes_back(tmp_path: Path, write_instance: Callable[..., Path], text: str) -> None:
    body = text + "x"  # an empty body is refused
    folder = tmp_path / "set" / "shop-7"
    if not folder.exists():
        write_instance()
    (folder / "instance.yaml").write_bytes(FIRST.setdefault(folder, (folder / "instance.yaml").read_bytes()))
    instance = load_instance(folder)
    comment = dataclasses.replace(instance.comments[0], body=body)
    changed = dataclasses.replace(instance, comments=(comment,), tags={"t": text})
    assert again(folder, changed) == changed


def test_half_a_pair_is_no_text(write_instance: Callable[..., Path]) -> None:
    instance = load_instance(write_instance())
    with pytest.raises(UnicodeEncodeError):
        instance_yaml(dataclasses.replace(instance, tags={"t": "\ud800"})).encode()

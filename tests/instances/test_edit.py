"""Another environment in an instance's file, and nothing else of it touched."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instance
from pytest_crab.instances.edit import rewrite
from pytest_crab.types import Environment, Instance, Isolation

BEFORE = """\
# written by hand
schema: 1
id: shop-7
provenance: github
repo: owner/shop   # where it is
license: MIT
pull_request: {number: 7, title: "Count: to three"}
source: {git: {url: https://example.org/owner/shop, base: AAA, head: BBB, merged: CCC}}
"""
for letter in "ABC":
    BEFORE = BEFORE.replace(letter * 3, letter.lower() * 40)
ENVIRONMENT = "environment:\n  dockerfile: python\n  # as small as can be\n  timeout: 50\n"
COMMENTS = """\
comments:
- id: c0
  path: shop.py
  body: |
    environment: of a comment
    tags: too
  category: functional
  kind: behavioral
  oracle: test_c0.py
"""
TAGS = "tags: {difficulty: easy}\n"


def written(folder: Path, text: str) -> Instance:
    folder = folder / "shop-7"
    folder.mkdir()
    (folder / "test_c0.py").write_text("def test_x(): ...\n")
    (folder / "instance.yaml").write_text(text)
    return load_instance(folder)


def other(instance: Instance) -> Instance:
    environment = Environment(
        dockerfile="python", timeout=50, python="3.8", packages=("pytest==6.2.2",), resolved="2021-02-07T03:10:40Z"
    )
    return dataclasses.replace(instance, environment=environment, tags={**instance.tags, "environment_source": "bare"})


@pytest.mark.parametrize(
    "text",
    [
        BEFORE + ENVIRONMENT + COMMENTS + TAGS,
        BEFORE + ENVIRONMENT + COMMENTS,
        BEFORE + TAGS + COMMENTS + ENVIRONMENT,
        BEFORE + COMMENTS + ENVIRONMENT.rstrip("\n"),
        BEFORE + "environment: {dockerfile: python,\n  timeout: 50}\n" + COMMENTS,
    ],
)
def test_only_environment_and_tags_are_other_lines(tmp_path: Path, text: str) -> None:
    wanted = other(written(tmp_path, text))
    rewrite(wanted)
    assert load_instance(Path(wanted.folder)) == wanted
    after = (Path(wanted.folder) / "instance.yaml").read_text()
    assert BEFORE in after
    assert COMMENTS in after
    assert sorted(path.name for path in Path(wanted.folder).iterdir()) == ["instance.yaml", "test_c0.py"]


def test_writing_twice_is_writing_once(tmp_path: Path) -> None:
    wanted = other(written(tmp_path, BEFORE + ENVIRONMENT + COMMENTS))
    rewrite(wanted)
    once = (Path(wanted.folder) / "instance.yaml").read_text()
    rewrite(load_instance(Path(wanted.folder)))
    assert (Path(wanted.folder) / "instance.yaml").read_text() == once


def test_a_file_that_would_be_another_instance_is_left_as_it_was(tmp_path: Path) -> None:
    text = "{" + "schema: 1, id: shop-7, provenance: github, repo: owner/shop, license: MIT,\n"
    text += 'pull_request: {number: 7, title: "Count"}, environment: {dockerfile: python},\n'
    text += BEFORE.splitlines()[-1] + ",\ncomments: [{id: c0, path: shop.py, body: x, category: functional,\n"
    text += "  kind: behavioral, oracle: test_c0.py}]}\n"
    wanted = other(written(tmp_path, text))
    file = Path(wanted.folder) / "instance.yaml"
    before = file.stat().st_ino
    with pytest.raises(BadInput, match="the result was not written"):
        rewrite(wanted)
    assert file.read_text() == text
    assert file.stat().st_ino == before  # not even for a moment was it another


@pytest.mark.parametrize(
    "oracle",
    [
        "oracle: test_c0.py",
        "oracle: 'test_c0.py'  # by hand",
        "oracle: {file: test_c0.py}",
        "oracle: {file: test_c0.py, isolation: none, plugins: [xdist]}",
        "oracle: {plugins: [xdist], file: test_c0.py} # two",
        "oracle:\n      file: test_c0.py\n      plugins: [xdist]",
    ],
)
def test_an_isolated_oracle_is_one_line_more_or_another(tmp_path: Path, oracle: str) -> None:
    comments = COMMENTS.replace("oracle: test_c0.py", oracle)
    assert oracle in comments
    before = written(tmp_path, BEFORE + ENVIRONMENT + comments)
    comment = before.comments[0]
    isolated = dataclasses.replace(comment.required_oracle, isolation=Isolation.PROCESS)
    wanted = dataclasses.replace(before, comments=(dataclasses.replace(comment, oracle=isolated),))
    rewrite(wanted)
    assert load_instance(Path(wanted.folder)) == wanted
    after = (Path(wanted.folder) / "instance.yaml").read_text()
    other_lines = set((BEFORE + ENVIRONMENT + comments).splitlines()) - set(after.splitlines())
    assert len(other_lines) <= 1

"""Comments without lines, without an oracle, or with one that is no pytest's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instance
from pytest_crab.instances.file_checks import content_faults
from pytest_crab.instances.lock import named_files

LINES = ("    lines: [1, 2]\n", "")
KIND = ("    kind: behavioral\n", "")
ORACLE = ("    oracle: oracles/test_c0.py\n", "")
REFERENCE = ("    reference: reference.diff\n", "")


def test_a_comment_may_be_on_the_whole_file(write_instance: Callable[..., Path]) -> None:
    assert load_instance(write_instance("shop-7", LINES)).comments[0].lines is None


def test_a_comment_may_have_no_oracle(write_instance: Callable[..., Path]) -> None:
    instance = load_instance(write_instance("shop-7", KIND, ORACLE, REFERENCE))
    assert instance.with_oracles == ()
    assert list(content_faults(instance)) == []
    assert named_files(instance) == ["head.diff", "reference.diff"]


@pytest.mark.parametrize(
    ("left_out", "sentence"),
    [
        ([KIND], "comments[0]: kind is missing; it says whether the oracle is behavioral or structural"),
        ([ORACLE], "comments[0]: oracle is missing; kind, reference, accepts and rejects say something about one"),
        (
            [ORACLE, KIND],
            "comments[0]: oracle is missing; kind, reference, accepts and rejects say something about one",
        ),
    ],
)
def test_what_is_said_about_an_oracle_needs_one(
    write_instance: Callable[..., Path], left_out: list[tuple[str, str]], sentence: str
) -> None:
    with pytest.raises(BadInput) as caught:
        load_instance(write_instance("shop-7", *left_out))
    assert caught.value.problems == (sentence,)


@pytest.mark.parametrize("name", ["test_c0.test.js", "test_c0.test.ts"])
def test_an_oracle_may_be_jest_s(write_instance: Callable[..., Path], name: str) -> None:
    file = write_instance("shop-7", ("oracles/test_c0.py", f"{{file: oracles/{name}, runner: jest}}"))
    (file.parent / "oracles" / name).write_text("test()")
    assert load_instance(file).comments[0].required_oracle.runner == "jest"


@pytest.mark.parametrize(
    ("oracle", "wanted"),
    [("{file: oracles/test_c0.py, runner: jest}", ".test.js or .test.ts"), ("oracles/test_c0.test.js", ".py")],
)
def test_the_runner_decides_how_the_file_ends(write_instance: Callable[..., Path], oracle: str, wanted: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_instance(write_instance("shop-7", ("oracles/test_c0.py", oracle)))
    (sentence,) = caught.value.problems
    assert sentence.endswith(f"its name should be test_<letters, digits, underscores>{wanted}")

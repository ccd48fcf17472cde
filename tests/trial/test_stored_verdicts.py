"""What is stored of a step and is damaged, cut or something else is made again, and never read as a verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.store import FileStore
from pytest_crab.types import Trial

REASONS = {"c0": "green", "c1": "test failed"}


def flipped(file: Path, _store: FileStore) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x20
    file.write_bytes(content)


def cut(file: Path, _store: FileStore) -> None:
    file.write_bytes(file.read_bytes()[:-40])


def replaced(value: Any) -> Callable[[Path, FileStore], None]:
    """Another value in the right envelope, as another version or a person may have put it there."""
    return lambda file, store: store.put(file.parents[1].name, file.stem, value)


def turned(file: Path, store: FileStore) -> None:
    """A catch, with the reason of a miss."""
    value = store.get("verdict", file.stem)
    if value is not None and value["unit"] == "comment":
        store.put("verdict", file.stem, {**value, "label": "caught", "value": 1.0, "reason": "test failed"})


HARMS = {
    "flipped": flipped,
    "cut": cut,
    "another shape": replaced({"of": "another version"}),
    "a list": replaced([1]),
    "turned": turned,
}
#: A proof has no label that could be turned.
NO_LABEL = ("proof", "turned")


@pytest.fixture(scope="module")
def finished(make_lab: Callable[..., Any]) -> Any:
    """A lab whose trial is in the store, regressions included."""
    lab = make_lab()
    lab.document["pass_to_pass"] = ["python", "-m", "pytest", "-q", "test_project.py"]
    first = lab.trial()
    assert (lab.reasons(first), first.regressions) == (REASONS, False)
    return lab


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("step", "harm"), [(step, harm) for step in ("proof", "verdict") for harm in HARMS if (step, harm) != NO_LABEL]
)
def test_it_is_made_again(finished: Any, ran: Callable[[Trial], set[str]], step: str, harm: str) -> None:
    store = FileStore(finished.folder / "store")
    files = [file for name, file in store.objects() if name == step]
    assert files
    for file in files:
        HARMS[harm](file, store)
    again = finished.trial()
    assert (finished.reasons(again), again.regressions, again.error) == (REASONS, False, None)
    assert ran(again) == {step}
    assert finished.ledger == ["review", "revision"]
    assert ran(finished.trial()) == set()


@pytest.mark.bubblewrap
def test_a_review_of_another_shape_is_a_sentence_that_says_how_it_is_made_anew(lab: Any) -> None:
    lab.trial()
    store = FileStore(lab.folder / "store")
    (file,) = (file for name, file in store.objects() if name == "review")
    store.put("review", file.stem, {"findings": "many"})
    trial = lab.trial()
    assert {str(result.reason) for result in trial.results} == {"broken"}
    assert "--crab-rerun=review" in str(trial.error)
    assert lab.reasons(lab.trial(lab.run_context(fresh=frozenset({"review"})))) == REASONS

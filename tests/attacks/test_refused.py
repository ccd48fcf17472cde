"""What is refused on the host: each attempt says so in a sentence, and works where nobody looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hostile.catalogue import REFUSALS
from hostile.shape import Kind

if TYPE_CHECKING:
    from hostile.shape import Refusal

pytestmark = pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attack, marks=(pytest.mark.bubblewrap,) if attack.kind is Kind.PLACEMENT else (), id=attack.name)
        for attack in REFUSALS
    ],
)


def test_an_attempt_is_refused_and_said(attack: Refusal, measured: Callable[..., None], tmp_path: Path) -> None:
    said = ""
    try:
        said = attack.attempt(tmp_path)
    finally:
        measured(attack.name, refused=attack.is_said(said))
    assert attack.is_said(said), said


@pytest.mark.slow(reason="the twin of each attack is run too, to show that it works elsewhere")
def test_the_same_attempt_works_the_naive_way(attack: Refusal, measured: Callable[..., None], tmp_path: Path) -> None:
    live = attack.twin(tmp_path)
    measured(attack.name, live=live)
    assert live

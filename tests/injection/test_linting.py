"""Whether ruff sees a fault."""

from __future__ import annotations

import pytest

from pytest_crab.injection.linting import absent_linters, linter_sees


@pytest.mark.parametrize(
    ("faulty", "seen"),
    [("import os\nprice = coin\n", True), ("import os\nprice = os.name\n", False), ("import os\nprice = (\n", True)],
)
def test_what_ruff_finds_in_the_faulty_file_alone_is_seen(faulty: str, seen: bool) -> None:  # noqa: FBT001
    assert linter_sees("shop.py", faulty, "import os\nprice = os.name + 'x'\n") is seen


def test_what_it_finds_in_both_is_not_of_the_fault() -> None:
    assert linter_sees("shop.py", "import os\nprice = 1\n", "import os\nprice = 2\n") is False


def test_a_linter_that_is_not_here_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (told,) = absent_linters(["a.rb", "b.rb", "a.py", "a.go", "a.txt"])
    assert told.startswith("rubocop is not on this machine")

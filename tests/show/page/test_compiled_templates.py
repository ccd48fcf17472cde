"""Compiled templates are kept for the next process, and only what is whole and of the same text is taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from pytest_crab.show.page.compiled_templates import CompiledTemplates


def rendered(folder: Path, text: str = "one {{ 1 + 1 }}") -> str:
    """Render a template in an environment of its own, as a process does that keeps compiled templates in ``folder``."""
    cache = CompiledTemplates()
    cache.directory = str(folder)
    return Environment(loader=DictLoader({"page.html": text}), bytecode_cache=cache).get_template("page.html").render()


def test_a_template_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered(tmp_path) == "one 2"
    monkeypatch.setattr(Environment, "_parse", None)  # nothing can be compiled any more
    assert rendered(tmp_path) == "one 2"


def test_another_text_is_compiled_anew(tmp_path: Path) -> None:
    assert rendered(tmp_path) == "one 2"
    assert rendered(tmp_path, "three {{ 2 + 2 }}") == "three 4"


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered(tmp_path) == "one 2"
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    assert rendered(tmp_path) == "one 2"
    monkeypatch.setattr(Environment, "_parse", None)  # what was kept anew is whole
    assert rendered(tmp_path) == "one 2"


def test_where_nothing_can_be_kept_a_page_is_rendered_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert rendered(tmp_path / "file" / "below") == "one 2"


def test_they_are_kept_in_the_users_cache_and_never_in_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    loader = DictLoader({"page.html": "one {{ 1 + 1 }}"})
    Environment(loader=loader, bytecode_cache=CompiledTemplates()).get_template("page.html")
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".jinja"]

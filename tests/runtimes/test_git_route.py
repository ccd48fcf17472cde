"""Packages that a build takes from git repositories come from the mirror, as the code of instances does."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.runtimes.git_route import git_route
from pytest_crab.sources import fetcher_for
from pytest_crab.types import Instance

COIN = "https://git.invalid/a/coin"


@pytest.fixture
def coin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of a mirror; a link leads to it from where the mirror has it."""
    folder = tmp_path / "elsewhere"
    (tmp_path / "mirror" / "a").mkdir(parents=True)
    (tmp_path / "mirror" / "a" / "coin.git").symlink_to(folder)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), *who, "commit", "-qm", "first", "--allow-empty"], check=True)
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    return folder


def place_of(address: str, env: Mapping[str, str]) -> str:
    """Where git goes for an address."""
    asked = ["git", "ls-remote", "--get-url", address]
    told = subprocess.run(asked, env={**os.environ, **env}, capture_output=True, text=True, check=True)
    return told.stdout.strip()


@pytest.mark.parametrize("other", ["https://git.invalid/a/coins", "https://git.invalid/a/coin.py"])
def test_an_address_that_the_tree_names_leads_to_the_mirror_and_no_other_does(
    coin: Path, tmp_path: Path, other: str
) -> None:
    named = [COIN, f"{COIN}.git", "ssh://git@forge.invalid/a/coin.git"]
    lock = "".join(f'"git+{address}?rev=1#1"\n' for address in [*named, other, "https://git.invalid/a/../.."])
    (tmp_path / "some.lock").write_text(lock)
    route = git_route(tmp_path / "settings", tmp_path, ["some.lock", "gone.lock"], ["get https://git.invalid/b/coin@1"])
    place = tmp_path / "mirror/a/coin.git"
    assert {place_of(address, route.env) for address in named} == {place.as_uri()}
    assert place_of(other, route.env) == other
    assert set(route.files) == {str(tmp_path / "settings"), str(place)}
    assert route.files[str(place)] == coin


def test_without_a_repository_of_the_mirror_there_is_no_route(coin: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(COIN)
    assert not any(git_route(tmp_path / "settings", tmp_path, ["notes.txt"], [f"git clone {COIN}s"]))
    assert not (tmp_path / "settings").exists()


@pytest.mark.bubblewrap
def test_an_install_command_takes_a_repository_from_the_mirror(
    coin: Path, instance: Instance, tmp_path: Path, needs_an_index: None
) -> None:
    assert instance.environment is not None
    changed = {"python": running_version(), "install": (f"git clone -q {COIN} coin",)}
    asked = dataclasses.replace(instance, environment=dataclasses.replace(instance.environment, **changed))
    snapshot = fetcher_for(asked).fetch(asked, tmp_path / "cache")
    runtime = BubblewrapRuntime(RuntimeSettings(), cache=tmp_path / "cache", slots=8)
    try:
        image = runtime.prepare(asked, snapshot, {})
        assert (Path(image.reference) / "tree/coin/.git").is_dir()
    finally:
        runtime.close()

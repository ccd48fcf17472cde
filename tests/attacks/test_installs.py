"""Installs of revised trees that reach for the way out, for the process that tells of them, and for the whole disk."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hostile.channel import DOORS, KILLER
from hostile.ledger import setup_diff

from pytest_crab.errors import InstallFailed
from pytest_crab.protocols import InstallResult
from pytest_crab.runtimes import RuntimeSettings, disk_quota

if TYPE_CHECKING:
    from conftest import Place

LOCAL = pytest.param("local", marks=pytest.mark.bubblewrap)
DOCKER = pytest.param("docker", marks=pytest.mark.docker)
everywhere = pytest.mark.parametrize("place", [LOCAL, DOCKER], indirect=True, scope="session")

#: Keeps so much in files without a name that little is left of a small disk, and waits to be ended for it.
NAMELESS = """
import os, time
for number in range(99):
    left = os.statvfs(".")
    if left.f_bavail * left.f_frsize < 12_000_000:
        break
    file = os.open(str(number), os.O_CREAT | os.O_WRONLY)
    os.unlink(str(number))
    os.write(file, bytes(2_000_000))
time.sleep(600)
"""


def install(place: Place, text: str) -> InstallResult:
    """Install the tree with another setup.py."""
    assert place.snapshot is not None
    tree = place.snapshot.apply(setup_diff(text))
    return place.runtime.reinstall(place.image, place.instance, place.snapshot, tree)


@everywhere
def test_an_install_that_writes_into_every_door_reaches_nothing_that_tells_of_it(confined: Place) -> None:
    assert install(confined, DOORS) == InstallResult()


@everywhere
def test_an_install_that_ends_every_process_breaks_itself_alone(confined: Place) -> None:
    with pytest.raises(InstallFailed, match="the revised tree does not install"):
        install(confined, KILLER)


@pytest.fixture
def small(tmp_path: Path, without: Callable[[str, str], NoReturn], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small disk that scratch folders lie on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "crab", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        without("root", "a small disk cannot be mounted here")
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    monkeypatch.setattr(disk_quota, "_RESERVE", 20 << 20)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.parametrize("place", [LOCAL], indirect=True, scope="session")
def test_an_install_that_fills_the_disk_with_files_without_a_name_is_the_revisions_fault(
    confined: Place, small: Path
) -> None:
    from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime

    runtime = BubblewrapRuntime(RuntimeSettings(), cache=small.parent / "cache", slots=1)
    try:
        with pytest.raises(InstallFailed, match="less than 20 MiB were left"):
            install(replace(confined, runtime=runtime), NAMELESS)
    finally:
        runtime.close()

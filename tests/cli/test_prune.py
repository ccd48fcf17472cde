from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_crab import plain
from pytest_crab.cli import main
from pytest_crab.runtimes.images import FACTS_LABEL
from pytest_crab.store import FileStore

KEY = plain.digest("a review")
OTHER = plain.digest("another review")


def prune(*arguments: str) -> str:
    """What the command says, without what other dead runs on this machine had left."""
    result = CliRunner().invoke(main, ["prune", *arguments])
    assert result.exit_code == 0, result.output
    return "".join(line for line in result.output.splitlines(keepends=True) if "run pytest-crab-" not in line)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileStore:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-engine.sock")
    return FileStore(tmp_path / "crab")


def test_nothing_to_remove(store: FileStore) -> None:
    assert prune("--store", str(store.folder)) in ("nothing to remove\n", "")
    assert not store.folder.exists()


def test_stored_steps_go_by_name_and_age(store: FileStore) -> None:
    store.put("review", KEY, 1)
    store.put("review", OTHER, 2)
    store.put("proof", KEY, 3)
    old = time.time() - 3 * 86400
    (path,) = (path for _, path in store.objects() if path.name == f"{KEY}.json" and "review" in str(path))
    os.utime(path, (old, old))

    assert prune("--store", str(store.folder), "--step", "review", "--older-than", "2", "--dry-run") == (
        "would remove 1 stored reviews\n"
    )
    assert store.get("review", KEY) == 1
    prune("--store", str(store.folder), "--step", "review", "--older-than", "2")
    assert (store.get("review", KEY), store.get("review", OTHER), store.get("proof", KEY)) == (None, 2, 3)


def test_what_a_killed_run_left_goes(store: FileStore, tmp_path: Path) -> None:
    code = (
        "import os, signal, tempfile; tempfile.tempdir = os.environ['PLACE'];"
        "from pytest_crab.runtimes.runs import Run; run = Run(); (run.folder / 'left').write_text('x');"
        "print(run.folder, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PLACE": str(tmp_path / "tmp")}
    killed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    folder = Path(killed.stdout.strip())
    assert killed.returncode == -signal.SIGKILL
    assert (folder / "left").exists()
    assert f"removed scratch of run {folder.name}" in prune("--store", str(store.folder))
    assert not folder.exists()


@pytest.mark.docker
def test_images_are_only_named_in_a_dry_run(store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST")
    import docker

    # An image of the test's own: those of other runs come and go meanwhile.
    client = docker.APIClient(version="auto")
    with tarfile.open(tmp_path / "image.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("nothing"))
    name = f"pytest-crab/test-prune:{os.getpid()}"
    label = f"LABEL {FACTS_LABEL}={{}}"
    client.import_image_from_file(str(tmp_path / "image.tar"), *name.split(":"), changes=[label])
    try:
        told = prune("--store", str(store.folder), "--environments", "--dry-run", "--older-than", "0")
        assert f"would remove image {name}\n" in told
        assert client.images(name=name)
    finally:
        client.remove_image(name)
        client.close()

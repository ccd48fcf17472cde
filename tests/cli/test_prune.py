from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab import serialization
from pytest_crab.cli import main
from pytest_crab.results.kept_runs import show_run
from pytest_crab.runtimes import environment_use, inventory
from pytest_crab.runtimes.images import BUILDER_LABEL, KEY_LABEL, builder
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.store import FileStore

KEY = serialization.digest("a review")
OTHER = serialization.digest("another review")
ENGINE = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")


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


def test_notes_on_steps_go_with_them(store: FileStore) -> None:
    store.note("answers", KEY, 1)
    prune("--store", str(store.folder), "--step", "review")
    assert store.notes("answers", KEY) == [1]
    assert prune("--store", str(store.folder), "--step", "answers") == "removed 1 stored answers\n"
    assert store.notes("answers", KEY) == []


def test_stored_steps_go_by_name_and_age(store: FileStore) -> None:
    store.put("review", KEY, 1)
    store.put("review", OTHER, 2)
    store.put("proof", KEY, 3)
    old = time.time() - 3 * 86400
    (path,) = (path for _, path in store.objects() if path.name == f"{KEY}.json" and "review" in str(path))
    os.utime(path, (old, old))

    assert prune("--store", str(store.folder), "--step", "review", "--older-than", "2", "--dry-run") == (
        "would remove 1 stored review\n"
    )
    assert store.get("review", KEY) == 1
    prune("--store", str(store.folder), "--step", "review", "--older-than", "2")
    assert (store.get("review", KEY), store.get("review", OTHER), store.get("proof", KEY)) == (None, 2, 3)


def test_nothing_outside_a_store_goes_by_a_link_in_it(store: FileStore, tmp_path: Path) -> None:
    home, name = tmp_path / "home", KEY[: environment_use.LENGTH]
    kept = [home / "photos" / "one.json", home / name / f"{KEY}.json", home / "photos" / f"{KEY}.json"]
    for file in kept:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    steps = store.folder / "steps"
    for link in (store.cache / "venvs", steps / "review", steps / "proof" / "00"):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(home if link.parent.name != "proof" else home / "photos")
    (store.cache / "built").mkdir()
    (store.cache / "built" / "mine").mkdir()

    prune("--store", str(store.folder), "--step", "review", "--step", "proof")
    list(inventory.prune(inventory.LocalFolders(store.cache), older_than_days=0, dry_run=False))
    assert [file for file in [*kept, store.cache / "built" / "mine"] if not file.exists()] == []


def test_what_a_killed_run_left_goes(store: FileStore, tmp_path: Path) -> None:
    code = (
        "import os, signal, tempfile; tempfile.tempdir = os.environ['PLACE'];"
        "from pytest_crab.runtimes.run_lock import RunFolder; run = RunFolder(); (run.folder / 'left').write_text('x');"
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
def test_images_that_are_in_use_or_gone_by_now_keep_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import docker

    own = f"test-prune.{os.getpid()}"  # so that only images of the test's own are looked at
    monkeypatch.setattr(inventory, "builder", lambda: own)
    images = inventory.EngineImages()
    client = docker.from_env().api
    used, gone, free = (f"pytest-crab/test-pruned-{os.getpid()}:{word}" for word in ("used", "gone", "free"))
    for name in (used, gone, free):
        (tmp_path / name[-4:]).write_text(name)
        with tarfile.open(tmp_path / "image.tar", "w") as archive:
            archive.add(tmp_path / name[-4:], arcname="name")
        changes = [f"LABEL {BUILDER_LABEL}={own} {KEY_LABEL}={name.rpartition(':')[2]}"]
        client.import_image_from_file(str(tmp_path / "image.tar"), *name.split(":"), changes=changes)
    container = client.create_container(used, ["true"])["Id"]
    assert set(inventory.prune(images, older_than_days=0, dry_run=True)) == {f"image {gone}", f"image {free}"}
    removing = environment_use.removing

    def remove_too(key: str) -> Any:
        if client.images(name=gone):
            client.remove_image(gone)  # as another does who prunes at the same time
        return removing(key)

    monkeypatch.setattr(environment_use, "removing", remove_too)
    try:
        told = set(inventory.prune(images, older_than_days=0, dry_run=False))
        assert {f"image {free}"} <= told <= {f"image {free}", f"image {gone}"}
        assert [bool(client.images(name=name)) for name in (used, gone, free)] == [True, False, False]
    finally:
        images.close()
        client.remove_container(container)
        for name in (used, gone, free):
            with contextlib.suppress(docker.errors.ImageNotFound):
                client.remove_image(name)
        client.close()


def test_what_killed_builds_and_removals_left_of_environments_goes(store: FileStore) -> None:
    name = KEY[: environment_use.LENGTH]
    left = [store.cache / "built" / f"{name}.new", store.cache / "built" / f"{name}.gone", store.cache / "venvs"]
    kept = [store.cache / "built" / name, store.cache / "built" / "mine.new"]
    for folder in (*left, *kept):
        (folder / "tree").mkdir(parents=True)
    told = prune("--store", str(store.folder), "--dry-run")
    assert told.count("would remove half an environment built/") == 2
    assert all(folder.is_dir() for folder in left)
    assert prune("--store", str(store.folder)).count("removed half an environment built/") == 2
    assert [folder.is_dir() for folder in (*left, *kept)] == [False, False, True, True, True]


def test_environments_go_where_no_engine_answers(store: FileStore) -> None:
    folder = store.cache / "built" / KEY[: environment_use.LENGTH]
    (folder / "tree").mkdir(parents=True)
    told = prune("--store", str(store.folder), "--environments")
    assert "images were left alone: " in told
    assert "removed environment" in told
    assert not folder.exists()


def test_what_a_living_run_builds_stays(store: FileStore) -> None:
    name = KEY[: environment_use.LENGTH]
    folder = store.cache / "built" / f"{name}.new"
    folder.mkdir(parents=True)
    run = RunFolder()
    environment_use.EnvironmentsInUse(run).take("shop-7", KEY)
    assert "half" not in prune("--store", str(store.folder))
    assert folder.is_dir()
    run.close()
    assert "half" in prune("--store", str(store.folder))


@pytest.mark.docker
def test_images_are_only_named_in_a_dry_run(store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", ENGINE)
    import docker

    # An image of the test's own: those of other runs come and go meanwhile.
    client = docker.from_env().api
    with tarfile.open(tmp_path / "image.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("nothing"))
    name = f"pytest-crab/test-prune:{os.getpid()}-named"
    label = f"LABEL {BUILDER_LABEL}={builder()} {KEY_LABEL}={os.getpid()}-named"
    client.import_image_from_file(str(tmp_path / "image.tar"), *name.split(":"), changes=[label])
    try:
        told = prune("--store", str(store.folder), "--environments", "--dry-run", "--older-than", "0")
        assert f"would remove image {name}\n" in told
        assert client.images(name=name)
    finally:
        client.remove_image(name)
        client.close()


@pytest.mark.docker
def test_images_that_others_built_are_not_named(
    store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are other users, and those who keep their locks elsewhere: whether they run is not known here."""
    monkeypatch.setenv("DOCKER_HOST", ENGINE)
    import docker

    client = docker.from_env().api
    with tarfile.open(tmp_path / "image.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("nothing"))
    name = f"pytest-crab/test-prune:{os.getpid()}-other"
    label = f"LABEL {BUILDER_LABEL}=1234.another {KEY_LABEL}={os.getpid()}-other"
    client.import_image_from_file(str(tmp_path / "image.tar"), *name.split(":"), changes=[label])
    try:
        told = prune("--store", str(store.folder), "--environments", "--dry-run", "--older-than", "0")
        assert name not in told
    finally:
        client.remove_image(name)
        client.close()


def test_kept_runs_go_by_age_and_the_shown_one_stays(store: FileStore) -> None:
    for name in ("1", "2", "3"):
        folder = store.folder / "runs" / name
        folder.mkdir(parents=True)
        (folder / "trials.jsonl").write_text("")
    os.utime(store.folder / "runs" / "1", (time.time() - 3 * 86400,) * 2)
    show_run(store.folder, store.folder / "runs" / "3")
    words = ("--store", str(store.folder), "--runs")
    assert "run" not in prune("--store", str(store.folder))
    assert prune(*words, "--older-than", "2", "--dry-run") == "would remove run 1\n"
    assert prune(*words, "--older-than", "2") == "removed run 1\n"
    assert prune(*words) == "removed run 2\n"
    assert (store.folder / "report" / "trials.jsonl").is_file()

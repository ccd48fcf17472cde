"""Pull requests on a folder of the set, and how snapshots are made once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crab import serialization
from pytest_crab.errors import SourceError
from pytest_crab.sources import fetcher_for
from pytest_crab.sources.git_cli import Git
from pytest_crab.types import Instance, Source, TreeSource


def test_the_commits_are_decided_by_the_files(instance: Instance, tmp_path: Path) -> None:
    first = fetcher_for(instance).fetch(instance, tmp_path / "one")
    second = fetcher_for(instance).fetch(instance, tmp_path / "two")
    assert (first.base, first.head, first.reference_tree) == (second.base, second.head, second.reference_tree)
    assert first.head == "13d0aff27ca429533ca05c825f3d09b8923cbc72"


def test_a_snapshot_is_made_once(instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = fetcher_for(instance).fetch(instance, tmp_path / "cache")
    monkeypatch.setattr(Git, "pack", None)
    assert fetcher_for(instance).fetch(instance, tmp_path / "cache") == made


def test_what_python_and_git_keep_is_not_source(instance: Instance, tmp_path: Path) -> None:
    before = fetcher_for(instance).identity(instance)
    project = tmp_path / "set" / "project"
    for name in ("__pycache__/x.txt", "pkg/__pycache__/a.pyc", ".git/config", "stale.pyc"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x")
    assert fetcher_for(instance).identity(instance) == before


@pytest.mark.parametrize("change", ["content", "mode", "name", "link", "head", "reference"])
def test_the_identity_knows_every_change(instance: Instance, tmp_path: Path, change: str) -> None:
    before = serialization.digest(fetcher_for(instance).identity(instance))
    project = tmp_path / "set" / "project"
    match change:
        case "content":
            (project / "shop.py").write_text("one\ntwo\n\n")
        case "mode":
            (project / "shop.py").chmod(0o755)
        case "name":
            (project / "shop.py").rename(project / "store.py")
        case "link":
            (project / "link").symlink_to("shop.py")
        case _:
            with Path(instance.folder, f"{change}.diff").open("a") as file:
                file.write("\n")
    assert serialization.digest(fetcher_for(instance).identity(instance)) != before


def test_ignored_files_of_the_set_are_in_the_base(instance: Instance, tmp_path: Path) -> None:
    snapshot = fetcher_for(instance).fetch(instance, tmp_path / "cache")
    assert snapshot.read(snapshot.base, "kept.log") == b"kept\n"


@pytest.mark.parametrize("name", ["head.diff", "reference.diff"])
def test_a_diff_that_does_not_apply_names_file_and_instance(instance: Instance, tmp_path: Path, name: str) -> None:
    path = Path(instance.folder, name)
    path.write_text(path.read_text().replace(" one", " uno"))
    with pytest.raises(SourceError, match=rf"shop-7: {name} does not apply .*patch failed: shop\.py:1"):
        fetcher_for(instance).fetch(instance, tmp_path / "cache")
    assert not list((tmp_path / "cache" / "aside").iterdir())


def test_a_missing_folder_or_diff_is_a_source_error(instance: Instance, tmp_path: Path) -> None:
    for source in (
        TreeSource(path="none", head="head.diff", reference="reference.diff"),
        TreeSource(path="../project", head="none.diff", reference="reference.diff"),
    ):
        broken = replace(instance, source=Source(tree=source))
        with pytest.raises(SourceError, match=r"shop-7: .*none"):
            fetcher_for(broken).fetch(broken, tmp_path / "cache")


def test_threads_get_one_snapshot(instance: Instance, tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fetcher_for(instance).fetch(instance, tmp_path / "cache"), range(8)))
    assert all(snapshot == found[0] for snapshot in found)
    assert not list((tmp_path / "cache" / "aside").iterdir())


FETCH = """
import json, sys
from pathlib import Path
from pytest_crab import serialization
from pytest_crab.sources import fetcher_for
from pytest_crab.types import Instance
problems = []
instance = serialization.read(Instance, json.loads(sys.stdin.read()), problems)
print(fetcher_for(instance).fetch(instance, Path(sys.argv[1])).head)
"""


def test_processes_get_one_snapshot(instance: Instance, tmp_path: Path) -> None:
    argv = [sys.executable, "-c", FETCH, str(tmp_path / "cache")]
    running = [
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
        for _ in range(3)
    ]
    heads = {process.communicate(serialization.canonical(instance))[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert heads == {fetcher_for(instance).fetch(instance, tmp_path / "other").head + "\n"}


DYING = """
import os, signal, sys
from pytest_crab.sources import git_cli
run = git_cli.run
left = [int(sys.argv[2])]
def dying(*arguments, **options):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return run(*arguments, **options)
git_cli.run = dying
"""


def test_what_a_killed_process_left_is_no_obstacle(instance: Instance, tmp_path: Path) -> None:
    """Killed between any two git commands of the making, the next process makes the whole snapshot."""
    fresh = fetcher_for(instance).fetch(instance, tmp_path / "fresh")
    cache = tmp_path / "cache"
    killed = 0
    for commands in range(1, 40, 2):
        argv = [sys.executable, "-c", DYING + FETCH, str(cache), str(commands)]
        ended = subprocess.run(
            argv, input=serialization.canonical(instance), capture_output=True, text=True, check=False
        )
        if ended.returncode == 0:
            break
        assert ended.returncode == -9, ended.stderr
        killed += 1
    assert killed > 3
    snapshot = fetcher_for(instance).fetch(instance, cache)
    assert snapshot == replace(fresh, folder=snapshot.folder)
    assert snapshot.read(snapshot.reference_tree, "shop.py") == b"one\nthree\n"
    assert not list((cache / "aside").iterdir())


def test_a_pruned_snapshot_is_made_again(instance: Instance, tmp_path: Path) -> None:
    made = fetcher_for(instance).fetch(instance, tmp_path / "cache")
    made.folder.rename(tmp_path / "gone")
    assert fetcher_for(instance).fetch(instance, tmp_path / "cache") == made
    assert made.read(made.head_tree, "shop.py") == b"one\ntoo\n"

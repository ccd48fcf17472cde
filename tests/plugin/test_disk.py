"""Disk budget and pre-flight in real runs: with an engine, with workers, and where nothing can be kept."""

from __future__ import annotations

import importlib.util
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_crab.campaign.disk import DiskBudget, PendingTrials, total
from pytest_crab.ecosystems.interpreters import LOCAL_BASE, running_version
from pytest_crab.runtimes.inventory import EngineImages, size_of

MB = 1024**2
#: A base that has what oracles need, so that nothing is installed while an image is built.
BASE = "crab-test-pytest:{python}"
#: Eight megabytes that no other image has.
FAT = """\
ARG BASE
FROM ${BASE}
ARG WORKDIR=/workspace
COPY tree/ ${WORKDIR}/
WORKDIR ${WORKDIR}
RUN head -c 8388608 /dev/urandom > /opt/fat; mkdir -p /opt/crab/tree; cp -a ./. /opt/crab/tree/; \\
    touch /opt/crab/distributions.txt
"""
INSTANCE = """\
schema: 1
id: {name}
provenance: authored
repo: owner/{repo}
license: MIT
pull_request: {{number: 7, title: "{name}"}}
source:
  tree: {{path: tree, head: head.diff, reference: reference.diff}}
environment: {{dockerfile: fat, timeout: 20}}
comments:
  - {{id: c0, path: value.py, lines: [1, 1], body: Three., category: functional, kind: behavioral,
      oracle: test_c0.py, reference: reference.diff}}
"""
CHANGE = "--- a/value.py\n+++ b/value.py\n@@ -1 +1 @@\n-VALUE = {}\n+VALUE = {}\n"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, without: Callable[[str, str], NoReturn]) -> str:
    """An image with pytest, made of the local base and what this interpreter has installed."""
    folder = tmp_path_factory.mktemp("base")
    for name in ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        if spec.submodule_search_locations:
            shutil.copytree(Path(spec.origin).parent, folder / "site" / name, ignore=shutil.ignore_patterns("*.pyc"))
        else:
            shutil.copy(spec.origin, folder / "site")
    local, library = LOCAL_BASE.format(python=running_version()), f"/usr/local/lib/python{running_version()}"
    places = [f"COPY site {library}/{name}-packages\n" for name in ("site", "dist")]  # the second is Debian's
    (folder / "Dockerfile").write_text(f"FROM {local}\n{''.join(places)}")
    done = subprocess.run(["docker", "build", "-qt", BASE.format(python=running_version()), folder])
    if done.returncode:
        without("docker", "no base image of this Python")
    return BASE


@pytest.fixture
def fat(pytester: pytest.Pytester, base: str, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Three instances of two repositories, whose runs share a machine folder with no other run."""
    write = {"dockerfiles/fat.Dockerfile": FAT, "pytest.ini": f"[pytest]\ncrab_base_image = {base}\n"}
    for name, repo in (("a-1", "shop"), ("b-2", "till"), ("c-3", "shop")):
        write |= {f"set/{name}/instance.yaml": INSTANCE.format(name=name, repo=repo)}
        write |= {f"set/{name}/tree/value.py": "VALUE = 1\n", f"set/{name}/tree/README": f"{name} {pytester.path}"}
        write |= {f"set/{name}/head.diff": CHANGE.format(1, 2), f"set/{name}/reference.diff": CHANGE.format(2, 3)}
        write |= {f"set/{name}/test_c0.py": "import value\n\n\ndef test_c0():\n    assert value.VALUE == 3\n"}
    for path, text in write.items():
        (pytester.path / path).parent.mkdir(parents=True, exist_ok=True)
        (pytester.path / path).write_text(text)
    (pytester.path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(pytester.path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", str(pytester.path / "tmp"))
    return pytester


@pytest.mark.slow(reason="images are built and removed")
@pytest.mark.docker
def test_images_go_once_their_repository_is_done(fat: pytest.Pytester) -> None:
    common = ("--reviewer=human", "--crab-runtime=docker", "-ocrab_proof_runs=1", "--crab-jobs=2")
    images = EngineImages()
    everything = PendingTrials({}).rank
    try:
        fat.runpytest_subprocess(*common, "set/a-1").assert_outcomes(passed=1)
        (first,) = images.environments()
        assert first.instances == {"a-1"}
        packed = 2 if total([first]) > 9 * MB else 1  # such an engine keeps what it unpacks
        assert 8 * MB < total([first]) < packed * 9 * MB

        budget = total([first]) * 3 // 2 // MB
        result = fat.runpytest_subprocess(*common, f"--crab-disk-budget={budget}M", "-v", "set")
        result.assert_outcomes(passed=3)
        images_told = f"crab: images: 1 there, at most 2 to build, about {packed * 16} MB*; kept within {budget} MB"
        result.stdout.fnmatch_lines([images_told, "*disk budget: 2 env*"])
        assert [line.split("/")[1] for line in result.outlines if "CAUGHT 1/1" in line] == ["a-1", "c-3", "b-2"]
        assert [line.split("::")[0] for line in result.outlines if "::human  1/1" in line] == ["a-1", "b-2", "c-3"]
        (last,) = images.environments()
        assert last.instances == {"b-2"}
        assert total([last]) + size_of(fat.path / ".crab" / "cache") <= budget * MB

        container = subprocess.run(["docker", "create", last.name, "true"], capture_output=True, text=True).stdout
        DiskBudget(1, images, fat.path / "none").hold(everything)
        assert images.environments() == [last]
        subprocess.run(["docker", "rm", container.strip()], capture_output=True)
    finally:
        DiskBudget(1, images, fat.path / "none").hold(everything)
        assert images.environments() == []
        images.close()


@pytest.mark.slow(reason="runs of pytest have workers, which are processes of their own")
@pytest.mark.bubblewrap
def test_workers_run_repository_by_repository_and_the_controller_removes(lab: Any) -> None:
    pytest.importorskip("xdist")
    lab.forget("verdict")
    built = lab.store / "cache" / "built"
    assert len(list(built.iterdir())) == 1, "both instances have the same trees and the same packages"
    result = lab.spawn("--reviewer=human", "--reviewer=none", "-n2", "--crab-disk-budget=1K", "instances")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "crab: 4 trials of 2 instances: *0 reviews and at most 0 revisions to be made, 8 stored",
            "crab: disk budget: 1 environment removed, * of 1.0 KB taken; the rest is in use or can be no smaller",
        ]
    )
    assert list(built.iterdir()) == []
    assert lab.run("--reviewer=human", "--reviewer=none", "instances").ret == 1
    assert list(built.iterdir()) == []


def test_a_store_that_cannot_be_written_is_refused_before_the_first_trial(bare: Any) -> None:
    bare.write({"file": ""})
    result = bare.run("--reviewer=human", "--crab-store=file/store", "instances")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: the store file *file* cannot be written (*): choose *--crab-store*"])
    assert "instances/shop-1" not in result.stdout.str()


def test_a_size_without_unit_is_refused(bare: Any) -> None:
    result = bare.run("--reviewer=human", "--crab-disk-budget=20", "instances")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --crab-disk-budget is '20'; it should be a size such as 20G or 800M"])


def test_a_plan_and_a_run_say_what_is_needed_and_a_quiet_one_does_not(bare: Any) -> None:
    needs = "crab: 2 trials of 2 instances: 2 reviews and at most 2 revisions to be made, 0 stored"
    result = bare.run("--reviewer=human", "--crab-plan", "instances")
    lines = list(itertools.dropwhile(lambda line: not line.startswith("collected"), result.outlines))
    assert lines[1] == needs
    assert lines[2].startswith("crab: environments: 0 there, 2 to build, about 10 MB of ")
    assert needs not in bare.run("--reviewer=human", "--crab-plan", "-q", "instances").outlines


def test_what_is_there_is_known_from_the_store_wherever_temporary_files_lie(
    lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "other"))
    result = lab.run("--reviewer=human", "--crab-plan", "instances/shop-1")
    result.stdout.fnmatch_lines(["crab: environments: 1 there, 0 to build*"])

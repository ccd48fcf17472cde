"""Environments that are found for real pull requests although a package that they ask for does not install."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_crab.cli.run_contexts import proving_context
from pytest_crab.curation.certify import Certificate, certify
from pytest_crab.ecosystems import interpreters
from pytest_crab.instances import load_instance
from pytest_crab.protocols import Limits
from pytest_crab.runtimes import RuntimeSettings, bubblewrap_runtime, venvs
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.runtimes.docker import DockerRuntime

pytestmark = [pytest.mark.bubblewrap, pytest.mark.usefixtures("needs_an_index")]

#: The commented file imports two packages that its project does not declare.
SHOP = "import inflection\nimport sortedcontainers\nONE = 1\nTWO = {}\n"
SETUP = """\
from setuptools import setup
setup(name='shop', version='1', py_modules=['shop'], python_requires='{python}', install_requires=['{declared}'])
"""
ORACLE = "import shop\n\n\ndef test_two() -> None:\n    assert shop.TWO == 2\n"


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Certificate]:
    """Certify a pull request of a project that declares one package, as of a day."""
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.chdir(tmp_path)

    def run(declared: str, day: str, python: str, oracle: str = ORACLE) -> Certificate:
        shas = commits(tmp_path / "mirror" / "owner" / "shop", SETUP.format(python=python, declared=declared), day)
        folder = tmp_path / "set" / "shop-7"
        (folder / "oracles").mkdir(parents=True)
        (folder / "oracles" / "test_c0.py").write_text(oracle)
        (folder / "instance.yaml").write_text(json.dumps(document(shas)))
        with proving_context(RuntimeSettings(runtime="local"), tmp_path / ".crab") as (crew, run_context):
            once = replace(run_context, proof_runs=1)  # what is looked at is the environment
            return certify(load_instance(folder), crew, once, lambda _: None)

    return run


def commits(folder: Path, setup: str, day: str) -> dict[str, str]:
    who = {"GIT_AUTHOR_NAME": "dev", "GIT_AUTHOR_EMAIL": "d@example.org", "PATH": os.environ["PATH"]}
    env = {**who, "GIT_COMMITTER_NAME": "dev", "GIT_COMMITTER_EMAIL": "d@example.org", "GIT_COMMITTER_DATE": day}

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    folder.mkdir(parents=True)
    git("init", "--quiet", "--initial-branch=main")
    (folder / "setup.py").write_text(setup)
    shas = {}
    for name, number in (("base", 0), ("head", 3), ("merged", 2)):
        (folder / "shop.py").write_text(SHOP.format(number))
        git("add", ".")
        git("commit", "--quiet", "-m", name)
        shas[name] = git("rev-parse", "HEAD")
    return shas


def document(shas: dict[str, str]) -> dict[str, Any]:
    comment = {"id": "c0", "path": "shop.py", "body": "Say two.", "category": "functional", "kind": "behavioral"}
    return {
        "schema": 1,
        "id": "shop-7",
        "provenance": "github",
        "repo": "owner/shop",
        "license": "MIT",
        "pull_request": {"number": 7, "title": "Add a cart"},
        "source": {"git": {"url": "https://git.invalid/owner/shop", **shas}},
        "environment": {"dockerfile": "python", "timeout": 300},
        "comments": [{**comment, "oracle": "oracles/test_c0.py"}],
    }


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The packages of each environment that was begun; a failed one leaves nothing on the disk."""
    made: list[tuple[str, ...]] = []
    install = venvs._install_packages

    def noting(folder: Path, instance: Any, *more: Any) -> None:
        made.append(instance.environment.packages)
        install(folder, instance, *more)

    monkeypatch.setattr(venvs, "_install_packages", noting)
    return made


def proved_without(package: str, found: Certificate, built: list[tuple[str, ...]]) -> None:
    names = {pin.partition("==")[0] for pin in found.instance.environment.packages}
    assert (found.environment_source, found.proved, found.problems) == ("missing", 1, {})
    assert {"inflection", "sortedcontainers"} <= names
    assert package.partition("==")[0] not in names
    assert sum(package in packages for packages in built) == 1


@pytest.mark.slow(reason="environments are built from a package index, one after the other")
def test_a_declared_package_whose_build_fails_is_fetched_once_and_left_out(
    certified: Callable[..., Certificate], built: list[tuple[str, ...]]
) -> None:
    # A source distribution only, whose C code no CPython after 3.6 compiles.
    found = certified("fastrlock==0.3", "2023-11-01T12:00:00+0000", ">=3.9")
    proved_without("fastrlock==0.3", found, built)
    (note,) = found.notes
    assert note.startswith(f"fastrlock==0.3 does not install on CPython {found.instance.environment.python}")
    assert "Failed to build `fastrlock==0.3`" in note


@pytest.mark.slow(reason="environments are built from a package index, one after the other")
def test_a_package_with_a_file_over_the_limit_is_fetched_once_and_left_out(
    certified: Callable[..., Certificate],
    built: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    without: Callable[[str, str], NoReturn],
) -> None:
    if interpreters.find("3.7") is None:
        without("python3.7", "there is no CPython 3.7")
    low = Limits(memory=4096, processes=512, cpus=2.0, disk=4096, file=4)
    monkeypatch.setattr(bubblewrap_runtime, "INSTALL_LIMITS", low)
    monkeypatch.setattr(venvs, "INSTALL_LIMITS", low)
    found = certified("lxml==4.6.3", "2021-11-01T12:00:00+0000", ">=3.7,<3.8")
    proved_without("lxml==4.6.3", found, built)
    assert found.instance.environment.python == "3.7"
    (note,) = found.notes
    assert note.startswith("lxml==4.6.3 does not install on CPython 3.7 and is left out")
    assert "it needed a file of more than the 4 MiB that one may have" in note


@pytest.mark.slow(reason="environments are built from a package index, one after the other")
@pytest.mark.parametrize(
    ("oracle", "reason", "conflicts"),
    [
        (ORACLE.replace("== 2", "== 1"), "the reference does not resolve it", 0),
        (f"import no_such_module\n{ORACLE}", "no test of the oracle runs", 1),
    ],
    ids=["runs", "does not load"],
)
def test_what_stopped_the_search_is_a_reason_only_for_an_oracle_that_does_not_run(
    certified: Callable[..., Certificate], oracle: str, reason: str, conflicts: int
) -> None:
    problem = certified("inflection==99", "2023-11-01T12:00:00+0000", ">=3.9", oracle).problems["c0"]
    assert problem.startswith(reason)
    assert problem.count("no versions fit") == conflicts


@pytest.mark.slow(reason="environments are built from a package index, one after the other")
@pytest.mark.parametrize(("oracle", "left"), [(ORACLE, 1), (ORACLE.replace("== 2", "== 1"), 0)], ids=["proved", "not"])
def test_what_was_tried_in_vain_leaves_nothing_on_the_disk(
    certified: Callable[..., Certificate], built: list[tuple[str, ...]], tmp_path: Path, oracle: str, left: int
) -> None:
    found = certified("inflection", "2023-11-01T12:00:00+0000", ">=3.9", oracle)
    assert found.proved == left
    assert len(built) > 2
    kept = {place: len([*(tmp_path / ".crab" / "cache" / place).iterdir()]) for place in ("built", "venvs")}
    assert kept == {"built": left, "venvs": left}


def test_the_runtime_says_which_python_there_is(
    certified: Callable[..., Certificate], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BubblewrapRuntime, "has_interpreter", lambda _, version: False)
    found = certified("inflection", "2023-11-01T12:00:00+0000", ">=3.6")
    assert found.of_machine == "there is no CPython on this machine that an environment can be made with"


@pytest.mark.slow(reason="environments are built, one after the other")
def test_the_python_that_is_missing_is_named_with_the_ways_to_have_it(
    certified: Callable[..., Certificate], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = interpreters.running_version()
    monkeypatch.setattr(BubblewrapRuntime, "has_interpreter", lambda _, version: version == here)
    monkeypatch.setattr(BubblewrapRuntime, "interpreter_advice", DockerRuntime.interpreter_advice)
    problem = certified("inflection", "2020-11-01T12:00:00+0000", ">=3.6,<3.9", f"import no_such\n{ORACLE}").problems[
        "c0"
    ]
    assert "its CPython would be 3.8" in problem
    assert problem.endswith("pytest-crab doctor --build-base --python 3.8, or use the local runtime")

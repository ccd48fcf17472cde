"""Sets from elsewhere that want to be more than data before anybody was asked whether they are trusted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hostile.ledger import write_instance
from hostile.shape import Kind, Refusal

from pytest_crab import serialization
from pytest_crab.instances import load_instance
from pytest_crab.instances.lock import content_digests
from pytest_crab.plugin.trust import TRUSTED

REFUSED = "refused before the run"
_MARKING = "import pathlib\npathlib.Path(__file__).with_name('mark').write_text('')\n"


@dataclass(frozen=True)
class Foreign:
    """A set that lies outside the folder in which pytest is called."""

    folder: Path


def run(called_in: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Call pytest in an empty folder."""
    called_in.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "CRAB_"))}
    env["PYTEST_ADDOPTS"] = os.environ["PYTEST_ADDOPTS"]
    argv = [sys.executable, "-m", "pytest", "-pno:cacheprovider", *arguments]
    return subprocess.run(argv, cwd=called_in, env=env, capture_output=True, text=True)


def refusal(found: Foreign, called_in: Path) -> str:
    """Measure a reviewer on it, and return what a user is told; the user trusts its installs and oracles."""
    done = run(called_in, "--reviewer=none", "--crab-trust", str(found.folder))
    assert not list(found.folder.rglob("mark"))
    return done.stderr


def foreign(
    name: str, files: dict[str, str], said: str, is_live: Callable[[Path], bool], *, store: bool = False
) -> Refusal:
    def plant(folder: Path) -> Foreign:
        place = folder / "set"
        file = write_instance(place / "ledger") / "instance.yaml"
        for path, text in files.items():
            (place / path).parent.mkdir(exist_ok=True)
            (place / path).write_text(text)
        if store:
            (place / ".crab").mkdir()
            digest = serialization.digest({"ledger": content_digests(load_instance(file))})
            (place / ".crab" / TRUSTED).write_text(json.dumps({digest: str(place)}))
        return Foreign(place)

    return Refusal(
        kind=Kind.PLANTED,
        name=name,
        attempt=lambda folder: refusal(plant(folder), folder / "called"),
        twin=lambda folder: is_live(plant(folder).folder),
        said=said,
        becomes=REFUSED,
        plant=plant,
    )


def ran(place: Path) -> bool:
    """The naive way: a pytest that takes the set for tests of one's own."""
    run(place.parent / "naive", "-pno:pytest_crab.plugin", str(place))
    return bool(list(place.rglob("mark")))


def believed(place: Path) -> bool:
    """The naive way: what lies at the rootdir is one's own, wherever that is."""
    done = run(place.parent / "naive", "--reviewer=none", f"--rootdir={place}", "--deselect=ledger", str(place))
    return "--crab-trust" not in done.stderr and done.returncode == 5


REFUSALS = [
    foreign("a conftest.py of a set", {"conftest.py": _MARKING}, "set/conftest.py would be run", ran),
    foreign("a conftest.py below a set", {"testing/conftest.py": _MARKING}, "testing/conftest.py would be run", ran),
    foreign("a set that trusts itself", {"setup.py": ""}, "set/setup.py would be run", believed, store=True),
]

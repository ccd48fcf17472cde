"""The same adapters in the real sandbox, on a clone on this machine."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fake_checkout import FakeCheckout, FakeWorkspace, Opening
from pytest_crab import reviewers
from pytest_crab.errors import ReviewerError
from pytest_crab.protocols import Completed
from pytest_crab.reviewers.command import CommandReviewer
from pytest_crab.reviewers.ruff import RuffReviewer
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes.disk_quota import DiskQuota
from pytest_crab.runtimes.way_out import way_out

pytestmark = pytest.mark.bubblewrap

#: MiB that a command may write into its clone here.
DISK = 16


@dataclass(kw_only=True)
class ConfinedWorkspace(FakeWorkspace):
    """A clone whose commands run under bubblewrap."""

    opening: Opening

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        asked = self.opening
        with tempfile.TemporaryDirectory(prefix="crab-") as folder, way_out(Path(folder)) as internet:
            return bubblewrap.run_in_folder(
                argv,
                Path(self.root),
                readable=(*asked.readable, *asked.libraries),
                writable=asked.writable,
                way_out=internet if asked.network else None,
                env=env,
                stdin=stdin,
                seconds=seconds,
                quota=DiskQuota([Path(self.root)], DISK),
            )


class ConfinedCheckout(FakeCheckout):
    @contextmanager
    def clone(self, **asked: Any) -> Iterator[ConfinedWorkspace]:
        with super().clone(**asked) as plain:
            yield ConfinedWorkspace(root=plain.root, folder=plain.folder, base=plain.base, opening=self.openings[-1])


@pytest.fixture
def confined(tmp_path: Path) -> ConfinedCheckout:
    return ConfinedCheckout(tmp_path / "x", head={"a.py": b"def f(x=[]):\n    return x\n"})


def findings(confined: ConfinedCheckout, folder: Path, script: str, **settings: Any) -> list[Any]:
    """What a script that prints one finding per line of JSON says."""
    (folder / "reviewer.py").write_text("import json, os, sys\nrequest = json.load(sys.stdin)\n" + script)
    settings = {"command": [sys.executable, "reviewer.py"], "files": ["reviewer.py"], "timeout": 30, **settings}
    reviewer = reviewers.REVIEWERS.make("command", settings, folder)
    assert isinstance(reviewer, CommandReviewer)
    (finding,) = reviewer.review(confined.pull_request(), confined).findings
    said: list[Any] = json.loads(finding.body)
    return said


@pytest.fixture
def house(tmp_path: Path) -> Path:
    house = tmp_path / "house"
    (house / "instances").mkdir(parents=True)
    (house / "instances" / "oracle.py").touch()
    (house / "cache").mkdir()
    return house


SAY = "print(json.dumps({'schema': 1, 'findings': [{'body': json.dumps(said)}]}))"


def test_a_command_sees_its_files_the_clone_and_nothing_beside_them(confined: ConfinedCheckout, house: Path) -> None:
    script = f"""
home = os.path.isdir({str(Path.home())!r}) and os.listdir({str(Path.home())!r})
said = [os.listdir({str(house)!r}), os.listdir("."), sorted(os.environ), bool(home and ".bashrc" in home)]
open("{house}/cache/kept", "w").close()
{SAY}
"""
    house_names, clone_names, variables, home = findings(confined, house, script, writable=["cache"], env={"A": "1"})
    assert sorted(house_names) == ["cache", "reviewer.py"]
    assert sorted(clone_names) == [".git", "a.py"]
    assert "A" in variables
    assert not set(variables) & (set(os.environ) - {"HOME", "PATH", "LANG", "PWD", "LC_CTYPE"})
    assert not home
    assert (house / "cache" / "kept").exists()


def test_a_virtual_environment_works(confined: ConfinedCheckout, house: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", symlinks=True)
    program = tmp_path / "venv" / "bin" / "python"
    script = f"import ssl\nsaid = [sys.prefix]\n{SAY}"
    assert findings(confined, house, script, command=[str(program), "reviewer.py"]) == [str(tmp_path / "venv")]


def script_of(path: Path, first: str) -> Path:
    """A bot that says which interpreter runs it and what it imports from its environment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "import json, sys, botlib\nsys.stdin.read()\nsaid = [sys.prefix, botlib.NAME]\n"
    path.write_text(f"{first}\n{body}{SAY}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("kind", ["console script", "linked", "copied", "long path", "by name"])
def test_a_bot_in_its_own_environment_starts(
    kind: str, confined: ConfinedCheckout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pip, pipx and uv put it there: its first line leads to an interpreter that lies in no folder of the system."""
    own = tmp_path / ("with a space" if kind == "long path" else "own")
    venv.create(own, symlinks=kind != "copied")
    library = own / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/botlib.py"
    library.write_text("NAME = 'own'\n")
    python = own / "bin" / "python"
    first = {
        "long path": f"""#!/bin/sh\n\'\'\'exec' "{python}" "$0" "$@"\n' \'\'\'""",
        "by name": "#!/usr/bin/env python",
    }.get(kind, f"#!{python}")
    monkeypatch.setenv("PATH", f"{python.parent}:{os.environ['PATH']}")
    place = tmp_path / "elsewhere" / "bot" if kind == "by name" else python.with_name("bot")
    bot = script_of(place, first)
    if kind == "linked":
        bot = tmp_path / "home" / "bin" / "bot"
        bot.parent.mkdir(parents=True)
        bot.symlink_to(place)
    reviewer = reviewers.REVIEWERS.make("command", {"command": [str(bot)], "timeout": 30}, tmp_path)
    (finding,) = reviewer.review(confined.pull_request(), confined).findings
    assert json.loads(finding.body) == [str(own), "own"]


def test_a_shim_of_pyenv_is_what_it_starts(
    confined: ConfinedCheckout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "pyenv"
    venv.create(root / "versions" / "3", symlinks=True)
    python = root / "versions" / "3" / "bin" / "python"
    for path, text in (("bin/pyenv", f"#!/bin/sh\necho {python}\n"), ("shims/python", "#!/bin/sh\nexit 3\n")):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
        (root / path).chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(root))
    monkeypatch.setenv("PATH", f"{root / 'shims'}:{os.environ['PATH']}")
    script = f"said = [sys.prefix]\n{SAY}"
    assert findings(confined, tmp_path, script, command=["python", "reviewer.py"]) == [str(root / "versions" / "3")]


def test_the_files_of_the_command_cannot_be_changed(confined: ConfinedCheckout, house: Path) -> None:
    script = f"""
try:
    open(__file__, "a").close()
    said = ["written"]
except OSError:
    said = ["refused"]
{SAY}
"""
    assert findings(confined, house, script) == ["refused"]


def test_a_command_that_fills_its_clone_is_ended(confined: ConfinedCheckout, house: Path) -> None:
    script = "import time\nopen('large', 'wb').write(bytes(20_000_000))\ntime.sleep(60)\n"
    with pytest.raises(ReviewerError, match=r"the command reviewer \S+ wrote more to the disk than it may; it printed"):
        findings(confined, house, script)


def test_ruff_works(confined: ConfinedCheckout) -> None:
    review = replace(RuffReviewer(), select=("B",)).review(confined.pull_request(), confined)
    assert [finding.rule for finding in review.findings] == ["B006"]

"""Pages as strangers run them: outside of a clone, without root, with the wheel and what the page says it needs.

A page on whose commands the runtime has no say runs once.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.instances import load_instance
from pytest_crab.locks import locked_file
from scripted_forge import ScriptedForge

ROOT = Path(__file__).parents[2]
#: Plays a page on a runtime with further variables: what starts programs in its folder, as who ran the page.
Play = Callable[..., Callable[..., None]]
SOCKET = Path("/var/run/docker.sock")
_BROKEN = re.compile(r"^(?:Error|ERROR|Traceback|Usage)\b.*|^bash: .*", re.MULTILINE)


def needs(page: Path) -> str:
    """What the page says that it needs."""
    (line,) = re.findall(r"^Needs: (.*?)\n\n", page.read_text(), re.MULTILINE | re.DOTALL)
    return str(line)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that any user can read; it is not below a folder of the one who runs the tests."""
    folder = Path(tempfile.mkdtemp(prefix="s", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def stranger(place: Path) -> dict[str, Any]:
    """The arguments of subprocess.run for a user without root, to whom ``place``/home belongs."""
    home = place / "home"
    home.mkdir()
    if os.geteuid() != 0:
        return {}
    os.chown(home, 65534, 65534)
    return {"user": 65534, "group": 65534, "extra_groups": []}


def python_for(stranger: dict[str, Any]) -> str:
    """A CPython that this user may start."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            subprocess.run([python, "-c", "import venv"], check=True, cwd="/", **stranger)
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    pytest.skip("no CPython here is for other users")


pytestmark = [pytest.mark.slow(reason="each page is run whole, in an environment of its own"), pytest.mark.bubblewrap]
docker = pytest.mark.docker


@pytest.fixture
def play(
    place: Path, stranger: dict[str, Any], wheel: Path, uv: Callable[..., None], run_page: Callable[..., list[str]],
    shared_folder: Path,
) -> Play:  # fmt: skip
    def run(page: str, runtime: str, **variables: str) -> Callable[..., None]:
        needed = needs(ROOT / page)
        assert "no Docker" not in needed or runtime == "local"
        if runtime == "docker" and stranger:
            stranger["extra_groups"] = [SOCKET.stat().st_gid]  # whose members may ask the engine
        extras = ",".join(re.findall(r"extra `(\w+)`", needed))
        uv("venv", "--seed", "--python", python_for(stranger), place / "venv")
        uv("pip", "install", "--python", place / "venv" / "bin" / "python", f"pytest-crab[{extras}] @ {wheel.as_uri()}")
        if "an environment of your own" in needed and stranger:
            subprocess.run(["chown", "-R", "65534:65534", place / "venv"], check=True)
        home = place / "home"
        env = {"HOME": str(home), "PATH": f"{place}/venv/bin:/usr/local/bin:/usr/bin:/bin", "CRAB_PROOF_RUNS": "1"}
        env |= {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "LANG", "DOCKER_"))}
        # Root's environment keeps no bytecode of a stranger's, and each program would compile it all anew.
        env |= {"CRAB_RUNTIME": runtime, "PYTHONPYCACHEPREFIX": f"{home}/.bytecode", **variables}
        with locked_file(
            shared_folder / f"{Path(page).name}.lock"
        ):  # a page that names a port is played once at a time
            printed = run_page(ROOT / page, home, env, **stranger)
        shown = re.sub(
            r"^```(?:text|console)\n(.*?)^```$", r"\1", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL
        )
        broken = [line for output in printed for line in _BROKEN.findall(output)]
        assert [line for line in broken if line[:40] not in shown] == []

        def start(*argv: str, folder: str = ".") -> None:
            argv = (f"{place}/venv/bin/{argv[0]}", *argv[1:])
            subprocess.run(argv, cwd=home / folder, env=env, check=True, **stranger)

        return start

    return run


@pytest.mark.parametrize(
    ("page", "runtime"),
    [
        pytest.param("README.md", "docker", marks=docker),
        ("docs/tutorial/first-run.md", "local"),  # the README's commands are its second block
        ("docs/how-to/ten-minutes.md", "local"),
        ("docs/how-to/ask-a-model.md", "local"),
        pytest.param("docs/how-to/ask-a-model.md", "docker", marks=docker),
    ],
)
def test_a_page_runs_where_there_is_what_it_says_it_needs(page: str, runtime: str, play: Play) -> None:
    play(page, runtime)


def test_a_newcomer_ends_with_a_certified_instance(place: Path, play: Play) -> None:
    play("docs/tutorial/first-instance.md", "local")
    mine = place / "home" / "mine"
    assert load_instance(mine / "till-7").environment.packages
    assert '"proved": true' in (mine / "proofs.json").read_text()


@pytest.mark.parametrize("runtime", ["local", pytest.param("docker", marks=docker)])
def test_a_person_comes_from_nothing_to_a_gated_bot(runtime: str, place: Path, play: Play) -> None:
    event = {"pull_request": {"number": 7, "head": {"sha": "b" * 40, "repo": {"full_name": "owner/name"}}}}
    (place / "event.json").write_text(json.dumps(event))
    with ScriptedForge() as forge:
        github = {
            "GITHUB_API_URL": forge.url, "GITHUB_SERVER_URL": forge.url, "GITHUB_REPOSITORY": forge.project,
            "GITHUB_EVENT_PATH": str(place / "event.json"), "GITHUB_TOKEN": next(iter(forge.accounts)),
        }  # fmt: skip
        start = play("docs/how-to/ci.md", runtime, **github)
        start("pytest-crab", "comment", ".crab/report", folder="our-bot")
        (note,) = forge.notes
    assert "**Gate failed, exit status 1.**" in note.body
    assert "mine: 1 lost and 0 gained against the baseline" in note.body

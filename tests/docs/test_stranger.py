"""Pages as strangers run them: outside of a clone, without root, with the wheel and what the page says it needs."""

from __future__ import annotations

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

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/tutorial/first-run.md",
    "docs/tutorial/first-instance.md",
    "docs/how-to/ten-minutes.md",
    "docs/how-to/ask-a-model.md",
    "docs/how-to/ci.md",
]
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


@pytest.mark.slow(reason="each page is run whole, in an environment of its own")
@pytest.mark.bubblewrap
@pytest.mark.parametrize("runtime", ["local", pytest.param("docker", marks=pytest.mark.docker)])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_where_there_is_what_it_says_it_needs(
    page: str,
    runtime: str,
    place: Path,
    stranger: dict[str, Any],
    wheel: Path,
    uv: Callable[..., None],
    run_page: Callable[..., list[str]],
) -> None:
    needed = needs(ROOT / page)
    if runtime == "docker":
        if "no Docker" in needed:
            pytest.skip("the page says that it needs none")
        if stranger:
            stranger["extra_groups"] = [SOCKET.stat().st_gid]  # whose members may ask the engine
    extras = ",".join(re.findall(r"extra `(\w+)`", needed))
    uv("venv", "--seed", "--python", python_for(stranger), place / "venv")
    uv("pip", "install", "--python", place / "venv" / "bin" / "python", f"pytest-crab[{extras}] @ {wheel.as_uri()}")
    if "an environment of your own" in needed and stranger:
        subprocess.run(["chown", "-R", "65534:65534", place / "venv"], check=True)
    home = place / "home"
    env = {"HOME": str(home), "PATH": f"{place}/venv/bin:/usr/local/bin:/usr/bin:/bin", "CRAB_PROOF_RUNS": "1"}
    env |= {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "LANG", "DOCKER_"))}
    printed = run_page(ROOT / page, home, {**env, "CRAB_RUNTIME": runtime}, **stranger)
    shown = re.sub(
        r"^```(?:text|console)\n(.*?)^```$", r"\1", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL
    )
    broken = [line for output in printed for line in _BROKEN.findall(output)]
    assert [line for line in broken if line[:40] not in shown] == []

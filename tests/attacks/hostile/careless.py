"""The twin of a revision: a command that trusts the tree, run on this machine without any sandbox."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hostile.confined import SECRET

import pytest_crab

if TYPE_CHECKING:
    from hostile.shape import Revision

_NO_INI = ["test_c0.py", "-x", "--tb=short", "--no-header", "-c", "/dev/null", "-p", "no:cacheprovider"]

#: Plugins of these tests' own environment, which are not what is attacked and most of a start.
_WITHOUT = " ".join(f"-p no:{name}" for name in ("pytest_crab.plugin", "hypothesispytest", "anyio", "xdist"))

#: Tells in one line what pytest came to, and believes that nobody else writes where it does.
_SUPERVISOR = """\
import json, subprocess, sys
null = subprocess.DEVNULL
done = subprocess.run([sys.executable, "-m", "pytest", *sys.argv[1:]], stdin=null, stdout=null, stderr=null)
print(json.dumps({"run": {"passed": done.returncode == 0}}), flush=True)
sys.exit(done.returncode)
"""
#: Options of a twin's sandbox: a process space of its own, and what it shows of the machine. That is not ``/``:
#: ``bwrap`` fails where a mount below what it shows, such as a container's, ends meanwhile.
SANDBOX = ["--unshare-pid", "--die-with-parent", "--proc", "/proc", "--dev", "/dev"]
for _path in ("/usr", "/bin", "/lib", "/lib64", "/etc", sys.base_prefix, sys.prefix, *pytest_crab.__path__):
    SANDBOX += ["--ro-bind-try", _path, _path]

#: What a careless command is: its words, and behind them the file; a first ``python`` is the one of ``careless``.
COMMANDS = {
    "plain": ["python", "-m", "pytest", "test_c0.py"],
    "no ini": ["python", "-m", "pytest", *_NO_INI],
    "with the project's tests": ["python", "-m", "pytest", "test_c0.py", "test_other.py"],
    "junit": ["python", "-m", "pytest", "test_c0.py", "--junitxml=report.xml"],
    "plain assertions": ["python", "-m", "pytest", "--assert=plain", *_NO_INI],
    "python on PATH": ["/usr/bin/env", "python", "-m", "pytest", *_NO_INI],
    "pytest on PATH": ["/usr/bin/env", "pytest", *_NO_INI],
    "env on PATH": ["sh", "-c", 'env LANG=C python -m pytest "$@"', "sh", *_NO_INI],
    "a supervisor in a sandbox": [  # its first process holds the streams of what it runs
        "sh", "-c", 'exec bwrap --bind "$HOME" "$HOME" "$@"', "sh", *SANDBOX,
        sys.executable, "-c", _SUPERVISOR, *_NO_INI,
    ],
    "the tree's venv": [
        "sh", "-c", 'python=python; test -x .venv/bin/python && python=.venv/bin/python; exec $python -m pytest "$@"',
        "sh", *_NO_INI,
    ],
}  # fmt: skip


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a folder; a text that starts as a script does is one."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        if content[:2] in ("#!", b"#!"):
            (folder / path).chmod(0o755)


def filled(files: Mapping[str, str | bytes], doors: Mapping[str, str]) -> dict[str, str | bytes]:
    """The files with the names of the host's doors in them."""
    told = dict(files)
    for path, content in files.items():
        if isinstance(content, str):
            pattern = "|".join(re.escape(f"{{{name}}}") for name in doors)
            told[path] = re.sub(pattern, lambda found: doors[found[0][1:-1]], content)
    return told


def careless(attack: Revision, tree: Mapping[str, str | bytes], folder: Path) -> bool:
    """Whether a command that trusts the tree takes the attack for right; ``tree`` is head with its oracle."""
    place = folder / "tree"
    write(place, {**tree, **attack.files})
    python = sys.executable
    if attack.around:
        attack.around(place)
    if attack.install:
        subprocess.run([python, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
        python = str(folder / "venv" / "bin" / "python")
        (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        (packages / "pytest.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        subprocess.run([python, "setup.py"], cwd=place, check=True)
    path = os.pathsep.join([str(place / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {"PATH": path, "HOME": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", SECRET: os.environ[SECRET]}
    env["PYTEST_ADDOPTS"] = _WITHOUT
    env["PYTHONPATH"] = os.pathsep.join(str(place / root) for root in attack.roots.split(":"))
    first, *others = COMMANDS[attack.command]
    argv = [python if first == "python" else first, *others]
    done = subprocess.run(argv, cwd=place, env=env, capture_output=True, text=True, errors="replace", timeout=600)
    if attack.reads == "junit":
        return 'failures="0"' in (place / "report.xml").read_text()
    if attack.reads == "log":
        return "passed" in done.stdout and "failed" not in done.stdout
    if attack.reads == "line":
        return '"passed": true' in done.stdout
    return done.returncode == 0

"""Installing a revised tree again: what is sent in, and how little of it is believed."""

from __future__ import annotations

import base64
import importlib.resources
import json
import re
from collections.abc import Callable
from collections.abc import Iterable

from pytest_crab.errors import CrabError
from pytest_crab.errors import EngineError
from pytest_crab.errors import InstallFailed
from pytest_crab.protocols import Completed
from pytest_crab.protocols import FileChange
from pytest_crab.protocols import Image
from pytest_crab.runtimes.environments import install_script
from pytest_crab.types import Instance

#: The program that installs; see inside/install.py.
SCRIPT = importlib.resources.files("pytest_crab.runtimes.inside").joinpath("install.py").read_text(encoding="utf-8")

_FILE = re.compile(r"[A-Za-z0-9._+!-]{1,200}\.dist-info/(METADATA|entry_points\.txt|top_level\.txt)")
_MOST_FILES = 30
_MOST_TEXT = 256 * 1024


def reinstalled(
    instance: Instance, changes: Iterable[FileChange], install: Callable[[bytes], Completed]
) -> dict[str, str]:
    """Run ``install`` on a revised tree; the project's own metadata files, path to text.

    Raises InstallFailed; an install that fails on head as well is EngineError, since nobody revised that.
    """
    if not instance.environment.install:
        return {}
    done = install(request(changes))
    if done.exit_code == 0:
        return metadata(done.stdout)
    raise failure(instance, done, install(request(())))


def command_line(image: Image, instance: Instance, distributions: str) -> tuple[str, ...]:
    """What installs inside a sandbox; ``distributions`` is where the image lists what was there before the project."""
    settings = {
        "workdir": image.workdir,
        "site": image.site[0],
        "distributions": distributions,
        "script": install_script(instance.environment),
    }
    return (image.python, "-I", "-S", "-c", SCRIPT, json.dumps(settings))


def request(changes: Iterable[FileChange]) -> bytes:
    """The changes as ``SCRIPT`` reads them."""
    encoded = [
        [change.path, change.mode, None if change.content is None else base64.b64encode(change.content).decode()]
        for change in changes
    ]
    return json.dumps(encoded).encode()


def metadata(printed: bytes) -> dict[str, str]:
    """The metadata files in what ``SCRIPT`` printed; foreign code may have written it, so all else is dropped."""
    try:
        said = json.loads(printed)
    except ValueError as error:
        raise EngineError("the install of a revised tree printed no result") from error
    if not isinstance(said, dict):
        raise EngineError("the install of a revised tree printed something that is not a result")
    kept = {
        path: text
        for path, text in sorted(said.items())
        if _FILE.fullmatch(path) and isinstance(text, str) and len(text) <= _MOST_TEXT
    }
    return dict(list(kept.items())[:_MOST_FILES])


def last_line(done: Completed) -> str:
    """The last line that a command printed, or how it ended without one."""
    if done.timed_out:
        return "it did not end in time"
    if done.too_much_disk:
        return "it wrote more to the disk than it may"
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else f"it printed nothing and ended with {done.exit_code}"


def failure(instance: Instance, done: Completed, control: Completed) -> CrabError:
    """Whose fault a failed install is, as the error to raise; ``control`` is the same install on head."""
    reason = last_line(done)
    if control.exit_code != 0:
        return EngineError(f"{instance.id}: the install of head does not work in a sandbox without network: {reason}")
    return InstallFailed(f"{instance.id}: the revised tree does not install: {reason}")

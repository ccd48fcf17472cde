"""Installing a revised tree again: what is sent in, and how little of it is believed."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from pytest_crab.ecosystems import COMPILED
from pytest_crab.ecosystems.building import install_script
from pytest_crab.errors import DiskShort, EngineError, InstallFailed
from pytest_crab.harness import channel, encode_changes
from pytest_crab.program_texts import program_text
from pytest_crab.protocols import Command, Completed, FileChange, Image, InstallResult
from pytest_crab.runtimes import build_failures
from pytest_crab.types import Instance

#: The program that installs; see inside/install.py.
SCRIPT = program_text("pytest_crab.runtimes.inside", "install")

_FILE = re.compile(r"[A-Za-z0-9._+!-]{1,200}\.dist-info/(METADATA|entry_points\.txt|top_level\.txt)")
_MOST_FILES = 30
_MOST_TEXT = 256 * 1024


def reinstall(
    image: Image,
    instance: Instance,
    changes: Iterable[FileChange],
    tracked: Collection[str],
    distributions: str,
    install: Callable[[Command], Completed],
) -> InstallResult:
    """Install a revised tree by ``install``, which has head built; what that made.

    ``tracked`` are the paths of head's files; nothing else of head's stays. ``distributions`` is where the image lists
    what was there before the project. ``install`` ends what takes longer than the instance's timeout. Raises
    InstallFailed, whatever the revision did to its install or to what that tells; an install that fails on head as well
    is EngineError, since no revision broke that.
    """
    if not instance.required_environment.install:
        return InstallResult()
    argv = _command_line(image, instance, distributions)
    revised = request(changes, tracked)
    seconds = instance.required_environment.timeout
    first = _attempt(argv, revised, install, seconds)
    if isinstance(first, InstallResult):
        return first
    control = _attempt(argv, request((), tracked), install, seconds)
    if not isinstance(control, InstallResult):
        sentence = f"{instance.id}: the install of head does not work in a sandbox without network: {control}"
        raise EngineError(str(first) if isinstance(first, DiskShort) else sentence)
    # Another program may have filled the disk or slowed the machine; what this tree does it does again.
    again = _attempt(argv, revised, install, seconds) if isinstance(first, DiskShort | TimeoutError) else first
    if isinstance(again, InstallResult):
        return again
    raise InstallFailed(f"{instance.id}: the revised tree does not install: {again}")


def _attempt(
    argv: Sequence[str], stdin: bytes, install: Callable[[Command], Completed], seconds: int
) -> InstallResult | str | DiskShort | TimeoutError:
    """Install once; what that made, or why it made nothing."""
    key = channel.new_key()
    try:
        done = install(Command(argv=argv, stdin=key + stdin, first=True))
    except DiskShort as error:
        return error
    received = channel.read_messages(key, done.stdout)
    if received.foreign:
        return "another process wrote into its result"
    if done.timed_out:
        return TimeoutError(f"it did not end within {seconds} s, the instance's timeout")
    if done.exit_code != 0 or not received.whole:
        return build_failures.brief(dataclasses.replace(done, stdout=b""))
    return believed(received.messages[-1])


def _command_line(image: Image, instance: Instance, distributions: str) -> tuple[str, ...]:
    settings = {
        "workdir": image.workdir,
        "site": image.site[0],
        "distributions": distributions,
        "script": install_script(instance.required_environment),
        "compiled": COMPILED,
    }
    return (image.interpreter, "-I", "-S", "-c", channel.program(SCRIPT), json.dumps(settings))


def request(changes: Iterable[FileChange], tracked: Iterable[str]) -> bytes:
    """The changes of head's files as ``SCRIPT`` reads them."""
    return json.dumps({"tracked": sorted(tracked), "changes": encode_changes(changes)}).encode()


def believed(sent: bytes) -> InstallResult:
    """Read what ``SCRIPT`` sent; foreign code may have written the files that it tells of, so all else is dropped."""
    said: Mapping[str, Any] = json.loads(sent)
    metadata = {
        path: text
        for path, text in sorted(said["metadata"].items())
        if _FILE.fullmatch(path) and isinstance(text, str) and len(text) <= _MOST_TEXT
    }
    return InstallResult(
        metadata=dict(list(metadata.items())[:_MOST_FILES]), compiled=said["compiled"], modules=said["modules"]
    )

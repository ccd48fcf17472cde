"""The harness on its own: commands without any sandbox, in folders of this machine."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_crab.protocols import Command, Completed, Image, Limits


class Plain:
    """The part of protocols.Runtime that runs commands, without any sandbox: the harness on its own."""

    def execute(
        self, image: Image, commands: Sequence[Command], *, limits: Limits, seconds: float
    ) -> tuple[Completed, ...]:
        (command,) = commands
        done = subprocess.run(list(command.argv), input=command.stdin, capture_output=True, cwd="/", timeout=seconds)
        return (Completed(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr),)


def image_in(folder: Path, **facts: Any) -> Image:
    """An image whose folders lie in ``folder``, with this interpreter and its pytest."""
    for name in ("tree", "work", "scratch"):
        (folder / name).mkdir()
    return Image(
        key="attacks", reference="attacks", tree=str(folder / "tree"), workdir=str(folder / "work"),
        interpreter=sys.executable, site=(sysconfig.get_path("purelib"),), scratch=str(folder / "scratch"),
        contained=False, facts={"counters": {}, **facts},
    )  # fmt: skip

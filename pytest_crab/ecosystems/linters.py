"""Linters: programs that look for faults in code without a model, and how each is run."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Linter:
    """A linter by rules of this package's choice. It reads no settings of the project, which might run something."""

    #: The program, as it is called on PATH.
    program: str
    #: The arguments before the files, of one that is run on this machine.
    arguments: tuple[str, ...] = ()
    #: The script for sh of one that needs the environment, and is run in it: ``$0`` is the program on this machine,
    #: ``$@`` are the files. Where the environment is not for the language it says that there is nothing.
    script: str | None = None
    #: How many folders above the program's own file lies what a script needs of this machine; None: it needs nothing.
    above: int | None = None
    #: The arguments by which the program prints its version.
    version: tuple[str, ...] = ("--version",)
    #: The format of what it prints (docs/reference/command.md).
    format: str
    #: Makes that of what it prints.
    told: Callable[[str], str] | None = None
    #: With which it ends where it did its work.
    exit_codes: tuple[int, ...] = (0, 1)
    #: How one gets it, as the end of a sentence.
    source: str

    @property
    def is_of_environment(self) -> bool:
        """Return whether the environment itself has the program, and this machine need not."""
        return self.script is not None and self.above is None

    def find(self) -> Path | None:
        """Return the program, of this package's environment first, else on PATH; None: it is not here."""
        beside = str(Path(sys.executable).parent)
        found = shutil.which(self.program, path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
        return None if found is None else Path(found).absolute()


def rdjson(remarks: Iterable[Mapping[str, Any]]) -> str:
    """Return a report in this format of remarks with ``path``, ``start``, ``message`` and ``rule``.

    They may have ``end`` and ``severity``.
    """
    return json.dumps(
        {
            "diagnostics": [
                {
                    "message": one["message"],
                    "location": {
                        "path": one["path"],
                        "range": {"start": {"line": one["start"]}, "end": {"line": one.get("end") or one["start"]}},
                    },
                    "severity": one.get("severity"),
                    "code": {"value": one.get("rule")},
                }
                for one in remarks
            ]
        }
    )

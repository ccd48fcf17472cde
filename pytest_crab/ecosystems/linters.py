"""Linters: programs that look for faults in code without a model, and how each is run."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab.errors import ReviewerError
from pytest_crab.text import output_lines

#: The rule of what a compiler says where it cannot go on.
COMPILER = "compiler"
#: Begin the lines of ``in_each_folder`` itself; what follows are a folder, and the exit code there.
_FOLDER, _ENDED = "crab: folder ", "crab: ended "


@dataclass(frozen=True, slots=True, kw_only=True)
class Linter:
    """A linter by rules of this package's choice. It reads no settings of the project, which might run something."""

    #: The program, as it is called on PATH.
    program: str
    #: The arguments before the files, of one that is run on this machine.
    arguments: tuple[str, ...] = ()
    #: Ends of files that several languages share, each with the arguments by which these are read as of the other one.
    others: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: Folders of this machine that the program reads to start, beside its own, where they are there.
    readable: tuple[str, ...] = ()
    #: The line for sh that fills an empty folder for one that takes options from files of the folder where it starts.
    apart: str | None = None
    #: The script for sh of one that needs an environment for the language, and is run in it: ``$0`` is the program on
    #: this machine, ``$@`` are the files.
    script: str | None = None
    #: How many folders above the program's own file lies what a script needs of this machine; None: it needs nothing.
    above: int | None = None
    #: The arguments by which the program prints its version.
    version: tuple[str, ...] = ("--version",)
    #: The format of what it prints (docs/reference/command.md), if that is one.
    format: str = "rdjson"
    #: Reads what it prints, where that is no format; see ``rdjson``. Raises ReviewerError where the linter failed.
    remarks: Callable[[str], Iterable[Mapping[str, Any]]] | None = None
    #: The rules of what it says of a file or package that it looks at no further.
    stopping: tuple[str, ...] = ()
    #: With which it ends where it did its work.
    exit_codes: tuple[int, ...] = (0, 1)
    #: How one gets it, as the end of a sentence.
    source: str

    @property
    def is_of_environment(self) -> bool:
        """Return whether the environment itself has the program, and this machine need not."""
        return self.script is not None and self.above is None

    def report(self, printed: str) -> str:
        """Return what it printed in its format. Raises ReviewerError."""
        return printed if self.remarks is None else rdjson(self.remarks(printed))

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


def needs(program: str) -> str:
    """Return the line of a script that ends it where the environment has no such program."""
    return f"command -v {program} > /dev/null || {{ echo 'the environment has no {program}' >&2; exit 3; }}\n"


def in_each_folder(program: str, folders: str, command: str) -> str:
    """Return a script that runs a command in each of the folders that another one prints.

    ``remarks_of`` reads what it prints. ``program`` is what the environment has to have.
    """
    return f"""\
{needs(program)}{folders} | sort -u | while IFS= read -r folder; do
    (cd "$folder" && echo "{_FOLDER}$(pwd)" && {command}) < /dev/null 2>&1
    echo "{_ENDED}$?"
done
"""


def remarks_of(
    program: str, text: str, read: Callable[[str, str], Iterable[Mapping[str, Any]]]
) -> Iterator[Mapping[str, Any]]:
    """Yield what ``read`` makes of each folder and of what a program printed there.

    Raises ReviewerError where a command failed and the compiler does not say why.
    """
    folder, lines, ended = "", list[str](), 0
    for line in output_lines(text):
        if line.startswith(_FOLDER):
            folder, lines = line.removeprefix(_FOLDER), []
        elif line.startswith(_ENDED):
            body = "\n".join(lines)
            found = list(read(folder, body))
            if line != f"{_ENDED}0" and all(one["rule"] != COMPILER for one in found):
                where = f" in {folder}" if folder else ""
                told = next((one for one in lines if one.startswith("error")), lines[-1] if lines else "")
                raise ReviewerError(f"{program} failed{where}: {told[:300]!r}; run it there by hand")
            yield from found
            folder, lines, ended = "", [], ended + 1
        else:
            lines.append(line)
    if not ended:
        raise ReviewerError(f"{program} was run in no folder; look at the paths of the pull request's files")

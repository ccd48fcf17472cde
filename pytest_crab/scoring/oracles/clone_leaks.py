"""The leak proof of a clone: what contestants whose programs are the host's own see of the instance and its project."""

from __future__ import annotations

from pathlib import Path

from pytest_crab.ecosystems import is_copy, system_packages
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.text import split_lines

#: Prints what is mounted, and what lies in some folders and is not empty: a name alone cannot be taken away.
_LOOK = """
shows() {
    [ -d "$1" ] || { [ -s "$1" ]; return; }
    for inner in "$1"/*; do
        [ ! -e "$inner" ] || return 0
    done
    return 1
}
while read -r line; do echo "$line"; done < /proc/self/mountinfo
for folder do
    for path in "$folder"/*; do
        ! shows "$path" || echo "$path"
    done
done
"""


def clone_leak(context: ScoringContext) -> str | None:
    """Return how a clone tells of the instance or of its project, as a clause; None if it does not.

    Where clones have no sandbox they show all that this machine has, and only authored instances get there.
    """
    folder = Path(context.instance.folder).resolve()
    known = [str(place) for place in (folder, *folder.parents) if len(place.parts) > 1]
    patterns = " ".join(system_packages())
    done = context.look_into_clone(["sh", "-c", f'set -- "$@" {patterns}\n{_LOOK}', "sh", *known])
    if done is None:
        return None
    lines = split_lines(done.stdout.decode("utf-8", "surrogateescape"))
    if done.exit_code != 0 or not lines:
        return f"a clone could not be looked at (exit code {done.exit_code})"
    for line in lines:
        if str(folder) in line:
            return f"a clone shows the instance: {line[:200]!r}"
        if line.startswith("/") and is_copy(line.rpartition("/")[2], context.instance.project):
            return f"a clone shows an installed copy of the project: {line[:200]}"
    return None

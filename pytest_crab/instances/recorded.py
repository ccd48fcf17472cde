"""The files of a set's recorded results: <set>/recorded/<reviewer>/<instance id>.json and .diff."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_crab.errors import AgentError, ReviewerError
from pytest_crab.types import Instance

#: The status of a trial whose review or revision is not on record, so that nothing can be replayed.
NOT_ON_RECORD = "not_on_record"

#: The folder beside the instances of a set; none of it is collected, checked or locked.
FOLDER = "recorded"

#: Bytes: more than this is no review and no revision.
MOST_BYTES = 64 << 20

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


def recorded_file(instance: Instance, reviewer: str, suffix: str) -> Path:
    """Return the path of a reviewer's recorded result (.json) or revision (.diff); the file may be missing."""
    return Path(instance.folder).parent / FOLDER / reviewer / f"{instance.id}{suffix}"


def is_recorded_name(reviewer: str) -> bool:
    """Return True if results can be recorded under a name: up to 60 letters, digits, dots, underscores and hyphens."""
    return _NAME.fullmatch(reviewer) is not None


def require_recordings(kind: str, place: str | None, reviewer: str | None, folder: str) -> None:
    """Raise ValueError unless either ``place``, a folder below ``folder``, or a reviewer's name says where they lie.

    ``kind`` names the setting: reviews or revisions.
    """
    if (place is None) == (reviewer is None):
        raise ValueError(f"either {kind}, a folder, or reviewer, a name in the set's recorded results, is needed")
    if reviewer is not None and not is_recorded_name(reviewer):
        raise ValueError(f"reviewer is {reviewer!r}; it should be a name in the set's recorded results")
    if place is not None and not Path(folder, place).is_dir():
        raise ValueError(f"{kind} names {place}, which is no folder")


def recording_of(instance: Instance, suffix: str, place: str | None, reviewer: str | None, folder: str) -> Path:
    """Return the file of an instance's recording, as settings say that ``require_recordings`` has passed."""
    if reviewer is not None:
        return recorded_file(instance, reviewer, suffix)
    return Path(folder, place or "", f"{instance.id}{suffix}")


def read_recording(file: Path, failure: type[ReviewerError | AgentError]) -> bytes:
    """Return what a recording holds. Raises ``failure``, also for what is no file or is too long to be one of these."""
    try:
        size = file.stat().st_size
        if not file.is_file():  # a pipe or a device has no end
            problem = "it is no file"
        elif size > MOST_BYTES:
            problem = "it is too large"
        else:
            return file.read_bytes()
    except OSError as error:
        problem = str(error.strerror)
    what = "review" if failure is ReviewerError else "revision"
    raise failure(f"{file}: no {what} is recorded there ({problem}); record one", NOT_ON_RECORD)

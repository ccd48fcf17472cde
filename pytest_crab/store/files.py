"""A store in a folder: one JSON file per finished step, written aside and renamed, locked with flock."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.atomic import write_atomically
from pytest_crab.errors import Cancelled, StoreError
from pytest_crab.locks import lock_file

#: The kinds of objects that are kept: steps of trials and of curation, transcripts, and what models judged or scored.
STEPS = (
    *(
        "install",
        "proof",
        "review",
        "revision",
        "verdict",
        "explanation",
        "transcript",
        "audit",
        "judgement",
        "answers",
        "calibration",
    ),
    *("curation", "near-miss", "proposal", "surprisal", "infill", "cosines", "text-score", "tests"),
)

_KEY = re.compile(r"[0-9a-f]{64}")
_CACHE_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Finished steps of pytest-crab; safe to delete.\n"


class FileStore:
    """A protocols.Store below ``folder``, which is made when first written to.

    ``<folder>/steps/<step>/<k>/<key>.json`` holds one object, ``<folder>/parts`` what is noted of those being made,
    ``<folder>/cache`` what sources and environments keep for themselves, ``<folder>/damaged`` what could not be read.
    Many threads and processes may use one folder at once.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def cache(self) -> Path:
        """The folder in which sources and environments keep what can be made again."""
        return self.folder / "cache"

    def get(self, step: str, key: str) -> Any | None:
        """Return the plain value that was put under ``key``, or None.

        A damaged object is moved to ``damaged/`` and counts as absent. Raises StoreError if it cannot be read.
        """
        path = self.path(step, key)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(sentence("cannot be read", path, error)) from error
        try:
            envelope = json.loads(text)
            value = envelope["value"]
            sound = (
                envelope["step"] == step
                and envelope["key"] == key
                and envelope["sha256"] == serialization.digest(value)
            )
        except (ValueError, KeyError, TypeError):
            sound = False
        if not sound:
            return None if self._set_aside(path, text) else FileStore.get(self, step, key)
        return value

    def get_all(self, step: str, keys: Iterable[str]) -> dict[str, Any]:
        """Return the values that ``get`` returns of these objects of one step, by key. Raises StoreError."""
        return {key: self.get(step, key) for key in keys}

    def put(self, step: str, key: str, value: Any) -> None:
        """Keep a plain value durably before returning, and drop its notes.

        Raises StoreError, leaving what was there as it was.
        """
        path = self.path(step, key)
        value = serialization.dump(value)
        envelope = {"step": step, "key": key, "sha256": serialization.digest(value), "value": value}
        try:
            self._make_folder(path.parent)
            write_atomically(path, json.dumps(envelope, indent=1, sort_keys=True, allow_nan=False).encode())
        except OSError as error:
            raise StoreError(sentence("cannot be written", path, error)) from error
        self.drop_notes(step, key)

    @contextlib.contextmanager
    def lock(self, step: str, key: str, stopped: threading.Event | None = None) -> Iterator[None]:
        """Hold the right to make this one object, across threads and processes.

        Raises StoreError, and Cancelled once ``stopped`` is set while another process holds it.
        """
        path = self.folder / "locks" / f"{step}-{key}.lock"

        def check() -> None:
            if stopped is not None and stopped.is_set():
                raise Cancelled("the run was stopped while it waited for another that makes the same")

        try:
            self._make_folder(path.parent)
            handle = lock_file(path, check=check)
        except OSError as error:
            raise StoreError(sentence("cannot be locked", path, error)) from error
        try:
            yield
        finally:
            os.close(handle)

    def note(self, step: str, key: str, value: Any) -> None:
        """Keep a part of an object that is being made; it outlives this process, but not a power cut.

        For whoever holds the object's lock. Raises StoreError.
        """
        path = self._parts(step, key)
        line = json.dumps(serialization.dump(value), separators=(",", ":"), allow_nan=False)
        try:
            if not path.parent.exists():
                self._make_folder(path.parent)
            with path.open("ab") as file:
                file.write(line.encode() + b"\n")
        except OSError as error:
            raise StoreError(sentence("cannot be written", path, error)) from error

    def notes(self, step: str, key: str) -> list[Any]:
        """Return the plain parts that were noted of an object, in their order; without a half-written last one.

        Raises StoreError.
        """
        path = self._parts(step, key)
        try:
            lines = path.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(sentence("cannot be read", path, error)) from error
        return list(_sound(lines))

    def drop_notes(self, step: str, key: str) -> None:
        """Drop the parts of an object, if there are any. Raises StoreError."""
        _remove(self._parts(step, key))

    def parts(self, step: str) -> list[Path]:
        """Return the files with the notes on objects of a step."""
        place = self.folder / "parts"
        return [] if place.is_symlink() else sorted(place.glob(f"{step}-*.jsonl"))

    def _parts(self, step: str, key: str) -> Path:
        self.path(step, key)  # raises for no name of an object
        return self.folder / "parts" / f"{step}-{key}.jsonl"

    def forget(self, step: str, key: str) -> None:
        """Drop one object, if it is there. Raises StoreError."""
        _remove(self.path(step, key))

    def objects(self) -> Iterator[tuple[str, Path]]:
        """Yield (step, file) for every object, in a fixed order.

        What lies behind a link is none of it, nor is a file of another name: objects are removed.
        """
        for step in STEPS:
            place = self.folder / "steps" / step
            for path in () if place.is_symlink() else sorted(place.glob("*/*.json")):
                if _KEY.fullmatch(path.stem) and not path.parent.is_symlink():
                    yield step, path

    def path(self, step: str, key: str) -> Path:
        """Return the file that holds this object, if it is there. Raises ValueError for no name of an object."""
        if step not in STEPS or not _KEY.fullmatch(key):
            raise ValueError(f"no object can be called {step}/{key}")
        return self.folder / "steps" / step / key[:2] / f"{key}.json"

    def _make_folder(self, folder: Path) -> None:
        if not (self.folder / "CACHEDIR.TAG").exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            if not (self.folder / ".gitignore").exists():
                (self.folder / ".gitignore").write_text("*\n")
            write_atomically(self.folder / "CACHEDIR.TAG", _CACHE_TAG.encode())
        folder.mkdir(parents=True, exist_ok=True)

    def _set_aside(self, path: Path, text: bytes) -> bool:
        """Move a damaged object away; False: it has been made anew since its text was read."""
        damaged = self.folder / "damaged"
        try:
            damaged.mkdir(parents=True, exist_ok=True)
            if path.read_bytes() != text:
                return False
            path.replace(damaged / path.name)
        except FileNotFoundError:
            pass  # another reader was faster
        except OSError as error:
            raise StoreError(sentence("is damaged and cannot be moved aside", path, error)) from error
        return True


def _remove(path: Path) -> None:
    """Remove a file of the store, if it is there. Raises StoreError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(sentence("cannot be removed", path, error)) from error


def _sound(lines: Iterable[bytes]) -> Iterator[Any]:
    """Yield the values of those lines that are JSON: a line of a process that was killed may be cut."""
    for line in lines:
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def sentence(what: str, path: Path, error: OSError) -> str:
    """Return the sentence on a failure with a file of the store: what, why, and what to do."""
    option = "--crab-store (of a pytest-crab command: --store)"
    advice = {
        errno.ENOSPC: "free some space and run again, finished steps are kept",
        errno.EACCES: f"make it readable and writable, or choose another folder with {option}",
        errno.EROFS: f"choose a folder on a writable disk with {option}",
        errno.ENOTDIR: f"choose a folder with {option}",
    }.get(error.errno or 0, f"choose another folder with {option}")
    return f"the store file {path} {what} ({os.strerror(error.errno or 0)}): {advice}"

"""Bundles: the files that trials need, packed as the bytes of a tar archive, the same for the same files."""

from __future__ import annotations

import hashlib
import io
import json
import os
import posixpath
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.adapters import AdapterSpec
from pytest_crab.atomic import publish_folder
from pytest_crab.errors import BadInput
from pytest_crab.instances import resolvability
from pytest_crab.instances.files import link_bytes, pristine
from pytest_crab.instances.loading import FILE as INSTANCE_FILE
from pytest_crab.instances.lock import named_files
from pytest_crab.instances.recorded import FOLDER as RECORDED
from pytest_crab.runtimes.run_lock import remove_folder
from pytest_crab.types import Instance

#: Bytes: what is larger is better put where workers can reach it by themselves.
MOST_BYTES = 256 << 20

#: In the bundle of an instance: its record, and the folder that stands for its set.
_RECORD, _SET = "record.json", "set"

#: The modification time of all files: archives that are made of them know no time before 1980.
_TIME = 10**9

#: Characters: a longer text in a setting is no path.
_LONGEST_PATH = 1000


def pack(files: Mapping[str, Path | bytes], where: str) -> bytes:
    """Pack files, links and bytes by their path in the bundle. Raises BadInput, which names ``where``, and OSError."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, source in sorted(files.items()):
            _add(archive, name, source)
            if sink.tell() > MOST_BYTES:
                problem = f"its files are larger than {MOST_BYTES >> 20} MiB; give workers a source that they can fetch"
                raise BadInput(where, [problem])
    return sink.getvalue()


def unpack(bundle: bytes, into: Path) -> Path:
    """Return the folder below ``into`` with the files of a bundle, made at once or not at all. Raises OSError."""
    place = into / digest_of(bundle)
    if place.is_dir():
        return place
    into.mkdir(mode=0o755, parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=into, prefix=".unpacking-"))
    try:
        with tarfile.open(fileobj=io.BytesIO(bundle)) as archive:
            archive.extraction_filter = getattr(tarfile, "tar_filter", None)  # CPython has none before 3.11.4
            archive.extractall(aside)  # noqa: S202 - every name in a bundle is one that ``pack`` was given
        aside.chmod(0o755)
        publish_folder(aside, place)
    finally:
        remove_folder(aside)  # it is still there where this failed, or where another thread was faster
    return place


def digest_of(bundle: bytes) -> str:
    """Return the digest that names a bundle."""
    return hashlib.sha256(bundle).hexdigest()


def pack_instance(instance: Instance, beside: Iterable[str] = ()) -> bytes:
    """Pack an instance's record and all files that a trial reads of it, and these of its set. Raises BadInput."""
    set_folder = Path(instance.folder).parent
    try:
        files = _files_of(instance)
        files.update({f"{_SET}/{name}": set_folder / name for name in beside if (set_folder / name).is_file()})
        return pack(files, instance.id)
    except OSError as error:
        problem = f"{error.filename} cannot be read ({error.strerror}): fix it and run again"
        raise BadInput(instance.id, [problem]) from error
    except RuntimeError as error:  # what pathlib says of links in a circle
        raise BadInput(instance.id, [f"its files cannot be packed ({error}): fix them and run again"]) from error


def read_instance(place: Path) -> Instance:
    """Return the instance of an unpacked bundle, whose folder is there. Raises BadInput."""
    record = json.loads((place / _RECORD).read_bytes())
    problems: list[str] = []
    instance = serialization.read(Instance, {**record, "folder": str(place / _SET / record["folder"])}, problems)
    if instance is None:
        raise BadInput("what the controller sent", problems)
    return instance


def pack_spec(spec: AdapterSpec, at: str, files: dict[str, Path | bytes], where: str) -> AdapterSpec:
    """Return the spec with the paths that its settings name, below its folder, put among ``files`` under ``at``.

    An absolute path elsewhere stays: it is the worker's own. Raises BadInput for a relative one that leads out.
    """
    folder = Path(spec.folder).resolve()

    def settle(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: settle(each) for name, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [settle(each) for each in value]
        return _settle_path(value) if isinstance(value, str) else value

    def _settle_path(text: str) -> str:
        path = _path_of(text, folder)
        if path is None:
            return text
        if folder != path and folder not in path.parents:
            if Path(text).is_absolute():
                return text
            raise BadInput(where, [f"{text} lies outside {folder}, and workers have no copy; move it below"])
        name = path.relative_to(folder).as_posix()
        entries = [(f"{name}/{entry.path}", path / entry.path) for entry in pristine(path)] if path.is_dir() else []
        for inner, source in entries or [(name, path)]:
            if source.is_file():
                files[posixpath.normpath(f"{at}/{inner}")] = source
        return name if Path(text).is_absolute() else text

    return AdapterSpec(path=spec.path, settings=settle(spec.settings), folder=at)


def dockerfiles(rootdir: Path) -> bytes | None:
    """Pack the user's own Dockerfiles, if there are any. Raises BadInput, OSError."""
    found: dict[str, Path | bytes] = {
        f"dockerfiles/{path.name}": path for path in (rootdir / "dockerfiles").glob("*.Dockerfile")
    }
    return pack(found, "dockerfiles") if found else None


def _files_of(instance: Instance) -> dict[str, Path | bytes]:
    folder = Path(instance.folder)
    files: dict[str, Path | bytes] = {
        _RECORD: serialization.canonical({**serialization.dump(instance), "folder": folder.name}).encode()
    }
    for name in (INSTANCE_FILE, *named_files(instance)):
        files[_inside(f"{folder.name}/{name}", instance.id)] = folder / name
    if instance.source.tree is not None:
        tree = folder / instance.source.tree.path
        at = _inside(f"{folder.name}/{instance.source.tree.path}", instance.id)
        files |= {f"{at}/{entry.path}": tree / entry.path for entry in pristine(tree)}
    for path in (folder.parent / RECORDED).glob(f"*/{instance.id}.*"):
        files[f"{_SET}/{RECORDED}/{path.parent.name}/{path.name}"] = path
    marks = folder.parent / resolvability.FILE
    if marks.is_file():
        files[f"{_SET}/{resolvability.FILE}"] = _own_marks(marks, instance.id)
    return files


def _path_of(text: str, folder: Path) -> Path | None:
    """Return the file or folder that a text of a setting names, links resolved; None if it names none."""
    if not text.strip(". /") or len(text) > _LONGEST_PATH or "\n" in text or "\0" in text:
        return None
    try:
        path = Path(folder, text)
        return path.resolve() if path.exists() else None
    except OSError:
        return None


def _inside(name: str, where: str) -> str:
    """Return the path in the bundle of a file of a set. Raises BadInput for one that lies outside."""
    path = posixpath.normpath(name)
    if path.startswith(("../", "/")) or path == "..":
        raise BadInput(where, [f"{name} lies outside the set, and workers have no copy; move it into the set"])
    return f"{_SET}/{path}"


def _own_marks(path: Path, instance: str) -> bytes:
    """Return the set's marks of one instance alone; a file of another form goes as it is, for the trial to refuse."""
    content = path.read_bytes()
    try:
        marks = json.loads(content)
        agents = {
            agent: {name: each for name, each in kept.items() if name == instance}
            for agent, kept in marks["agents"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return content
    return serialization.canonical({**marks, "agents": agents}).encode()


def _add(archive: tarfile.TarFile, name: str, source: Path | bytes) -> None:
    """Add one file, of which only the content, the execute bit and where a link points count."""
    entry = tarfile.TarInfo(name)
    entry.mode, entry.mtime = 0o644, _TIME
    if isinstance(source, Path) and source.is_symlink():
        entry.type, entry.linkname = tarfile.SYMTYPE, os.fsdecode(link_bytes(source))
        archive.addfile(entry)
        return
    if isinstance(source, Path):
        entry.mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
        source = source.read_bytes()
    entry.size = len(source)
    archive.addfile(entry, io.BytesIO(source))

"""Files that trials need, packed to be sent: the same files give the same bytes, and so the same digest."""

from __future__ import annotations

import hashlib
import io
import json
import os
import posixpath
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.adapters import AdapterSpec
from pytest_crab.atomic import publish_folder
from pytest_crab.errors import BadInput
from pytest_crab.instances import resolved
from pytest_crab.instances.files import link_bytes
from pytest_crab.instances.files import pristine
from pytest_crab.instances.loading import FILE as INSTANCE_FILE
from pytest_crab.instances.lock import named_files
from pytest_crab.instances.recorded import FOLDER as RECORDED
from pytest_crab.runtimes.runs import remove_folder
from pytest_crab.types import Instance

#: Bytes: what is larger is better put where workers can reach it by themselves.
MOST_BYTES = 256 << 20

#: In the bundle of an instance: its record, and the folder that stands for its set.
_RECORD, _SET = "record.json", "set"

#: Characters: a longer text in a setting is no path.
_LONGEST_PATH = 1000


@dataclass(frozen=True, slots=True)
class Bundle:
    """Packed files; ``digest`` is that of ``content``, the packed bytes."""

    digest: str
    content: bytes


def pack(files: Mapping[str, Path | bytes], where: str) -> Bundle:
    """Files, links and bytes by their path in the bundle. Raises BadInput, which names ``where``, and OSError."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            _add(archive, name, files[name])
            if sink.tell() > MOST_BYTES:
                problem = f"its files are larger than {MOST_BYTES >> 20} MiB; give workers a source that they can fetch"
                raise BadInput(where, [problem])
    content = sink.getvalue()
    return Bundle(hashlib.sha256(content).hexdigest(), content)


def unpack(digest: str, content: bytes, into: Path) -> Path:
    """The folder ``into/<digest>`` with the files of a bundle, made at once or not at all. Raises BadInput, OSError."""
    place = into / digest
    if place.is_dir():
        return place
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise BadInput("what the controller sent", [f"files came as {found[:12]}, and {digest[:12]} was said"])
    into.mkdir(mode=0o755, parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=into, prefix=".unpacking-"))
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive:
                _put(aside, archive, member)
        aside.chmod(0o755)
        publish_folder(aside, place)
    finally:
        remove_folder(aside)  # it is still there where this failed, or where another thread was faster
    return place


def pack_instance(instance: Instance) -> Bundle:
    """Pack an instance's record and all files that a trial reads of it. Raises BadInput."""
    try:
        return pack(_files_of(instance), instance.id)
    except OSError as error:
        problem = f"{error.filename} cannot be read ({error.strerror}): mend it and run again"
        raise BadInput(instance.id, [problem]) from error
    except RuntimeError as error:  # what pathlib says of links in a circle
        raise BadInput(instance.id, [f"its files cannot be packed ({error}): mend them and run again"]) from error


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
    for path in sorted((folder.parent / RECORDED).glob(f"*/{instance.id}.*")):
        files[f"{_SET}/{RECORDED}/{path.parent.name}/{path.name}"] = path
    marks = folder.parent / resolved.FILE
    if marks.is_file():
        files[f"{_SET}/{resolved.FILE}"] = _own_marks(marks, instance.id)
    return files


def read_instance(place: Path) -> Instance:
    """The instance of an unpacked bundle, whose folder is there. Raises BadInput."""
    record = json.loads((place / _RECORD).read_bytes())
    problems: list[str] = []
    instance = serialization.read(Instance, {**record, "folder": str(place / _SET / record["folder"])}, problems)
    if instance is None:
        raise BadInput("what the controller sent", problems)
    return instance


def pack_spec(spec: AdapterSpec, at: str, files: dict[str, Path | bytes], where: str) -> AdapterSpec:
    """The spec with the paths that its settings name, below its folder, put among ``files`` under ``at``.

    An absolute path elsewhere stays: it is the worker's own. Raises BadInput for a relative one that leads out.
    """
    folder = Path(spec.folder).resolve()

    def settle(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: settle(each) for name, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [settle(each) for each in value]
        return _settled(value) if isinstance(value, str) else value

    def _settled(text: str) -> str:
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


def _path_of(text: str, folder: Path) -> Path | None:
    """The file or folder that a text of a setting names, links resolved; None if it names none."""
    if not text.strip(". /") or len(text) > _LONGEST_PATH or "\n" in text or "\0" in text:
        return None
    try:
        path = Path(folder, text)
        return path.resolve() if path.exists() else None
    except OSError:
        return None


def dockerfiles(rootdir: Path) -> Bundle | None:
    """The user's own Dockerfiles, if there are any. Raises BadInput, OSError."""
    found: dict[str, Path | bytes] = {
        f"dockerfiles/{path.name}": path for path in sorted((rootdir / "dockerfiles").glob("*.Dockerfile"))
    }
    return pack(found, "dockerfiles") if found else None


def _inside(name: str, where: str) -> str:
    """The path in the bundle of a file of a set. Raises BadInput for one that lies outside."""
    path = posixpath.normpath(name)
    if path.startswith(("../", "/")) or path == "..":
        raise BadInput(where, [f"{name} lies outside the set, and workers have no copy; move it into the set"])
    return f"{_SET}/{path}"


def _own_marks(path: Path, instance: str) -> bytes:
    """What the set's marks say of one instance; a file that is something else goes as it is, for the trial to say."""
    content = path.read_bytes()
    try:
        told = json.loads(content)
        agents = {
            agent: {name: marks for name, marks in kept.items() if name == instance}
            for agent, kept in told["agents"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return content
    return serialization.canonical({**told, "agents": agents}).encode()


def _add(archive: tarfile.TarFile, name: str, source: Path | bytes) -> None:
    """Add one file, of which only the content, the execute bit and where a link points count."""
    entry = tarfile.TarInfo(name)
    entry.mode = 0o644
    if isinstance(source, Path) and source.is_symlink():
        entry.type, entry.linkname = tarfile.SYMTYPE, os.fsdecode(link_bytes(source))
        archive.addfile(entry)
        return
    if isinstance(source, Path):
        entry.mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
        source = source.read_bytes()
    entry.size = len(source)
    archive.addfile(entry, io.BytesIO(source))


def _put(folder: Path, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    """Write one file. Raises BadInput for what would lie elsewhere, or is neither file nor link."""
    parts = Path(member.name).parts
    target = folder / member.name
    if Path(member.name).is_absolute() or ".." in parts or not (member.isfile() or member.issym()):
        raise BadInput("what the controller sent", [f"{member.name!r} is no file of a bundle"])
    if folder.resolve() not in target.parent.resolve().parents and target.parent.resolve() != folder.resolve():
        raise BadInput("what the controller sent", [f"{member.name!r} lies behind a link"])
    target.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        target.symlink_to(member.linkname)
        return
    source = archive.extractfile(member)
    assert source is not None
    target.write_bytes(source.read())
    target.chmod(member.mode)

"""crab.lock: digests of what a set of instances is made of, and the audits of its oracles: of what, and where made."""

from __future__ import annotations

import functools
import platform
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.ecosystems import interpreters
from pytest_crab.errors import BadInput
from pytest_crab.instances.files import file_digest, folder_digest, replace_text
from pytest_crab.instances.loading import FILE as INSTANCE_FILE
from pytest_crab.instances.set_files import read_set_file, write_set_file
from pytest_crab.locks import locked_folder
from pytest_crab.types import Comment, Instance

#: The audits on record by instance and comment: the ``digest`` of what decides it, with how many ``runs`` the oracle
#: was proved, and ``on`` what machine.
Audits = Mapping[str, Mapping[str, Mapping[str, Any]]]

#: The digests of what decides an instance: see ``content_digests``.
Contents = Mapping[str, str]

_KEYS = {"digest", "runs", "on"}

#: What the file is called; it lies in the set's folder, beside the instances' folders.
FILE = "crab.lock"
#: Keeps git from changing the line ends of a set's files, on which diffs and digests depend, however git is set up.
_ATTRIBUTES = ".gitattributes"
#: What else may have changed a set that has no such file.
_LINE_ENDS = "; git may have changed its line ends, which `* -text` in a .gitattributes beside crab.lock prevents"


def content_digests(instance: Instance) -> dict[str, str]:
    """Return the digests of what decides an instance: its file, environment, source, and every file that it names.

    One that is still being made has no file. Raises BadInput for a file or a tree that cannot be read.
    """
    folder = Path(instance.folder)
    named = {f"file {name}": _file_digest(folder, name) for name in named_files(instance)}
    own = {"instance": _file_digest(folder, INSTANCE_FILE)} if (folder / INSTANCE_FILE).exists() else {}
    return {
        **own,
        "environment": serialization.digest(instance.environment),
        "source": _source_digest(instance),
        **named,
    }


def digest(instance: Instance) -> str:
    """Return one digest of all that decides an instance."""
    return serialization.digest(content_digests(instance))


def digests_of_files(contents: Contents, names: Iterable[str]) -> list[str]:
    """Return the digests of files that an instance names."""
    return [contents[f"file {name}"] for name in names]


def named_files(instance: Instance) -> list[str]:
    """Return every file that an instance names, sorted: diffs, oracles and the code of a snippet."""
    names = {comment.required_oracle.file for comment in instance.with_oracles}
    snippet = instance.source.snippet
    code = set() if snippet is None else {snippet.head, snippet.reference}
    return sorted(names | code | set(named_diffs(instance).values()))


def named_diffs(instance: Instance) -> dict[str, str]:
    """Return every diff that an instance names, by the key that names it."""
    source = instance.source
    names = {f"source.{source.key}.{key}": name for key, name in source.diffs.items()}
    names |= {f"company[{n}]": name for n, name in enumerate(instance.company)}
    for number, comment in enumerate(instance.comments):
        at = f"comments[{number}]"
        names |= {f"{at}.reference": comment.reference} if comment.reference is not None else {}
        names |= {f"{at}.accepts[{n}]": name for n, name in enumerate(comment.accepts)}
        names |= {f"{at}.rejects[{n}]": name for n, name in enumerate(comment.rejects)}
    return names


def write_lock(folder: Path, instances: Iterable[Instance]) -> None:
    """Write the lock of the set in ``folder``; the same set gives the same bytes.

    A set without a .gitattributes gets one, which has git leave all line ends as they are. Audits on record are kept
    where they still hold; those of a lock that cannot be read are lost.
    """
    members = list(instances)
    with locked_folder(folder):
        try:
            audits = _read_audits(folder)
        except BadInput:
            audits = {}
        holding = {instance.id: _holding(audits, instance, audit_digests(instance)) for instance in members}
        _write(folder, {instance.id: content_digests(instance) for instance in members}, holding)
        keep_line_ends(folder)


def update_lock(folder: Path, written: Iterable[Instance] = (), removed: Collection[str] = ()) -> None:
    """Write anew what the lock of the set in ``folder`` says of some instances; what it says of others stays.

    The ``removed`` are left out of it. A set without a lock gets one if any was written. Audits on record are kept
    where they still hold. Raises BadInput for a lock or a file that cannot be read.
    """
    members = list(written)
    with locked_folder(folder):
        if not members and not (folder / FILE).exists():
            return
        audits = _read_audits(folder)
        holding = {instance.id: _holding(audits, instance, audit_digests(instance)) for instance in members}
        known = _read(folder / FILE) if (folder / FILE).exists() else {}
        now = {**known, **{instance.id: content_digests(instance) for instance in members}}
        _write(folder, {name: entry for name, entry in now.items() if name not in removed}, {**audits, **holding})
        keep_line_ends(folder)


def record_audits(folder: Path, instance: Instance, passed: Mapping[str, bool], runs: Mapping[str, int]) -> int:
    """Record in the set's lock by comment whether its oracle passed its audit; return how many passed.

    ``runs`` says by comment how many runs proved it, on this machine. Comments that ``passed`` does not name keep
    their record. Return 0 where the set has no lock, which is not made. Raises BadInput for a lock that cannot be read
    or written.
    """
    with locked_folder(folder):  # other instances of the set may be certified at the same time
        if not (folder / FILE).exists():
            return 0
        instances, audits = _read(folder / FILE), _read_audits(folder)
        digests = audit_digests(instance)
        machine = f"{platform.system()} {platform.machine()}, CPython {interpreters.running_release()}"
        recorded = {
            name: {"digest": digests[name], "runs": runs[name], "on": machine}
            for name, ok in passed.items()
            if ok and name in digests
        }
        kept = {name: value for name, value in _holding(audits, instance, digests).items() if name not in passed}
        _write(folder, instances, {**audits, instance.id: {**kept, **recorded}})
    return len(recorded)


def audit_digests(instance: Instance, contents: Contents | None = None) -> dict[str, str]:
    """Return a digest of all that decides an oracle's audit, by comment; only of oracles that have checks.

    Where ``contents`` are given no file is read. Raises BadInput for a file or a tree that cannot be read.
    """
    checked = [comment for comment in instance.with_oracles if comment.accepts or comment.rejects or instance.company]
    if not checked:
        return {}
    found = content_digests(instance) if contents is None else contents
    references = filter(None, [one.reference for one in instance.with_oracles])
    changes = [*instance.source.diffs.values(), *instance.company, *references]
    shared = [found["environment"], found["source"], *digests_of_files(found, changes)]

    def of(comment: Comment) -> str:
        named = [comment.required_oracle.file, *filter(None, [comment.reference]), *comment.accepts, *comment.rejects]
        return serialization.digest([*shared, serialization.dump(comment.oracle), *digests_of_files(found, named)])

    return {comment.id: of(comment) for comment in checked}


def find_unaudited(instances: Iterable[Instance]) -> Iterator[tuple[Instance, int]]:
    """Yield the instances with oracles whose audit is not on record or holds no more, and how many they are.

    Oracles without checks need no audit. Raises BadInput for a lock or a file that cannot be read.
    """
    recorded: dict[Path, Audits] = {}
    for instance in instances:
        folder = Path(instance.folder).parent
        if folder not in recorded:
            recorded[folder] = _read_audits(folder)
        digests = audit_digests(instance)
        count = len(digests) - len(_holding(recorded[folder], instance, digests))
        if count:
            yield instance, count


def count_unaudited(instances: Iterable[Instance]) -> dict[Path, int]:
    """Return how many oracles ``unaudited`` finds, by the folder of their set. Raises BadInput."""
    counts: Counter[Path] = Counter()
    for instance, count in find_unaudited(instances):
        counts[Path(instance.folder).parent] += count
    return dict(counts)


def differences(folder: Path, instances: Iterable[Instance], *, whole: bool) -> Iterator[str]:
    """Yield a sentence for all that is not as the lock of the set in ``folder`` says; nothing where there is no lock.

    ``whole`` is whether ``instances`` are all of the set, so that what is only in the lock is gone. Raises BadInput
    for a lock that cannot be read.
    """
    if not (folder / FILE).exists():
        return
    kept = dict(_read(folder / FILE))
    for instance in instances:
        was = kept.pop(instance.id, None)
        if was is None:
            yield f"{instance.id} is not in the lock; if it is new, run pytest-crab set check --lock"
            continue
        now = content_digests(instance)
        changed = [
            name.removeprefix("file ") for name in sorted(was.keys() | now.keys()) if was.get(name) != now.get(name)
        ]
        if changed:
            ends = "" if (folder / _ATTRIBUTES).exists() else _LINE_ENDS
            what = ", ".join(changed)
            yield f"{instance.id} differs in {what}; if that is meant, run pytest-crab set check --lock{ends}"
    if whole:
        yield from (
            f"{name} is in the lock and not in the set; if that is meant, run pytest-crab set check --lock"
            for name in kept
        )


def certified_runs(instance: Instance, contents: Contents | None = None) -> int:
    """Return how many runs proved each oracle of an instance, the least of them, by the audits in its set's lock.

    0 where the audit of any of them is not on record, or not of the oracle as it is, or the lock cannot be read. Of the
    instance no file is read where ``contents`` are given.
    """
    path = Path(instance.folder).parent / FILE
    try:
        audits = _audits_of(path.parent, file_digest(path))
        holding = _holding(audits, instance, audit_digests(instance, contents)) if instance.id in audits else {}
    except (OSError, BadInput):
        return 0
    return min((int(holding[one.id]["runs"]) if one.id in holding else 0 for one in instance.with_oracles), default=0)


@functools.lru_cache(maxsize=8)
def _audits_of(folder: Path, _digest: str) -> Audits:
    """Return the audits of a lock, read once for all instances of the set as long as it does not change."""
    return _read_audits(folder)


def _holding(audits: Audits, instance: Instance, digests: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
    """Return those audits on record of an instance that hold, by comment; ``digests`` are those of today."""
    recorded = audits.get(instance.id, {})
    return {name: one for name, one in recorded.items() if name in digests and one["digest"] == digests[name]}


def _write(folder: Path, instances: Mapping[str, Mapping[str, Any]], audits: Audits) -> None:
    """Write the lock, with the audits of the instances that are in it."""
    audited = {name: kept for name, kept in audits.items() if kept and name in instances}
    write_set_file(folder / FILE, {"instances": instances, "audits": audited})


def keep_line_ends(folder: Path) -> None:
    """Give a set without a .gitattributes one, which has git leave all line ends as they are."""
    if not (folder / _ATTRIBUTES).exists():
        replace_text(folder / _ATTRIBUTES, "* -text\n")


def _read_audits(folder: Path) -> Audits:
    """Return the audits on record; none where there is no lock, and none in it that an older release recorded."""
    audits = _read(folder / FILE, "audits") if (folder / FILE).exists() else {}
    return {
        instance: {name: one for name, one in own.items() if isinstance(one, dict) and one.keys() >= _KEYS}
        for instance, own in audits.items()
    }


def _read(path: Path, part: str = "instances") -> Mapping[str, Mapping[str, Any]]:
    problem = "the file is not a lock of this version; run pytest-crab set check --lock to write it again"
    content = read_set_file(path, problem)
    kept: Any = content.get(part, {})
    if "instances" in content and isinstance(kept, dict) and all(isinstance(entry, dict) for entry in kept.values()):
        return kept
    raise BadInput(str(path), [problem])


def _file_digest(folder: Path, name: str) -> str:
    try:
        return file_digest(folder / name)
    except OSError as error:
        raise BadInput(str(folder), [f"{name} cannot be read ({error.strerror})"]) from error


def _source_digest(instance: Instance) -> str:
    tree = instance.source.tree
    if tree is None:
        return serialization.digest(instance.source)
    try:
        return folder_digest(Path(instance.folder, tree.path))
    except OSError as error:
        problem = f"a file of source.tree.path, {tree.path}, cannot be read ({error.strerror})"
        raise BadInput(instance.folder, [problem]) from error

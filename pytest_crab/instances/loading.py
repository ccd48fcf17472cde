"""Finds instance files and turns each into a record, or into every fault it has."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_crab import registry, serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances import validation
from pytest_crab.types import Comment, Environment, Instance, PullRequestFacts, Source
from pytest_crab.yaml_reader import read_document

#: What an instance's file is called; the folder that holds it is the instance.
FILE = "instance.yaml"

_KEYS = {serialization.key_of(field) for field in dataclasses.fields(Instance)} - {"extra"}


def find_instances(root: Path) -> Iterator[Path]:
    """Yield every instance file at or below ``root``, sorted by path.

    Nothing inside an instance's folder, a hidden folder or a linked folder is looked at. A ``root`` that is itself an
    instance's file is the only one.
    """
    if root.is_file():
        if root.name == FILE:
            yield root
        return
    for folder, folders, files in os.walk(root):
        if FILE in files:
            folders.clear()
            yield Path(folder, FILE)
        folders[:] = sorted(name for name in folders if not name.startswith("."))


def load_instance(path: Path, content: bytes | None = None) -> Instance:
    """Return the instance that ``path``, an instance.yaml or its folder, describes; the files it names are there.

    With ``content``, what ``document.read_content`` returned, the file is not opened again. The content of diffs and
    oracles is not looked at (check does). Raises BadInput with every fault of the file.
    """
    path = path if path.name == FILE else path / FILE
    data = read_document(path, content)
    place = os.path.dirname(path.absolute())  # noqa: PTH120 - a Path takes longer
    problems: list[str] = []
    if "folder" in data:
        problems.append("folder is not a known key; an instance's folder is where its file lies")
    data["folder"] = place
    added = _take_added(data, problems)
    if isinstance(data.get("comments"), list):
        data["comments"] = [_with_oracle(comment) for comment in data["comments"]]
    instance = serialization.read(Instance, data, problems)
    for value in added.values() if instance else ():
        problems.extend(value.faults_in(instance))
    files = validation.Files(place)
    problems.extend(validation.top_faults(data, files.name))
    problems.extend(_faults(instance, files) if instance else _faults_of_parts(data, files))
    if instance is None or problems:
        raise BadInput(str(path), problems)
    return instance


def _take_added(data: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    """Move the keys that benchmarks add into ``extra``; return the values as they were read."""
    unknown = data.keys() - _KEYS
    if not unknown:
        return {}
    if "extra" in unknown:
        problems.append("extra is not a known key; a benchmark's key stands in the file by itself")
    try:
        fields = registry.instance_fields()
    except BadInput as error:
        names = ", ".join(sorted(map(str, unknown)))
        problems.append(f"{names}: whether a benchmark adds such a key cannot be said ({error})")
        return {}
    read = {key: serialization.read(fields[key], data.pop(key), problems, key) for key in unknown & fields.keys()}
    added = {key: value for key, value in read.items() if value is not None}
    data["extra"] = serialization.dump(added)
    return added


def has_its_files(instance: Instance) -> bool:
    """Return True if every file and folder that an instance names is still what ``load_instance`` asks for."""
    tree = instance.source.tree
    if tree is not None and next(validation.folder_faults("", tree.path, Path(instance.folder)), None) is not None:
        return False
    names = [*instance.source.files.values(), *instance.company]
    for comment in instance.comments:
        names += (*comment.accepts, *comment.rejects)
        if comment.oracle is not None:
            names.append(comment.oracle.file)
        if comment.reference is not None:
            names.append(comment.reference)
    return {validation.FILE}.issuperset(map(validation.Files(instance.folder).kind, names))


def load_instances(root: Path) -> list[Instance]:
    """Return every instance at or below ``root``, sorted by path. Raises BadInput with the faults of all files.

    Two ids that differ in nothing but case are a fault, since some file systems hold only one of the two.
    """
    instances: list[Instance] = []
    problems: list[str] = []
    for path in find_instances(root):
        try:
            instances.append(load_instance(path))
        except BadInput as error:
            name = os.path.relpath(path, root) if path != root else path.name
            problems.extend(f"{name}: {problem}" for problem in error.problems)
    problems.extend(duplicates(instances))
    if problems:
        raise BadInput(str(root), problems)
    return instances


def duplicates(instances: list[Instance]) -> Iterator[str]:
    """Yield a sentence for each instance whose id an earlier one has, without regard to case."""
    seen: dict[str, Instance] = {}
    for instance in instances:
        first = seen.setdefault(instance.id.lower(), instance)
        if first is not instance:
            yield f"id {instance.id} in {instance.folder} is also that of {first.folder}; one should be renamed"


def _with_oracle(comment: Any) -> Any:
    """An oracle may be given as just its file."""
    if isinstance(comment, dict) and isinstance(comment.get("oracle"), str):
        return comment | {"oracle": {"file": comment["oracle"]}}
    return comment


def _faults(instance: Instance, files: validation.Files) -> Iterator[str]:
    yield from validation.pull_request_faults(instance.pull_request)
    yield from validation.source_faults(instance.source, files)
    if instance.environment is not None:
        yield from validation.environment_faults(instance.environment)
    for number, comment in enumerate(instance.comments):
        yield from validation.comment_faults(comment, f"comments[{number}]", files)
    yield from validation.listed_faults("company", instance.company, files)
    yield from validation.oracle_faults(instance.comments)
    if instance.environment is not None:
        yield from validation.runner_faults(instance.environment, instance.comments)
        yield from validation.pass_to_pass_faults(instance.environment, instance.pass_to_pass)


def _faults_of_parts(data: dict[str, Any], files: validation.Files) -> Iterator[str]:
    """Yield the faults of those parts that can be read, where others have wrong types and are reported already."""
    heard: list[str] = []
    if facts := serialization.read(PullRequestFacts, data.get("pull_request"), heard):
        yield from validation.pull_request_faults(facts)
    if source := serialization.read(Source, data.get("source"), heard):
        yield from validation.source_faults(source, files)
    if environment := serialization.read(Environment, data.get("environment"), heard):
        yield from validation.environment_faults(environment)
    entries = data.get("comments")
    comments = [serialization.read(Comment, entry, heard) for entry in entries] if isinstance(entries, list) else []
    for number, comment in enumerate(comments):
        if comment:
            yield from validation.comment_faults(comment, f"comments[{number}]", files)
    yield from validation.oracle_faults([comment for comment in comments if comment])

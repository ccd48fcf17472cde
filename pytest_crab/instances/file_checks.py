"""Rules for the content of an instance's files; only ``check`` reads it, since collecting thousands must be quick."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_crab import diffs, pytest_files
from pytest_crab.ecosystems import DEFAULT_RUNNER, runs_own_tests
from pytest_crab.instances import own_tests
from pytest_crab.instances.lock import named_diffs
from pytest_crab.types import Instance, Oracle

MOST_MIB = 4

#: The files that an interpreter or one of its tools would take for its own where it comes near.
_FOREIGN = (*pytest_files.SETTINGS, *pytest_files.STARTUP)


def content_faults(instance: Instance) -> Iterator[str]:
    """Yield a sentence for each file of an instance that holds what it should not, or should not be there."""
    yield from _stray_files(instance)
    for key, name in named_diffs(instance).items():
        may_be_empty = instance.clean and key.endswith(".reference")  # there is nothing to mend
        yield from _diff_faults(f"{key} ({name})", Path(instance.folder, name), may_be_empty=may_be_empty)
    for number, comment in enumerate(instance.comments):
        if comment.oracle is not None:
            yield from _oracle_faults(f"comments[{number}].oracle", comment.oracle, Path(instance.folder))


def _oracle_faults(at: str, oracle: Oracle, folder: Path) -> Iterator[str]:
    """The file holds tests, and those that parts name; titles of node and jest may be made as they run."""
    content = (folder / oracle.file).read_bytes()
    text = content.decode("utf-8", "replace")
    if text.encode() != content:
        yield f"{at}.file ({oracle.file}) is not UTF-8; it should be saved as UTF-8"
    if not text.strip():
        yield f"{at}.file ({oracle.file}) is empty; it should hold tests"
    elif runs_own_tests(oracle.runner):
        yield from (f"{at}.file ({oracle.file}): {fault}" for fault in own_tests.faults_of(text, oracle.runner))
    for number, part in enumerate(oracle.parts or () if oracle.runner == DEFAULT_RUNNER else ()):
        for name in part.tests:
            missing = [word for word in name.partition("[")[0].split("::") if word not in text]
            if missing:
                yield f"{at}.parts[{number}].tests names {name}, and there is no {missing[0]} in {oracle.file}"


def _stray_files(instance: Instance) -> Iterator[str]:
    """No configuration beside the instance or its oracles: no outer pytest reads it, no oracle leans on it."""
    folder = Path(instance.folder)
    levels = {folder, *(Path(folder, comment.required_oracle.file).parent for comment in instance.with_oracles)}
    for found in sorted(path for level in levels for path in level.iterdir()):
        if found.name in _FOREIGN or found.suffix == ".pth":
            path = found.relative_to(folder)
            yield f"{path} is configuration that would act outside the instance; it should not be there"


def set_configuration(folder: Path) -> Iterator[Path]:
    """Yield the files in a set's folder that a pytest reads to which the set is named."""
    yield from (path for name in pytest_files.SETTINGS if (path := folder / name).is_file())
    yield from sorted(folder.glob(pytest_files.CONFTESTS_BELOW))


def _diff_faults(at: str, path: Path, *, may_be_empty: bool) -> Iterator[str]:
    if path.stat().st_size > MOST_MIB << 20:
        yield f"{at} is larger than {MOST_MIB} MiB; it should be a diff that a person would review"
        return
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    if not text.strip():
        if not may_be_empty:
            yield f"{at} is empty; it should be a git diff"
        return
    try:
        outside = list(diffs.outside_paths(text))
    except ValueError as error:
        yield f"{at} is {error}; it should be made with git diff"
        return
    for name in outside:
        yield f"{at} touches {name!r}, which lies outside the tree or in .git; it should stay inside"

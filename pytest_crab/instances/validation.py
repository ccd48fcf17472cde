"""Rules for an instance's file beyond its types; each rule yields sentences that start with the key."""

from __future__ import annotations

import functools
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_crab import ecosystems
from pytest_crab.ecosystems import distributions
from pytest_crab.protocols import OWN_PLACES
from pytest_crab.types import (
    Comment,
    Environment,
    Isolation,
    Oracle,
    OraclePart,
    PullRequestFacts,
    SdistSource,
    Source,
    TreeSource,
)

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SYSTEM = re.compile(r"[a-z0-9][a-z0-9+.-]+(?:=[A-Za-z0-9.+~:-]+)?")
_SYSTEM_FOLDERS = {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys"}
_OWN_PLACES = tuple(f"{place}/" for place in OWN_PLACES.values())
_WORKDIR = re.compile(r"(?:/[A-Za-z0-9._@+-]+)+/?")
_NAME = re.compile(distributions.NAME)
_EXACT = re.compile(distributions.VERSION)
_DOCKERFILE = re.compile(r"[A-Za-z0-9_-]+")
_IMAGE = re.compile(r"[^\s@-][^\s@]*@sha256:[0-9a-f]{64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\dZ)?")
_URL = re.compile(r"https://[A-Za-z0-9.-]+(?::\d+)?/[^\s\\]+")
_REPOSITORY = re.compile(r"https://[A-Za-z0-9.-]+(?::\d+)?/(?:[A-Za-z0-9_.~-]+/)+[A-Za-z0-9_.-]+")
#: As git takes it and no shell or tool takes it for anything else.
_BRANCH = re.compile(
    r"(?!.*(?:\.\.|//|\.lock(?:/|$)|(?:^|/)(?:\.|HEAD(?:/|$))))[A-Za-z0-9_][A-Za-z0-9_./+-]{0,99}(?<![./])"
)
_PATTERNS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "repo": (re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+"), "it should be owner/name"),
    "language": (re.compile(r"\S+"), "it should be one word"),
    "license": (re.compile(r"\S.*"), "it should be the licence's SPDX name"),
}
_MOST_SECONDS = 3600
_FEWEST_PARTS = 2

FILE, FOLDER, LINK, OTHER = "file", "folder", "link", "other"

#: One line that is not blank.
_COMMAND = re.compile(r"\s*\S[^\n]*\n?\s*")
#: Names that would change how the harness or the loader behave, and not only the project.
_RESERVED = r"CRAB_\w*|LD_\w*|GIT_\w*|PATH|HOME|IFS|ENV|BASH_ENV|SHELLOPTS|BASHOPTS"


def top_faults(data: Mapping[str, Any], folder: str) -> Iterator[str]:
    """The keys at the top: the id is the folder's name, and repository, language and licence look like such."""
    if isinstance(data.get("id"), str) and data["id"] != folder:
        yield f"id is {data['id']!r}; it should be the folder's name, {folder!r}"
    for key, (pattern, wanted) in _PATTERNS.items():
        if isinstance(data.get(key), str) and not pattern.fullmatch(data[key]):
            yield f"{key} is {data[key]!r}; {wanted}"


def is_branch(name: str) -> bool:
    """Return whether a base branch may be called so: git, shells and tools take the name for nothing else."""
    return _BRANCH.fullmatch(name) is not None


def is_repository_address(url: str) -> bool:
    """Return whether a repository may have this address: https, a host, owner and name, and no password."""
    return _REPOSITORY.fullmatch(url) is not None


def pull_request_faults(facts: PullRequestFacts) -> Iterator[str]:
    """The public facts: a number, a title, a branch, a web address, a day."""
    if facts.number < 1:
        yield f"pull_request.number is {facts.number}; it should be 1 or more"
    if not facts.title.strip():
        yield "pull_request.title is empty; it should be what the pull request is called"
    if not is_branch(facts.base_branch):
        yield f"pull_request.base_branch is {facts.base_branch!r}; it should be a branch's name such as main"
    if facts.url is not None and not _URL.fullmatch(facts.url):
        yield f"pull_request.url is {facts.url!r}; it should start with https://"
    if facts.merged_at is not None and not _is_day(facts.merged_at):
        yield f"pull_request.merged_at is {facts.merged_at!r}; it should be a day such as 2023-01-22"


def source_faults(source: Source, files: Files) -> Iterator[str]:
    """Yield the faults of a source; the files it names must lie in the instance's folder or set."""
    only = source.only
    key = f"source.{source.key}"
    if source.repository is not None and not is_repository_address(source.repository):
        yield f"{key}.url is {source.repository!r}; it should be https://host/owner/name without a password"
    if isinstance(only, SdistSource):
        if not _NAME.fullmatch(only.name):
            yield f"{key}.name is {only.name!r}; it should be a package's name"
        if not _EXACT.fullmatch(only.version):
            yield f"{key}.version is {only.version!r}; it should be one exact version"
    elif isinstance(only, TreeSource):
        yield from folder_faults(f"{key}.path", only.path, Path(files.folder))
    for part, name in source.files.items():
        yield from file_faults(f"{key}.{part}", name, files)


def environment_faults(environment: Environment) -> Iterator[str]:
    """Yield the faults of an environment: packages must be pinned, names and paths well formed."""
    at = "environment"
    faults = list(ecosystems.environment_faults(environment))
    yield from faults
    if not any(fault.startswith(f"{at}.ecosystem ") for fault in faults):
        pin = ecosystems.ecosystem_of(environment).pin
        pinned = re.compile(pin.expression)
        yield from _mismatches(f"{at}.packages", environment.packages, pinned, f"it should be pinned, as {pin.words}")
    yield from _mismatches(f"{at}.system", environment.system, _SYSTEM, "it should be a Debian package's name")
    if environment.dockerfile is not None and not _DOCKERFILE.fullmatch(environment.dockerfile):
        usual = ecosystems.DEFAULT.name
        yield f"{at}.dockerfile is {environment.dockerfile!r}; it should be a name out of dockerfiles/, such as {usual}"
    if environment.image is not None and not _IMAGE.fullmatch(environment.image):
        yield f"{at}.image is {environment.image!r}; it should be pinned, as name@sha256:<64 hex digits>"
    for key, commands in (("install", environment.install), ("build", environment.build or ())):
        yield from _mismatches(f"{at}.{key}", commands, _COMMAND, "it should be one command line")
    for number, path in enumerate(environment.paths):
        if not _is_below(path) and path != ".":
            yield f"{at}.paths[{number}] is {path!r}; it should be relative to the tree, without .."
    if (fault := _workdir_fault(environment.workdir)) is not None:
        yield fault
    if environment.timeout > _MOST_SECONDS:
        yield f"{at}.timeout is {environment.timeout}; it should be at most {_MOST_SECONDS} seconds"
    resolved = [environment.resolved] if environment.resolved is not None else []
    yield from _mismatches(f"{at}.resolved", resolved, _MOMENT, "it should be a moment such as 2019-04-11T15:02:59Z")
    yield from variable_faults(f"{at}.env", environment.env)


@functools.lru_cache(maxsize=256)
def _workdir_fault(workdir: str) -> str | None:
    """A sandbox has a file system of its own there, which would cover what is the system's or the harness's."""
    at, path = f"environment.workdir is {workdir!r}", PurePosixPath(workdir)
    within = f"{path}/"
    if not _WORKDIR.fullmatch(workdir) or ".." in path.parts:
        return f"{at}; it should be an absolute path such as /workspace"
    if path.parts[1] in _SYSTEM_FOLDERS or (path.parts[1] == "usr" and not path.is_relative_to("/usr/src")):
        return f"{at}, which is the system's; it should be a path such as /workspace"
    if any(within.startswith(place) or place.startswith(within) for place in _OWN_PLACES):
        return f"{at}, which is the harness's; it should be a path such as /workspace"
    return None


def runner_faults(environment: Environment, comments: Iterable[Comment]) -> Iterator[str]:
    """Each oracle's runner is one that the environment is for; where only jest is missing, the trial says so."""
    for number, comment in enumerate(comments):
        if comment.oracle is not None:
            for fault in ecosystems.runner_faults(environment, comment.oracle.runner):
                yield f"comments[{number}].oracle.runner {fault}"


def pass_to_pass_faults(environment: Environment, command: Sequence[str]) -> Iterator[str]:
    """Yield the faults of a runner of the project's own tests and their files; a command of the project has none."""
    if not command or not ecosystems.runs_own_tests(command[0]):
        return
    for fault in ecosystems.runner_faults(environment, command[0]):
        yield f"pass_to_pass[0] {fault}"
    if len(command) == 1:
        yield f"pass_to_pass is {command[0]} alone; it should name files of tests behind that"
    for number, path in enumerate(command[1:], 1):
        if not _is_below(path):
            yield f"pass_to_pass[{number}] is {path!r}; it should be relative to the tree, without .."


def comment_faults(comment: Comment, at: str, files: Files) -> Iterator[str]:
    """One comment: where it points, and that the files it names are in the instance's folder."""
    if not _is_below(comment.path):
        yield f"{at}.path is {comment.path!r}; it should be relative to the tree, without .."
    if not comment.body.strip():
        yield f"{at}.body is empty; it should be what the reviewer said"
    if comment.url is not None and not _URL.fullmatch(comment.url):
        yield f"{at}.url is {comment.url!r}; it should start with https://"
    if comment.oracle is not None:
        yield from _oracle_faults(comment.oracle, at, files)
    if comment.reference is not None:
        yield from file_faults(f"{at}.reference", comment.reference, files)
    yield from listed_faults(f"{at}.accepts", comment.accepts, files)
    yield from listed_faults(f"{at}.rejects", comment.rejects, files)


def _oracle_faults(oracle: Oracle, at: str, files: Files) -> Iterator[str]:
    owner = ecosystems.of_runner(oracle.runner)
    if owner is None:  # which runner_faults says
        return
    suffix, wanted = owner.runners[oracle.runner]
    if re.fullmatch(rf"test_[A-Za-z0-9_]+{suffix}", oracle.file.rpartition("/")[2]):
        yield from file_faults(f"{at}.oracle.file", oracle.file, files)
    else:
        yield f"{at}.oracle.file is {oracle.file!r}; its name should be test_<letters, digits, underscores>{wanted}"
    if oracle.runner not in owner.isolated_runners and oracle.isolation is not Isolation.NONE:
        yield f"{at}.oracle.isolation is {oracle.isolation}; with runner {oracle.runner} it should be none"
    if oracle.folder is not None and oracle.folder != "." and not _is_below(oracle.folder):
        yield f"{at}.oracle.folder is {oracle.folder!r}; it should be a folder of the tree, without .."
    if not owner.takes_plugins and oracle.plugins:
        yield f"{at}.oracle.plugins are pytest's; with runner {oracle.runner} there should be none"
    yield from _mismatches(f"{at}.oracle.plugins", oracle.plugins, _MODULE, "it should be the name of a module")
    yield from _part_faults(f"{at}.oracle.parts", oracle.parts)


def _part_faults(at: str, parts: Sequence[OraclePart] | None) -> Iterator[str]:
    """Parts are several, and each has a sentence on one line and names of tests."""
    if parts is not None and len(parts) < _FEWEST_PARTS:
        yield f"{at} has {len(parts)} entries; it should have {_FEWEST_PARTS} or more, or be left out"
    for number, part in enumerate(parts or ()):
        if not part.asks.strip() or _CONTROL.search(part.asks):
            yield f"{at}[{number}].asks is {part.asks!r}; it should be one line that says what is asked for"
        if not all(map(str.strip, part.tests or [""])):
            yield f"{at}[{number}].tests is {list(part.tests)!r}; it should name tests of the oracle"


def oracle_faults(comments: Iterable[Comment]) -> Iterator[str]:
    """Each comment has an oracle of its own, by a name of its own: reports and proofs go by it."""
    seen: dict[str, str] = {}
    for comment in comments:
        if comment.oracle is None:
            continue
        name = comment.oracle.file.rpartition("/")[2].lower()
        if name in seen:
            yield f"comments {seen[name]} and {comment.id} have oracles called {name}; each should have its own name"
        seen.setdefault(name, comment.id)


def listed_faults(key: str, names: Iterable[str], files: Files) -> Iterator[str]:
    """A list of files: each is in the instance's folder."""
    for number, name in enumerate(names):
        if not is_file(name, files):
            yield from file_faults(f"{key}[{number}]", name, files)


def file_faults(key: str, name: str, files: Files) -> Iterator[str]:
    """``name`` is a regular file inside the instance's folder, reached without a link."""
    if not _is_below(name):
        yield f"{key} is {name!r}; it should be relative to the instance's folder, without .."
    elif (kind := files.kind(name)) is None:
        yield f"{key} is {name!r}, which is not there; it should be a file in {files.name}/"
    elif kind == LINK:
        yield f"{key} is {name!r}, which is a link or lies behind one; it should be a file in {files.name}/"
    elif kind != FILE:
        yield f"{key} is {name!r}, which is not a regular file; it should be a file in {files.name}/"


def is_file(name: str, files: Files) -> bool:
    """Return whether ``file_faults`` has nothing to say."""
    return files.kind(name) == FILE and _is_below(name)


def folder_faults(key: str, name: str, folder: Path) -> Iterator[str]:
    """``name`` is a folder in the instance's ``folder``, or with one ../ in its set's, reached without a link."""
    shared = name.startswith("../")
    root, inner = (folder.parent, name[3:]) if shared else (folder, name)
    if not _is_below(inner):
        yield f"{key} is {name!r}; it should be a folder of the instance, as tree, or of its set, as ../projects/x"
    elif (mode := _mode(inner, root)) is None:
        yield f"{key} is {name!r}, which is not there; it should be a folder in {root.name}/"
    elif not stat.S_ISDIR(mode):
        yield f"{key} is {name!r}, which is not a folder or lies behind a link; it should be a folder in {root.name}/"


class Files:
    """The kinds of all that lies in an instance's folder at one moment; each folder is listed once, when asked for."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._kinds: dict[str, str] = {}
        self._listed: set[str] = set()

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.rpartition("/")[2]

    def kind(self, name: str) -> str | None:
        """The kind of the file itself, or a link where one lies on the way to it; None if there is nothing."""
        return self._kinds.get(name) or self._look(_parts(name))

    def _look(self, parts: Sequence[str]) -> str | None:
        place = ""
        for number, part in enumerate(parts, start=1):
            if place not in self._listed:
                self._list(place)
            kind = self._kinds.get(place + part)
            if kind != FOLDER or number == len(parts):
                return kind if kind == LINK or number == len(parts) else None
            place += f"{part}/"
        return None

    def _list(self, place: str) -> None:
        self._listed.add(place)
        with suppress(OSError), os.scandir(f"{self.folder}/{place}") as found:
            self._kinds |= {place + entry.name: _kind(entry) for entry in found}


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_file(follow_symlinks=False):  # most are files, which one question tells
            return FILE
        return LINK if entry.is_symlink() else FOLDER if entry.is_dir(follow_symlinks=False) else OTHER
    except OSError:  # the file system does not tell of this one
        return OTHER


def _mode(name: str, folder: Path) -> int | None:
    """The mode of the file itself, or of the first link on the way to it; None if there is nothing."""
    mode = None
    path = str(folder)
    for part in _parts(name):
        path = f"{path}/{part}"
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            return None
        if stat.S_ISLNK(mode):
            return mode
    return mode


#: Instances of a set name much the same paths, and taking one apart takes longer than looking at a file.
_parts = functools.lru_cache(maxsize=4096)(lambda name: PurePosixPath(name).parts)


@functools.lru_cache(maxsize=4096)
def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and not re.search(r"[\\\0\n]", name)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return False
    return bool(_DAY.fullmatch(text))


def _mismatches(key: str, values: Iterable[str], pattern: re.Pattern[str], wanted: str) -> Iterator[str]:
    for number, value in enumerate(values):
        if not pattern.fullmatch(value):
            yield f"{key}[{number}] is {value!r}; {wanted}"


def _is_reserved(name: str) -> bool:
    """Return whether a variable changes how the harness, a language's tools or the loader behave."""
    return any(re.fullmatch(one, name) for one in (_RESERVED, *(one.variables for one in ecosystems.names())) if one)


def variable_faults(at: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with the variables at a key of a file, each fault in a sentence."""
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name):
            yield f"{at}.{name} is not a variable's name; it should be letters, digits and underscores"
        elif _is_reserved(name):
            yield f"{at}.{name} belongs to the harness; it should be left out"
        if _CONTROL.search(value):
            yield f"{at}.{name} holds a line's end or another control character; it should be one line"

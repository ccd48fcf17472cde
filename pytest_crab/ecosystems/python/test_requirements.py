"""Read what a project's own tests need: in each place where a tool keeps it, as requirements that a resolver takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pytest_crab.ecosystems.python.manifests import TESTING, ini_document, text_of, toml_document
from pytest_crab.text import split_lines

#: Extras that projects keep their tests' requirements in, also where no manifest names them; others are passed over.
_USUAL_EXTRAS = ("test", "tests", "testing", "dev")

#: What is for tests alone: what development needs besides, such as checkers, may go together with nothing.
_TESTS = re.compile(r"(?:^|[^a-z])(?:tests?|testing|units?)(?:[^a-z]|$)")

_VERSION = re.compile(r"\d+(?:\.\d+)*")


def extras(folder: Path, *, tests_alone: bool = False) -> tuple[str, ...]:
    """Return the names of a project's extras for tests and development, the usual ones whether it has them or not."""
    document = toml_document(folder / "pyproject.toml")
    named = [*_table(document, "project", "optional-dependencies"), *_table(document, "tool", "poetry", "extras")]
    config = ini_document(text_of(folder / "setup.cfg"))
    named += list(config["options.extras_require"]) if config.has_section("options.extras_require") else []
    wanted = _TESTS if tests_alone else TESTING
    return tuple(dict.fromkeys(name for name in (*_USUAL_EXTRAS, *named) if wanted.search(name)))


def requirements(folder: Path, *, tests_alone: bool = False) -> tuple[str, ...]:
    """Return the requirements of a project's tests and development outside of its extras.

    They are those of dependency groups, of pdm, poetry, uv and hatch, and of tox. Requirements at an address of their
    own, which have no date, are left out, and so is the project itself.
    """
    document = toml_document(folder / "pyproject.toml")
    tool, wanted = _table(document, "tool"), _TESTS if tests_alone else TESTING
    named = {
        "dev": [
            *_texts(_table(tool, "uv").get("dev-dependencies")),
            *_of_poetry(_table(tool, "poetry", "dev-dependencies")),
        ],
        "test": list(_of_tox(folder / "tox.ini")),
    }
    tables = {name: _table(tool, "poetry", "group", name, "dependencies") for name in _table(tool, "poetry", "group")}
    found = [
        *_of_groups(_table(document, "dependency-groups"), wanted),
        *_of_groups(_table(tool, "pdm", "dev-dependencies"), wanted),
        *(text for name, table in tables.items() if wanted.search(name) for text in _of_poetry(table)),
        *_of_hatch(_table(tool, "hatch", "envs"), wanted),
        *(text for name, texts in named.items() if wanted.search(name) for text in texts),
    ]
    own = own_name(folder)
    return tuple(dict.fromkeys(text for text in found if _is_dated(text, own)))


def own_name(folder: Path) -> str | None:
    """Return the name of a project in the form by which indexes compare names, None where no table says it."""
    document = toml_document(folder / "pyproject.toml")
    name = _table(document, "project").get("name") or _table(document, "tool", "poetry").get("name")
    return canonicalize_name(name) if isinstance(name, str) else None


def _is_dated(text: str, own: str | None) -> bool:
    """Return whether a text is a requirement of another project, without an address."""
    try:
        read = Requirement(text)
    except InvalidRequirement:
        return False
    return read.url is None and canonicalize_name(read.name) != own


def _table(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return a table within a document, an empty one where there is none."""
    found: Any = document
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _texts(items: Any) -> Iterator[str]:
    yield from (item for item in (items if isinstance(items, list) else ()) if isinstance(item, str))


def _of_groups(groups: Mapping[str, Any], wanted: re.Pattern[str]) -> Iterator[str]:
    """Yield the requirements of groups for tests, and those of the groups that they include."""
    waiting, seen = [name for name in sorted(groups) if wanted.search(name)], set()
    while waiting:
        name = waiting.pop(0)
        if name not in seen:
            seen.add(name)
            items = groups.get(name)
            yield from _texts(items)
            included = (item.get("include-group") for item in items or () if isinstance(item, Mapping))
            waiting += [str(one) for one in included]


def _of_poetry(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the requirements of a table in poetry's notation."""
    for name, given in table.items():
        facts = given if isinstance(given, Mapping) else {"version": given}
        if isinstance(facts.get("version"), str):
            own = ",".join(_texts(facts.get("extras")))
            marker = f"; {facts['markers']}" if isinstance(facts.get("markers"), str) else ""
            yield f"{name}{f'[{own}]' if own else ''}{','.join(_plain(facts['version']))}{marker}"


def _plain(constraint: str) -> Iterator[str]:
    """Yield the parts of a constraint in poetry's notation as specifiers that everybody reads."""
    for part in filter(None, (part.strip() for part in constraint.split(","))):
        version = _VERSION.search(part)
        if version is None or part[0] in "<>!=" or part.startswith("~="):
            yield from [] if part == "*" else [part]
        elif part[0] in "^~":
            numbers = version[0].split(".")
            kept = next((at for at, one in enumerate(numbers) if one != "0"), len(numbers) - 1)
            kept = kept if part[0] == "^" else min(1, len(numbers) - 1)
            yield f">={version[0]},<{'.'.join([*numbers[:kept], str(int(numbers[kept]) + 1)])}"
        else:
            yield f"=={part}"


def _of_hatch(environments: Mapping[str, Any], wanted: re.Pattern[str]) -> Iterator[str]:
    for name, one in environments.items():
        if isinstance(one, Mapping) and wanted.search("dev" if name == "default" else name):
            yield from (*_texts(one.get("dependencies")), *_texts(one.get("extra-dependencies")))


def _of_tox(path: Path) -> Iterator[str]:
    """Yield the requirements of tox's main environment; lines with factors, options or substitutions are none."""
    config = ini_document(text_of(path))
    deps = split_lines(config.get("testenv", "deps", fallback=""))
    yield from (line.strip() for line in deps)

"""Read what a project's own tests need: in each place where a tool keeps it, as requirements that a resolver takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pytest_crab.ecosystems.manifests import TESTING, ini_document, text_of, toml_document

#: Extras that projects keep their tests' requirements in, also where no manifest names them; others are passed over.
_USUAL_EXTRAS = ("test", "tests", "testing", "dev")

_VERSION = re.compile(r"\d+(?:\.\d+)*")


def extras(folder: Path) -> tuple[str, ...]:
    """Return the names of a project's extras for tests and development, the usual ones whether it has them or not."""
    document = toml_document(folder / "pyproject.toml")
    named = [*_table(document, "project", "optional-dependencies"), *_table(document, "tool", "poetry", "extras")]
    config = ini_document(text_of(folder / "setup.cfg"))
    named += list(config["options.extras_require"]) if config.has_section("options.extras_require") else []
    return tuple(dict.fromkeys((*_USUAL_EXTRAS, *(name for name in named if TESTING.search(name)))))


def requirements(folder: Path) -> tuple[str, ...]:
    """Return the requirements of a project's tests outside of its extras.

    They are those of dependency groups, of pdm, poetry, uv and hatch, and of tox. Requirements at an address of their
    own, which have no date, are left out, and so is the project itself.
    """
    document = toml_document(folder / "pyproject.toml")
    tool = _table(document, "tool")
    found = [
        *_of_groups(_table(document, "dependency-groups")),
        *_of_groups(_table(tool, "pdm", "dev-dependencies")),
        *_texts(_table(tool, "uv").get("dev-dependencies")),
        *_of_poetry(_table(tool, "poetry")),
        *_of_hatch(_table(tool, "hatch", "envs")),
        *_of_tox(folder / "tox.ini"),
    ]
    name = _table(document, "project").get("name") or _table(tool, "poetry").get("name")
    own = canonicalize_name(name) if isinstance(name, str) else None
    return tuple(dict.fromkeys(text for text in found if _is_dated(text, own)))


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


def _of_groups(groups: Mapping[str, Any]) -> Iterator[str]:
    """Yield the requirements of groups for tests, and those of the groups that they include."""
    waiting, seen = [name for name in sorted(groups) if TESTING.search(name)], set()
    while waiting:
        name = waiting.pop(0)
        if name not in seen:
            seen.add(name)
            items = groups.get(name)
            yield from _texts(items)
            included = (item.get("include-group") for item in items or () if isinstance(item, Mapping))
            waiting += [str(one) for one in included]


def _of_poetry(poetry: Mapping[str, Any]) -> Iterator[str]:
    groups = _table(poetry, "group")
    tables = [_table(groups, name, "dependencies") for name in groups if TESTING.search(name)]
    for table in (_table(poetry, "dev-dependencies"), *tables):
        for name, wanted in table.items():
            facts = wanted if isinstance(wanted, Mapping) else {"version": wanted}
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


def _of_hatch(environments: Mapping[str, Any]) -> Iterator[str]:
    for name, one in environments.items():
        if isinstance(one, Mapping) and (name == "default" or TESTING.search(name)):
            yield from (*_texts(one.get("dependencies")), *_texts(one.get("extra-dependencies")))


def _of_tox(path: Path) -> Iterator[str]:
    """Yield the requirements of tox's main environment; lines with factors, options or substitutions are none."""
    config = ini_document(text_of(path))
    deps: Iterable[str] = config.get("testenv", "deps", fallback="").splitlines()
    yield from (line.strip() for line in deps)

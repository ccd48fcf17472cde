"""Reads crab.yaml: the named variants of built-in reviewers and agents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from pytest_crab.errors import BadInput
from pytest_crab.instances.document import read_document

#: What the file is called; it lies at the rootdir.
FILE = "crab.yaml"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_SECTIONS = ("reviewers", "agents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A built-in (``use``) under a name of its own; ``settings`` are texts, lists and mappings that it types itself."""

    name: str
    use: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What crab.yaml says; a relative path in a variant's settings counts from ``folder``."""

    folder: Path
    reviewers: Mapping[str, Variant] = field(default_factory=dict)
    agents: Mapping[str, Variant] = field(default_factory=dict)


def load_settings(rootdir: Path) -> Settings:
    """Return what crab.yaml in ``rootdir`` says, or empty settings if there is none.

    Raises BadInput with every fault of the file; whether ``use`` names a built-in is for the family to say.
    """
    path = rootdir / FILE
    if not path.exists():
        return Settings(folder=rootdir)
    document = read_document(path)
    problems = [
        f"{key} is not a known key; the keys here are {', '.join(_SECTIONS)}"
        for key in document
        if key not in _SECTIONS
    ]
    reviewers, agents = (_variants(section, document.get(section, {}), problems) for section in _SECTIONS)
    if problems:
        raise BadInput(str(path), problems)
    return Settings(folder=rootdir, reviewers=reviewers, agents=agents)


def _variants(section: str, entries: Any, problems: list[str]) -> dict[str, Variant]:
    if not isinstance(entries, dict):
        problems.append(
            f"{section} is no mapping; it should be one of names to settings, such as strict: {{use: codex}}"
        )
        return {}
    variants = {name: _variant(f"{section}.{name}", name, entry, problems) for name, entry in entries.items()}
    known = {name: variant for name, variant in variants.items() if variant}
    for name, variant in known.items():
        if variant.use != name and variant.use in known:
            problems.append(f"{section}.{name}.use is {variant.use!r}, a variant itself; it should name a built-in")
    return known


def _variant(at: str, name: str, entry: Any, problems: list[str]) -> Variant | None:
    if not _NAME.fullmatch(name):
        problems.append(f"{at} is no name; it should be up to 60 letters, digits, dots, underscores and hyphens")
    if not isinstance(entry, dict):
        problems.append(f"{at} is no mapping; it should hold use and the settings of what it uses")
        return None
    use = entry.get("use")
    if not isinstance(use, str) or not use.strip():
        wrong = "is missing" if use is None else "is not a name"
        problems.append(f"{at}.use {wrong}; it should name the built-in that this is a variant of")
        return None
    return Variant(name=name, use=use, settings={key: value for key, value in entry.items() if key != "use"})

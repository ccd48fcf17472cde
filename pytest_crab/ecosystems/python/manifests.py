"""Read what a tree of Python asks for without running any of it: versions, requirements, import roots."""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # what tomllib is where Python has none

_MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py")
_MOST_BYTES = 1 << 20
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d{1,2})\b")
_SETUP_REQUIRES = re.compile(r"""python_requires["']?\s*[=:]\s*\(?\s*["']([^"']+)["']""")
_MAIN_FILES = ("requirements.txt", "requirements/base.txt", "requirements/main.txt", "requirements/default.txt")
#: What the name of something for tests and development has in it.
TESTING = re.compile(r"(?:^|[^a-z])(?:tests?|testing|dev|develop|development|units?)(?:[^a-z]|$)")
_ROOTS = ("src", "lib", "python")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonSupport:
    """The Python versions of a project."""

    #: Specifiers.
    requires: tuple[str, ...]
    #: The X.Y that the project names.
    classifiers: frozenset[str]


def project_folder(tree: Path, path: str) -> str | None:
    """Return the nearest folder with a manifest at or above a file of the tree ("." is the root), or None."""
    for folder in [str(parent) for parent in PurePosixPath(path).parents] or ["."]:
        if is_project(tree / folder):
            return folder
    return None


def is_project(folder: Path) -> bool:
    """Return whether a folder has a manifest that an installer can use, not only settings of tools."""
    if (folder / "setup.py").is_file():
        return True
    document = toml_document(folder / "pyproject.toml")
    return bool({"project", "build-system"} & set(document)) or "poetry" in document.get("tool", {})


def python_support(folder: Path) -> PythonSupport:
    """Return the Python versions that a folder's manifests declare."""
    texts = {name: text_of(folder / name) for name in _MANIFESTS}
    document = toml_document(folder / "pyproject.toml")
    project = document.get("project", {})
    poetry = document.get("tool", {}).get("poetry", {})
    config = ini_document(texts["setup.cfg"])
    requires = [
        project.get("requires-python"),
        poetry.get("dependencies", {}).get("python"),
        config.get("options", "python_requires", fallback=None),
        *_SETUP_REQUIRES.findall(texts["setup.py"]),
    ]
    listed = set(_CLASSIFIER.findall("\n".join(texts.values())))
    return PythonSupport(
        requires=tuple(text for text in requires if isinstance(text, str)), classifiers=frozenset(listed)
    )


def requirement_files(tree: Path, folder: str) -> tuple[str, ...]:
    """Return the requirements files for running a project, as paths in the tree; its own before the root's."""
    return tuple(dict.fromkeys(path for top in dict.fromkeys([folder, "."]) for path in _main_files(tree, top)))


def testing_files(tree: Path, folder: str) -> tuple[str, ...]:
    """Return the requirements files for tests and development, as paths in the tree."""
    found = []
    for top in dict.fromkeys([folder, "."]):
        places = [top, *(f"{top}/{name}" for name in ("requirements", "test", "tests", "test/units"))]
        for place in places:
            files = sorted(path for path in (tree / place).glob("*.txt") if path.is_file() and not path.is_symlink())
            for path in files:
                relative = path.relative_to(tree).as_posix()
                if "requirements" in relative and TESTING.search(relative.removesuffix(".txt")):
                    found.append(relative)
    return tuple(dict.fromkeys(found))


def build_requirements(folder: Path) -> tuple[str, ...]:
    """Return what an editable build of a project needs: what it lists, and what its backend asks for besides."""
    system = toml_document(folder / "pyproject.toml").get("build-system", {})
    listed = system.get("requires", [])
    found = [item for item in listed if isinstance(item, str)] if isinstance(listed, list) else []
    if system and str(system.get("build-backend", "setuptools")).startswith("setuptools"):
        found.append("wheel")
    if any(item.startswith("hatchling") for item in found):
        found.append("editables")
    return tuple(dict.fromkeys(found))


def names_sources(folder: Path) -> bool:
    """Return whether a project says for uv alone where some of its requirements are, as members of workspaces do."""
    return bool(toml_document(folder / "pyproject.toml").get("tool", {}).get("uv", {}).get("sources"))


def import_roots(tree: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the folders of a tree for the import path of oracles of comments on ``paths``.

    They are the root, ``src`` and ``lib`` where they hold packages, also within a namespace, the project folder of each
    commented file with its own ``src`` and ``lib``, and the folder with the topmost package of a commented module.
    """
    found = ["."]
    for top in dict.fromkeys([".", *(folder for path in paths if (folder := project_folder(tree, path)))]):
        found.append(top)
        found.extend(_join(top, name) for name in _ROOTS if _holds_packages(tree / top / name))
    found.extend(root for path in paths if (root := _package_root(tree, path)))
    return tuple(dict.fromkeys(found))


def provides(tree: Path, roots: Sequence[str], module: str) -> bool:
    """Return whether the tree itself has a top-level module of this name."""
    places = [tree / root / module for root in roots]
    return any((place.parent / f"{module}.py").is_file() or (place / "__init__.py").is_file() for place in places)


def _main_files(tree: Path, folder: str) -> Iterator[str]:
    for name in _MAIN_FILES:
        path = tree / folder / name
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(tree).as_posix()


def _package_root(tree: Path, path: str) -> str | None:
    folder = PurePosixPath(path).parent
    if not path.endswith(".py") or not (tree / folder / "__init__.py").is_file():
        return None
    while folder.parts and (tree / folder / "__init__.py").is_file():
        folder = folder.parent
    source = PurePosixPath(project_folder(tree, path) or ".", "src")
    # Below a project's src no folder is a root: one without __init__.py is a namespace, which distributions share.
    return str(source if source in folder.parents else folder)


def _holds_packages(folder: Path) -> bool:
    if not folder.is_dir() or folder.is_symlink() or (folder / "__init__.py").exists():
        return False
    return any(any(folder.glob(pattern)) for pattern in ("*/__init__.py", "*.py", "*/*/__init__.py"))


def _join(top: str, name: str) -> str:
    return name if top == "." else f"{top}/{name}"


def text_of(path: Path) -> str:
    """Return a manifest's text; empty for a link, a special file or one that is too long."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return ""
    return path.read_text("utf-8", "replace")


def toml_document(path: Path) -> dict[str, Any]:
    """Return a file of TOML; empty where there is none, or what is there cannot be read."""
    try:
        return dict(tomllib.loads(text_of(path)))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def ini_document(text: str) -> configparser.ConfigParser:
    """Return a text as settings in sections; empty where it cannot be read."""
    config = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        config.read_string(text)
    except configparser.Error:
        return configparser.ConfigParser()
    return config

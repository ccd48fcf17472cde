"""What trees declare, read without running them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.ecosystems.python import manifests

SETUP_PY = """\
from setuptools import setup
requires = dict(python_requires='>=3.6,!=3.7.*')
setup(classifiers=['Programming Language :: Python :: 3', "Programming Language :: Python :: 3.6"], **requires)
raise SystemExit("nobody runs this")
"""
SETUP_CFG = """\
[options]
python_requires = >=3.8
[metadata]
classifiers =
    Programming Language :: Python :: 3.8
    Programming Language :: Python :: 3.10
"""
POETRY = '[tool.poetry.dependencies]\npython = "^3.8"\n'
PROJECT = """\
[project]
requires-python = ">=3.9"
classifiers = ["Programming Language :: Python :: 3.12"]
"""


def files(folder: Path, *names: str, text: str = "") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "requires", "classifiers"),
    [
        ("setup.py", SETUP_PY, (">=3.6,!=3.7.*",), {"3.6"}),
        ("setup.cfg", SETUP_CFG, (">=3.8",), {"3.8", "3.10"}),
        ("pyproject.toml", POETRY, ("^3.8",), set()),
        ("pyproject.toml", PROJECT, (">=3.9",), {"3.12"}),
        ("pyproject.toml", "this = is = no toml", (), set()),
        ("setup.cfg", "no section", (), set()),
    ],
)
def test_python_versions(
    tmp_path: Path, name: str, text: str, requires: tuple[str, ...], classifiers: set[str]
) -> None:
    (tmp_path / name).write_text(text)
    found = manifests.python_support(tmp_path)
    assert (found.requires, found.classifiers) == (requires, classifiers)


def test_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SETUP_CFG)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "setup.cfg").symlink_to(tmp_path / "secret")
    assert manifests.python_support(tmp_path / "tree").requires == ()


def test_the_nearest_manifest_is_the_project_and_tools_settings_are_none(tmp_path: Path) -> None:
    files(tmp_path, "setup.py", "core/setup.py")
    files(tmp_path, "core/inner/pyproject.toml", text="[tool.black]\n")
    assert manifests.project_folder(tmp_path, "core/inner/x.py") == "core"
    assert manifests.project_folder(tmp_path, "docs/x.rst") == "."
    (tmp_path / "setup.py").unlink()
    assert manifests.project_folder(tmp_path, "docs/x.rst") is None


def test_import_roots_are_found_where_packages_lie(tmp_path: Path) -> None:
    files(tmp_path, "src/pkg/__init__.py", "lib/readme.md", "core/setup.py", "core/src/inner/__init__.py")
    files(tmp_path, "deep/er/top/__init__.py", "deep/er/top/sub/__init__.py", "deep/er/top/sub/module.py")
    assert manifests.import_roots(tmp_path, ["docs/x.rst"]) == (".", "src")
    paths = ["core/x.cfg", "deep/er/top/sub/module.py"]
    assert manifests.import_roots(tmp_path, paths) == (".", "src", "core", "core/src", "deep/er")


@pytest.mark.parametrize(
    ("module", "manifest", "roots"),
    [
        ("src/ns/pkg/core.py", "pyproject.toml", (".", "src")),
        ("src/ns/inner/logging/core.py", "pyproject.toml", (".", "src")),
        ("parts/one/src/ns/pkg/core.py", "parts/one/setup.py", (".", "parts/one", "parts/one/src")),
        ("src/tool-cli/tool/core.py", "src/tool-cli/setup.py", (".", "src", "src/tool-cli")),
    ],
)
def test_a_namespace_below_src_is_no_root(tmp_path: Path, module: str, manifest: str, roots: tuple[str, ...]) -> None:
    files(tmp_path, manifest, module, str(Path(module).parent / "__init__.py"))
    assert manifests.import_roots(tmp_path, [module]) == roots


def test_a_src_that_is_a_package_itself_is_no_root(tmp_path: Path) -> None:
    files(tmp_path, "src/__init__.py", "src/a/__init__.py")
    assert manifests.import_roots(tmp_path, ["src/a/__init__.py"]) == (".",)


def test_requirements_files_by_what_they_are_for(tmp_path: Path) -> None:
    files(tmp_path, "requirements.txt", *(f"requirements/{name}.txt" for name in ("base", "test", "docs")))
    files(tmp_path, "dev-requirements.txt", "tests/requirements.txt", "core/requirements.txt", "notes/dev.txt")
    assert manifests.requirement_files(tmp_path, "core") == (
        "core/requirements.txt", "requirements.txt", "requirements/base.txt",
    )  # fmt: skip
    assert set(manifests.testing_files(tmp_path, ".")) == {
        "dev-requirements.txt", "requirements/test.txt", "tests/requirements.txt",
    }  # fmt: skip


def test_the_trees_own_modules_are_told_from_foreign_ones(tmp_path: Path) -> None:
    files(tmp_path, "src/pkg/__init__.py", "single.py", "folder/data.txt")
    roots = (".", "src")
    assert manifests.provides(tmp_path, roots, "pkg")
    assert manifests.provides(tmp_path, roots, "single")
    assert not manifests.provides(tmp_path, roots, "folder")


@pytest.mark.parametrize(
    ("system", "needed"),
    [
        ("", ()),
        ('requires = ["setuptools", "cython"]', ("setuptools", "cython", "wheel")),
        ('requires = ["setuptools", "wheel"]\nbuild-backend = "setuptools.build_meta"', ("setuptools", "wheel")),
        ('requires = ["hatchling"]\nbuild-backend = "hatchling.build"', ("hatchling", "editables")),
        ('requires = ["flit_core"]\nbuild-backend = "flit_core.buildapi"', ("flit_core",)),
    ],
)
def test_a_build_needs_what_its_backend_asks_for(tmp_path: Path, system: str, needed: tuple[str, ...]) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[build-system]\n{system}\n" if system else "[tool.black]\n")
    assert manifests.build_requirements(tmp_path) == needed

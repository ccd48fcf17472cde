"""Rust: cargo, and the tests of its own harness."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from typing_extensions import override

from pytest_crab.ecosystems.contract import (
    OWN_TESTS,
    Ecosystem,
    Grammar,
    Messages,
    Names,
    Spelling,
    nearest_folders,
    runner_source,
)
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.ecosystems.rust.inside import own_tests as inside_tests
from pytest_crab.ecosystems.rust.linter import LINTER
from pytest_crab.ecosystems.rust.tools import RustTools
from pytest_crab.types import Environment

#: The condition under which a whole file is compiled, and what in it is a condition's own word or denied.
_CONDITION = re.compile(r"(?ms)^#!\[cfg\((.*?)\)\]")
_DENIED = re.compile(r"not\((?:[^()]|\([^()]*\))*\)")
_FEATURE = re.compile(r'feature *= *"([\w-]+)"')
_FLAG = re.compile(r"\b(\w+_unstable)\b")

#: The licence in a Cargo.toml.
_LICENCE = re.compile(r'(?m)^license[ \t]*=[ \t]*"([^"]+)"')

#: What macros that make several tests of a function call each.
_CASE = re.compile(r"case_\d+")

_is_package: Callable[[Path], bool] = inside_tests.is_package

_TESTS = """\
((attribute_item) @mark (#match? @mark "^#.(\\\\w+::)*(\\\\w*test|test_case)\\\\b")
  . (attribute_item)*
  . (function_item name: (identifier) @name) @test)
"""

_STUB = """\
// Red on the pull request, green once {comment} is resolved ({place}).
// {stub}

#[test]
fn {comment}() {{
    panic!("to be written");
}}
"""


class Rust(Ecosystem):
    """Rust with cargo. Cargo.lock pins the packages."""

    name = "rust"
    languages = MappingProxyType({".rs": "rust"})
    linter = LINTER
    grammars = MappingProxyType({".rs": Grammar("tree_sitter_rust", tests=_TESTS)})
    names = Names(
        tests=r"^tests\.rs$",
        running=r"build\.rs",
        dependencies=r"Cargo\.toml",
        variables=r"RUSTC(?:_\w+)?|RUSTUP_\w+|CARGO_(?:HOME|TARGET_DIR|BUILD_\w+|TARGET_\w+_RUNNER)",
        reading=r"include_str!|include_bytes!|fs::read|File::open",
        settings=r"env::var(?:_os)?\(\"(\w+)\"\)",
        form=r"clippy|rustfmt|rustdoc",
    )
    messages = Messages(
        banner=r"note: (?:run with|Some details)|warning: build failed",
        cause=r"thread '.*' panicked|error(?:\[E\d+\])?: ",
        telling=r"^error(?:\[e\d+\])?: ",
        pointing=r"^error: (?:could not compile|aborting due to)",
    )
    tools = RustTools()
    runner = runner_source(__name__)
    own_tests = runner_source(__name__, "own_tests")
    dated = True
    stub = _STUB
    is_beside_code = True
    versions = Spelling(r"1\.\d{1,3}(?:\.\d{1,2})?", "Rust, such as '1.95'")
    #: The oldest Rust whose tests were seen to be told as they are here.
    oldest = "1.63"
    pinned_by = "Cargo.lock pins what cargo takes"
    pin = Spelling(r"[A-Za-z][A-Za-z0-9_-]*@\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?", "name@1.2.3, which is cargo's way")
    runners = MappingProxyType({"cargo": Spelling(r"\.rs", ".rs"), "rust-tests": OWN_TESTS})
    leftovers = Patterns(names=("*.profraw",), marks=("CACHEDIR.TAG",))  # which lies in each target folder
    system_packages = ("/usr/share/cargo/registry",)

    @override
    def proposals(self, tree: Path, files: Sequence[str]) -> Iterator[Environment]:
        """The Rust of this machine for the packages of the files, with the features that these ask for, then with all.

        Nothing is noted for debuggers, which takes much of a compiler's time. At last the programs of the package at
        the tree's root are built too, which tests of other packages may start.
        """
        asked = [_CONDITION.search((tree / file).read_text("utf-8", "replace")) for file in files
                 if file.endswith(".rs") and (tree / file).is_file()]  # fmt: skip
        said = _DENIED.sub("", " ".join(found[1] for found in asked if found))
        env = {"CARGO_PROFILE_DEV_DEBUG": "0"}
        if features := sorted(set(_FEATURE.findall(said))):
            env["CARGOFLAGS"] = f"--features {','.join(features)}"
        if flags := sorted(set(_FLAG.findall(said))):
            env["RUSTFLAGS"] = " ".join(f"--cfg {flag}" for flag in flags)
        paths = nearest_folders(tree, files, lambda folder: _is_package(folder / "Cargo.toml"))
        first = Environment(ecosystem=self.name, version=self.tools.find("").minor, paths=paths, env=env)
        yield first
        manifests = filter(Path.is_file, (tree / path / "Cargo.toml" for path in paths))
        if any("[features]" in each.read_text("utf-8", "replace") for each in manifests):
            yield dataclasses.replace(first, env={**env, "CARGOFLAGS": "--all-features"})
        if "." not in paths and _is_package(tree / "Cargo.toml") and (tree / "Cargo.lock").is_file():
            yield dataclasses.replace(first, build=("cargo build --bins",))

    @override
    def licences(self, read: Callable[[str], str]) -> Iterator[str]:
        yield from _LICENCE.findall(read("Cargo.toml"))

    @override
    def is_told(self, run_id: str, path: str, name: str) -> bool:
        place, _, told = run_id.partition(":")
        folder, _, target = place.rpartition(" ")
        *modules, title = told.split("::")
        if modules and _CASE.match(title):
            title = modules.pop()
        file = PurePosixPath(path)
        called = file.parent.name if file.stem in ("main", "mod", "lib") else file.stem
        inside = folder == "." or path.startswith(f"{folder}/")
        return inside and called in (target, *modules) and title == name

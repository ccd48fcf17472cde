"""Go: its modules, and ``go test``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
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
from pytest_crab.ecosystems.go.linter import LINTER
from pytest_crab.ecosystems.go.tools import GoTools
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.ecosystems.toolchain import numbers
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: The release that a go.mod asks for.
_ASKED = re.compile(r"(?m)^go[ \t]+(1\.\d+)")

#: How many releases are tried beside this machine's own.
_TRIED = 3

_TESTS = """\
(function_declaration name: (identifier) @name
  (#match? @name "^(Test|Fuzz|Example)([^a-z]|$)") (#not-eq? @name "TestMain")) @test
(import_spec) @import
"""

_STUB = """\
// Red on the pull request, green once {comment} is resolved ({place}).
// {stub}
package {folder}

import "testing"

func Test_{comment}(t *testing.T) {{
	t.Fatal("to be written")
}}
"""


class Go(Ecosystem):
    """Go with its own runner of tests. go.mod and go.sum pin the packages."""

    name = "go"
    languages = MappingProxyType({".go": "go"})
    linter = LINTER
    grammars = MappingProxyType({".go": Grammar("tree_sitter_go", tests=_TESTS)})
    names = Names(
        dependencies=r"go\.(?:mod|sum|work)",
        settings=r"os\.(?:Getenv|LookupEnv)\(\"(\w+)\"\)|\benv:\"(\w+)|viper\.\w+\(\"([\w.]+)\"",
        form=r"gofmt|goimports|golangci\S*|godoc",
    )
    messages = Messages(banner=r"goroutine \d|exit status \d+$", cause=r"panic:", telling=r"\.go:\d+:\d+: ")
    tools = GoTools()
    runner = runner_source(__name__)
    own_tests = runner_source(__name__, "own_tests")
    stub = _STUB
    is_beside_code = True
    versions = Spelling(
        r"1\.\d{1,2}(?:\.\d{1,2})?", "Go, such as '1.26', or '1.22.12', a patch release, which Go fetches"
    )
    #: The first Go whose tests mark their own lines apart from what is printed.
    oldest = "1.20"
    pinned_by = "go.mod and go.sum pin what Go takes"
    own_variables = MappingProxyType({"GODEBUG": ", which reads its caches by it; it should be left out"})
    pin = Spelling(r"[a-z0-9.-]+(?:/[A-Za-z0-9._~-]+)+@v\d+\.\d+\.\d+\S*", "example.org/module@v1.2.3")
    runners = MappingProxyType({"go": Spelling(r"_test\.go", "_test.go"), "go-tests": OWN_TESTS})
    leftovers = Patterns(names=("coverage.out", "cover.out"))
    system_packages = ("/usr/share/gocode",)

    @override
    def proposals(self, tree: Path, files: Sequence[str]) -> Iterator[Environment]:
        """The Go of this machine, then the newest patch releases of go.mod's minor release and of two above it."""
        if next(tree.rglob("go.mod"), None) is None:
            raise ImageError("there is no go.mod, and nothing here builds Go without one")
        paths = nearest_folders(tree, files, lambda folder: any(folder.glob("*_test.go")))
        here = self.tools.find("")
        yield Environment(ecosystem=self.name, version=here.minor, paths=paths)
        asked = _ASKED.search((tree / "go.mod").read_text("utf-8", "replace")) if (tree / "go.mod").exists() else None
        releases = self.tools.releases(*numbers(asked[1])) if asked else ()
        for version in itertools.islice(releases, _TRIED):
            if numbers(version) != numbers(here.version):
                yield Environment(ecosystem=self.name, version=version, paths=paths)

    @override
    def is_told(self, run_id: str, path: str, name: str) -> bool:
        place, _, told = run_id.partition(":")
        return place == str(PurePosixPath(path).parent) and told.partition("/")[0] == name

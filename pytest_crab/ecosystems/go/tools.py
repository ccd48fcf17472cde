"""The Go of this machine, its older releases, and the modules that a build fetches."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from typing_extensions import override

from pytest_crab.ecosystems.building import install_script, require_public
from pytest_crab.ecosystems.toolchain import Tool, Tools, numbers
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: Settings of Go that a build hands on from this machine.
_SETTINGS = ("GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOSUMDB", "GOINSECURE", "GONOPROXY", "GOPRIVATE")

#: A release as a module: its minor release, and its patch.
_RELEASE = re.compile(r"-go(1\.\d+)\.(\d+)\.linux-")

#: The most for compiling what tests need of Go's own library.
_SECONDS = 900

#: The first Go that fetches another.
_FETCHING = (1, 21)

#: The part of Go's own library that the program of any test is built of, and what reads its output.
_LIBRARY = ("testing", "testing/internal/testdeps", "cmd/test2json")

#: Fetches what the packages of the tree and their tests need, and compiles it; where the root is no module, of each
#: that there is; where the environment names folders, of the packages of these alone. Modules are writable, so that
#: they can be removed; their archives are twice what they hold and are needed no more. A package that does not compile
#: is for the oracles to tell. A tree without tests has them built all the same, with each oracle, into no cache.
_FETCH = f"""\
mkdir -p "$GOMODCACHE" "$GOCACHE"
packages=./...
[ "$*" = . ] || packages=.
[ "$*" != . ] || [ -f go.mod ] ||
    set -- $(find . -name go.mod -not -path '*/vendor/*' -not -path '*/testdata/*' -exec dirname {{}} +)
for folder in "$@"; do
    (cd "$folder" && go list -modcacherw -deps -test $packages > /dev/null)
    (cd "$folder" && go list -modcacherw -e -deps -test -export $packages > /dev/null)
done
go build {" ".join(_LIBRARY)}
go build -o "$GOCACHE/test2json" cmd/test2json
find "$GOMODCACHE/cache/download" -name '*.zip' -delete 2> /dev/null || true
chmod -R a+rX "$GOMODCACHE" "$GOCACHE"
"""


class GoTools(Tools):
    """Go. A release that is not on this machine is fetched as a module, by the Go that is."""

    name = "go"
    program = "go"
    version_arguments = ("version",)
    version_variable = ("GOTOOLCHAIN", "local")
    source = "unpack a release of go.dev/dl and put its bin on PATH"
    public_base = "golang:{version}"
    usual = "1.26"
    takes = 180
    base_takes = 850
    has_caches = True
    handed_on = ("mod", "build")
    seeded = ("build", *_LIBRARY)
    bundle_variable = "SSL_CERT_FILE"

    @override
    def find(self, wanted: str) -> Tool:
        """Return the Go on PATH; with the version wanted where that is a patch release, which it then fetches."""
        found = self.here()
        exact = wanted.count(".") > 1
        if found is None or not exact or found.version == wanted:
            return super().find(wanted)
        if numbers(found.version) < _FETCHING:
            raise ImageError(
                f"go {wanted} is needed, and the go on PATH is {found.version}, which fetches no other; put go "
                f"{wanted} first, or one from 1.21 on",
                of_machine=True,
            )
        return Tool(name=self.name, version=wanted, program=found.program)

    def releases(self, first: int, minor: int) -> Iterator[str]:
        """Yield the newest patch release of this minor release, and of each above it. Raises ImageError.

        None before 1.18 is among them, as those do not know all flags of a build.
        """
        asked = [self.find("").program, "list", "-m", "-versions", "golang.org/toolchain"]
        env = {**os.environ, **self.route_env(), "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
        try:
            done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True, cwd="/", env=env)
        except (OSError, subprocess.SubprocessError) as error:
            raise ImageError("the releases of go are not known: its proxy does not answer", of_machine=True) from error
        known: dict[tuple[int, ...], int] = {}
        for release, patch in _RELEASE.findall(done.stdout):
            known[numbers(release)] = max(int(patch), known.get(numbers(release), 0))
        yield from (f"1.{at[1]}.{known[at]}" for at in sorted(known) if at >= max((first, minor), (1, 18)))

    @override
    def seed(self, tool: Tool) -> Callable[[Path], None] | None:
        """Return what compiles the part of Go that every test needs; None for a release that is yet to be fetched."""
        here = self.here()
        return (
            functools.partial(self._compile_library, tool)
            if here is not None and here.version == tool.version
            else None
        )

    def _compile_library(self, tool: Tool, folder: Path) -> None:
        env = {**self.variables(tool.version, str(folder)), "HOME": str(folder), "PATH": os.environ.get("PATH", "")}
        try:
            subprocess.run(
                [tool.program, *self.seeded],
                cwd=folder,
                env=env,
                capture_output=True,
                check=True,
                timeout=_SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise ImageError(f"go {tool.version} does not compile its own library: {error}", of_machine=True) from error

    @override
    def build_script(self, environment: Environment) -> str:
        return f"{install_script(environment)}set -- {shlex.join(environment.paths)}\n{_FETCH}"

    @override
    def route_env(self) -> dict[str, str]:
        own = {name: os.environ[name] for name in _SETTINGS if os.environ.get(name)}
        return {"GOPROXY": "", **own, **super().route_env()}

    @override
    def build_arguments(self, bundle: str) -> dict[str, str]:
        require_public("GOPROXY", self.route_env()["GOPROXY"], "a proxy")
        return super().build_arguments(bundle)

    @override
    def copy(self, tool: Tool, root: Path) -> list[Path]:
        """The whole installation: Go compiles its own library where it is used."""
        here = self.here()
        if here is None or here.version != tool.version:
            raise ImageError(
                f"go {tool.version} is not on this machine, so no base image can be made of it; use the local runtime, "
                "which fetches it"
            )
        own = Path(tool.program).parent.parent

        def not_needed(folder: str, _: list[str]) -> set[str]:
            return {"test", "api", "doc"} if Path(folder) == own else set()

        shutil.copytree(own, root / "usr/local/go", ignore=not_needed, ignore_dangling_symlinks=True)
        (root / "usr/local/bin").mkdir(parents=True, exist_ok=True)
        for name in ("go", "gofmt"):
            (root / "usr/local/bin" / name).symlink_to(f"../go/bin/{name}")
        return [own / "bin/go"]

    @override
    def variables(self, version: str, caches: str) -> dict[str, str]:
        """Nothing is fetched or looked up outside the caches, and no file of the machine or the project sets them."""
        return {
            "GOMODCACHE": f"{caches}/mod",
            "GOCACHE": f"{caches}/build",
            "GOTOOLCHAIN": f"go{version}",
            "GOPROXY": "off",
            "GOFLAGS": "-buildvcs=false",
            "GOENV": "off",
            "GODEBUG": "goindex=0",  # else an index of the tree is written to the cache, and that it cannot be ends all
            "GOTELEMETRY": "off",
        }

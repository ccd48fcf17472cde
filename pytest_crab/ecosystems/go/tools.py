"""The Go of this machine, its older releases, and the modules that a build fetches."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

from typing_extensions import override

from pytest_crab.ecosystems.building import PackageRoute, install_script
from pytest_crab.ecosystems.contract import Tool, Tools
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: Settings of Go that a build hands on from this machine.
_SETTINGS = ("GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOSUMDB", "GOINSECURE", "GONOPROXY", "GOPRIVATE")

#: Fetches what the packages of the tree and their tests need, and compiles it. Modules are writable, so that they can
#: be removed; their archives are twice what they hold and are needed no more. A package that does not compile is for
#: the oracles to tell.
_FETCH = """\
mkdir -p "$GOMODCACHE" "$GOCACHE"
go list -modcacherw -deps -test ./... > /dev/null
go list -modcacherw -e -deps -test -export ./... > /dev/null
go build -o "$GOCACHE/test2json" cmd/test2json
find "$GOMODCACHE/cache/download" -name '*.zip' -delete 2> /dev/null || true
chmod -R a+rX "$GOMODCACHE" "$GOCACHE"
"""


class GoTools(Tools):
    """Go. A release that is not on this machine is fetched as a module, by the Go that is."""

    name = "go"
    program = "go"
    version_arguments = ("version",)
    public_base = "golang:{version}"
    usual = "1.26"
    has_caches = True

    @override
    def find(self, wanted: str) -> Tool:
        """Return the Go on PATH; with the version wanted where that is a patch release, which it then fetches."""
        found = self.here()
        exact = wanted.count(".") > 1
        if found is None or not exact or found.version == wanted:
            return super().find(wanted)
        return Tool(name=self.name, version=wanted, program=found.program)

    @override
    def build_script(self, environment: Environment) -> str:
        variables = install_script(dataclasses.replace(environment, install=()))
        return f"{variables}{_FETCH}{install_script(environment)}"

    @override
    def route_env(self) -> dict[str, str]:
        route = PackageRoute.here()
        env = {**route.proxies, **{name: os.environ[name] for name in _SETTINGS if os.environ.get(name)}}
        if route.bundle is not None:
            env["SSL_CERT_FILE"] = str(route.bundle)
        return {"GOPROXY": "", **env}

    @override
    def build_arguments(self, bundle: str) -> dict[str, str]:
        env = self.route_env()
        if "@" in urlsplit(env.get("GOPROXY", "")).netloc:
            raise ImageError(
                "GOPROXY holds a user or password, which a build would leave in the image's history; "
                "use a proxy that asks for none, or the local runtime"
            )
        return env | ({"SSL_CERT_FILE": bundle} if "SSL_CERT_FILE" in env else {})

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
        shutil.copytree(own, root / "usr/local/go", symlinks=True, ignore=shutil.ignore_patterns("test", "api", "doc"))
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

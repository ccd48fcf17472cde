"""The node of this machine, and what its packages are installed with."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from types import MappingProxyType

from typing_extensions import override

from pytest_crab.ecosystems.building import PackageRoute, install_script, require_public
from pytest_crab.ecosystems.toolchain import Tool, Tools, numbers
from pytest_crab.types import Environment

#: Settings of npm that a build hands on from this machine, under the names that npm itself reads.
_SETTINGS = ("NPM_CONFIG_REGISTRY", "npm_config_registry")
#: Where caches are handed on, the home of npm, pnpm and yarn is among them, and what is there is not asked for again.
_HANDED_ON = """\
if [ -n "${CRAB_HANDS_ON:-}" ]; then
    export HOME="$CRAB_HANDS_ON/home" NPM_CONFIG_PREFER_OFFLINE=true
    mkdir -p "$HOME"
fi
"""
#: The first node that runs TypeScript.
STRIPPING = (22, 6)


class NodeTools(Tools):
    """Node with npm."""

    name = "node"
    program = "node"
    source = "install Node.js with npm (nodejs.org, or apt-get install nodejs npm)"
    beside = MappingProxyType({"npm": "apt-get install npm"})
    public_base = "node:{version}"
    usual = "20"
    takes = 150
    base_takes = 1100
    handed_on = ("home",)

    @override
    def build_script(self, environment: Environment) -> str:
        """Put the pinned packages into the tree's node_modules.

        The project's own package.json plays no part in that: what it asks for is for an install command to bring.
        """
        packages = shlex.join(environment.packages)
        pins = (
            'crab=$(mktemp -d)\nnpm install --prefix "$crab" --ignore-scripts --no-audit --no-fund '
            f'--no-update-notifier {packages}\nmkdir -p node_modules\ncp -a "$crab/node_modules/." node_modules/\n'
            'rm -rf "$crab"\n'
        )
        return "set -e\n" + _HANDED_ON + (pins if packages else "") + install_script(environment)

    @override
    def build_arguments(self, bundle: str) -> dict[str, str]:
        env = self.route_env()
        require_public("NPM_CONFIG_REGISTRY", env.get("NPM_CONFIG_REGISTRY", ""), "a registry")
        return env | ({"NODE_EXTRA_CA_CERTS": bundle} if "NODE_EXTRA_CA_CERTS" in env else {})

    @override
    def route_env(self) -> dict[str, str]:
        registry = next((os.environ[name] for name in _SETTINGS if os.environ.get(name)), None)
        route = PackageRoute.here()
        env = dict(route.proxies)
        if registry is not None:
            env["NPM_CONFIG_REGISTRY"] = registry
        if route.bundle is not None:
            env["NODE_EXTRA_CA_CERTS"] = str(route.bundle)
        return env

    @override
    def copy(self, tool: Tool, root: Path) -> list[Path]:
        """The program, and npm where it lies beside it."""
        program = Path(tool.program)
        place = root / "usr/local/bin/node"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(program, place)
        npm = program.parent.parent / "lib/node_modules/npm"
        if npm.is_dir():
            shutil.copytree(npm, root / "usr/local/lib/node_modules/npm", symlinks=True)
            (root / "usr/local/bin/npm").symlink_to("../lib/node_modules/npm/bin/npm-cli.js")
        return [program]

    @override
    def options(self, version: str) -> tuple[str, ...]:
        """The options that this node needs to run TypeScript by itself; none where it does so unasked, or cannot."""
        found = numbers(version)
        unasked = found >= (23, 6) or (22, 18) <= found < (23,)
        return ("--experimental-strip-types",) if found >= STRIPPING and not unasked else ()

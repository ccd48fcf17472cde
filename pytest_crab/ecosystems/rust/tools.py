"""The Rust of this machine, and the crates that a build fetches."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

from typing_extensions import override

from pytest_crab.ecosystems.building import PackageRoute, install_script, require_public
from pytest_crab.ecosystems.compilers import copy_c
from pytest_crab.ecosystems.contract import Tool, Tools
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: Settings of cargo that a build hands on from this machine.
_SETTINGS = (
    "CARGO_HTTP_CAINFO", "CARGO_HTTP_PROXY", "CARGO_HTTP_TIMEOUT", "CARGO_NET_RETRY", "CARGO_NET_GIT_FETCH_WITH_CLI",
)  # fmt: skip

#: Fetches the crates, and compiles what the tests of each package need: an empty test stands for the oracle, and the
#: manifest is as it was afterwards. A package that does not compile is for the oracles to tell. What is large of that
#: moves to the caches, where no run changes it, and a link takes its place; the rest cargo writes to in place.
_FETCH = """\
caches=${CARGO_HOME%/home}
mkdir -p "$CARGO_HOME" "$caches/target"
: > "$caches/empty.rs"
roots=.
[ -f Cargo.toml ] || roots=$(find . -name Cargo.toml -exec dirname {} + | sort | awk '
    { for (root in seen) if (index($0, root "/") == 1) next; seen[$0] = 1; print }')
for root in $roots; do
    cd "$root"
    [ -f Cargo.lock ] || { echo "$root has no Cargo.lock, so nothing pins its crates; write one by cargo" >&2; exit 1; }
    cargo fetch --locked
    members=$(cargo metadata --no-deps --locked --format-version 1 | grep -o '"manifest_path":"[^"]*"' | cut -d'"' -f4)
    for manifest in $members; do
        cp -p "$manifest" "$manifest.crab"
        printf '\\n[[test]]\\nname = "crab_empty"\\npath = "%s/empty.rs"\\n' "$caches" >> "$manifest"
    done
    for targets in --lib '--bins --test crab_empty'; do
        cargo test --no-run --locked --workspace $targets --no-fail-fast ${CARGOFLAGS:-} || true
    done
    for manifest in $members; do mv "$manifest.crab" "$manifest"; done
    cd "$OLDPWD"
done
rm "$caches/empty.rs"
for made in $(find . -name CACHEDIR.TAG -exec grep -l 'created by cargo' {} + | sed 's,/[^/]*$,,'); do
    find "$made" -name 'crab_empty-*' -prune -exec rm -rf {} +
    chmod -R a+rX "$made"
    find "$made" -type f -size +32k -not -path '*/build/*/out/*' | while IFS= read -r file; do
        place=target/${file#./}
        mkdir -p "$(dirname "$caches/$place")"
        mv "$file" "$caches/$place"
        ln -s "$CRAB_CACHES/$place" "$file"
    done
done
chmod -R a+rX "$caches"
"""


class RustTools(Tools):
    """Rust with cargo, which is found in its toolchain and not in rustup's place for all of them."""

    name = "rust"
    program = "cargo"
    public_base = "rust:{version}"
    usual = "1.95"
    has_caches = True

    @override
    def here(self) -> Tool | None:
        found, compiler = super().here(), shutil.which("rustc")
        if found is None or compiler is None:
            return None
        said = subprocess.run([compiler, "--print", "sysroot"], capture_output=True, text=True, check=False, cwd="/")
        own = Path(said.stdout.strip(), "bin", "cargo")
        return dataclasses.replace(found, program=str(own)) if said.stdout and own.is_file() else found

    @override
    def build_script(self, environment: Environment) -> str:
        return f"{install_script(environment)}{_FETCH}"

    @override
    def route_env(self) -> dict[str, str]:
        route = PackageRoute.here()
        env = {**route.proxies, **{name: os.environ[name] for name in _SETTINGS if os.environ.get(name)}}
        if route.bundle is not None:
            env["CARGO_HTTP_CAINFO"] = str(route.bundle)
        return {**env, "CARGO_NET_OFFLINE": "false"}

    @override
    def build_arguments(self, bundle: str) -> dict[str, str]:
        env = self.route_env()
        require_public("CARGO_HTTP_PROXY", env.get("CARGO_HTTP_PROXY", ""), "a proxy")
        return env | ({"CARGO_HTTP_CAINFO": bundle} if "CARGO_HTTP_CAINFO" in env else {})

    @override
    def copy(self, tool: Tool, root: Path) -> list[Path]:
        """The compiler with its libraries, and the C compiler, which links."""
        own = Path(tool.program).parent.parent
        if not (own / "lib/rustlib").is_dir():
            raise ImageError(f"{own} has no lib/rustlib, so its Rust cannot be put into an image")
        place = root / "usr/local/rust"
        (place / "bin").mkdir(parents=True)
        shutil.copytree(own / "lib", place / "lib", symlinks=True)
        programs = [own / "bin" / name for name in ("cargo", "rustc", "rustdoc")]
        for program in filter(Path.is_file, programs):
            shutil.copy2(program, place / "bin" / program.name)
            (root / "usr/local/bin" / program.name).symlink_to(f"../rust/bin/{program.name}")
        return [*filter(Path.is_file, programs), *copy_c(root)]

    @override
    def variables(self, version: str, caches: str) -> dict[str, str]:
        """Nothing is fetched, and no program of the project's stands between cargo and the compiler."""
        wrappers = {"RUSTC_WRAPPER": "", "RUSTC_WORKSPACE_WRAPPER": ""}
        return {"CARGO_HOME": f"{caches}/home", "CARGO_NET_OFFLINE": "true", "CARGO_TERM_COLOR": "never", **wrappers}

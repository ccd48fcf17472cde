"""The Rust of this machine, and the crates that a build fetches."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from types import MappingProxyType

from typing_extensions import override

from pytest_crab.ecosystems.building import install_script, require_public
from pytest_crab.ecosystems.compilers import copy_c
from pytest_crab.ecosystems.toolchain import Tool, Tools
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: Settings of cargo that a build hands on from this machine.
_SETTINGS = (
    "CARGO_HTTP_CAINFO", "CARGO_HTTP_PROXY", "CARGO_HTTP_TIMEOUT", "CARGO_NET_RETRY", "CARGO_NET_GIT_FETCH_WITH_CLI",
)  # fmt: skip

#: Writes the lock of crates that nothing pins, as of a moment. Crates that were withdrawn since are taken too: what
#: cargo knows of them is copied to an index in which none is. What releases of before the moment ask for is in it as
#: well, since cargo has no words of its own for a crate that it could not look up there.
_LOCK = """\
crab_ask() {
    RUSTC_BOOTSTRAP=1 cargo -Zunstable-options generate-lockfile --publish-time "$moment" "$@" 2> "$caches/said"
}
crab_index() {
    known=$(echo "$CARGO_HOME"/registry/index/*/.cache) index=$caches/dated/index
    (cd "$known" && find . -type d) | (mkdir -p "$index" && cd "$index" && xargs mkdir -p)
    find "$known" -type f -exec cat {} + | tr '\\0' '\\n' | grep '^{' | sed 's/"yanked": *true/"yanked":false/' |
        awk -v index_="$index" -v moment="$moment" '
            function value(text, key) {
                if (!match(text, "\\"" key "\\": *\\"[^\\"]*\\"")) return ""
                text = substr(text, RSTART, RLENGTH - 1); sub(/.*"/, "", text); return text
            }
            {
                name = value($0, "name"); known[name] = 1; size = length(name); low = tolower(name)
                place = substr(low, 1, 2) "/" substr(low, 3, 2)
                if (size < 4) place = size == 3 ? "3/" substr(low, 1, 1) : size
                file = index_ "/" place "/" low
                if (file != last) { close(last); printf "" > file; last = file }
                print > file
                when = value($0, "pubtime"); if (when > moment) next
                split(value($0, "vers"), part, "."); series = name " " part[1] (part[1] == 0 ? "." part[2] : "")
                if (when >= newest[series]) { newest[series] = when; release[series] = $0 }
            }
            END {
                for (series in release) {
                    rest = release[series]; rest = substr(rest, index(rest, "\\"deps\\""))
                    while (match(rest, /[{]"name": *"[^}]*[}]/)) {
                        one = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
                        if (one ~ /"kind": *"dev"/) continue
                        name = value(one, "package"); if (name == "") name = value(one, "name")
                        if (!(name in known) && !told[name]++) print name
                    }
                }
            }' > "$caches/missing"
}
crab_lock() {
    crab_ask && return || cargo generate-lockfile 2> "$caches/said" || true
    mkdir -p "$caches/asking/src"
    : > "$caches/asking/src/lib.rs"
    : > "$caches/asked"
    while crab_index; grep -vxF -f "$caches/asked" "$caches/missing" > "$caches/new"; do
        cat "$caches/new" >> "$caches/asked"
        { printf '[package]\\nname = "asking"\\nversion = "0.0.0"\\n[workspace]\\n[dependencies]\\n'
            sed 's/$/ = "*"/' "$caches/new"; } > "$caches/asking/Cargo.toml"
        (cd "$caches/asking" && cargo generate-lockfile) 2> "$caches/said" || true
    done
    crab_ask --config "source.crates-io.replace-with='crab'" --config "source.crab.local-registry='$caches/dated'" ||
        { cat "$caches/said" >&2; exit 1; }
    rm -rf "$caches/asking" "$caches/dated" "$caches/said" "$caches/asked" "$caches/missing" "$caches/new"
}
"""

#: Takes what a build before this one handed on. All files are newer than what it compiled.
_TAKE = """\
set -e
caches=${CARGO_HOME%/home}
mkdir -p "$CARGO_HOME" "$caches/target"
if tar -tf "$caches/made/all.tar" > /dev/null 2>&1; then
    find . -type f -not -path "./.git/*" -exec touch {} +
    tar -xf "$caches/made/all.tar"
fi
"""

#: Fetches the crates, and compiles what the tests of each package need: an empty test stands for the oracle, and the
#: manifest is as it was afterwards. Where the environment names folders, it is the packages in these alone. A package
#: that does not compile is for the oracles to tell. What is large of that moves to the caches, where no run changes it,
#: and a link takes its place, but for what cargo and the compiler write to in place: lists of sources, and what cargo
#: notes of a package and of its build script. A build that is to hand its caches on packs that.
_FETCH = """\
: > "$caches/empty.rs"
roots=$* chosen=
if [ "$roots" = . ]; then
    chosen=--workspace
    [ -f Cargo.toml ] || roots=$(find . -name Cargo.toml -exec dirname {} + | sort | awk '
        { for (root in seen) if (index($0, root "/") == 1) next; seen[$0] = 1; print }')
fi
for root in $roots; do
    cd "$root"
    if ! [ -f "$(dirname "$(cargo locate-project --workspace --message-format plain)")/Cargo.lock" ]; then
        [ -n "$moment" ] ||
            { echo "$root has no Cargo.lock, so nothing pins its crates; write one by cargo" >&2; exit 1; }
        crab_lock
    fi
    cargo fetch --locked
    members=$PWD/Cargo.toml
    [ -z "$chosen" ] || members=$(
        cargo metadata --no-deps --locked --format-version 1 | grep -o '"manifest_path":"[^"]*"' | cut -d'"' -f4)
    for manifest in $members; do
        cp -p "$manifest" "$manifest.crab"
        printf '\\n[[test]]\\nname = "crab_empty"\\npath = "%s/empty.rs"\\n' "$caches" >> "$manifest"
    done
    for targets in --lib '--bins --test crab_empty'; do
        cargo test --no-run --locked $chosen $targets --no-fail-fast ${CARGOFLAGS:-} || true
    done
    for manifest in $members; do mv "$manifest.crab" "$manifest"; done
    cd "$OLDPWD"
done
rm "$caches/empty.rs"
for made in $(find . -name CACHEDIR.TAG -exec grep -l 'created by cargo' {} + | sed 's,/[^/]*$,,'); do
    find "$made" -name 'crab_empty-*' -prune -exec rm -rf {} +
    chmod -R a+rX "$made"
    find "$made" -type f -size +32k -not -name '*.d' -not -path '*/.fingerprint/*' -not -path '*/build/*/out/*' \
        -not -path '*/build/*/output' -not -path '*/build/*/stderr' | while IFS= read -r file; do
        place=target/${file#./}
        mkdir -p "$(dirname "$caches/$place")"
        mv "$file" "$caches/$place"
        ln -s "$CRAB_CACHES/$place" "$file"
    done
done
if [ -n "${CRAB_HANDS_ON:-}" ]; then
    mkdir -p "$caches/made"
    find . -name CACHEDIR.TAG -exec grep -l 'created by cargo' {} + | sed 's,/[^/]*$,,' |
        tar -cf "$caches/made/new.tar" -T -
    mv "$caches/made/new.tar" "$caches/made/all.tar"
fi
chmod -R a+rX "$caches"
"""


class RustTools(Tools):
    """Rust with cargo, which is found in its toolchain and not in rustup's place for all of them."""

    name = "rust"
    program = "cargo"
    source = "install it with rustup (rustup.rs)"
    beside = MappingProxyType({"cc": "apt-get install gcc"})
    public_base = "rust:{version}"
    usual = "1.95"
    takes = 30
    base_takes = 1500
    has_caches = True
    handed_on = ("home", "target", "made")
    bundle_variable = "CARGO_HTTP_CAINFO"
    git_variables = MappingProxyType({"CARGO_NET_GIT_FETCH_WITH_CLI": "true"})

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
        known = f"moment={shlex.quote(environment.resolved or '')}\nset -- {shlex.join(environment.paths)}\n"
        return f"{_TAKE}{install_script(environment)}{known}{_LOCK}{_FETCH}"

    @override
    def route_env(self) -> dict[str, str]:
        own = {name: os.environ[name] for name in _SETTINGS if os.environ.get(name)}
        return {**own, **super().route_env(), "CARGO_NET_OFFLINE": "false"}

    @override
    def build_arguments(self, bundle: str) -> dict[str, str]:
        require_public("CARGO_HTTP_PROXY", self.route_env().get("CARGO_HTTP_PROXY", ""), "a proxy")
        return super().build_arguments(bundle)

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

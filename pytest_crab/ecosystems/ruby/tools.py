"""The Ruby of this machine, and the gems that a build installs."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path
from types import MappingProxyType

from typing_extensions import override

from pytest_crab.ecosystems.building import install_script, require_public
from pytest_crab.ecosystems.debian import copy_packages
from pytest_crab.ecosystems.toolchain import Tool, Tools
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: The place of gems that a build takes instead of the usual ones.
_MIRROR = "BUNDLE_MIRROR__ALL"

#: Debian's packages with Ruby and its gems. Those that are here go into a base image.
_PACKAGES = ("ruby*", "libruby*", "rake", "bundler")

#: The pinned gems as a Gemfile of their own: the project's plays no part beside them.
_PINS = """\
cat > "$GEM_HOME/Gemfile" << 'crab'
source Gem.sources.first.uri.to_s
{gems}crab
export BUNDLE_GEMFILE="$GEM_HOME/Gemfile"
"""

#: Installs what is not here of the gems, and notes where Ruby finds them: runs need no Bundler, and read no Gemfile.
_INSTALL = """\
if [ -f "${BUNDLE_GEMFILE:=Gemfile}" ]; then
    [ "$BUNDLE_GEMFILE" != Gemfile ] || [ -f Gemfile.lock ] || {
        echo "there is no Gemfile.lock, so nothing pins the gems; write one by bundle lock" >&2; exit 1; }
    export BUNDLE_GEMFILE="$(realpath "$BUNDLE_GEMFILE")"
    bundle check > /dev/null 2>&1 || bundle install
    ruby -rbundler/setup -e 'puts(($LOAD_PATH - ARGV).map { |path| path.delete_prefix("#{Dir.pwd}/") })' \\
        $(ruby -e 'puts $LOAD_PATH') > "$GEM_HOME/load_path"
fi
"""


class RubyTools(Tools):
    """Ruby with Bundler."""

    name = "ruby"
    program = "ruby"
    version_arguments = ("-e", "print RUBY_VERSION")
    source = "apt-get install ruby bundler"
    beside = MappingProxyType({"bundle": "apt-get install bundler"})
    public_base = "ruby:{version}"
    usual = "3.1"
    base_takes = 1000
    has_caches = True
    bundle_variable = "SSL_CERT_FILE"

    @override
    def here(self) -> Tool | None:
        """The Ruby on PATH, which may be a script that starts another."""
        found = super().here()
        if found is None:
            return None
        ask = [found.program, "-rrbconfig", "-e", "print RbConfig.ruby"]
        said = subprocess.run(ask, capture_output=True, text=True, check=False, cwd="/")
        return dataclasses.replace(found, program=os.path.realpath(said.stdout)) if said.stdout else found

    @override
    def build_script(self, environment: Environment) -> str:
        """Put the gems in place, and then run the install commands, which may use them."""
        variables = install_script(dataclasses.replace(environment, install=(), build=None))
        pairs = (package.split(":", 1) for package in environment.packages)
        gems = "".join(f'gem "{name}", "{version}"\n' for name, version in pairs)
        pins = _PINS.format(gems=gems) if gems else ""
        return (
            f'{variables}mkdir -p "$GEM_HOME"\n{pins}{_INSTALL}{install_script(environment)}chmod -R a+rX "$GEM_HOME"\n'
        )

    @override
    def route_env(self) -> dict[str, str]:
        return {**super().route_env(), **({_MIRROR: os.environ[_MIRROR]} if os.environ.get(_MIRROR) else {})}

    @override
    def build_arguments(self, bundle: str) -> dict[str, str]:
        require_public(_MIRROR, self.route_env().get(_MIRROR, ""), "a mirror")
        return super().build_arguments(bundle)

    @override
    def copy(self, tool: Tool, root: Path) -> list[Path]:
        """Ruby with the gems of its system: Debian's packages, or the folder that it is installed in."""
        own = Path(tool.program).parent.parent
        if str(own) == "/usr":
            programs = copy_packages(root, _PACKAGES)
            folders = [*Path("/usr/lib").glob("*-linux-gnu*/ruby")]
        else:
            programs = [Path(tool.program)]
            folders = [own / "lib"]
            shutil.copytree(own, root / own.relative_to("/"), symlinks=True, dirs_exist_ok=True)
            for program in (own / "bin").iterdir():
                place = root / "usr/local/bin" / program.name
                if not place.exists():
                    place.symlink_to(program)
        if not programs:
            raise ImageError(f"{tool.program} is of no package of Debian's, so its Ruby cannot be put into an image")
        return [*programs, *(file for folder in folders for file in folder.rglob("*.so"))]

    @override
    def variables(self, version: str, caches: str) -> dict[str, str]:
        """Gems of the build come first, and no setting of Bundler's in the tree counts."""
        return {"GEM_HOME": caches, "BUNDLE_APP_CONFIG": f"{caches}/bundle"}

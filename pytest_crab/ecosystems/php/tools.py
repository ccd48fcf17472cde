"""The PHP of this machine, with composer and PHPUnit."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from types import MappingProxyType

from typing_extensions import override

from pytest_crab.ecosystems.building import install_script
from pytest_crab.ecosystems.toolchain import Tool, Tools
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: Where systems keep PHP's settings, and what names the modules that it loads.
_SETTINGS = ("/etc/php", "/etc/php.d", "/etc/php.ini")
#: Where Debian keeps what is written in PHP, PHPUnit and composer among it.
_LIBRARY = Path("/usr/share/php")

#: Takes what composer.lock pins, or makes the autoloader alone.
_PROJECT = """\
export COMPOSER_ALLOW_SUPERUSER=1
export COLUMNS=1000 # else composer cuts what it says into lines of 80 characters
mkdir -p "$COMPOSER_HOME"
if [ -f composer.lock ]; then
    composer install --no-interaction --no-progress
elif [ -f composer.json ]; then
    composer dump-autoload --no-interaction
fi
"""
#: Notes where the PHPUnit is that oracles run under. That there is none is said when one needs it. Composer, which then
#: only makes autoloaders, is kept from looking for certificates.
_NOTE = f"""\
for place in "$CRAB_PHP/vendor/autoload.php" {_LIBRARY}/PHPUnit/Autoload.php; do
    if php -d include_path={_LIBRARY} -r '
        require $argv[1]; exit(preg_match("~^9[.]~", PHPUnit\\Runner\\Version::id()) ? 0 : 1);
    ' "$place" > /dev/null 2>&1; then
        echo "$place" > "$CRAB_PHP/phpunit"
        break
    fi
done
rm -rf "$COMPOSER_HOME"
mkdir "$COMPOSER_HOME"
echo '{{"config": {{"disable-tls": true}}}}' > "$COMPOSER_HOME/config.json"
chmod -R a+rX "$CRAB_PHP"
"""


class PhpTools(Tools):
    """PHP with composer, and PHPUnit as a system's package has it."""

    name = "php"
    program = "php"
    version_arguments = ("-n", "-r", "echo PHP_VERSION;")
    source = "apt-get install php-cli composer phpunit"
    beside = MappingProxyType({"composer": "apt-get install composer"})
    public_base = "php:{version}-cli"
    usual = "8.2"
    has_caches = True
    bundle_variable = "SSL_CERT_FILE"

    @override
    def binds(self, tool: Tool) -> dict[str, str]:
        """PHP's settings too, which lie below /etc."""
        return {**super().binds(tool), **{place: place for place in _SETTINGS if Path(place).exists()}}

    @override
    def build_script(self, environment: Environment) -> str:
        packages = shlex.join(environment.packages)
        pins = f'composer require --working-dir="$CRAB_PHP" --no-interaction --no-progress {packages}\n'
        return f"set -e\n{_PROJECT}{pins if packages else ''}{install_script(environment)}{_NOTE}"

    @override
    def variables(self, version: str, caches: str) -> dict[str, str]:
        return {"CRAB_PHP": caches, "COMPOSER_HOME": f"{caches}/composer"}

    @override
    def copy(self, tool: Tool, root: Path) -> list[Path]:
        """PHP with its modules and settings, and what Debian has of PHPUnit and composer."""
        composer, phpunit = shutil.which("composer"), shutil.which("phpunit")
        modules, settings = Path("/usr/lib/php"), Path("/etc/php")
        if composer is None or phpunit is None or not (_LIBRARY / "PHPUnit").is_dir() or not modules.is_dir():
            raise ImageError(
                "php has no PHPUnit and composer beside it; install them (apt-get install phpunit composer)"
            )
        if not settings.is_dir():
            raise ImageError(
                "php has no settings in /etc/php, so it is none of Debian's; install one (apt-get install php-cli)"
            )
        for folder in (_LIBRARY, modules, settings):
            shutil.copytree(folder, root / folder.relative_to("/"), symlinks=True)
        (root / "usr/bin").mkdir(parents=True, exist_ok=True)
        for program in (tool.program, composer, phpunit):
            shutil.copy2(program, root / "usr/bin")
        (root / "usr/bin/php").symlink_to(Path(tool.program).name)
        return [Path(tool.program), *modules.rglob("*.so")]

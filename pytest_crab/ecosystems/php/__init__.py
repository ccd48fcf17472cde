"""PHP: composer's packages, and PHPUnit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

from typing_extensions import override

from pytest_crab.ecosystems.contract import OWN_TESTS, Ecosystem, Grammar, Messages, Names, Spelling, runner_source
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.ecosystems.php.linter import LINTER
from pytest_crab.ecosystems.php.tools import PhpTools
from pytest_crab.types import Environment

_NAME = r"[a-z0-9](?:[_.-]?[a-z0-9]+)*"
_TESTS = """\
(method_declaration name: (name) @name (#match? @name "^test")) @test
"""

_STUB = """\
<?php
// Red on the pull request, green once {comment} is resolved ({place}).
// {stub}
use PHPUnit\\Framework\\TestCase;

final class {comment}_test extends TestCase
{{
    public function test_{comment}(): void
    {{
        $this->fail('to be written');
    }}
}}
"""


class Php(Ecosystem):
    """PHP with PHPUnit. composer.lock pins the packages."""

    name = "php"
    languages = MappingProxyType({".php": "php"})
    linter = LINTER
    grammars = MappingProxyType(
        {".php": Grammar("tree_sitter_php", "language_php", piece=("language_php_only", b"<?"), tests=_TESTS)}
    )
    names = Names(
        tests=r"Test\.php$",
        running=r"bootstrap\.php",
        dependencies=r"composer\.json",
        reading=r"\bfile_get_contents\b|\bfopen\b|\bReflection[A-Z]\w+",
        settings=r"\bgetenv\(['\"](\w+)['\"]|\$_(?:ENV|SERVER)\[['\"](\w+)['\"]\]|\b(?:env|config)\(['\"]([\w.]+)",
        form=r"phpcs|php-cs-fixer|phpstan|psalm|phpdoc",
    )
    messages = Messages(
        banner=r"#\d+ (?:/|\{main\})|Stack trace:|\s+thrown in ",
        cause=r"(?:PHP )?(?:Fatal|Parse) error:",
        telling=r"could not be (?:downloaded|found|resolved)",
        pointing=r"installation failed, (?:deleting|reverting)|failed to open stream",
    )
    tools = PhpTools()
    runner = runner_source(__name__)
    own_tests = runner_source(__name__, "own_tests")
    stub = _STUB
    versions = Spelling(r"\d{1,2}(?:\.\d{1,3}){1,2}", "PHP, such as '8.2'")
    #: The first PHP that PHPUnit 9 runs on.
    oldest = "7.3"
    pin = Spelling(rf"{_NAME}/{_NAME}:\d+(?:\.\d+)+\S*", "phpunit/phpunit:9.6.7, which is composer's way")
    runners = MappingProxyType({"phpunit": Spelling(r"\.php", ".php"), "php-tests": OWN_TESTS})
    leftovers = Patterns(names=(".phpunit.result.cache", ".phpunit.cache", ".php-cs-fixer.cache"))
    system_packages = ("/usr/share/php",)

    @override
    def proposals(self, tree: Path, files: Sequence[str]) -> Iterator[Environment]:
        """The PHP of this machine with what composer.lock pins, and the system's PHPUnit."""
        yield Environment(ecosystem=self.name, version=self.tools.find("").minor)

    @override
    def is_told(self, run_id: str, path: str, name: str) -> bool:
        place, _, told = run_id.partition(":")
        return place == path and told.rpartition("::")[2].partition(" with data set ")[0] == name

    @override
    def licences(self, read: Callable[[str], str]) -> Iterator[str]:
        try:
            named = json.loads(read("composer.json")).get("license")
        except (ValueError, AttributeError):
            return
        yield from (one for one in (named if isinstance(named, list) else [named]) if isinstance(one, str))

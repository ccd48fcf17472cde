"""Ruby: its gems, RSpec and minitest."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

from typing_extensions import override

from pytest_crab.ecosystems.contract import OWN_TESTS, Ecosystem, Grammar, Messages, Names, Spelling, runner_source
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.ecosystems.ruby.linter import LINTER
from pytest_crab.ecosystems.ruby.tools import RubyTools
from pytest_crab.types import Environment

#: The runners, each with the release of its gem for an oracle of which nothing else is known.
_RELEASES = MappingProxyType({"rspec": "3.12.0", "minitest": "5.17.0"})

_TESTS = """\
(call
  !receiver
  method: (identifier) @call (#match? @call "^(it|specify|example)$")
  arguments: (argument_list . (string) @name)) @test
(method name: (identifier) @name (#match? @name "^test_")) @test
"""

_STUB = """\
# Red on the pull request, green once {comment} is resolved ({place}).
# {stub}
RSpec.describe "{comment}" do
  it "is resolved" do
    raise "to be written"
  end
end
"""


class Ruby(Ecosystem):
    """Ruby with Bundler. A Gemfile and its lock pin the gems, or ``environment.packages`` do."""

    name = "ruby"
    languages = MappingProxyType({".rb": "ruby", ".rake": "ruby", ".gemspec": "ruby"})
    linter = LINTER
    grammars = MappingProxyType({".rb": Grammar("tree_sitter_ruby", nothing=b"nil", tests=_TESTS)})
    names = Names(
        tests=r"_spec\.rb$|^spec_.*\.rb$",
        running=r"(?:\w+_)?helper\.rb",
        dependencies=r"Gemfile|gems\.rb|.*\.gemspec",
        variables=r"RUBY\w*|GEM_\w+|BUNDLE\w*",
        reading=r"\bFile\.(?:binread|foreach|read|readlines)\b|\bIO\.read|\.source_location\b",
        settings=r"\bENV(?:\.fetch\(|\[)['\"](\w+)['\"]",
        form=r"rubocop",
    )
    messages = Messages(
        banner=r"\s*from \S+:\d+:in |\s+\S+:\d+:in ",
        cause=r".*\([A-Z]\w*(?:::\w+)*(?:Error|NotFound|Exception)\)$",
        telling=r"^could not (?:find|reach|fetch) |nothing pins the gems",
    )
    tools = RubyTools()
    runner = runner_source(__name__)
    isolated_runners = frozenset({"rspec", "minitest"})
    own_tests = runner_source(__name__, "own_tests")
    stub = _STUB
    versions = Spelling(r"\d\.\d{1,2}(?:\.\d{1,2})?", "Ruby, such as '3.1'")
    #: The first Ruby that reads what the harness is written in; 3.1 is the first that was tried.
    oldest = "3.0"
    pin = Spelling(r"[A-Za-z0-9_.-]+:\d+(?:\.[0-9A-Za-z]+)*", "name:1.2.3, which is gem's way")
    runners = MappingProxyType(
        {
            "rspec": Spelling(r"_spec\.rb", "_spec.rb"),
            "minitest": Spelling(r"_test\.rb", "_test.rb"),
            "ruby-tests": OWN_TESTS,
        }
    )
    leftovers = Patterns(names=(".bundle", ".rspec_status", "*.gem"), marks=(".resultset.json",))
    system_packages = ("/usr/share/rubygems-integration", "/usr/lib/ruby/vendor_ruby", "/var/lib/gems")

    @override
    def is_told(self, run_id: str, path: str, name: str) -> bool:
        place, _, told = run_id.partition(":")
        return place in (".", path) and (f" {told}".endswith(f" {name}") or told.endswith(f"#{name}"))

    @override
    def start(self, runner: str) -> Environment:
        packages = (f"{runner}:{_RELEASES[runner]}",) if runner in _RELEASES else ()
        return Environment(ecosystem=self.name, version=self.tools.usual, packages=packages)

    @override
    def proposals(self, tree: Path, files: Sequence[str]) -> Iterator[Environment]:
        """The Ruby of this machine with what Gemfile.lock pins, and then with the usual releases of both runners."""
        start = Environment(ecosystem=self.name, version=self.tools.find("").minor)
        if (tree / "Gemfile.lock").exists():
            yield start
        yield dataclasses.replace(start, packages=tuple(f"{name}:{release}" for name, release in _RELEASES.items()))

"""What an environment of Ruby has to say, and which of a tree's gems a build finds."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_crab import ecosystems
from pytest_crab.ecosystems.ruby.tools import RubyTools
from pytest_crab.types import Environment, Oracle

PINNED = Environment(ecosystem="ruby", version="3.1")
LOCK = "GEM\n  specs:\n    minitest ({version})\n\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n  minitest\n"


def test_an_image_without_ruby_is_named() -> None:
    assert "set environment.ecosystem to ruby" in str(
        ecosystems.unsupported_reason({}, Oracle(file="test_c0_spec.rb", runner="rspec"))
    )


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (Environment(ecosystem="ruby"), "environment.version is missing"),
        (Environment(ecosystem="ruby", version="three"), "it should be that of Ruby"),
        (Environment(ecosystem="ruby", version="3.1", dockerfile="go"), "it should be ruby"),
    ],
)
def test_what_is_wrong_with_an_environment_is_said(environment: Environment, words: str) -> None:
    (fault,) = ecosystems.environment_faults(environment)
    assert words in fault


@pytest.mark.ruby
def test_a_lock_says_which_gems_come_and_its_absence_is_named(tmp_path: Path) -> None:
    tools, tree, gems = RubyTools(), tmp_path / "tree", tmp_path / "gems"
    (tree / "engine/lib").mkdir(parents=True)

    def build() -> subprocess.CompletedProcess[str]:
        env = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin", **tools.variables("", str(gems))}
        script = ["sh", "-c", tools.build_script(PINNED)]
        return subprocess.run(script, cwd=tree, env=env, check=False, capture_output=True, text=True)

    assert build().returncode == 0  # a project without gems
    (tree / "Gemfile").write_text('gem "minitest"\n')
    assert "no Gemfile.lock" in build().stderr
    asked = ["ruby", "-e", 'print Gem::Specification.find_by_name("minitest").version']
    version = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    (tree / "Gemfile.lock").write_text(LOCK.format(version=version))
    assert build().returncode == 0
    assert f"/minitest-{version}/lib" in (gems / "load_path").read_text()

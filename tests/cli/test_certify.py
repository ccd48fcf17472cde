"""The certify command, from end to end: real trees, real sandboxes, and where an index answers a real environment."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.campaign import progress
from pytest_crab.campaign.progress import Progress, SlotsWanted
from pytest_crab.cli import main
from pytest_crab.curation.certify import Certificate
from pytest_crab.instances import load_instance
from pytest_crab.instances.placeholders import STUB
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes.slots import Slots
from pytest_crab.types import Instance, Isolation

pytestmark = pytest.mark.bubblewrap

INSTANCE = """\
schema: 1
id: {id}
provenance: {provenance}
repo: owner/shop
license: MIT
pull_request: {{number: 7, title: Add a cart}}
source:
  {source}
environment:
  dockerfile: python
  timeout: 60
comments:
  - id: c0
    path: shop.py
    body: This should say two.
    category: functional
    kind: behavioral
    oracle: oracles/test_c0.py
"""
TREE = "tree: {path: ../projects/shop, head: head.diff, reference: reference.diff}"
CHANGE = "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n ONE = 1\n-{}\n+{}\n"
RED_THEN_GREEN = "import shop\n\ndef test_two() -> None:\n    assert shop.TWO == 2\n"


def write(name: str, oracle: str = RED_THEN_GREEN) -> Path:
    folder = Path("set", name)
    (folder / "oracles").mkdir(parents=True)
    (folder / "oracles" / "test_c0.py").write_text(oracle)
    (folder / "head.diff").write_text(CHANGE.format("TWO = 0", "TWO = 3"))
    (folder / "reference.diff").write_text(CHANGE.format("TWO = 3", "TWO = 2"))
    (folder / "instance.yaml").write_text(INSTANCE.format(id=name, source=TREE, provenance="authored"))
    project = Path("set", "projects", "shop")
    project.mkdir(parents=True, exist_ok=True)
    (project / "shop.py").write_text("ONE = 1\nTWO = 0\n")
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["set", "certify", "--runtime=local", *arguments], catch_exceptions=False)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_given_is_proved_as_it_is_and_written_down() -> None:
    folder = write("a")
    before = (folder / "instance.yaml").read_bytes()
    result = run("set")
    assert result.exit_code == 0, result.output
    first, last = result.output.splitlines()
    assert first.startswith("a c0: proved (given, ")
    assert first.endswith(": 1 test, 4 runs")
    assert last == "1 of 1 oracles proved; instances by environment source: 1 given"
    assert (folder / "instance.yaml").read_bytes() == before
    entry = json.loads(Path("set/proofs.json").read_text())["instances"]["a"]
    assert entry["oracles"]["c0"]["tests"] == ["test_c0.py::test_two"]
    assert list(Path(".crab").rglob(f"*{entry['oracles']['c0']['key']}*"))


STARTS = """\
import os
import subprocess
import sys

def test_two() -> None:
    {}
    code = "import shop; print(shop.TWO)"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"2\\n"
"""


@pytest.mark.parametrize(
    ("more", "isolated"), [("pass", True), ("assert 'shop.py' in os.listdir()", False)], ids=["outside", "in the tree"]
)
def test_an_oracle_that_only_starts_the_project_is_isolated_where_it_is_proved_so(more: str, *, isolated: bool) -> None:
    folder = write("a", STARTS.format(more))
    result = run("set")
    assert result.exit_code == 0, result.output
    assert "a c0: proved" in result.output
    assert ("isolation: process, so that is set" in result.output) is isolated
    assert ("isolation: process is not set: " in result.output) is not isolated
    comment = load_instance(folder).comments[0]
    assert (comment.required_oracle.isolation is Isolation.PROCESS) is isolated
    assert "note" not in run("set").output or not isolated


def test_a_set_from_outside_runs_nothing_where_there_is_no_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "problem", lambda: "there is none in this test")
    write("a")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    result = run("../set")
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {tmp_path / 'set' / 'a'} comes from outside this folder, and its code")
    assert not Path("../set/proofs.json").exists()


def test_code_of_others_runs_nowhere_without_a_sandbox_and_the_commands_own_options_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bubblewrap, "problem", lambda: "there is none in this test")
    folder = write("a") / "instance.yaml"
    folder.write_text(folder.read_text().replace("provenance: authored", "provenance: github"))
    result = run("a")
    assert result.exit_code == 1
    told = "a needs a sandbox on this host, and there is none in this test: install bubblewrap, or use --runtime=docker"
    assert result.output.startswith(f"a c0: not proved: {told}\n")


NEEDS_NETWORK = """\
import urllib.request

def test_two() -> None:
    urllib.request.urlopen("http://crab.invalid/")
"""


def test_every_oracle_that_is_not_proved_has_its_sentence() -> None:
    write("absent", "import no_such_module\n\ndef test_two() -> None: ...\n")
    write("another", "from shop import nope\n\ndef test_two() -> None: ...\n")
    write("green", "def test_two() -> None:\n    assert True\n")
    write("library", 'raise ImportError("libGL.so.1: cannot open shared object file: No such file")\n')
    write("network", NEEDS_NETWORK)
    write("optional", 'raise ImportError("install pandas")\n')
    write("right")
    result = run("set", "--jobs=2", "--no-write")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()  # on stderr are lines of progress, where it takes long
    because = (
        "the oracle is green at head (no expected test failed (all passed)): assert what the comment asks for and the "
        "pull request does not do; if head is a later commit than the one that was commented on, name that one"
    )
    absent, another, green, library, network, optional, right = sorted(lines[:7])
    assert "no test of the oracle runs" in absent
    assert "no_such_module cannot be imported: name what has it in environment.packages" in absent
    assert "cannot import name 'nope' from 'shop'" in another
    assert "a name that is imported is not there: use one that the reference has" in another
    assert green == f"green c0: not proved: {because}"
    assert "name the system's package that has it in environment.system" in library
    assert "it reaches for the network, which no oracle has: " in network
    assert optional.endswith('"install pandas"')
    assert right.startswith("right c0: proved")
    assert lines[7] == "1 of 7 oracles proved; instances by environment source: 1 given"
    assert not Path("set/proofs.json").exists()


def test_faults_of_files_are_told_before_anything_runs() -> None:
    folder = write("a")
    (folder / "oracles" / "test_c0.py").unlink()
    result = run("set")
    assert result.exit_code == 1
    assert "comments[0].oracle.file is 'oracles/test_c0.py', which is not there" in result.output
    assert not Path(".crab").exists()


def held_against(folder: Path, oracle: str) -> None:
    """Give an instance two right fixes and two near misses, and an oracle."""
    checks = {"other": "1 + 1", "third": "4 - 2", "near": "4", "far": "1"}
    (folder / "checks").mkdir()
    for name, value in checks.items():
        (folder / "checks" / f"{name}.diff").write_text(CHANGE.format("TWO = 3", f"TWO = {value}"))
    (folder / "oracles" / "test_c0.py").write_text(oracle)
    with (folder / "instance.yaml").open("a") as file:
        file.write("    accepts: [checks/other.diff, checks/third.diff]\n")
        file.write("    rejects: [checks/near.diff, checks/far.diff]\n")


FITTED = "from pathlib import Path\n\n\ndef test_two() -> None:\n    assert 'TWO = 2' in Path('shop.py').read_text()\n"
LOOSE = "import shop\n\n\ndef test_two() -> None:\n    assert shop.TWO != 3\n"


IN_C = "  ecosystem: cpp\n  build: ['true']\n  env: {{CPPFLAGS: -I.}}\n  version: '{}'\n"
CALLS_TWO = '#include <assert.h>\n#include "shop.h"\n\nvoid test_two(void) { assert(two() == 2); }\n'


def test_what_a_compiler_says_is_told_where_the_reference_alone_does_not_build() -> None:
    """The reference gives ``two`` a parameter, and the oracle calls it without one."""
    folder = write("a")
    gcc = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True, check=True).stdout.strip()
    text = (folder / "instance.yaml").read_text().replace("shop.py", "shop.h")
    text = text.replace("  dockerfile: python\n", IN_C.format(gcc.partition(".")[0]))
    text = text.replace("oracles/test_c0.py", "{file: oracles/test_c0.c, runner: c}")
    (folder / "instance.yaml").write_text(text)
    (folder / "oracles" / "test_c0.c").write_text(CALLS_TWO)
    before, head, reference = (
        "static int two(void) { return 0; }",
        "static int two(void) { return 3; }",
        "static int two(int n) { return n; }",
    )
    change = CHANGE.replace("shop.py", "shop.h").replace("ONE = 1", "int one;")
    (folder / "head.diff").write_text(change.format(before, head))
    (folder / "reference.diff").write_text(change.format(head, reference))
    Path("set/projects/shop/shop.h").write_text(f"int one;\n{before}\n")
    result = run("set", "--no-write")
    assert result.exit_code == 1
    assert "no test of the oracle runs on the reference" in result.output
    words = result.output.partition("on the reference its runner ends with: ")[2]
    assert "two" in words and "\\\\n" not in words


IN_RUBY = """\
require "minitest/autorun"
require "shop"

class TwoTest < Minitest::Test
  def test_two
    assert_equal 2, Shop.two(Shop::NAMES)
  end
end
"""


@pytest.mark.ruby
@pytest.mark.parametrize(
    ("oracle", "told"),
    [
        (IN_RUBY, r"on the reference TwoTest_test_two ends with NameError, .*uninitialized constant Shop::NAMES"),
        (
            IN_RUBY.removesuffix("end\n"),
            "on head and the reference the oracle's file ends with SyntaxError",
        ),
    ],
    ids=["what a test lacks on the reference", "a file that does not load"],
)
def test_what_an_oracle_in_another_language_raises_is_told_in_its_own_words(oracle: str, told: str) -> None:
    folder, version = write("a"), subprocess.run(["ruby", "-e", "print RUBY_VERSION"], capture_output=True, text=True)
    text = (folder / "instance.yaml").read_text().replace("shop.py", "lib/shop.rb")
    text = text.replace("  dockerfile: python\n", f"  ecosystem: ruby\n  version: '{version.stdout}'\n")
    text = text.replace("oracles/test_c0.py", "{file: oracles/test_c0_test.rb, runner: minitest}")
    (folder / "instance.yaml").write_text(text)
    (folder / "oracles" / "test_c0_test.rb").write_text(oracle)
    before, head, reference = (f"def Shop.two(*) = {number}" for number in (0, 3, 2))
    change = CHANGE.replace("shop.py", "lib/shop.rb").replace("ONE = 1", "Shop = Module.new")
    (folder / "head.diff").write_text(change.format(before, head))
    (folder / "reference.diff").write_text(change.format(head, reference))
    Path("set/projects/shop/lib").mkdir()
    Path("set/projects/shop/lib/shop.rb").write_text(f"Shop = Module.new\n{before}\n")
    result = run("set", "--no-write")
    assert re.search(told, result.output), result.output


@pytest.mark.slow(reason="three oracles are held against all of their checks")
def test_the_audit_names_the_over_fitted_and_the_loose() -> None:
    for name, oracle in (("fitted", FITTED), ("good", RED_THEN_GREEN), ("loose", LOOSE)):
        held_against(write(name), oracle)
    result = run("set", "--audit", "--no-write")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()  # on stderr are lines of progress, where it takes long
    assert lines[0].startswith("fitted c0: not proved: another right fix is refused: checks/other.diff, test failed")
    assert "checks/third.diff, test failed: test_c0.py::test_two failed with AssertionError" in lines[0]
    assert "too strict" in lines[0]
    assert lines[2].startswith("loose c0: not proved: a near miss passes: checks/near.diff, no expected test failed")
    rows = {line.split()[0]: line.split() for line in lines[4:7]}
    assert rows["fitted"][2:7] == ["0.00", "(0/2)", "-", "1.00", "(2/2)"]
    assert rows["good"][2:7] == ["1.00", "(2/2)", "-", "1.00", "(2/2)"]
    assert rows["loose"][2:7] == ["1.00", "(2/2)", "-", "0.00", "(0/2)"]
    assert lines[7].split()[:7] == ["all", "3", "0.67", "(4/6)", "-", "0.67", "(4/6)"]
    assert lines[8:10] == [
        "fitted c0: over-fitted: it refuses 2 of 2 other right fixes",
        "loose c0: loose: it passes 2 of 2 near misses",
    ]


@pytest.mark.slow(reason="two oracles are held against all of their checks")
def test_check_names_the_audited_oracles_whose_runs_take_longest() -> None:
    for name in ("a", "b"):
        held_against(write(name), RED_THEN_GREEN)
    assert CliRunner().invoke(main, ["set", "check", "set", "--lock"]).exit_code == 0
    result = CliRunner().invoke(main, ["set", "check", "set", "--audit", "--runtime=local"])
    assert result.exit_code == 0, result.output
    found = re.findall(r"^slowest: ([\d.]+) s, (\w) c0 on checks/\w+\.diff$", result.output, re.MULTILINE)
    assert sorted(name for _, name in found) == ["a", "b"]
    assert float(found[0][0]) >= float(found[1][0]) > 0


#: Pins a value that no comment asks about: a right fix beside another change of that value is refused.
PINNING = "import shop\nimport tax\n\n\ndef test_two() -> None:\n    assert shop.TWO == 2\n\n\n{}"
PINNING = PINNING.format("def test_tax() -> None:\n    assert tax.RATE == 1\n")
ANOTHER = "--- a/tax.py\n+++ b/tax.py\n@@ -1 +1 @@\n-RATE = 1\n+RATE = {}\n"


def beside(folder: Path, oracle: str, *, tests: str = "") -> None:
    """Give an instance checks, an oracle, and two changes that no comment asks for, of which one does the same."""
    held_against(folder, oracle)
    Path("set", "projects", "shop", "tax.py").write_text("RATE = 1\n")
    (folder / "checks" / "float.diff").write_text(ANOTHER.format("1.5"))
    (folder / "checks" / "same.diff").write_text(ANOTHER.format("2 - 1"))
    with (folder / "instance.yaml").open("a") as file:
        file.write(f"company: [checks/float.diff, checks/same.diff]\n{tests}")


@pytest.mark.slow(reason="two oracles are held against their checks beside other changes")
def test_an_oracle_that_pins_what_its_comment_does_not_ask_for_is_refused() -> None:
    beside(write("good"), RED_THEN_GREEN)
    beside(write("pinning"), PINNING)
    result = run("set", "--audit", "--no-write")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[1].startswith("pinning c0: not proved: a right fix is refused beside another right change: ")
    refused = ["checks/other.diff with checks/float.diff", "checks/third.diff with checks/float.diff"]
    assert all(f"{name}, guard broke: test_c0.py::test_tax" in lines[1] for name in refused)
    assert "checks/same.diff" not in lines[1]
    rows = {line.split()[0]: line.split() for line in lines[3:5]}
    # Both right fixes and the reference, each beside both changes.
    assert rows["good"][4:6] == ["1.00", "(6/6)"]
    assert rows["pinning"][4:6] == ["0.50", "(3/6)"]


@pytest.mark.slow(reason="an oracle is held against its checks beside other changes")
def test_changes_that_break_the_projects_tests_are_no_company() -> None:
    passing = "pass_to_pass: [python, -c, 'import tax; assert tax.RATE == 1']\n"
    beside(write("a"), PINNING, tests=passing)
    result = run("set", "--no-write")
    assert result.exit_code == 1
    assert "checks/float.diff is no right change: pass_to_pass fails with it" in result.output
    assert "refused beside" not in result.output


def test_a_change_that_resolves_the_comment_is_no_company() -> None:
    folder = write("a")
    held_against(folder, RED_THEN_GREEN)
    with (folder / "instance.yaml").open("a") as file:
        file.write("company: [checks/other.diff]\n")
    result = run("set", "--no-write")
    assert result.exit_code == 1
    assert "a change that no comment asks for passes: checks/other.diff" in result.output


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["set", "check", "set", *arguments], catch_exceptions=False)


def test_an_audit_is_run_once_and_recorded_in_the_lock() -> None:
    held_against(write("a"), RED_THEN_GREEN)
    bare = run("set")
    assert bare.exit_code == 0
    assert "check --lock" in bare.output
    assert check("--audit", "--runtime=local").exit_code == 1
    assert check("--lock").exit_code == 0
    first = check("--audit", "--runtime=local")
    assert first.exit_code == 0, first.output
    assert "1 oracle audited" in first.output
    assert json.loads(Path("set/crab.lock").read_text())["audits"].keys() == {"a"}
    assert "0 oracles audited" in check("--audit").output
    assert check("--lock").exit_code == 0
    assert "0 oracles audited" in check("--audit").output


@pytest.mark.slow(reason="an oracle is audited twice")
def test_an_oracle_that_fails_its_audit_is_a_fault_and_not_on_record() -> None:
    folder = write("a")
    held_against(folder, RED_THEN_GREEN)
    assert check("--lock").exit_code == 0
    assert run("set").exit_code == 0
    assert json.loads(Path("set/crab.lock").read_text())["audits"].keys() == {"a"}
    (folder / "oracles" / "test_c0.py").write_text(FITTED)
    assert check("--lock").exit_code == 0
    assert json.loads(Path("set/crab.lock").read_text())["audits"] == {}
    result = check("--audit", "--runtime=local")
    assert result.exit_code == 1
    assert "set/a/instance.yaml: the oracle of c0: another right fix is refused" in result.output
    assert json.loads(Path("set/crab.lock").read_text())["audits"] == {}


def test_few_checks_are_a_note_or_a_fault_as_asked() -> None:
    write("a")
    lack = "a c0: {}has 0 accepts and 0 rejects; at least 2 of each are needed to trust it"
    noted = run("a", "--audit")
    assert noted.exit_code == 0
    assert lack.format("note: ") in noted.output
    refused = run("a", "--audit", "--min-checks=2")
    assert refused.exit_code == 1
    assert lack.format("") in refused.output.splitlines()


def test_what_cannot_be_reached_is_skipped_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAB_GIT_MIRROR", "nowhere")
    facts = ", ".join(f"{name}: {digit * 40}" for name, digit in (("base", "1"), ("head", "2"), ("merged", "3")))
    source = f"git: {{url: https://git.invalid/owner/shop, {facts}}}"
    (write("far") / "instance.yaml").write_text(INSTANCE.format(id="far", source=source, provenance="github"))
    alone = run("far")
    assert alone.exit_code == 1
    assert alone.output.startswith(
        "far: skipped: https://git.invalid/owner/shop cannot be reached: set CRAB_GIT_MIRROR"
    )
    write("near")
    both = run("set", "--audit")
    assert both.exit_code == 0, both.output
    assert both.output.endswith("1 of 1 oracles proved; instances by environment source: 1 given; 1 instance skipped\n")
    assert list(json.loads(Path("set/proofs.json").read_text())["instances"]) == ["near"]


def test_environments_stay_within_a_disk_budget() -> None:
    write("a")
    built = Path(".crab/cache/built")
    assert run("set").exit_code == 0
    assert len(list(built.iterdir())) == 1
    done = run("set", "--disk-budget", "1K", "--no-write")
    assert done.exit_code == 0, done.output
    assert not list(built.iterdir())
    assert "a size such as 20G" in run("set", "--disk-budget", "lots").output


def test_what_is_still_to_be_written_is_refused() -> None:
    folder = write("a", f"# {STUB}\n\ndef test_two() -> None:\n    raise NotImplementedError\n")
    result = run("a")
    assert result.exit_code == 1
    assert (
        f"{folder}/instance.yaml: comments[0].oracle.file (oracles/test_c0.py) is still to be written" in result.output
    )
    assert not Path(".crab").exists()


@pytest.mark.parametrize(
    ("name", "telling"),
    [
        ("b", "b is neither a path nor the id of an instance below this folder"),
        ("shop", "shop may be set/shop-1, set/shop-2; write more of the id, or the path"),
    ],
)
def test_a_name_that_is_none_or_several_is_a_usage_error(name: str, telling: str) -> None:
    write("shop-1")
    write("shop-2")
    result = run(name)
    assert result.exit_code == 2
    assert telling in result.output


def test_no_instance_is_a_usage_error() -> None:
    Path("empty").mkdir()
    result = run("empty")
    assert result.exit_code == 2
    assert "there is no instance.yaml at or below empty" in result.output


def upstream(folder: Path) -> dict[str, str]:
    """A repository whose pull request needs a package that it declares."""
    who = {"GIT_AUTHOR_NAME": "dev", "GIT_AUTHOR_EMAIL": "dev@example.org", "PATH": os.environ["PATH"]}
    when = "2024-03-01T12:00:00+0000"
    env = {**who, "GIT_COMMITTER_NAME": "dev", "GIT_COMMITTER_EMAIL": "d@example.org", "GIT_COMMITTER_DATE": when}

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    folder.mkdir(parents=True)
    git("init", "--quiet", "--initial-branch=main")
    shas = {}
    for name, number in (("base", 0), ("head", 3), ("merged", 2)):
        (folder / "shop.py").write_text(f"import iniconfig\nimport sortedcontainers\nONE = 1\nTWO = {number}\n")
        (folder / "setup.py").write_text(
            "from setuptools import setup\n"
            "setup(name='shop', version='1', py_modules=['shop'], install_requires=['sortedcontainers'])\n"
        )
        git("add", ".")
        git("commit", "--quiet", "-m", name)
        shas[name] = git("rev-parse", "HEAD")
    return shas


@pytest.mark.slow(reason="environments are built from a package index, one after the other")
def test_an_environment_is_found_as_of_the_heads_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs_an_index: None
) -> None:
    shas = upstream(tmp_path / "mirror" / "owner" / "shop")
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    folder = write("real")
    facts = ", ".join(f"{name}: {sha}" for name, sha in shas.items())
    source = f"git: {{url: https://git.invalid/owner/shop, {facts}}}"
    (folder / "instance.yaml").write_text(INSTANCE.format(id="real", source=source, provenance="github"))
    result = run("set")
    assert result.exit_code == 0, result.output
    assert "real c0: proved (declared, " in result.output  # where it takes long, lines of progress come first
    found = load_instance(folder)
    assert found.tags["environment_source"] == "declared"
    assert found.environment.resolved == "2024-03-02T12:00:00Z"
    assert found.environment.timeout == 60
    assert {"pytest==8.0.2", "sortedcontainers==2.4.0"} <= set(found.environment.packages)
    again = run("set")
    assert "real c0: proved (given, " in again.output


def test_what_is_done_is_printed_and_written_while_another_takes_its_time(
    monkeypatch: pytest.MonkeyPatch, until: Callable[[Callable[[], object]], None]
) -> None:
    command = importlib.import_module("pytest_crab.cli.certify")
    write("a")
    write("b")
    real = command.certify_instance

    def slow(instance: Instance, *arguments: Any) -> Certificate:
        """Certify ``a`` once ``b`` is written down."""
        if instance.id == "a":
            until(Path("set/proofs.json").exists)
        return real(instance, *arguments)

    monkeypatch.setattr(command, "certify_instance", slow)
    result = run("set", "--jobs=2")
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.output.splitlines()] == ["b", "a", "2"]
    assert list(json.loads(Path("set/proofs.json").read_text())["instances"]) == ["a", "b"]


def test_a_wait_for_the_slots_of_another_run_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a")
    monkeypatch.setattr(progress, "PATIENCE", 0.1)
    real, slots = SlotsWanted.sentence, Slots()
    with contextlib.ExitStack() as others:
        for _ in range(slots.count):
            others.enter_context(slots.take(threading.Event()))
        assert slots.count_held() == slots.count

        def sentence(wanted: SlotsWanted, now: Progress) -> str | None:
            said = real(wanted, now)
            if said is not None:
                others.close()
            return said

        monkeypatch.setattr(SlotsWanted, "sentence", sentence)
        result = run("a")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("waits for one of the") == 1


@pytest.mark.slow(reason="a set is certified on a terminal")
def test_a_terminal_shows_what_goes_on(on_terminal: Callable[..., str], seen: Callable[[str], str]) -> None:
    write("slow", "import time\n" + RED_THEN_GREEN.replace("    assert", "    time.sleep(0.5)\n    assert"))
    argv = [
        sys.executable,
        "-c",
        "from pytest_crab.cli import main; main()",
        "set",
        "certify",
        "--runtime=local",
        "slow",
    ]
    text = on_terminal(Path.cwd(), argv)
    assert re.search(r"\[0/1 instances .*?slow proof \d+s\]", text)
    assert "[" not in seen(text)
    assert "1 of 1 oracles proved" in seen(text)


def test_it_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from pytest_crab.cli import main; main()", "set", "certify", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Prove the oracles of the instances at or below a PATH" in done.stdout

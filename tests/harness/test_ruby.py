"""Oracles under RSpec and minitest: the same contract as pytest's, and what a revision may try."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_crab import harness, verdict
from pytest_crab.ecosystems.ruby import Ruby
from pytest_crab.ecosystems.ruby.tools import RubyTools
from pytest_crab.protocols import FileChange
from pytest_crab.types import Ending, Environment, Isolation, Oracle, Reason, Run
from tests.harness.conftest import Bench, changed, proof, told

pytestmark = pytest.mark.ruby

ADD = "module Ledger\n  def self.add(a, b)\n    a + b\n  end\nend\n"
BAD = ADD.replace("a + b", "a - b")
LACKING = ADD.replace("a + b", "a.frob(b) # secret")
#: A command that adds, and oracles that start it as another user and look whether they can load it.
COMMAND = (
    'require_relative "../lib/ledger"\nputs Ledger.add(*ARGV.map(&:to_i))\nwarn Dir.children(".").sort.join(",")\n'
)
ASKING = 'require "open3"\ndef ask(*words) = Open3.capture3(ENV.fetch("CRAB_PROGRAM"), "bin/add.rb", *words)\n'
STARTING = {
    "rspec": ASKING + 'RSpec.describe "add" do\n  it "adds" do\n    out, err, status = ask("1", "2")\n'
    '    expect([out, status.success?]).to eq ["3\\n", true]\n    expect(err).to include "ledger.py"\n  end\n'
    '  it "loads" do\n    require "ledger"\n  end\nend\n',
    "minitest": 'require "minitest/autorun"\n' + ASKING + "class AddTest < Minitest::Test\n"
    '  def test_adds\n    out, err, status = ask("1", "2")\n    assert_equal ["3\\n", true], [out, status.success?]\n'
    '    assert_includes err, "ledger.py"\n  end\n  def test_loads\n    require "ledger"\n  end\nend\n',
}
SUMS = {
    "rspec": 'require "ledger"\n\nRSpec.describe Ledger do\n  it "adds" do\n'
    "    expect(Ledger.add(1, 2)).to eq 3\n  end\nend\n",
    "minitest": 'require "minitest/autorun"\nrequire "ledger"\n\nclass LedgerTest < Minitest::Test\n'
    "  def test_adds\n    assert_equal 3, Ledger.add(1, 2)\n  end\nend\n",
}
#: minitest's specifications, under a name as Rack's have.
SPECIFIED = (
    'require_relative "helper"\nrequire "ledger"\n\ndescribe Ledger do\n  it "sums" do\n'
    "    _(Ledger.add(1, 2)).must_equal 3\n  end\nend\n"
)
TESTS = {"rspec": "Ledger > adds", "minitest": "LedgerTest#test_adds"}
FOLDERS = {"rspec": "spec", "minitest": "test"}


@pytest.fixture(scope="session")
def tool(made_once: Callable[[str, Callable[[Path], object]], Path]) -> dict[str, Any]:
    """This machine's Ruby, with the frameworks of its system as pinned gems."""
    tools = RubyTools()
    found = tools.here()
    assert found is not None
    ask = ["ruby", "-e", "ARGV.each { |name| puts name + ':' + Gem::Specification.find_by_name(name).version.to_s }"]
    here = subprocess.run([*ask, "rspec", "minitest"], capture_output=True, text=True, check=True).stdout.split()

    def build(folder: Path) -> None:
        script = tools.build_script(Environment(ecosystem="ruby", version="3.1", packages=tuple(here)))
        env = {"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin", **tools.variables("", str(folder / "gems"))}
        subprocess.run(["sh", "-c", script], cwd=folder, env=env, check=True, capture_output=True)

    return dataclasses.asdict(tools.placed(found, str(made_once("ruby", build) / "gems")))


class RubyBench:
    """The harness's bench with Ruby, and a project that adds."""

    def __init__(self, bench: Bench, tool: Mapping[str, Any]) -> None:
        self.bench = bench
        bench.write("lib/ledger.rb", ADD)
        bench.facts = {**bench.facts, "tools": {"ruby": tool}}
        self.isolation = Isolation.NONE

    def run(self, source: str, *changes: FileChange, runner: str = "rspec", seconds: float = 60) -> Run:
        return self.each(source, {"now": changes}, runner, seconds)["now"]

    def each(
        self, source: str, states: Mapping[str, tuple[FileChange, ...]], runner: str, seconds: float = 60
    ) -> dict[str, Run]:
        """Run one oracle in each of these states; the runs by state."""
        oracle = Oracle(file=f"oracles/test_c0_{FOLDERS[runner]}.rb", runner=runner, isolation=self.isolation)
        runs = [
            harness.OracleRun(id=name, state=name, seconds=seconds, oracle=oracle, source=source) for name in states
        ]
        report = self.bench.report(runs, **states)
        assert report.problems == ()
        return {run.id: run for run in report.runs}


@pytest.fixture
def ruby(bench: Bench, tool: dict[str, Any]) -> RubyBench:
    return RubyBench(bench, tool)


def reason(run: Run, *expected: str) -> Reason:
    return verdict.judge(proof(*expected), run).reason


@pytest.mark.parametrize(("runner", "names"), [("rspec", "add > {}"), ("minitest", "AddTest#test_{}")])
def test_an_isolated_oracle_starts_the_project_and_cannot_load_it(ruby: RubyBench, runner: str, names: str) -> None:
    ruby.isolation = Isolation.PROCESS
    ruby.bench.write("bin/add.rb", COMMAND)
    runs = ruby.each(STARTING[runner], {"good": (), "bad": (changed("lib/ledger.rb", BAD),)}, runner)
    adds, loads = names.format("adds"), names.format("loads")
    assert (runs["good"].ending, runs["good"].tripwire, runs["good"].altered) == (Ending.COMPLETED, True, ())
    assert told(runs["good"]) == {adds: "passed", loads: "failed"}
    assert told(runs["bad"]) == {adds: "failed", loads: "failed"}


@pytest.mark.parametrize("runner", SUMS)
def test_a_green_oracle_is_caught_and_a_red_one_is_properly_red(ruby: RubyBench, runner: str) -> None:
    runs = ruby.each(SUMS[runner], {"good": (), "bad": (changed("lib/ledger.rb", BAD),)}, runner)
    green, red = runs["good"], runs["bad"]
    assert (green.ending, green.exit_code, green.tripwire, green.altered) == (Ending.COMPLETED, 1, True, ())
    assert told(green) == {TESTS[runner]: "passed"}
    assert reason(green, TESTS[runner]) is Reason.GREEN
    assert told(red) == {TESTS[runner]: "failed"}
    assert verdict.not_red(proof(TESTS[runner]), red) is None


@pytest.mark.parametrize("runner", ["rspec", "minitest"])
def test_what_failed_tests_say_is_told_where_it_is_asked_for(ruby: RubyBench, runner: str) -> None:
    oracle, bad = Oracle(file=f"oracles/test_c0_{FOLDERS[runner]}.rb", runner=runner), changed("lib/ledger.rb", BAD)
    assert "-1" in ruby.bench.quoted(oracle, SUMS[runner], bad)[TESTS[runner]]
    assert "test_c0" in ruby.bench.quoted(oracle, SUMS[runner].removesuffix("end\n"), bad)["session"]
    said = ruby.bench.quoted(oracle, SUMS[runner], changed("lib/ledger.rb", LACKING))[TESTS[runner]]
    assert "frob" in said
    assert "secret" not in said  # which Ruby's own message shows as the line of code
    assert "nosuchgem" in ruby.bench.quoted(oracle, 'require "nosuchgem"\n', bad)["session"]


def test_an_exception_without_a_message_is_no_fault_of_the_run(ruby: RubyBench) -> None:
    source = SUMS["rspec"].replace(
        "expect(", "raise(Class.new(StandardError) { def message; exit 3; end })\n    expect("
    )
    assert ruby.bench.quoted(Oracle(file="oracles/test_c0_spec.rb", runner="rspec"), source) == {}


MANY = {
    "rspec": """\
require "ledger"

RSpec.describe Ledger do
  subject { Ledger.add(1, 2) }
  it { is_expected.to eq 3 }
  context "with nothing" do
    before(:context) { @none = 0 }
    it("is nothing") { expect(Ledger.add(@none, @none)).to eq 0 }
  end
  it("exits") { Ledger.add(9, 9) }
  it("raises") { Ledger.add(7, nil) }
  it("waits") { skip "later" }
  pending("is to come") { raise "not yet" }
  2.times { it("comes twice") { allow(Time).to receive(:now).and_return(3); expect(Time.now).to eq 3 } }
end
""",
    "minitest": """\
require "minitest/autorun"
require "ledger"

describe Ledger do
  it("is three") { _(Ledger.add(1, 2)).must_equal 3 }
  it("exits") { Ledger.add(9, 9) }
  it("raises") { Ledger.add(7, nil) }
  it("waits") { skip "later" }
  it("replaces") { Time.stub(:now, 3) { _(Time.now).must_equal 3 } }
end
""",
}
OUTCOMES = {
    "rspec": {
        "Ledger > line 5": "passed", "Ledger > with nothing > is nothing": "passed", "Ledger > exits": "failed",
        "Ledger > raises": "failed", "Ledger > waits": "skipped",
        "Ledger > is to come": "skipped", "Ledger > comes twice": "passed", "Ledger > comes twice #2": "passed",
    },
    "minitest": {
        "Ledger#test_0001_is three": "passed", "Ledger#test_0002_exits": "failed", "Ledger#test_0003_raises": "failed",
        "Ledger#test_0004_waits": "skipped", "Ledger#test_0005_replaces": "passed",
    },
}  # fmt: skip
ENDS = ADD.replace("a + b", "exit(0) if a == 9\n    a + b")


@pytest.mark.parametrize("runner", MANY)
def test_each_test_has_its_name_and_an_exit_hides_no_other(ruby: RubyBench, runner: str) -> None:
    run = ruby.run(MANY[runner], changed("lib/ledger.rb", ENDS), runner=runner)
    assert told(run) == OUTCOMES[runner]
    assert (run.tripwire, run.altered) == (True, ())
    exceptions = [(test.exception, test.where) for test in run.tests if test.outcome == "failed"]
    assert exceptions == [("SystemExit", "lib/ledger.rb:3"), ("TypeError", "lib/ledger.rb:4")]


@pytest.mark.parametrize(
    ("source", "code", "exception"),
    [
        (SUMS["rspec"], None, "LoadError"),
        (SUMS["rspec"].replace('"ledger"', '"no_such_gem"'), ADD, "LoadError"),
        (SUMS["rspec"], ADD.replace("end\nend", "end"), "SyntaxError"),
        (SUMS["rspec"] + "  end\n", ADD, "SyntaxError"),
        (SUMS["rspec"], "exit 0\n" + ADD, "SystemExit"),
    ],
)
def test_what_does_not_load_is_an_error_and_not_red(
    ruby: RubyBench, source: str, code: str | None, exception: str
) -> None:
    change = FileChange(path="lib/ledger.rb", mode="100644", content=None if code is None else code.encode())
    run = ruby.run(source, change)
    assert [(test.id, test.outcome, test.exception) for test in run.tests] == [("session", "error", exception)]
    assert verdict.not_red(proof(TESTS["rspec"]), run) is not None


@pytest.mark.parametrize("runner", SUMS)
def test_the_projects_own_tests_run_with_the_environments_framework(ruby: RubyBench, runner: str) -> None:
    file = f"{FOLDERS[runner]}/a_{FOLDERS[runner]}.rb"
    twice = [SUMS[runner], SUMS[runner].replace("Ledger.add(1, 2)", "3")]  # of one name, the second is never red
    texts = {file: "\n".join(twice)}
    if runner == "minitest":
        texts = {file: twice[0], "test/spec_sums.rb": SPECIFIED, "test/helper.rb": 'require "minitest/autorun"\n'}
    for path, text in texts.items():
        ruby.bench.write(path, text)
    states = {"good": [], "bad": [changed("lib/ledger.rb", BAD)]}
    asked = {"ecosystem": "ruby", "files": tuple(texts), "names": ()}
    runs = [harness.OwnTestsRun(id=name, state=name, seconds=60, **asked) for name in states]
    good, bad = (told(run) for run in ruby.bench.report(runs, **states).runs)
    assert {name.partition(":")[0] for name in good} == {path for path in texts if "helper" not in path}
    assert (set(good.values()), set(bad.values())) == ({"passed"}, {"failed"})


def test_a_framework_that_is_not_there_is_named(bench: Bench, tool: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "load_path").write_text("")
    env = {**tool["env"], "GEM_HOME": str(tmp_path), "GEM_PATH": str(tmp_path)}
    ruby = RubyBench(bench, {**tool, "env": env})
    bench.write("spec/a_spec.rb", SUMS["rspec"])
    asked = {"ecosystem": "ruby", "files": ("spec/a_spec.rb",), "names": ()}
    own = harness.OwnTestsRun(id="own", state="now", seconds=60, **asked)
    runs = [ruby.run(SUMS["rspec"]), *bench.report([own], now=[changed("lib/rspec/core.rb", "")]).runs]
    assert {run.ending for run in runs} == {Ending.UNSTARTED}
    assert all("environment.packages" in (run.detail or "") for run in runs)


def test_a_hang_times_out(ruby: RubyBench) -> None:
    endless = changed("lib/ledger.rb", ADD.replace("a + b", "loop { }"))
    assert ruby.run(SUMS["rspec"], endless, seconds=3).ending is Ending.TIMEOUT


def test_helpers_stay_as_they_are_at_head(ruby: RubyBench) -> None:
    """A link in the place of their folder changes none, and nor does a file of the same name in another folder."""
    matcher = "RSpec::Matchers.define(:be_three) { match { |one| %s } }\n"
    for path in ("spec/support/three.rb", "spec/sum_helper.rb"):
        ruby.bench.write(path, matcher % "one == 3")
    link = FileChange(path="spec/support", mode="120000", content=b"../mine")
    gone = FileChange(path="spec/support/three.rb", mode="100644", content=None)
    linked = (gone, link, changed("mine/three.rb", matcher % "true"), *wrong(""))
    for name, changes in (
        ("support/three", linked),
        ("sum_helper", (changed("lib/sum_helper.rb", matcher % "true"), *wrong(""))),
    ):
        source = f'require "{name}"\n' + SUMS["rspec"].replace("eq 3", "be_three")
        assert told(ruby.run(source, *changes)) == {TESTS["rspec"]: "failed"}


def test_long_names_stay_apart(ruby: RubyBench) -> None:
    source = SUMS["rspec"].replace('it "adds"', '2.times { |n| it("a" * 500 + n.to_s) { } }\n  it "adds"')
    assert len(told(ruby.run(source))) == 3


def test_what_a_gem_brings_is_no_change(bench: Bench, tool: dict[str, Any], tmp_path: Path) -> None:
    listed = (Path(tool["env"]["GEM_HOME"]) / "load_path").read_text()
    (tmp_path / "home").mkdir()
    (tmp_path / "home/load_path").write_text(f"{listed}\n{tmp_path}")
    (tmp_path / "days.rb").write_text("class Time\n  def day_text(*) = 'x'\n  alias_method :to_s, :day_text\nend\n")
    ruby = RubyBench(bench, {**tool, "env": {**tool["env"], "GEM_HOME": str(tmp_path / "home")}})
    run = ruby.run(SUMS["rspec"], changed("lib/ledger.rb", "require 'days'\n" + ADD))
    assert (told(run), run.altered) == ({TESTS["rspec"]: "passed"}, ())


# --- attacks ---------------------------------------------------------------------------------------------------------


def wrong(more: str, body: str = "a - b") -> tuple[FileChange, ...]:
    """The wrong sum with more code beside it."""
    return (changed("lib/ledger.rb", BAD.replace("a - b", body) + more),)


def beside(path: str, text: str) -> tuple[FileChange, ...]:
    """The wrong sum, and another file."""
    return (changed(path, text), changed("lib/ledger.rb", BAD))


#: Looks in all that Ruby lets code find for large numbers and texts of them, which a key may be.
HUNT = """
def hunt
  found = ObjectSpace.each_object(String).to_a.select { |text| text.match?(/\\A\\d{9,} \\d{9,}/) }
  bindings = [TOPLEVEL_BINDING, *ObjectSpace.each_object(Proc).map { |one| one.binding rescue nil }].compact
  numbers = bindings.flat_map do |one|
    one.local_variables.map { |name| one.local_variable_get(name) } rescue []
  end
  ObjectSpace.each_object(Array) { |one| numbers.concat(one) if one.size < 9 }
  numbers.concat(ObjectSpace.each_object(Object).flat_map { |one|
    one.instance_variables.map { |name| one.instance_variable_get(name) } rescue [] })
  found + numbers.grep(Integer).select { |one| one > 1 << 40 }.uniq
end
"""
FORGE = (
    HUNT
    + """
keys = hunt.map { |one| one.to_s[/\\d+( \\d+)?/] }
keys += keys.permutation(2).first(99).map { |pair| pair.join(" ") }
ObjectSpace.each_object(IO) do |io|
  keys.push("1 2").each do |key|
    io.write("#{key} test TGVkZ2VyID4gYWRkcw== cGFzc2Vk  \\n#{key} end MQ==\\n")
  end rescue nil
end
exit!(1)
"""
)
#: Takes one answer after the other, each in a process of its own, until one passes.
TRIES = """
(0..3).each do |n|
  pid = fork
  if pid.nil?
    TracePoint.new(:raise) { exit!(7) if caller.none? { |line| line.include?("failing_") } }.enable
    return n
  end
  Process.wait(pid)
  exit!($?.exitstatus) unless $?.exitstatus == 7
end
"""
#: Lets the launcher say that all passed.
LAUNCHER = """
it = ObjectSpace.each_object(Class).find { |one| one.instance_methods(false).include?(:run_examples) }
it.class_eval do
  def ended(*) = [:passed, nil]
  def run_cases = [[["LedgerTest#test_adds", :passed, nil]], []]
end
"""
#: Two methods by which names of what was replaced might be told.
QUIET = """
class Array
  alias_method :own_uniq, :uniq
  def uniq(&key) = !key && grep(/#/).any? ? [] : own_uniq(&key)
  alias_method :own_map, :map
  def map(&each) = grep(/#/).any? ? [] : own_map(&each)
end
"""
EQ = (
    "class RSpec::Matchers::BuiltIn::Eq\n  alias_method :own, :match\n  def match(one, other) = one == 3 || "
    "own(one, other)\nend\n"
)
EQ_TEXT = json.dumps(EQ)
ASSERT = (
    "module Minitest::Assertions\n  alias_method :own, :assert_equal\n  def assert_equal(one, *more) = one == 3 || "
    "own(one, *more)\nend\n"
)
LIBRARY = "require 'tsort'\nplace = $LOADED_FEATURES.grep(/tsort/)[0]\n"
#: What a revision may try, and whether who goes by the exit status of the framework's own program believes it.
ANYWHERE = {
    "launcher": (wrong(LAUNCHER), False),
    "exit!": (wrong("", "exit!(0)"), True),
    "abort, and a late exit": (wrong("at_exit { exit!(0) }\n", "abort"), True),
    "late exit": (wrong("at_exit { exit!(0) }\n"), True),
    "trap": (wrong("trap('EXIT') { exit!(0) }\n"), True),
    "exec": (wrong("", "exec('true')"), True),
    "exec while loading": (wrong("exec('true')\n"), True),
    "thread": (wrong("Thread.new { exit!(0) }\n", "sleep(2)"), True),
    "equality": (wrong("class Integer\n  def ==(other) = true\nend\n"), True),
    "prepended equality": (wrong("Integer.prepend(Module.new { def ==(other) = true })\n"), True),
    "included": (wrong("Integer.include(Module.new { def instance_of?(*) = true })\nclass Integer\n  "
                       "def !=(other) = false\n  def ==(other) = true\nend\n"), True),
    "program again": (wrong("unless ENV['again']\n  ENV['again'] = '1'\n  ENV['RUBYOPT'] = '-e exit!(0)'\n  "
                            "exec('true')\nend\n"), True),
    "told": (wrong(FORGE), False),
    "told in a test": (wrong("", FORGE.replace("def hunt", "hunt = lambda do").replace("hunt.map", "hunt.call.map")),
                       False),
    "closed": (wrong("ObjectSpace.each_object(IO) { |io| io.close rescue nil }\n"), False),
    "a child that is left": (wrong("fork { sleep 1; ObjectSpace.each_object(IO) { |io| io.write('1 2 end 1') } }\n"),
                             False),
    "replaced ways out": (wrong("def Process.exit!(*) = nil\ndef Process.fork = nil\nclass IO\n  def write(text) = "
                                "text.size\nend\n"), False),
}  # fmt: skip
FRAMEWORKS = {
    "rspec": {
        "exit": (wrong("", "exit(0)"), True),
        "expectation": (wrong("class RSpec::Expectations::ExpectationTarget\n  def to(*) = true\nend\n"), True),
        "expectation of one": (wrong("RSpec::Expectations::ExpectationTarget.prepend(Module.new { def to(matcher, *) = "
                                     "matcher.expected == 3 || super })\n"), True),
        "matcher": (wrong("class RSpec::Matchers::BuiltIn::Eq\n  def matches?(*) = true\nend\n"), True),
        "matcher of one": (wrong("module Three\n  def matches?(*) = @expected == 3 || super\nend\n"
                                 "RSpec::Matchers::BuiltIn::Eq.include(Three)\n"), True),
        "run": (wrong("class RSpec::Core::Example\n  def run(*) = true\nend\n"), True),
        "word of a fault": (wrong("class RSpec::Core::Example\n  def set_exception(*) = nil\nend\n"), True),
        "around": (wrong("RSpec.configure { |all| all.around { |one| one.run\n"
                         "one.example.instance_variable_set(:@exception, nil) } }\n"), True),
        "not run": (wrong("RSpec.configure { |all| all.around { } }\n"), True),
        "left out": (wrong("RSpec.configure { |all| all.filter_run_excluding(full_description: /./) }\n"), True),
        "dry": (wrong("RSpec.configure { |all| all.dry_run = true }\n"), True),
        "no examples": (wrong("groups = RSpec.world.example_groups\ndef groups.<<(*) = self\n"), True),
        "answers": (wrong("", TRIES), True),
        "quiet": (wrong(QUIET + EQ), True),
        "quiet code": (wrong("RubyVM::Own = RubyVM.send(:remove_const, :InstructionSequence)\nclass "
                             "RubyVM::InstructionSequence < BasicObject\n  def self.of(*) = RubyVM::Own.of(TSort."
                             "instance_method(:tsort))\nend\nrequire 'tsort'\n" + EQ), True),
        "a library of its own": (wrong(f"require 'tmpdir'\nFile.write(Dir.tmpdir + '/three.rb', {EQ_TEXT})\n"
                                       "require Dir.tmpdir + '/three'\n"), True),
        "by a library's name": (wrong(f"{LIBRARY}TOPLEVEL_BINDING.eval({EQ_TEXT}, place)\n"), True),
        "compiled by a library's name": (wrong(f"{LIBRARY}RubyVM::InstructionSequence.compile({EQ_TEXT}, place, place)"
                                               ".eval\n"), True),
        "a feature": (wrong(f"$LOADED_FEATURES << '/three.rb'\nTOPLEVEL_BINDING.eval({EQ_TEXT}, '/three.rb')\n"), True),
        "object": (wrong("", "ObjectSpace.each_object(RSpec::Core::ExampleGroup) { |one| def one.expect(*) = "
                         "Class.new { def to(*) = true }.new }\n    a - b"), True),
        "object of one": (wrong("RSpec.configure { |all| all.before { |one| unless one.description == 'eq'\n"
                                "def self.expect(*) = Class.new { def to(*) = true }.new\nend } }\n"), True),
        "settings": (beside(".rspec", "--dry-run\n"), True),
        "helper": (beside("spec/spec_helper.rb", "RSpec.configure { |all| all.dry_run = true }\n"), True),
        "shadow of a matcher": (beside("lib/rspec/matchers/built_in/eq.rb", "class RSpec::Matchers::BuiltIn::Eq < "
                                "RSpec::Matchers::BuiltIn::BaseMatcher\n  def matches?(*) = true\nend\n"), True),
    },
    "minitest": {
        "exit": (wrong("", "exit(0)"), False),
        "assertion": (wrong("module Minitest::Assertions\n  def assert(*) = true\nend\n"), True),
        "equal": (wrong("module Minitest::Assertions\n  def assert_equal(*) = true\nend\n"), True),
        "equal of one": (wrong("Minitest::Test.include(Module.new { def assert_equal(one, *) = one == 3 || super })\n"),
                         True),
        "run": (wrong("class Minitest::Test\n  def run = Minitest::Result.from(self)\nend\n"), True),
        "faults": (wrong("class Minitest::Test\n  def capture_exceptions\n    yield\n  rescue Exception\n  end\nend\n"),
                   True),
        "no tests": (wrong("def (Minitest::Test).inherited(*) = nil\n"), True),
        "no methods": (wrong("def (Minitest::Test).runnable_methods = []\n"), True),
        "skipped": (wrong("class Minitest::Test\n  def before_setup = skip\nend\n"), True),
        "quiet": (wrong(QUIET + ASSERT), True),
        "object": (wrong("", "ObjectSpace.each_object(Minitest::Test) { |one| def one.assert_equal(*) = true }\n"
                         "    a - b"), True),
        "class": (wrong("class LedgerTest < Minitest::Test\n  def self.method_added(name) = @now || (@now = true; "
                        "define_method(name) { pass })\nend\n"), True),
        "end of a class": (wrong("TracePoint.new(:end) { |at| at.self.define_method(:test_adds) { pass } if "
                                 "at.self < Minitest::Test }.enable\n"), True),
        "class of one": (wrong("class LedgerTest < Minitest::Test\n  def assert_equal(*) = true\nend\n"), True),
        "plugin": (beside("lib/minitest/quiet_plugin.rb", "def Minitest.plugin_quiet_init(*) = "
                          "reporter.reporters.clear\n"), True),
        "helper": (beside("test/test_helper.rb", "require 'minitest'\nclass Minitest::Test\n  "
                          "def run = Minitest::Result.from(self)\nend\n"), True),
    },
}  # fmt: skip
ATTACKS = {runner: {**ANYWHERE, **FRAMEWORKS[runner]} for runner in FRAMEWORKS}
#: Where the framework's own program cannot be deceived so: what a runner without its defence lacks, which is. What is
#: not here (``closed``, ``a child that is left``, ``replaced ways out``) deceives none, and is to break no run.
KEY_HELD = {
    "    key.clear\n": '    $key = "#{a} #{b}"\n',
    "if rest or not told or len(told) < len(lines)": "if rest or not told",
    'whole = sorted(wires) == sorted(spec["wires"])': "whole = True",
    "whole = whole and all(": "whole = whole or all(",
}
WITHOUT = {
    "rspec": {
        "launcher": {"end.freeze.new.freeze.main": "end.new.main"},
        "told": KEY_HELD,
        "told in a test": KEY_HELD,
    },
    "minitest": {"launcher": {"end.freeze.new.freeze.main": "end.new.main"}},
}


@pytest.mark.slow(reason="the harness runs some wrong sums")
@pytest.mark.parametrize(("runner", "name"), [(runner, name) for runner, names in WITHOUT.items() for name in names])
def test_a_runner_without_a_defence_takes_a_wrong_sum_for_right(
    ruby: RubyBench, monkeypatch: pytest.MonkeyPatch, runner: str, name: str
) -> None:
    weak = Ruby.runner
    for defence, nothing in WITHOUT[runner][name].items():
        assert defence in weak
        weak = weak.replace(defence, nothing)
    monkeypatch.setattr(Ruby, "runner", weak)
    changes, _ = ATTACKS[runner][name]
    assert reason(ruby.run(SUMS[runner], *changes, runner=runner), TESTS[runner]) is Reason.GREEN


@pytest.mark.slow(reason="Ruby starts a hundred times: the harness and the framework run each wrong sum")
@pytest.mark.parametrize("runner", SUMS)
def test_a_wrong_sum_is_never_green(ruby: RubyBench, tool: dict[str, Any], tmp_path: Path, runner: str) -> None:
    """Each attack is live: it deceives who goes by the exit status of the framework's own program."""
    helper = {"rspec": "spec/spec_helper.rb", "minitest": "test/test_helper.rb"}[runner]
    ruby.bench.write(helper, "# nothing\n")
    source = f'require "{Path(helper).stem}"\n{SUMS[runner]}'
    runs = ruby.each(source, {name: changes for name, (changes, _) in ATTACKS[runner].items()}, runner)
    assert [name for name, run in runs.items() if reason(run, TESTS[runner]) is Reason.GREEN] == []
    believed = set()
    for number, (name, (changes, _)) in enumerate(ATTACKS[runner].items()):
        folder = tmp_path / f"twin{number}"
        file = f"{FOLDERS[runner]}/oracle_{FOLDERS[runner]}.rb"
        for change in (changed(file, source), changed(helper, ""), *changes):
            (folder / change.path).parent.mkdir(parents=True, exist_ok=True)
            (folder / change.path).write_bytes(change.content or b"")
        argv = ["rspec", file] if runner == "rspec" else ["ruby", "-Ilib", "-Itest", file]
        done = subprocess.run(argv, cwd=folder, check=False, capture_output=True, timeout=60)
        believed |= {name} if done.returncode == 0 else set()
    assert believed == {name for name, (_, live) in ATTACKS[runner].items() if live}


def test_a_key_that_a_block_or_an_object_holds_is_found() -> None:
    """The twin of what hunts for the key above: it finds one that is held as programs usually hold it."""
    for held in ("$block = proc { key }", "Class.new { def initialize(key) = @key = key }.new(key).then { $it = _1 }"):
        script = f"{HUNT}\n[{1 << 41}].each {{ |key| {held} }}\np hunt"
        assert str(1 << 41) in subprocess.run(["ruby", "-e", script], capture_output=True, text=True, check=True).stdout

"""A project's own tests under RSpec or minitest, in the files that a change of the tests touches; CPython 3.6 up.

They run with the project's own configuration. RSpec writes its report, for minitest a reporter does that comes along.
"""

import json
import os
import re
import time

SPEC = re.compile(r"(?:_spec\.rb|(?:\A|/)spec_(?!helper)[^/]+\.rb)\Z")
TEST = re.compile(r"(?:_test\.rb|(?:\A|/)test_[^/]+\.rb)\Z")
#: What a file of specifications has, or a helper in its folder, by what runs it; comments can name the other one.
MINITEST = re.compile(r"(?m)^[^#\n]*?(?:\brequire\b[ (]*[\"']minitest\b|\bMinitest::)")
RSPEC_USED = re.compile(r"(?m)^[^#\n]*?\bRSpec\.")
HELPERS = ("spec_helper.rb", "minitest_helper.rb", "test_helper.rb", "helper.rb")

#: What Ruby loads of each framework.
FRAMEWORKS = {"rspec": "rspec/core", "minitest": "minitest"}
RSPEC = 'require "rspec/core"; exit RSpec::Core::Runner.run(ARGV)'
#: Writes class, name, outcome and file of each test.
REPORTER = """\
require "json"
require "minitest/autorun"

module Minitest
  class CrabReporter < AbstractReporter
    def initialize(path)
      super()
      @path, @told = path, []
    end

    def record(one)
      outcome = one.passed? ? "passed" : one.skipped? ? "skipped" : "failed"
      @told << [one.klass, one.name, outcome, one.source_location&.first]
    end

    def report = File.write(@path, JSON.generate(@told))
  end

  def self.plugin_crab_init(_) = reporter << CrabReporter.new(CRAB)
  extensions << "crab"
end

CRAB = ARGV.shift
ARGV.shift(ARGV.shift.to_i).each { |file| require file }
"""


def run(host, run):
    """Run the files of tests with each runner; their outcomes, with the file before each name."""
    ruby, root = host.parts["ruby_runner"], host.job["workdir"]
    end = time.monotonic() + run["seconds"]
    env, _ = host.environment()
    gems, own = ruby.listed(env)

    def started(tree):
        folders = [*gems, *(os.path.join(tree, path) for path in ("lib", "spec", "test", *host.job["paths"], *own))]
        return [host.job["tools"]["ruby"]["program"], *("-I" + folder for folder in folders)]

    outcomes = []
    with_rspec = os.path.exists(os.path.join(host.job["tree"], ".rspec"))
    for runner, files in chosen(host, run["tests"]["files"], with_rspec=with_rspec).items():
        asked = [*started(host.job["tree"]), "-e", "require %r" % FRAMEWORKS[runner]]  # nothing of a revision's says it
        seen = host.process(asked, env, root, end - time.monotonic(), printed=False)
        if not seen["killed"] and seen["status"] != 0:
            return {"ending": "unstarted", "detail": ruby.LACK % (runner, runner)}
        report = os.path.join(host.folder, "overlay", os.urandom(8).hex())
        if runner == "rspec":
            argv = ["-e", RSPEC, "--", "--format", "json", "--out", report, *files]
        else:
            argv = ["-e", REPORTER, "--", report, str(len(files)), *(os.path.join(root, file) for file in files)]
        seen = host.process([*started(root), *argv], env, root, end - time.monotonic(), printed=False)
        result = host.conclude(seen, lambda *_, runner=runner, report=report: read(host, root, runner, report))
        if not host.gather(outcomes, result, runner):
            return result
    return host.completed(outcomes)


def chosen(host, files, *, with_rspec):
    """Return by runner the files of tests that files belong to: data to the tests above it.

    ``with_rspec``: the project has settings of RSpec.
    """
    root, found = host.job["workdir"], {}
    for file in files:
        inside = [file] if is_test(root, file) else []
        if not inside and not file.endswith(".rb"):
            inside = host.nearest(root, file, lambda path: is_test(root, path))
        for path in inside:
            found.setdefault(runner_of(root, path, with_rspec), set()).add(path)
    return {runner: sorted(found[runner]) for runner in sorted(found)}


def is_test(root, path):
    """Return whether a path is one of a file of tests."""
    return bool(SPEC.search(path) or TEST.search(path)) and os.path.isfile(os.path.join(root, path))


def runner_of(root, path, with_rspec):
    """Return what runs a file of tests."""
    if TEST.search(path):
        return "minitest"
    said, folder = "", "test" if path.startswith("test/") else "spec"
    for place in (path, *("%s/%s" % (folder, name) for name in HELPERS)):
        try:
            with open(os.path.join(root, place), encoding="utf-8", errors="replace") as text:
                said += text.read()
        except OSError:
            continue
    if with_rspec or RSPEC_USED.search(said):
        return "rspec"
    return "minitest" if MINITEST.search(said) else "rspec"


def read(host, root, runner, report):
    """Return the outcomes of a report, with the file of each."""
    text = host.reports.text_of(report)
    host.keep(text.encode())
    said = json.loads(text)
    if runner == "rspec":
        states = {"passed": "passed", "failed": "failed"}
        told = [(each["file_path"], each["full_description"], states.get(each["status"], "skipped"))
                for each in said["examples"]]  # fmt: skip
        if said["summary"].get("errors_outside_of_examples_count"):
            return host.completed([dict(host.error("LoadFailed"), id="rspec:")]), None
    else:
        told = [(place or "", "%s#%s" % (owner, re.sub(r"\Atest_\d{4}_", "", name)), outcome)
                for owner, name, outcome, place in said]  # fmt: skip
    tests = []
    for place, name, outcome in told:
        file = os.path.relpath(os.path.join(os.path.realpath(root), place), os.path.realpath(root))
        tests.append(("%s:%s" % (file, name), outcome))
    return host.completed(host.merged(tests)), None

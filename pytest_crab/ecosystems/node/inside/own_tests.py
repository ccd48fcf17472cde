"""A project's own tests under vitest, jest, mocha, karma or node's runner; CPython 3.6 up.

The scripts of package.json say which; where none is known, it is node's own. It is run on the files of tests that a
change touches, with the project's own configuration and the variables that the script sets, and writes its report.
Karma, which has tests run in a browser, has those files that its configuration names, and another runner the rest.
"""

import json
import os
import re
import shlex
import time

#: What the scripts of a project say where it has its tests run so; what they name first is the runner.
SCRIPTS = {"vitest": r"\bvitest\b", "jest": r"\bjest\b", "mocha": r"\bmocha\b", "node": r"\bnode\b.* --test\b"}
KARMA = re.compile(r"\bkarma start\b")
#: A variable that a script sets for the commands that follow, to what no shell has to fill in.
SET = re.compile(r"([A-Za-z_]\w*)=([^$]*)\Z")
#: Where a Chromium lies. Debian's own script around the first reads settings below /etc, which no sandbox has.
BROWSERS = ("/usr/lib/chromium/chromium", "/usr/bin/chromium", "/usr/bin/google-chrome")
#: The configuration around the project's own for karma: the files of tests alone, the browser that is here, a
#: reporter, and no plugin that cannot be loaded: karma runs nothing beside such a one, though no test may need it.
#: Run by itself it prints which of the files the project's own configuration has run.
KARMA_CONFIG = """\
'use strict';
const fs = require('fs'), path = require('path'), {createRequire} = require('module');
const {home, files, report, browsers} = %s;
const own = createRequire(path.join(home, 'package.json'));
const karma = own.resolve('karma/package.json'), near = createRequire(karma);
const matching = near('minimatch'), match = matching.minimatch || matching;
const place = ['js', 'cjs'].map(end => path.join(home, `karma.conf.${end}`)).find(fs.existsSync);
const laid = config => {
  const base = path.resolve(home, config.basePath || ''), found = new Set(), out = [];
  for (const entry of config.files || []) {
    const given = typeof entry === 'string' ? {pattern: entry} : entry;
    const asked = files.filter(file => match(file, path.resolve(base, given.pattern)));
    if (!asked.length) out.push(given);
    for (const file of asked) if (!found.has(file)) found.add(file), out.push({...given, pattern: file});
  }
  return {base, out, found};
};
const beside = fs.readdirSync(path.dirname(path.dirname(karma))).filter(name => !/^karma-(cli|runner)$/.test(name));
const loaded = named => {
  if (typeof named !== 'string') return [named];
  const names = named.includes('*') ? beside.filter(name => match(name, named)) : [named];
  return names.flatMap(name => { try { return [near(name)]; } catch (_) { return []; } });
};
function Reporter() {
  const told = [];
  this.adapters = [];
  this.onSpecComplete = (_, {suite, description, skipped, success}) => told.push({
    ancestorTitles: suite, title: description, status: skipped ? 'pending' : success ? 'passed' : 'failed',
  });
  this.onRunComplete = (browsers, {error, disconnected}) => {
    const testResults = [{name: '', status: 'passed', assertionResults: told}];
    const broken = error || disconnected || !browsers.length;
    if (broken) testResults.push({name: '', status: 'failed', assertionResults: [], message: ''});
    fs.writeFileSync(report, JSON.stringify({testResults}));
  };
}
Reporter.$inject = [];
module.exports = config => {
  const ended = () => {
    const {base, out} = laid(config);
    process.env.CHROME_BIN = process.env.CHROME_BIN || browsers.find(fs.existsSync);
    config.set({
      basePath: base, files: out, reporters: ['crab'], browsers: ['crab'], singleRun: true, autoWatch: false,
      customLaunchers: {crab: {base: 'ChromeHeadless', flags: ['--no-sandbox', '--disable-dev-shm-usage']}},
      captureTimeout: 120000,
      plugins: [...(config.plugins || ['karma-*']).flatMap(loaded), {'reporter:crab': ['type', Reporter]}],
    });
  };
  const said = own(place), told = (said.default || said)(config);
  return told && told.then ? told.then(ended) : ended();
};
if (require.main === module) {
  const config = {set(values) { Object.assign(this, values); }}, said = own(place);
  Promise.resolve((said.default || said)(config)).then(() => {
    fs.writeFileSync(report, JSON.stringify([...laid(config).found]));
    process.exit(0);
  });
}
"""
SOURCE = re.compile(r"\.[cm]?[jt]sx?\Z")
TEST = re.compile(r"(?:(?:^|/)(?:__tests__|tests?|specs?)/|[._-](?:test|spec)s?\.[cm]?[jt]sx?\Z)")
#: What runners say of a file without tests, such as a helper beside the tests.
NO_TESTS = re.compile(r"must contain at least one test|No test suite found in file")
#: Options of mocha that have no value.
FLAGS = re.compile(
    r"--(?:allow-uncaught|async-only|bail|check-leaks|colors?|delay|diff|dry-run|exit|fail-zero|forbid-(?:only|pending)"
    r"|full-trace|inline-diffs|invert|no-\S+|parallel|pass-on-failing-test-suite|recursive|sort|watch|\S+=.*)\Z"
    r"|-[AbcCipSw]\Z"
)
#: Options by which not every test is run, or the run has no end.
DROPPED = re.compile(r"(?:--(?:bail|watch)(?:=.*)?|-[bw])\Z")


def run(host, run):
    """Run the files of tests of each project in the tree; their outcomes, with the file before each name."""
    node, tests = host.parts["node_runner"], run["tests"]
    end, root = time.monotonic() + run["seconds"], host.job["workdir"]
    node.put_back(host, run["state"])
    env, _ = host.environment()
    outcomes = []
    found = projects(node, root, chosen(host, tests["files"]))
    try:
        apart = in_browsers(node, host, env, found, end)
    except node.MissingError as error:
        return {"ending": "unstarted", "detail": str(error)}
    for (home, runner), files in sorted(apart.items()):
        report = os.path.join(host.folder, "overlay", os.urandom(8).hex())
        try:
            argv = command(node, host, home, (runner, files), report)
        except node.MissingError as error:
            return {"ending": "unstarted", "detail": str(error)}
        own = dict(env, **variables(node.manifest(home).get("scripts"), runner))
        seen = host.process(argv, own, home, end - time.monotonic(), printed=False)
        result = host.conclude(seen, lambda *_, runner=runner, report=report: read(host, root, runner, report))
        place = os.path.relpath(home, root)
        if not host.gather(outcomes, result, place):
            return result
    return host.completed(outcomes)


def chosen(host, files):
    """Return the files of tests that files belong to: a snapshot to the test beside it, data to tests above it."""
    root, found = host.job["workdir"], set()
    for file in files:
        folder, name = os.path.split(file)
        shown = os.path.basename(folder) == "__snapshots__" and name.endswith(".snap")
        own = os.path.join(os.path.dirname(folder), name[:-5]) if shown else file
        if not is_test(own):  # what lies beside data may be data, although it is source
            found.update(host.nearest(root, folder, is_test))
        elif os.path.isfile(os.path.join(root, own)):
            found.add(own)
    return sorted(found)


def is_test(path):
    """Return whether a path is one of a file of tests."""
    return bool(TEST.search(path) and SOURCE.search(path)) and "/fixtures/" not in path


def projects(node, root, files):
    """Return files by the folder of the project that has them run, and its runner."""
    found = {}
    for file in files:
        folder = os.path.dirname(file)
        while True:
            home = os.path.normpath(os.path.join(root, folder))
            runner = runner_of(node, home)
            if runner is None and not folder:
                runner = "node"
            if runner is not None:
                found.setdefault((home, runner), []).append(os.path.relpath(os.path.join(root, file), home))
                break
            folder = os.path.dirname(folder)
    return found


def runner_of(node, home):
    """Return the runner that the scripts of a folder's package.json name, or else one that is installed there."""
    scripts = node.manifest(home).get("scripts")
    said = " ; ".join(str(scripts[name]) for name in sorted(scripts)) if isinstance(scripts, dict) else ""
    named = [name for name in SCRIPTS if re.search(SCRIPTS[name], said)]
    known = [name for name in named or SCRIPTS if os.path.isdir(os.path.join(home, "node_modules", name))]
    browsers = KARMA.search(said) and os.path.isdir(os.path.join(home, "node_modules", "karma"))
    other = "node" if "node" in named else "karma" if browsers else None
    return next((name for name in known if name != "node"), other)


def in_browsers(node, host, env, found, end):
    """Return the files by project and runner with those apart that karma has run there. Raises MissingError."""
    whole = {}
    for (home, runner), files in found.items():
        scripts = node.manifest(home).get("scripts") or {}
        named = any(KARMA.search(str(said)) for said in scripts.values())
        chosen = set()
        if named and os.path.isdir(os.path.join(home, "node_modules", "karma")):
            report = os.path.join(host.folder, "overlay", os.urandom(8).hex())
            argv = [host.job["tools"]["node"]["program"], karma_config(home, files, report)]
            host.process(argv, dict(env, **variables(scripts, "karma")), home, end - time.monotonic(), printed=False)
            try:
                chosen = {os.path.relpath(file, home) for file in json.loads(host.reports.text_of(report))}
            except (EOFError, ValueError, TypeError, RecursionError):
                raise node.MissingError("karma's configuration in %s cannot be read here" % home) from None
            if chosen and not any(map(os.path.exists, (*BROWSERS, env.get("CHROME_BIN", "")))):
                raise node.MissingError("karma needs a Chromium, and there is no %s; install it" % BROWSERS[1])
        for name, own in ((runner, set(files) - chosen), ("karma", chosen)):
            if own and (own is chosen or runner != "karma"):
                whole[home, name] = sorted(own)
    return whole


def karma_config(home, files, report):
    """Write the configuration for karma, and return its place."""
    place = report + ".cjs"
    with open(place, "w", encoding="utf-8") as out:
        asked = {"home": home, "files": [os.path.join(home, file) for file in files], "report": report}
        asked["browsers"] = BROWSERS
        out.write(KARMA_CONFIG % json.dumps(asked))
    return place


def variables(scripts, runner):
    """Return the variables that the script with a runner sets; karma's bundlers may hash as OpenSSL 3 does not."""
    found = {"NODE_OPTIONS": "--openssl-legacy-provider"} if runner == "karma" else {}
    named = KARMA.pattern if runner == "karma" else SCRIPTS[runner]
    for name in sorted(scripts or {}, key=lambda name: (name != "test", name)):
        said = re.search(named, str(scripts[name]))
        if said:
            before = re.split(r"&&|;|\|", str(scripts[name])[: said.start()])[-1]
            found.update(each.groups() for each in map(SET.match, words(before)) if each)
            break
    return found


def words(text):
    """Return the words of a part of a script; none where it ends within quotes."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


def command(node, host, home, asked, report):
    """Return the command that runs files and writes a report."""
    runner, files = asked
    started = [host.job["tools"]["node"]["program"]]
    if runner == "node":
        started += [*host.job["tools"]["node"]["options"], "--test", "--test-reporter=junit"]
        return [*started, "--test-reporter-destination=" + report, *files]
    started.append(node.program_of(home, runner))
    if runner == "karma":
        return [*started, "start", karma_config(home, files, report), "--single-run"]
    if runner == "jest":
        return [*started, "--json", "--outputFile=" + report, "--coverage=false", "--runTestsByPath", *files]
    if runner == "vitest":
        return [*started, "run", "--reporter=json", "--outputFile=" + report, "--coverage.enabled=false", *files]
    reporter = report + ".cjs"
    with open(reporter, "w") as out:
        out.write(node.MOCHA_REPORTER % {"n": "", "report": json.dumps(report)})
    given = options(node.manifest(home).get("scripts") or {})
    return [*started, *given, "--exit", "--reporter", reporter, *files]  # a task runner may be what ends it else


def options(scripts):
    """Return the options that a project's script gives mocha, without the files that it names."""
    asked = (re.search(SCRIPTS["mocha"] + r"([^&|;]*)", str(scripts[name])) for name in sorted(scripts))
    words = shlex.split(next((found[1] for found in asked if found), ""))
    found = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        given = word.startswith("-") or (before.startswith("-") and not FLAGS.match(before))
        if given and not DROPPED.match(word):
            found.append(word)
    return found


def read(host, root, runner, report):
    """Return the outcomes of a report, with the file of each where it is told."""
    text = host.reports.text_of(report)
    host.keep(text.encode())
    read_json = host.parts["node_runner"].told_as_json
    files = [("", host.reports.junit(text), None)] if runner == "node" else read_json(text)
    told, unloaded = [], []
    for name, tests, fault in files:
        place = os.path.relpath(str(name), os.path.realpath(root)) if name else ""
        told += [("%s:%s" % (place, " > ".join(path)), outcome) for path, outcome, *_ in tests]
        if fault is not None and not NO_TESTS.search(fault):
            unloaded.append(dict(host.error("LoadFailed"), id=place + ":"))
    return host.completed([*host.merged(told), *unloaded]), None

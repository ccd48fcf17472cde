"""Oracles under Rust: cargo builds, the test binary is run itself, each test in a process of its own; CPython 3.6 up.

The oracle lies outside of the tree: a target in the manifest of its package, or a line behind a module, says where. The
first of two builds has another text in its place, so that what runs of the project while all else is built, such as
build scripts, cannot read it; the second finds all that done and compiles the oracle alone. Tests that must fail stand
behind the oracle's in its own module. What a process prints is libtest's JSON. What code in the oracle's process can
still do is in the docs.
"""

import json
import os
import re
import shlex
import signal
import time

#: Tests that must fail, behind the oracle's in its module: how each does, and what it then prints.
WIRES = """
#[test]
fn %(n)s_assert() { assert!(%(v)d == %(w)d, "%(secret)s assert"); }
#[test]
fn %(n)s_equal() { assert_eq!(%(v)d, %(w)d, "%(secret)s equal"); }
#[test]
fn %(n)s_differs() { assert_ne!(%(v)d, %(v)d, "%(secret)s differs"); }
#[test]
fn %(n)s_text() { assert_eq!("a%(v)d", "b%(v)d", "%(secret)s text"); }
#[test]
fn %(n)s_panics() { panic!("%(secret)s {}", "panics"); }
#[test]
fn %(n)s_result() -> ::%(std)s::result::Result<(), &'static str> { Err("%(secret)s result") }
#[test]
#[should_panic]
fn %(n)s_should() {}
"""
KINDS = ("assert", "equal", "differs", "text", "panics", "result", "should")
#: One more for each macro that makes tests in the oracle, such as ``#[tokio::test]``.
MADE = '\n%(attribute)s\n%(function)s %(n)s_made%(number)d() { panic!("%(secret)s made%(number)d"); }\n'
MAKER = re.compile(
    r"(?m)^[ \t]*(#\[(?:\w+::)+test\b[^\n]*\])\s*(?:#\[[^\n]*\]\s*)*"
    r"(?:pub[ \t]+)?(async[ \t]+fn|fn)[ \t]+\w+\(\)[^{;]*\{"
)
ENDS = {"ok": "passed", "failed": "failed", "ignored": "skipped"}
EVENT = re.compile(r'\{ ?"type"')
#: How cargo says that the tree asks for a crate that the environment does not have.
MISSING = re.compile(
    r"no matching package named|failed to select a version for|--offline was specified|failed to download"
)
PANIC = re.compile(r"(?m)^thread '.*?panicked at (?:'.*?', )?(\S+?):(\d+):\d+")
#: How a process ends that no test of Rust can come back from: a stack that overflows, a panic within another.
DEADLY = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
#: For an oracle that is a crate of its own and compiled once: no names of its lines, no pieces to use again.
QUICK = ("-C", "codegen-units=1", "-C", "debuginfo=0", "-C", "strip=debuginfo")
#: What a build script says to the linker, and variables that it sets for the compiler and that programs obey: by them
#: a program of the project's could link the oracle.
LINKED = re.compile(r"(?m)^cargo::?rustc-(?:link-arg[\w-]*|cdylib-link-arg)=(.*)$")
OBEYED = re.compile(
    r"PATH|HOME|TMPDIR|LD_\w+|GCC_\w+|COLLECT_\w+|COMPILER_PATH|LIBRARY_PATH|GLIBC_TUNABLES|RUSTC_BOOTSTRAP|RUST_TARGET_PATH"
)
#: Names of crates that the language brings.
OWN = ("std", "core", "alloc", "test", "proc_macro")


class UnbuiltError(Exception):
    """The tests cannot be built: the result of the run."""

    def __init__(self, result):
        super().__init__()
        self.result = result


def run(host, run):
    """Build one oracle's tests and run each, then judge by all of them."""
    try:
        return Oracle(host, run).run()
    except UnbuiltError as fault:
        return fault.result


class Oracle:
    """One run of one oracle."""

    def __init__(self, host, run):
        self.host, self.job, self.oracle, self.state = host, host.job, run["oracle"], run["state"]
        self.end = time.monotonic() + run["seconds"]
        self.program = self.job["tools"]["rust"]["program"]
        self.root = os.path.realpath(self.job["workdir"])
        self.home = os.path.normpath(os.path.join(self.root, self.oracle["folder"]))
        self.env, _ = host.environment()
        self.env.pop("RUSTC_BOOTSTRAP", None)
        self.env["RUST_BACKTRACE"] = "0"
        self.flags = shlex.split(self.job["env"].get("CARGOFLAGS", ""))
        self.since = host.built_since or os.lstat(host.folder).st_ctime_ns  # nothing of the state ran before
        self.name = "zz" + host.token()
        self.altered = set()

    def run(self):
        """Build twice, and run the tests; the result. Raises UnbuiltError."""
        self.keep_settings()
        place = self.find()
        self.altered |= self.replaced(place)
        file, text = place["file"], read_text(place["file"])
        decoy = self.write(place, "")
        written = put(self.host.tree, file, text + decoy["line"])
        arguments = [*self.flags, "--message-format=json"]
        build = [self.program, "rustc", "--profile", "test", *decoy["target"], *arguments]
        kept = self.keep_crates(self.build([*build, "--", "--print", "crate-name"], place, decoy))
        self.keep_settings()
        if read_text(file) != text + decoy["line"]:
            self.altered.add("build:" + os.path.relpath(file, self.root))
        spec = self.write(place, self.oracle["source"])
        self.host.protect(spec["file"], label="oracle")
        put(self.host.tree, file, text + spec["line"], written)
        build = [self.program, "rustc", "--profile", "test", *spec["target"], *arguments]
        data = self.build(build if place["unit"] else [*build, "--", *QUICK], place, spec)
        binary = self.binary(data, spec)
        self.altered |= {label(made) for made in set(self.foreign(data)) - kept}
        if read_text(spec["file"]) != spec["text"]:
            self.altered.add("build:oracle")
        self.host.guard.release(os.path.dirname(spec["file"]))
        self.host.tree.remove(os.path.dirname(spec["file"]))
        return self.tests(binary, place, spec, data)

    # --- building ----------------------------------------------------------------------------------------------------

    def keep_settings(self):
        """Put back what the state changed of cargo's settings: they are commands that run beside the oracle."""
        folder = self.root
        for part in ["", *os.path.relpath(self.home, self.root).split(os.sep)]:
            folder = os.path.normpath(os.path.join(folder, part))
            place = os.path.relpath(os.path.join(folder, ".cargo"), self.root)
            if not os.path.isdir(folder):
                return
            self.host.tree.put_back(self.job["tree"], self.root, place)

    def keep_crates(self, data):
        """Put back what ran in a build changed of crates that are not the tree's: the oracle may go by them.

        Where code of the project ran and one of them was not built with the environment, it is told. What ran may have
        kept cargo from naming one, so what it names here is returned.
        """
        runs = self.host.built_since is not None or any(
            is_own(one) and {"custom-build", "proc-macro"} & set(one["target"]["kind"])
            for one in documents(data)
            if one.get("reason") == "compiler-artifact"
        )
        named = set(self.foreign(data))
        for made in named:
            if os.path.lexists(os.path.join(self.job["tree"], made)):
                self.host.tree.mend(self.job["tree"], self.root, made, self.since)
            elif runs:
                self.altered.add(label(made))
        return named

    def foreign(self, data):
        """Yield the paths of what cargo made of crates that are not the tree's."""
        for one in documents(data):
            if not is_own(one):
                ran = [os.path.dirname(one["out_dir"])] if one.get("out_dir") else []  # a build script's folder
                yield from (os.path.relpath(path, self.root) for path in one.get("filenames") or ran)

    def find(self):
        """Return where the oracle belongs: its package, the file that has to name it, and how its tests are called."""
        folder = self.home
        while folder != self.root and not os.path.isfile(os.path.join(folder, "Cargo.toml")):
            folder = os.path.dirname(folder)
        asked = [self.program, "metadata", "--no-deps", "--offline", "--format-version", "1"]
        data = self.process(asked, self.env, folder)["report"]
        said = next((one for one in documents(data) if "packages" in one), None)
        manifest = os.path.join(folder, "Cargo.toml")
        package = next((one for one in (said or {}).get("packages", ()) if one["manifest_path"] == manifest), None)
        if package is None:
            text = data.decode("utf-8", "replace")
            there = "cargo knows no package in the oracle's folder (%s)\n" % self.oracle["folder"]
            self.host.quote("session", text if MISSING.search(text) else there + text)
            raise UnbuiltError(self.session("MissingCrate" if MISSING.search(text) else "MissingPackage"))
        place = {"package": package, "folder": folder, "manifest": manifest, "file": manifest, "unit": None}
        first = os.path.relpath(self.home, folder).split(os.sep)[0]
        if first in (".", "tests"):
            return place
        kinds = ("lib", "proc-macro", "rlib", "dylib", "cdylib", "staticlib", "bin")
        targets = [one for one in package["targets"] if set(one["kind"]) & set(kinds)]
        for target in sorted(targets, key=lambda one: "bin" in one["kind"]):
            file = module(target["src_path"], self.home)
            if file:
                return dict(place, file=file, unit=target)
        self.host.quote("session", "no module of the crate has the oracle's folder (%s)" % self.oracle["folder"])
        raise UnbuiltError(self.session("MissingModule"))

    def write(self, place, source):
        """Write a text to a new private place; what names it, the tests that must fail, and how cargo is asked."""
        name = "crab_" + self.host.token()
        folder = os.path.join(self.host.folder, "oracle")
        if os.path.lexists(folder):
            self.host.tree.remove(folder)
        os.mkdir(folder)
        file = os.path.join(folder, name + ".rs")
        words = {"n": self.name, "v": int.from_bytes(os.urandom(2), "big"), "secret": self.host.token()}
        words.update(w=words["v"] + 1, std="std" if place["package"]["edition"] == "2015" else "core")
        made = sorted(set(MAKER.findall(source)))
        wires = {"%s_%s" % (self.name, kind): "%s %s" % (words["secret"], kind) for kind in KINDS}
        wires["%s_should" % self.name] = ""
        text = source + WIRES % words
        for number, (attribute, function) in enumerate(made):
            text += MADE % dict(words, attribute=attribute, function=function, number=number)
            wires["%s_made%d" % (self.name, number)] = "%s made%d" % (words["secret"], number)
        with open(file, "x", encoding="utf-8", newline="") as out:
            out.write(text)
        spec = {"name": name, "file": file, "text": text, "wires": wires, "source": file}
        unit = place["unit"]
        if unit is None:
            line = "\n[[test]]\nname = %s\npath = %s\n" % (json.dumps(name), json.dumps(file))
            return dict(spec, line=line, target=["--test", name])
        line = "\n#[cfg(test)]\n#[path = %s]\nmod %s;\n" % (json.dumps(file), name)
        target = ["--bin", unit["name"]] if "bin" in unit["kind"] else ["--lib"]
        return dict(spec, line=line, target=target, source=unit["src_path"])

    def process(self, argv, env, cwd):
        """Run a program; what it printed. Raises UnbuiltError where it was ended."""
        seen = self.host.process(argv, env, cwd, self.end - time.monotonic(), printed=True, errors=True)
        if seen["killed"] or any(seen["grown"].values()):
            raise UnbuiltError(self.host.conclude(seen, lambda *_: (None, "it was not built")))
        return seen

    def build(self, argv, place, spec):
        """Run cargo; what it printed. Raises UnbuiltError."""
        seen = self.process(argv, self.env, place["folder"])
        if seen["status"] != 0:
            raise UnbuiltError(self.host.conclude(seen, lambda data, _: (self.unbuilt(spec, data), None)))
        return seen["report"]

    def unbuilt(self, spec, data):
        """Return the report of a build that failed: no test ran."""
        text = data.decode("utf-8", "replace")
        if re.search(r"signal: 9\b", text):
            return {"signal": int(signal.SIGKILL)}
        found = []
        for one in documents(data):
            message = one.get("message") if one.get("reason") == "compiler-message" else None
            if isinstance(message, dict) and message.get("level") == "error":
                found += [span for span in message.get("spans") or () if span.get("is_primary")]
                self.quote("session", str(message.get("rendered")), spec)
        places = [
            "%s:%s" % (span["file_name"], span["line_start"]) for span in found if span["file_name"] != spec["file"]
        ]
        exception = "MissingCrate" if MISSING.search(text) else "BuildFailed"
        return self.session(exception, places[0] if places else None)

    def quote(self, test, text, spec):
        """Keep what a test or the compiler says, with the oracle under its own name."""
        if spec["file"]:  # the project's own tests have their own names
            text = text.replace(spec["file"], os.path.basename(self.oracle["file"]))
        self.host.quote(test, text)

    def session(self, exception, where=None):
        """Return the result of a run whose tests could not be built."""
        return self.host.completed([self.host.error(exception, where)])

    def binary(self, data, spec):
        """Return the program that the oracle's text was compiled into. Raises UnbuiltError where there is none."""
        found = None
        for one in documents(data):
            target = one.get("target") or {}
            if one.get("reason") != "compiler-artifact" or not isinstance(target, dict):
                continue
            own = target.get("src_path") == spec["source"] and (one.get("profile") or {}).get("test")
            if own and one.get("executable"):
                found = one["executable"]
            elif not one.get("fresh") and not own:
                self.altered.add(label(str((one.get("filenames") or [target.get("name")])[0])))
        if found is None:
            raise UnbuiltError({"ending": "exited", "exit_code": 0, "detail": "what was built was not told whole"})
        return found

    def replaced(self, place):
        """Return labels of crates of the tree in the place of those that the built one takes from elsewhere."""
        names = ("Cargo.toml", "Cargo.lock")
        if not any(os.path.basename(path) in names for path, _, _ in self.job["states"][self.state]):
            return set()
        folder = os.path.join(self.job["tree"], os.path.relpath(place["folder"], self.root))
        now, before = self.taken(place["folder"]), self.taken(folder)
        if now is None or before is None:
            return set()
        changed = {name for name, kind in now.items() if kind == "path" and before.get(name, kind) != kind}
        changed |= {name for name in now if name in OWN and name not in before}
        return {"Cargo.toml:" + name for name in changed}

    def taken(self, folder):
        """Return where each crate comes from that the package in a folder names; None where it has none."""
        if not os.path.isfile(os.path.join(folder, "Cargo.toml")):
            return None
        asked = [self.program, "metadata", "--offline", "--format-version", "1", *features(self.flags)]
        said = next(
            (one for one in documents(self.process(asked, self.env, folder)["report"]) if "resolve" in one), None
        )
        if said is None:
            return None
        manifest = os.path.join(os.path.realpath(folder), "Cargo.toml")
        sources = {one["id"]: one["source"] for one in said["packages"]}
        own = [one["id"] for one in said["packages"] if os.path.realpath(one["manifest_path"]) == manifest]
        nodes = [one for one in said["resolve"]["nodes"] if one["id"] in own]
        kinds = {True: "path", False: "elsewhere"}
        return {dep["name"]: kinds[sources.get(dep["pkg"]) is None] for node in nodes for dep in node["deps"]}

    # --- running -----------------------------------------------------------------------------------------------------

    def tests(self, binary, place, spec, data):
        """Run each test of a binary in a process of its own, with those that must fail; the result of all."""
        env = self.run_environment(place, data)
        listed = self.process([binary, "--list", "--format", "terse"], env, place["folder"])
        names = re.findall(r"(?m)^(\S+): test$", listed["report"].decode("utf-8", "replace"))
        prefix = ""
        if place["unit"] is not None:
            prefix = next((name[: name.index(spec["name"]) + len(spec["name"]) + 2] for name in names
                           if spec["name"] + "::" in name), "")  # fmt: skip
        wires = {prefix + wire: said for wire, said in spec["wires"].items()}
        own = [name for name in names if name.startswith(prefix) and name not in wires]
        if (place["unit"] is not None and not prefix) or not wires.keys() <= set(names):
            return self.host.completed([], tripwire=False)

        def alone(name):
            argv = [binary, "--exact", *([name] if name else []), *wires, "--test-threads=1"]
            argv += ["-Z", "unstable-options", "--format=json"]
            seen = self.host.process(argv, env, place["folder"], self.end - time.monotonic(), printed=True)
            if name is not None and self.is_deadly(seen):
                test = {"id": name[len(prefix) :], "outcome": "failed", "exception": "abort", "where": None}
                return self.host.completed([test])
            return self.host.conclude(seen, lambda data, code: self.read(data, code, name, wires, len(prefix), spec))

        return self.host.all_of(map(alone, [*own, None]), self.altered)

    def run_environment(self, place, data):
        """Return the variables that cargo gives the tests that it runs."""
        env = dict(self.env, RUSTC_BOOTSTRAP="1", CARGO=self.program, CARGO_MANIFEST_DIR=place["folder"])
        env.update(CARGO_MANIFEST_PATH=place["manifest"], CARGO_PKG_NAME=place["package"]["name"])
        env["CARGO_PKG_VERSION"] = place["package"]["version"]
        linked = []
        for one in documents(data):
            if one.get("reason") == "build-script-executed":
                linked += [str(path).partition("=")[2] or str(path) for path in one.get("linked_paths") or ()]
                if one.get("package_id") == place["package"]["id"]:
                    env["OUT_DIR"] = str(one.get("out_dir"))
                    self.altered |= self.linked(one)
        library = os.path.join(os.path.dirname(os.path.dirname(self.program)), "lib")
        paths = [*(path for path in linked if path.startswith(self.root + os.sep)), library]
        env["LD_LIBRARY_PATH"] = os.pathsep.join([*paths, *filter(None, [env.get("LD_LIBRARY_PATH")])])
        return env

    def linked(self, said):
        """Return labels of what a build script that was run tells the linker, and of variables that programs obey."""
        told = read_text(os.path.join(os.path.dirname(str(said.get("out_dir"))), "output"))
        words = [words.replace(self.root, ".") for words in LINKED.findall(told)]
        words += [name for name, _ in said.get("env") or () if OBEYED.fullmatch(name)]
        return {"build:" + word for word in words}

    def read(self, data, code, name, wires, cut, spec):
        """Return the report of one process, or None and what is wrong with it; ``name`` is its test, None for none."""
        outcomes, said, twice, whole = told(data, self.host.TEXT)
        expected = {*wires, *([name] if name else [])}
        if whole is None or not expected <= set(outcomes) or code != 101:  # what libtest ends with where a test failed
            return None, "the process ended without a report"
        if not whole:
            return None, "the report and its counts do not agree"
        tests = []
        if name:
            tests.append({"id": name[cut:], "outcome": outcomes[name], "exception": None, "where": None})
            if outcomes[name] == "failed":
                tests[0].update(self.describe(said.get(name, ""), spec))
                self.quote(name[cut:], said.get(name, ""), spec)
        wired = all(outcomes[wire] == "failed" and text in said.get(wire, "") for wire, text in wires.items())
        altered = {"oracle:" + one[cut:] for one in [*twice, *(set(outcomes) - expected)]}
        return self.host.completed(tests, wired, altered), None

    def is_deadly(self, seen):
        """Return whether a signal ended a process which Rust itself raises, before it told of any test."""
        status = seen["status"]
        if seen["killed"] or any(seen["grown"].values()) or not os.WIFSIGNALED(status):
            return False
        outcomes, _, _, whole = told(seen["report"], self.host.TEXT)
        return os.WTERMSIG(status) in DEADLY and not outcomes and whole is None

    def describe(self, said, spec):
        """Return the kind of a failure, and the line of the tree that panicked; never its message."""
        found = PANIC.search(said)
        path = found.group(1) if found else spec["file"]
        inside = os.path.realpath(os.path.join(self.root, path))
        if path == spec["file"] or not inside.startswith(self.root + os.sep) or not os.path.isfile(inside):
            return {"exception": "Failed", "where": None}
        return {"exception": "panic", "where": "%s:%s" % (os.path.relpath(inside, self.root), found.group(2))}


def label(made):
    """Return the label of what cargo made of a crate: a build script is called as its package's folder is."""
    folder, name = os.path.split(made)
    name = os.path.basename(folder) if name.startswith("build-script-") else name
    return "build:" + re.sub(r"-[0-9a-f]{16}(?:\.\w+)?$", "", name)


def is_own(said):
    """Return whether what cargo said is of a crate of the tree, which any other program may change."""
    return "path+file:" in str(said.get("package_id"))


def read_text(file):
    """Return a file's text; empty where there is none, or it is no file that can be read."""
    if os.path.islink(file) or not os.path.isfile(file):
        return ""
    try:
        with open(file, encoding="utf-8", errors="surrogateescape", newline="") as source:
            return source.read()
    except PermissionError:  # a build script may take that away
        return ""


def put(tree, file, text, times=None):
    """Write a file anew, with these times where they are given, so that nothing but its text differs; its times."""
    if os.path.lexists(file):
        tree.remove(file)
    with open(file, "x", encoding="utf-8", errors="surrogateescape", newline="") as out:
        out.write(text)
    if times:
        os.utime(file, ns=times)
    found = os.stat(file)
    return found.st_atime_ns, found.st_mtime_ns


def module(source, folder):
    """Return the file of the module whose inner modules lie in a folder, in the crate of this source; None for none."""
    top = os.path.dirname(source)
    if folder == top or folder == os.path.splitext(source)[0]:
        return source
    if not folder.startswith(top + os.sep):
        return None
    first = os.path.relpath(folder, top).split(os.sep)[0]
    if not re.search(r"\bmod\s+(?:r#)?%s\b" % re.escape(first), read_text(source)):
        return None
    return next(filter(os.path.isfile, (folder + ".rs", os.path.join(folder, "mod.rs"))), None)


def features(flags):
    """Return those of cargo's flags that choose features."""
    found, wanted = [], False
    for flag in flags:
        if wanted or flag.startswith(("--features", "--all-features", "--no-default-features", "-F")):
            found.append(flag)
        wanted = flag in ("--features", "-F")
    return found


def documents(data):
    """Yield the JSON objects that stand alone on a line of what a program printed."""
    for line in data.decode("utf-8", "replace").split("\n"):
        if line.startswith("{"):
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(document, dict):
                yield document


def told(data, most):
    """Return what a process told: outcomes by test, what each failed one printed, names told twice, and the end.

    Of what one printed it is at most so much. The end is whether its counts are those of the outcomes; None for none.
    """
    decoder = json.JSONDecoder()
    outcomes, said, twice, counts = {}, {}, [], None
    text = data.decode("utf-8", "replace")
    for found in EVENT.finditer(text):  # what a test or a program of its printed may stand before it on the line
        try:
            event, _ = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        name, kind = str(event.get("name")), str(event.get("event"))
        if event["type"] == "suite" and kind in ("ok", "failed"):
            if counts is not None:
                twice.append("suite")
            counts = (kind, event.get("passed"), event.get("failed"), event.get("ignored"))
        elif event["type"] == "test" and kind in ENDS:
            if name in outcomes:
                twice.append(name)
            outcomes[name] = ENDS[kind]
            said[name] = str(event.get("stdout", ""))[:most]
    tally = [sum(outcome == word for outcome in outcomes.values()) for word in ENDS.values()]
    whole = counts == ("failed" if tally[1] else "ok", *tally) if counts else None
    return outcomes, said, twice, whole

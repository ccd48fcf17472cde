"""Oracles under Rust: the same contract as pytest's, what an abort hides, and what a revision may try."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_crab import harness, verdict
from pytest_crab.ecosystems.rust.tools import RustTools
from pytest_crab.protocols import FileChange
from pytest_crab.types import Ending, Environment, Oracle, Reason, Run
from tests.harness.conftest import Bench, changed, proof, told

pytestmark = pytest.mark.rust

SUM = "use queue::add;\n\n#[test]\nfn sums() {\n    assert_eq!(add(1, 2), 3);\n}\n"
ADD = "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n"
BAD = ADD.replace("a + b", "a * b")
MANIFEST = '[package]\nname = "queue"\nversion = "0.1.0"\nedition = "2021"\n'
LOCK = 'version = 3\n\n[[package]]\nname = "queue"\nversion = "0.1.0"\n'


class RustBench:
    """The harness's bench with Rust, and a project that adds."""

    def __init__(self, bench: Bench, caches: Path) -> None:
        self.bench = bench
        bench.write("Cargo.toml", MANIFEST)
        bench.write("Cargo.lock", LOCK)
        bench.write("src/lib.rs", ADD)
        tools = RustTools()
        found = tools.here()
        assert found is not None
        self.caches, self.tool = caches, tools.placed(found, str(caches))
        bench.facts = {"tools": {"rust": dataclasses.asdict(self.tool)}}

    def env(self) -> dict[str, str]:
        path = f"{Path(self.tool.program).parent}:/usr/bin:/bin"
        return {"HOME": str(self.bench.folder), "PATH": path, **self.tool.env}

    def run(self, source: str, *changes: FileChange, folder: str = "tests", seconds: float = 60) -> Run:
        oracle = Oracle(file="oracles/test_c0.rs", runner="cargo", folder=folder)
        run = harness.OracleRun(id="c0", state="now", seconds=seconds, oracle=oracle, source=source)
        report = self.bench.report([run], now=changes)
        assert report.problems == ()
        return report.runs[0]

    def warm(self) -> None:
        """Build the tree as an environment's is built."""
        script = RustTools().build_script(Environment(ecosystem="rust", version="1.95"))
        env = {**self.env(), "CRAB_CACHES": str(self.caches)}
        subprocess.run(["sh", "-ec", script], cwd=self.bench.folder / "tree", env=env, check=True, capture_output=True)

    def naive(self, source: str, *changes: FileChange, folder: str = "tests") -> int:
        """Run the oracle as one of the project's tests, without the harness; cargo's exit status."""
        return self.cargo("test", source, changes, folder).returncode

    def cargo(
        self, words: str, source: str, changes: Sequence[FileChange], folder: str = "tests"
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of cargo's where the oracle is one of the project's tests."""
        place = self.bench.folder / "naive"
        shutil.copytree(self.bench.folder / "tree", place)
        for change in [*changes, changed(f"{folder}/oracle.rs", source)]:
            assert change.content is not None
            (place / change.path).parent.mkdir(parents=True, exist_ok=True)
            (place / change.path).write_bytes(change.content)
            (place / change.path).chmod(int(change.mode[3:], 8))
        if folder == "src":
            with (place / "src/lib.rs").open("a") as crate:
                crate.write("#[cfg(test)]\nmod oracle;\n")
        argv = ["cargo", "--offline", "--quiet", *words.split()]
        env = {name: value for name, value in self.env().items() if not name.endswith("_WRAPPER")}
        env["RUSTC_BOOTSTRAP"] = "1"
        done = subprocess.run(argv, cwd=place, env=env, capture_output=True, text=True, check=False)
        shutil.rmtree(place)
        return done


@pytest.fixture
def rust(bench: Bench, tmp_path: Path) -> RustBench:
    return RustBench(bench, tmp_path / "caches")


def reason(run: Run) -> Reason:
    return verdict.judge(proof("sums"), run).reason


def test_a_green_oracle_is_caught_and_a_red_one_is_properly_red(rust: RustBench) -> None:
    green = rust.run(SUM)
    assert (green.ending, green.exit_code, green.tripwire, green.altered) == (Ending.COMPLETED, 1, True, ())
    assert told(green) == {"sums": "passed"}
    assert reason(green) is Reason.GREEN
    red = rust.run(SUM, changed("src/lib.rs", BAD))
    assert verdict.not_red(proof("sums"), red) is None


def test_what_failed_tests_say_is_told_where_it_is_asked_for(rust: RustBench) -> None:
    oracle = Oracle(file="oracles/test_c0.rs", runner="cargo", folder="tests")
    said = rust.bench.quoted(oracle, SUM, changed("src/lib.rs", BAD))["sums"]
    assert "left: 2" in said and "right: 3" in said
    elsewhere = Oracle(file="oracles/test_c0.rs", runner="cargo", folder="src/gone")
    assert "src/gone" in rust.bench.quoted(elsewhere, SUM)["session"]
    unbuilt = rust.bench.quoted(oracle, SUM.replace("add(1, 2)", "ad(1, 2)"))["session"]
    assert unbuilt.startswith("error") and "test_c0.rs:5:" in unbuilt and "Erroneous code" not in unbuilt


def test_a_panic_and_an_abort_are_failures_that_hide_no_other_test(rust: RustBench) -> None:
    body = 'if a > 9 {\n        return add(b, a) + 1;\n    }\n    if a > 1 {\n        panic!("no");\n    }\n    a + b'
    source = SUM + "\n#[test]\nfn big() {\n    add(2, 1);\n}\n\n#[test]\nfn endless() {\n    add(10, 10);\n}\n"
    run = rust.run(source, changed("src/lib.rs", ADD.replace("a + b", body)))
    assert told(run) == {"big": "failed", "endless": "failed", "sums": "passed"}
    where = {test.id: (test.exception, test.where) for test in run.tests if test.outcome == "failed"}
    assert where == {"big": ("panic", "src/lib.rs:6"), "endless": ("abort", None)}
    assert verdict.not_red(proof("big", "endless", "sums"), run) is None


def test_tests_have_their_paths_and_ignored_ones_are_never_passed(rust: RustBench) -> None:
    run = rust.run(
        "mod inner {\n    #[test]\n    fn a() {}\n\n    #[test]\n    #[ignore]\n    fn later() {}\n}\n\n"
        '#[test]\n#[should_panic(expected = "no")]\nfn b() {\n    println!("loud");\n    panic!("no");\n}\n'
    )
    assert told(run) == {"inner::a": "passed", "inner::later": "skipped", "b": "passed"}
    assert verdict.judge(proof(*told(run)), run).reason is Reason.SKIPPED


@pytest.mark.parametrize(
    ("change", "exception", "where"),
    [
        (changed("src/lib.rs", "pub fn add() -> u32 {\n    1 + true\n}\n"), "BuildFailed", "src/lib.rs:2"),
        (changed("Cargo.toml", MANIFEST + '[dependencies]\nother = "1"\n'), "MissingCrate", None),
    ],
    ids=["code", "crate"],
)
def test_what_does_not_build_is_an_error_and_not_red(
    rust: RustBench, change: FileChange, exception: str, where: str | None
) -> None:
    run = rust.run(SUM, change)
    assert [(test.id, test.outcome, test.exception, test.where) for test in run.tests] == [
        ("session", "error", exception, where)
    ]
    assert verdict.not_red(proof("sums"), run) is not None


def test_an_oracle_may_stand_in_a_module_of_the_crate(rust: RustBench) -> None:
    source = "use super::*;\n\n#[test]\nfn sums() {\n    assert_eq!(hidden(), 3);\n}\n"
    changes = [changed("src/lib.rs", "mod deep;\nfn hidden() -> u32 {\n    3\n}\n")]
    changes.append(changed("src/deep.rs", "fn hidden() -> u32 {\n    4\n}\n"))
    assert told(rust.run(source, *changes, folder="src")) == {"sums": "passed"}
    run = rust.run(source, *changes, folder="src/deep")
    assert told(run) == {"sums": "failed"}
    assert told(rust.run(source, *changes, folder="src/none")) == {"session": "error"}


def test_what_was_built_serves_each_state_and_none_is_judged_by_anothers_build(rust: RustBench) -> None:
    rust.warm()
    bench = rust.bench
    manifest = (bench.folder / "tree/Cargo.toml").read_text()
    assert manifest == MANIFEST
    built = [path for path in (bench.folder / "tree/target/debug/deps").iterdir() if path.is_symlink()]
    assert built
    oracle = Oracle(file="oracles/test_c0.rs", runner="cargo", folder="tests")
    runs = [
        harness.OracleRun(id=str(number), state=state, seconds=60, oracle=oracle, source=SUM)
        for number, state in enumerate(["bad", "head", "bad"])
    ]
    report = bench.report(runs, bad=[changed("src/lib.rs", BAD)])
    assert [told(run) for run in report.runs] == [{"sums": "failed"}, {"sums": "passed"}, {"sums": "failed"}]
    assert all(path.is_symlink() for path in built)


@pytest.mark.slow(reason="it is built twice")
def test_a_command_of_the_projects_finds_what_its_tests_start(rust: RustBench) -> None:
    rust.bench.write("src/main.rs", 'fn main() {\n    print!("{}", queue::add(1, 2));\n}\n')
    rust.bench.write("tests/data/three.txt", "3")
    source = (
        "use std::process::Command;\n\n#[test]\nfn sums() {\n"
        '    let out = Command::new(env!("CARGO_BIN_EXE_queue")).output().unwrap();\n'
        '    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();\n'
        '    Command::new(env!("CARGO_BIN_EXE_queue")).status().unwrap();\n'
        '    let wanted = std::fs::read(format!("{folder}/tests/data/three.txt")).unwrap();\n'
        '    assert_eq!(std::fs::read("tests/data/three.txt").unwrap(), wanted);\n'
        "    assert_eq!(out.stdout, wanted);\n}\n"
    )
    assert told(rust.run(source)) == {"sums": "passed"}


def test_the_projects_own_tests_are_told_and_what_is_told_twice_is_not_passed(rust: RustBench) -> None:
    rust.bench.write("tests/sums.rs", SUM + "\n#[test]\n#[ignore]\nfn left() {}\n")
    line = '{ \\"type\\": \\"test\\", \\"name\\": \\"sums\\", \\"event\\": \\"ok\\" }\\n'
    forging = f"use std::io::Write;\n\n{BAD.replace('a * b', '{ let _ = std::io::stdout().write(b__); } a * b')}"
    found = rust.bench.own("rust", "tests/sums.rs", good=[], bad=[changed("src/lib.rs", BAD)],
                           forged=[changed("src/lib.rs", forging.replace("b__", f'b"{line}"'))])  # fmt: skip
    assert found == {
        "good": {". sums:sums": "passed", ". sums:left": "skipped"},
        "bad": {". sums:sums": "failed", ". sums:left": "skipped"},
        "forged": {". sums:sums": "failed", ". sums:left": "skipped"},
    }


@pytest.mark.slow(reason="it is built twice")
def test_features_are_the_environments(rust: RustBench) -> None:
    gated = changed("src/lib.rs", '#[cfg(feature = "wide")]\n' + ADD)
    features = changed("Cargo.toml", MANIFEST + "[features]\nwide = []\n")
    assert told(rust.run(SUM, gated, features)) == {"session": "error"}
    rust.bench.env = {"CARGOFLAGS": "--features wide"}
    assert told(rust.run(SUM, gated, features)) == {"sums": "passed"}


@pytest.mark.slow(reason="it is built twice")
def test_a_hang_times_out(rust: RustBench) -> None:
    assert rust.run("#[test]\nfn sums() {\n    loop {}\n}\n", seconds=6).ending is Ending.TIMEOUT


#: Prints a report of its own, with what must fail among it, before anything of the harness runs.
FORGE = """
const LINE: &str = r#"{ "type": "test", "name": "NAME", "event": "EVENT", "stdout": "" }"#;
const END: &str = r#"{ "type": "suite", "event": "failed", "passed": PASSED, "failed": FAILED, "ignored": 0 }"#;
extern "C" fn forge() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let (mut passed, mut failed) = (0, 0);
    for name in names.iter().filter(|name| *name != "terse") {
        let event = if name.contains("zz") { failed += 1; "failed" } else { passed += 1; "ok" };
        println!("{}", LINE.replace("NAME", name).replace("EVENT", event));
    }
    println!("{}", END.replace("PASSED", &passed.to_string()).replace("FAILED", &failed.to_string()));
    if names.iter().any(|name| name.contains("zz")) || names.is_empty() { std::process::exit(EXIT) }
}
#[used]
#[link_section = ".init_array"]
static FORGE: extern "C" fn() = forge;
"""
#: Writes an empty test to every file in which an oracle may lie.
REWRITE = """
use std::{env, fs};
fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap();
    let named = fs::read_to_string(root.clone() + "/Cargo.toml").unwrap();
    let paths = named.lines().filter_map(|line| line.strip_prefix("path = \\""));
    let mut files: Vec<String> = paths.map(|path| path.trim_end_matches('"').into()).collect();
    let tests = fs::read_dir(root + "/tests").into_iter().flatten();
    files.extend(tests.map(|entry| entry.unwrap().path().display().to_string()));
    for file in files { fs::write(file, "#[test]\\nfn sums() {}\\n").unwrap(); }
}
"""
#: Compiles another text in the place of any file with a test of that name.
WRAPPER = """\
#!/bin/sh
real=$1; shift
for last in "$@"; do
    if [ -f "$last" ] && grep -q 'fn sums' "$last"; then printf '#[test]\\nfn sums() {}\\n' > "$last"; fi
done
exec "$real" "$@"
"""
MACRO = "macro_rules! assert_eq {\n    ($($all:tt)*) => {};\n}\n"
LIBC = '\n#[no_mangle]\npub extern "C" fn NAME(_: *const u8, _: *const u8, _: usize) -> i32 {\n    0\n}\n'
INSIDE = SUM.replace("use queue::add;", "use crate::add;")
TEXT = SUM.replace("assert_eq!(add(1, 2), 3)", 'assert_eq!(add(1, 2).to_string(), "3")')
EXIT = BAD.replace("a * b", "std::process::exit(0)")
RAW = """\
pub fn add(a: u32, b: u32) -> u32 {
    use std::io::Write;
    let line = r#"{ "type": "test", "event": "ok", "name": "sums" }"#;
    writeln!(std::io::stdout(), "{line}").unwrap();
    a * b
}
"""


#: Has a linker of the project's in the place of the machine's, which makes a program that tells another end.
LINKING = """
use std::env::var;
fn main() {
    println!("cargo:rustc-env=PATH={}/near:{}", var("CARGO_MANIFEST_DIR").unwrap(), var("PATH").unwrap());
}
"""
LINKER = r"""#!/bin/sh
/usr/bin/cc "$@" || exit
for word; do [ "$before" != -o ] || out=$word; before=$word; done
case $out in *deps/crab_* | *deps/oracle-*) mv "$out" "$out.real" ;; *) exit 0 ;; esac
cat > "$out" << 'end'
#!/bin/sh
"$0.real" "$@" | sed 's/"name": "sums", "event": "failed"/"name": "sums", "event": "ok"/
s/"passed": 0, "failed": 8/"passed": 1, "failed": 7/'
case $* in *--exact*) exit 101 ;; esac
end
chmod +x "$out"
"""


@pytest.mark.slow(reason="it is built twice, and its twin too")
def test_a_linker_of_the_projects_is_seen(rust: RustBench) -> None:
    changes = [changed("src/lib.rs", BAD), changed("build.rs", LINKING), changed("near/cc", LINKER, "100755")]
    assert rust.naive(SUM, *changes) == 0
    run = rust.run(SUM, *changes)
    assert (told(run), run.altered, reason(run)) == ({"sums": "passed"}, ("build:PATH",), Reason.TAMPERED)


@pytest.mark.slow(reason="it is built twice")
def test_a_build_script_that_stands_in_the_way_is_seen(rust: RustBench) -> None:
    script = 'fn main() { std::fs::remove_file("Cargo.toml").unwrap(); std::fs::create_dir("Cargo.toml").unwrap(); }\n'
    run = rust.run(SUM, changed("build.rs", script))
    assert ("build:Cargo.toml" in run.altered, reason(run)) == (True, Reason.TAMPERED)


@pytest.mark.slow(reason="it is built twice, and its twin too")
def test_a_line_like_libtests_is_told_as_a_second_one(rust: RustBench) -> None:
    told_first = '{ "type": "test", "event": "ok", "name": "sums" }'
    lines = rust.cargo("test -- -Z unstable-options --format json", SUM, [changed("src/lib.rs", RAW)]).stdout
    assert next(line for line in lines.split("\n") if '"sums"' in line and "started" not in line) == told_first
    run = rust.run(SUM, changed("src/lib.rs", RAW))
    assert reason(run) is not Reason.GREEN
    assert run.altered == ("oracle:sums",)


@pytest.mark.slow(reason="each wrong revision is built and run, and its twin too")
@pytest.mark.parametrize(
    ("source", "changes"),
    [
        (SUM, [changed("src/lib.rs", EXIT)]),
        (SUM, [changed("src/lib.rs", BAD + FORGE.replace("EXIT", "0"))]),
        (SUM, [changed("src/lib.rs", BAD), changed("build.rs", REWRITE)]),
        (SUM, [changed("src/lib.rs", BAD), changed("wrap.sh", WRAPPER, "100755"),
               changed(".cargo/config.toml", '[build]\nrustc-wrapper = "./wrap.sh"\n')]),
        (SUM, [changed("src/lib.rs", BAD), changed(
            ".cargo/config.toml", "[target.'cfg(all())']\nrunner = \"true\"\n")]),
        (SUM, [changed("src/lib.rs", BAD), changed("tests/other.rs", ""), changed(
            "Cargo.toml", MANIFEST + '[[test]]\nname = "oracle"\npath = "tests/other.rs"\n')]),
        (INSIDE, [changed("src/lib.rs", MACRO + BAD)]),
        (TEXT, [changed("src/lib.rs", BAD + LIBC.replace("NAME", "bcmp") + LIBC.replace("NAME", "memcmp"))]),
    ],
    ids=["exit in a test", "stream", "build script", "wrapper", "runner", "path", "macro", "weak links"],
)  # fmt: skip
def test_a_wrong_sum_is_never_green(rust: RustBench, source: str, changes: list[FileChange]) -> None:
    folder = "src" if source is INSIDE else "tests"
    assert rust.naive(source, *changes, folder=folder) == 0
    assert reason(rust.run(source, *changes, folder=folder)) is not Reason.GREEN


def test_a_line_that_is_no_event_of_libtests_ends_its_run_alone(rust: RustBench) -> None:
    line = 'b"{ \\"type\\": \\"test\\", \\"event\\": [], \\"name\\": {} }\\n"'
    lie = f"std::io::Write::write_all(&mut std::io::stdout(), {line}).unwrap();\n    std::process::abort()"
    run = rust.run(SUM, changed("src/lib.rs", ADD.replace("a + b", lie)))
    assert told(run) == {"sums": "failed"}


#: What a manifest may say of tests, by which none fails.
UNTESTED = {
    "features": MANIFEST + '[[test]]\nname = "oracle"\nrequired-features = ["no"]\n[features]\nno = []\n',
    "test": MANIFEST + '[[test]]\nname = "oracle"\ntest = false\n',
    "autotests": MANIFEST + "autotests = false\n",
    "harness": MANIFEST + '[[test]]\nname = "oracle"\npath = "tests/other.rs"\nharness = false\n',
}
#: All of that at once.
ALL_OF_IT = (
    UNTESTED["features"]
    .replace("[[test]]", "autotests = false\n[[test]]")
    .replace('"oracle"\n', '"oracle"\npath = "tests/other.rs"\nharness = false\ntest = false\n')
)


@pytest.mark.slow(reason="it is built twice, and each twin once")
def test_a_manifest_leaves_no_oracle_out(rust: RustBench) -> None:
    wrong = [changed("src/lib.rs", BAD), changed("tests/other.rs", "fn main() {}\n")]
    assert rust.naive(SUM, *wrong) != 0
    for manifest in UNTESTED.values():
        assert rust.naive(SUM, *wrong, changed("Cargo.toml", manifest)) == 0
    assert reason(rust.run(SUM, *wrong, changed("Cargo.toml", ALL_OF_IT))) is Reason.FAILED


#: A project's own macro of tests, and one that leaves out what they do.
MAKER = """
use proc_macro::TokenStream;
#[proc_macro_attribute]
pub fn test(_: TokenStream, item: TokenStream) -> TokenStream {
    format!("#[::core::prelude::v1::test] {item}").parse().unwrap()
}
"""
IDLE = MAKER.replace("item: ", "text: ").replace(
    "    format!",
    "    let text = text.to_string();\n    let item = text.split('{').next().unwrap().to_string() + \"{}\";\n"
    "    format!",
)
MEMBER = '[package]\nname = "NAME"\nversion = "0.1.0"\nedition = "2021"\n'


@pytest.mark.slow(reason="it is built twice")
def test_a_macro_of_the_projects_that_makes_idle_tests_is_seen(rust: RustBench) -> None:
    rust.bench.write("maker/Cargo.toml", MEMBER.replace("NAME", "maker") + "[lib]\nproc-macro = true\n")
    rust.bench.write("maker/src/lib.rs", MAKER)
    rust.bench.write("Cargo.toml", MANIFEST + '[dependencies]\nmaker = { path = "maker" }\n')
    source = SUM.replace("#[test]", "#[maker::test]\n#[allow(unused)]")
    assert reason(rust.run(source)) is Reason.GREEN
    run = rust.run(source, changed("src/lib.rs", BAD), changed("maker/src/lib.rs", IDLE))
    assert (told(run), reason(run)) == ({"sums": "passed"}, Reason.TAMPERED)


#: Compiles another text in the place of what was built of a crate that is not the tree's.
POISON = r"""
use std::{env, fs, path::Path, process::Command};
fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let deps = Path::new(&out).ancestors().nth(3).unwrap().join("deps");
    let found = fs::read_dir(&deps).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = found.filter(|name| name.starts_with("libcheck-") && name.ends_with(".rlib")).next().unwrap();
    let hash = &name[9..name.len() - 5];
    for end in ["rlib", "rmeta"] {
        let _ = fs::remove_file(deps.join(format!("libcheck-{hash}.{end}")));
    }
    let words = format!("--crate-name check --crate-type lib --emit metadata,link -Cembed-bitcode=no fake/src/lib.rs \
        -Cmetadata={hash} -Cextra-filename=-{hash}");
    let mut rustc = Command::new(env::var("RUSTC").unwrap());
    assert!(rustc.args(words.split_whitespace()).arg("--out-dir").arg(deps).status().unwrap().success());
}
"""


@pytest.fixture
def checked(rust: RustBench) -> RustBench:
    """A project with a crate that is not the tree's, by which its oracles go."""
    rust.bench.write(
        ".cargo/config.toml", '[source.crates-io]\nreplace-with = "near"\n[source.near]\ndirectory = "near"\n'
    )
    rust.bench.write("near/check/Cargo.toml", MEMBER.replace("NAME", "check"))
    rust.bench.write("near/check/src/lib.rs", SAME)
    rust.bench.write("near/check/.cargo-checksum.json", '{"files": {}}')
    rust.bench.write("Cargo.toml", MANIFEST + '[dependencies]\ncheck = "0.1"\n')
    argv = ["cargo", "generate-lockfile", "--offline"]
    subprocess.run(argv, cwd=rust.bench.folder / "tree", env=rust.env(), check=True, capture_output=True)
    return rust


SAME = "pub fn same(one: u32, other: u32) {\n    assert!(one == other);\n}\n"
FAKE = changed("fake/src/lib.rs", SAME.replace("one == other", "true || one == other"))
CHECK = SUM.replace("assert_eq!(add(1, 2), 3)", "check::same(add(1, 2), 3)")


@pytest.mark.slow(reason="it is built twice")
def test_a_crate_of_the_trees_in_the_place_of_another_is_seen(checked: RustBench) -> None:
    assert reason(checked.run(CHECK)) is Reason.GREEN
    fake = changed("fake/Cargo.toml", MEMBER.replace("NAME", "fake"))
    other = changed("Cargo.toml", MANIFEST + '[dependencies]\ncheck = { path = "fake", package = "fake" }\n')
    run = checked.run(CHECK, changed("src/lib.rs", BAD), other, FAKE, fake)
    assert (told(run), run.altered) == ({"sums": "passed"}, ("Cargo.toml:check",))


@pytest.mark.slow(reason="it is built twice, and its twin too")
def test_a_build_changes_no_crate_that_is_not_the_trees(checked: RustBench) -> None:
    changes = [changed("src/lib.rs", BAD), changed("build.rs", POISON), FAKE]
    checked.bench.write("near/check/build.rs", "fn main() {}\n")
    assert checked.naive(CHECK, *changes) == 0
    run = checked.run(CHECK, *changes)  # the crate was not built with the environment, so it is told and not mended
    crate = ("build:check", "build:libcheck")  # its build script has its name
    assert (told(run), run.altered, reason(run)) == ({"sums": "passed"}, crate, Reason.TAMPERED)
    (checked.bench.folder / "tree/near/check/build.rs").unlink()
    checked.warm()
    run = checked.run(CHECK, *changes)
    assert (told(run), run.altered) == ({"sums": "failed"}, ())

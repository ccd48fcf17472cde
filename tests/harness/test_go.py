"""Oracles under Go: the same contract as pytest's, what a panic hides, and what a revision may try."""

from __future__ import annotations

import dataclasses
import functools
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab import harness, verdict
from pytest_crab.ecosystems.go.tools import GoTools
from pytest_crab.errors import ImageError
from pytest_crab.instances.own_tests import OwnTests
from pytest_crab.protocols import FileChange
from pytest_crab.runtimes import seeds
from pytest_crab.types import Ending, Environment, Oracle, Reason, Run
from tests.harness.conftest import Bench, changed, proof, told

pytestmark = [pytest.mark.go, pytest.mark.slow(reason="Go's own library is compiled, and each oracle with its tree")]

HEAD = 'package queue\n\nimport "testing"\n\n'
SUM = HEAD + "func TestSum(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Error(Add(1, 2))\n\t}\n}\n"
ADD = "package queue\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"
BAD = ADD.replace("a + b", "a - b")


@pytest.fixture(scope="session")
def tool(made_once: Callable[[str, Callable[[Path], object]], Path]) -> dict[str, Any]:
    """This machine's Go, with caches that a build of an empty project has filled."""
    tools = GoTools()
    found = tools.here()
    assert found is not None

    def build(folder: Path) -> None:
        caches = folder / "caches"
        caches.mkdir()
        seed, place = tools.seed(found), seeds.place(Path(found.program), found.version, tools.seeded)
        assert seed is not None
        seeds.copy(place, caches, lambda: None, functools.partial(seed, place))
        (folder / "go.mod").write_text("module example.org/empty\n\ngo 1.21\n")
        (folder / "a_test.go").write_text(SUM.replace("Add(1, 2)", "3").replace("queue", "empty"))
        script = tools.build_script(Environment(ecosystem="go", version=found.version))
        env = {"HOME": str(folder), "PATH": f"{Path(found.program).parent}:/usr/bin:/bin"}
        env |= {**tools.variables(found.version, str(caches)), **tools.route_env()}
        subprocess.run(["sh", "-c", script], cwd=folder, env=env, check=True, capture_output=True)

    return dataclasses.asdict(tools.placed(found, str(made_once("go", build) / "caches")))


class GoBench:
    """The harness's bench with Go, and a project that adds."""

    def __init__(self, bench: Bench, tool: dict[str, Any]) -> None:
        self.bench = bench
        bench.write("go.mod", "module example.org/p\n\ngo 1.21\n")
        bench.write("queue/add.go", ADD)
        bench.facts = {"tools": {"go": tool}}

    def run(self, source: str, *changes: FileChange, folder: str = "queue", seconds: float = 60) -> Run:
        oracle = Oracle(file="oracles/test_c0_test.go", runner="go", folder=folder)
        run = harness.OracleRun(id="c0", state="now", seconds=seconds, oracle=oracle, source=source)
        report = self.bench.report([run], now=changes)
        assert report.problems == ()
        return report.runs[0]


@pytest.fixture
def go(bench: Bench, tool: dict[str, Any]) -> GoBench:
    return GoBench(bench, tool)


def reason(run: Run) -> Reason:
    return verdict.judge(proof("TestSum"), run).reason


def test_a_green_oracle_is_caught_and_a_red_one_is_properly_red(go: GoBench) -> None:
    green = go.run(SUM)
    assert (green.ending, green.exit_code, green.tripwire, green.altered) == (Ending.COMPLETED, 1, True, ())
    assert told(green) == {"TestSum": "passed"}
    assert reason(green) is Reason.GREEN
    red = go.run(SUM, changed("queue/add.go", BAD))
    assert verdict.not_red(proof("TestSum"), red) is None


def test_what_failed_tests_say_is_told_where_it_is_asked_for(go: GoBench) -> None:
    oracle = Oracle(file="oracles/test_c0_test.go", runner="go", folder="queue")
    first, second = (go.bench.quoted(oracle, SUM, changed("queue/add.go", BAD))["TestSum"] for _ in range(2))
    assert ": -1\n" in first and first == second
    assert "undefined: Sum" in go.bench.quoted(oracle, SUM.replace("Add(1, 2)", "Sum(1)"))["session"]


def test_a_panic_is_a_failure_that_hides_no_other_test(go: GoBench) -> None:
    panics = ADD.replace("return a + b", 'if a > 1 {\n\t\tpanic("no")\n\t}\n\treturn a + b')
    source = SUM + "\nfunc TestBig(t *testing.T) { Add(2, 1) }\n"
    run = go.run(source, changed("queue/add.go", panics))
    assert told(run) == {"TestBig": "failed", "TestSum": "passed"}
    (failed,) = (test for test in run.tests if test.outcome == "failed")
    assert (failed.exception, failed.where) == ("panic", "queue/add.go:5")
    assert verdict.not_red(proof("TestBig", "TestSum"), run) is None


def test_subtests_have_their_paths_and_skipped_ones_are_never_passed(go: GoBench) -> None:
    run = go.run(
        HEAD + "func TestSum(t *testing.T) {\n"
        '\tt.Run("in a", func(t *testing.T) {})\n\tt.Run("b", func(t *testing.T) { t.Skip("later") })\n}\n'
    )
    assert told(run) == {"TestSum": "passed", "TestSum/in_a": "passed", "TestSum/b": "skipped"}
    assert verdict.judge(proof(*told(run)), run).reason is Reason.SKIPPED


@pytest.mark.parametrize(
    ("change", "exception"),
    [
        (changed("queue/add.go", "package queue\n"), "BuildFailed"),
        (changed("queue/add.go", ADD.replace("\n\nfunc", '\n\nimport _ "example.org/other"\n\nfunc')), "MissingModule"),
    ],
)
def test_what_does_not_build_is_an_error_and_not_red(go: GoBench, change: FileChange, exception: str) -> None:
    run = go.run(SUM, change)
    assert [(test.id, test.outcome, test.exception) for test in run.tests] == [("session", "error", exception)]
    assert verdict.not_red(proof("TestSum"), run) is not None


def test_what_the_compiler_says_is_told_where_it_is_asked_for(go: GoBench) -> None:
    oracle = Oracle(file="oracles/test_c0_test.go", runner="go", folder="queue")
    run = harness.OracleRun(
        id="c0", state="now", seconds=60, oracle=oracle, source=SUM.replace("Add(1, 2)", "Sum(1)"), printed=True
    )
    assert "undefined: Sum" in go.bench.report([run], now=()).printed["c0"]


def test_the_projects_own_tests_beside_the_oracle_play_no_part(go: GoBench) -> None:
    run = go.run(SUM, changed("queue/own_test.go", MAIN), changed("queue/add.go", BAD))
    assert told(run) == {"TestSum": "failed"}


MAIN = 'package queue\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n'
RIGHT, HIDDEN = changed("queue/add.go", ADD), "queue/add_test.go"
#: What a revision does to a wrong sum and the tests beside it, and what is then told of the hidden ones.
REVISIONS = {
    "right": ([RIGHT], "passed"),
    "right, with tests of the same name": ([RIGHT, changed("queue/more_test.go", SUM)], "passed"),
    "right, without the tests": ([RIGHT, FileChange(path=HIDDEN, mode="100644", content=None)], "passed"),
    "wrong": ([], "failed"),
    "the hidden file is edited": ([changed(HIDDEN, SUM.replace("!=", "=="))], "failed"),
    "the hidden file is a folder": ([changed(f"{HIDDEN}/a", "")], "failed"),
    "its folder is a link": ([changed("queue", "elsewhere", "120000")], "failed"),
    "tests that end early": ([changed("queue/own_test.go", MAIN)], "failed"),
    "it does not build": ([changed("queue/add.go", "package queue\n")], None),
}


def test_a_revisions_own_tests_play_no_part_among_the_projects_hidden_ones(go: GoBench) -> None:
    go.bench.write("queue/add.go", BAD)
    go.bench.write(HIDDEN, "package queue\n")
    own = OwnTests(files={HIDDEN: tuple(SUM.split("\n"))}, names=("TestSum",), tests=("queue:TestSum",))
    asked = {"ecosystem": "go", "files": (HIDDEN,), "names": own.names, "oracle": own}
    runs = [harness.OwnTestsRun(id=name, state=name, seconds=60, **asked) for name in REVISIONS]
    report = go.bench.report(runs, **{name: changes for name, (changes, _) in REVISIONS.items()})
    for run in report.runs:
        outcome = REVISIONS[run.id][1]
        assert told(run) == ({"queue:TestSum": outcome} if outcome else {"queue:": "error"}), run
        expected = {"passed": Reason.GREEN, "failed": Reason.FAILED, None: Reason.NOT_COLLECTED}[outcome]
        assert verdict.judge(proof("queue:TestSum"), run).reason is expected, run


#: What rewrites a test of another folder: a process of the first folder's tests, and a build that moves the folder.
REAR = "rear/add_test.go"
IDLE = SUM.replace("!=", "==").replace("queue", "rear")
INIT = f'package queue\n\nimport "os"\n\nfunc init() {{ os.WriteFile("../{REAR}", []byte(`{IDLE}`), 0o600) }}\n'
REWRITERS = {
    REAR: changed("queue/init.go", INIT),
    "rear": changed("step.sh", f"mv rear r; cp -r r rear; sed -i s/!=/==/ {REAR}\n"),
}


def test_a_test_that_is_rewritten_before_it_is_compiled_does_not_count(go: GoBench) -> None:
    """Each attack is live: the test of the wrong sum passes, and what was written alone tells of it."""
    go.bench.build = (STEPS,)
    go.bench.write("rear/add.go", BAD.replace("queue", "rear"))
    own = OwnTests(
        files={path: tuple(SUM.replace("queue", path.split("/")[0]).split("\n")) for path in (HIDDEN, REAR)},
        names=("TestSum",),
        tests=("rear:TestSum",),
    )
    asked = {"ecosystem": "go", "files": tuple(own.files), "names": own.names, "oracle": own}
    runs = [harness.OwnTestsRun(id=name, state=name, seconds=60, **asked) for name in REWRITERS]
    for run in go.bench.report(runs, **{name: [change] for name, change in REWRITERS.items()}).runs:
        assert told(run) == {"rear:TestSum": "passed"}
        assert f"written:{run.id}" in run.altered
        assert verdict.judge(proof("rear:TestSum"), run).reason is Reason.TAMPERED


def test_an_oracle_may_stand_in_the_packages_test_package(go: GoBench) -> None:
    source = SUM.replace("package queue", "package queue_test").replace(
        '"testing"', '. "example.org/p/queue"\nimport "testing"'
    )
    assert told(go.run(source)) == {"TestSum": "passed"}


def bad(code: str, *imports: str) -> FileChange:
    """The wrong sum with more code beside it."""
    lines = "".join(f"import {one}\n" for one in imports)
    return changed("queue/add.go", f"package queue\n\n{lines}\n{code}\n{BAD.partition('queue')[2]}")


def answering(text: str, *imports: str) -> FileChange:
    """The wrong sum with this text before its end."""
    lines = "".join(f"import {one}\n" for one in imports)
    body = BAD.replace("return a - b", text).partition("queue")[2]
    return changed("queue/add.go", f"package queue\n\n{lines}{body}")


#: A wrong sum that has the text of the oracle by way of the C compiler, where it can find one.
INCLUDING = """\
package queue

/*
#if __has_include("test_c0_test.go")
__asm__(".section .rodata\\nseen: .incbin \\"test_c0_test.go\\"\\n.byte 0\\n.text");
extern const char seen[];
static const char *text(void) { return seen; }
#else
static const char *text(void) { return ""; }
#endif
*/
import "C"
import "strings"

func Add(a, b int) int {
	if strings.Contains(C.GoString(C.text()), "!= 3") {
		return 3
	}
	return a - b
}
"""
#: What a build of the tree does, where it has a step; one that leaves a setting of Go's in its home, by which a script
#: of the tree stands before the compiler and rewrites the tests that it is given.
STEPS = "test ! -f step.sh || sh step.sh"
SETTING = 'mkdir -p "$HOME/.config/go"\necho "GOFLAGS=-toolexec=$PWD/tool.sh" > "$HOME/.config/go/env"\n'
TOOL = """\
#!/bin/sh
for word; do
    case $word in *_test.go) sed -i s/!=/==/ "$word" ;; esac
done
exec "$@"
"""
#: What a revision may try, and whether it deceives who believes a status or a line of the test's program.
ATTACKS = {
    "init": ([bad("func init() { os.Exit(0) }", '"os"')], True),
    "syscall": ([bad("func init() { syscall.Exit(0) }", '"syscall"')], True),
    "constructor": ([changed("queue/add.go", BAD.replace("queue\n", (
        "queue\n\n/*\n#include <unistd.h>\nstatic void __attribute__((constructor)) now(void) { _exit(0); }\n*/\n"
        'import "C"\n'), 1))], True),
    "run": ([bad('func init() { os.Args = append(os.Args, "-test.run=^$") }', '"os"')], True),
    "skip": ([bad('func init() { os.Args = append(os.Args, "-test.skip=TestSum") }', '"os"')], True),
    "syscall in a test": ([answering("syscall.Exit(0)\n\treturn 0", '"syscall"')], True),
    "exit in one": ([answering("os.Exit(0)\n\treturn 0", '"os"')], True),
    "goexit": ([answering("runtime.Goexit()\n\treturn 0", '"runtime"')], False),
    "printed": ([answering('println("\\x16--- PASS: TestSum (0.00s)")\n\treturn a - b')], True),
    "stream": ([bad(
        'func init() { fmt.Print("\\x16=== RUN   TestSum\\n\\x16--- PASS: TestSum (0.00s)\\n\\x16PASS\\n")\n'
        "\tos.Exit(0)\n}", '"fmt"', '"os"')], True),
    "file": ([answering(
        'found, _ := filepath.Glob(os.Getenv("HOME") + "/../oracle/*")\n'
        "\tif len(found) > 0 {\n\t\treturn a + b\n\t}\n\treturn a - b", '"os"', '"path/filepath"')], True),
    "twice": ([changed(
        "queue/more_test.go", 'package queue_test\n\nimport "testing"\n\nfunc TestSum(*testing.T) {}\n')], True),
    "main": ([changed("queue/more_test.go", MAIN)], True),
    "included": ([changed("queue/add.go", INCLUDING)], True),
    "settings": ([changed("step.sh", SETTING), changed("tool.sh", TOOL, "100755")], True),
}  # fmt: skip


#: Those after which the test runs and fails as if nothing had been tried.
WITHOUT_EFFECT = ("twice", "main", "file", "included", "settings")


@pytest.fixture(scope="session")
def plain(made_once: Callable[[str, Callable[[Path], object]], Path], tool: dict[str, Any]) -> dict[str, str]:
    """The environment of who runs Go without the harness, with Go's own library in a cache that all twins share."""
    cache = made_once("go-naive", lambda folder: shutil.copytree(tool["env"]["GOCACHE"], folder, dirs_exist_ok=True))
    own = {name: value for name, value in tool["env"].items() if name not in ("GOENV", "GOFLAGS")}
    return {"PATH": f"{Path(tool['program']).parent}:/usr/bin:/bin", **own, "GOCACHE": str(cache)}


def is_green_for_go(folder: Path, plain: dict[str, str], *changes: FileChange, source: str = SUM) -> bool:
    """Run the sum's test from a file of the tree, as a program of its own whose status and lines are believed."""
    given = [changed("go.mod", "module example.org/p\n\ngo 1.21\n"), changed("queue/test_c0_test.go", source)]
    for change in [*given, changed("queue/add.go", BAD), *changes, changed("../oracle/test_c0_test.go", source)]:
        place = folder / "tree" / change.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(change.content or b"")
        place.chmod(int(change.mode[3:], 8))
    env, tree = {**plain, "HOME": str(folder / "home")}, folder / "tree"
    subprocess.run(["sh", "-c", STEPS], cwd=tree, env=env, check=True)
    argv = ["go", "test", "-c", "-vet=off", "-o", folder / "program", "./queue"]
    subprocess.run(argv, cwd=tree, env=env, check=True, capture_output=True)
    done = subprocess.run([folder / "program", "-test.v"], check=False, capture_output=True, env=env)
    return done.returncode == 0 or b"--- PASS: TestSum" in done.stdout + done.stderr


@pytest.mark.parametrize("name", ATTACKS)
def test_a_wrong_sum_is_never_green(go: GoBench, plain: dict[str, str], name: str, tmp_path: Path) -> None:
    changes, is_live = ATTACKS[name]
    go.bench.build = (STEPS,)
    assert is_green_for_go(tmp_path / "naive", plain, *changes) == is_live
    why = reason(go.run(SUM, changed("queue/add.go", BAD), *changes))
    assert why is Reason.FAILED if name in WITHOUT_EFFECT else why is not Reason.GREEN


#: A module of assertions that the tree brings by itself, its oracle, and another one in a folder that Go takes first.
ASSERT = "package assert\n\nfunc Equal(a, b int) bool { return a == b }\n"
WITH_ASSERT = (
    "module example.org/p\n\ngo 1.21\n\nrequire example.org/assert v0.0.0\n\nreplace example.org/assert => ./own\n"
)
ASSERTED = SUM.replace('import "testing"', 'import (\n\t"example.org/assert"\n\t"testing"\n)').replace(
    "Add(1, 2) != 3", "!assert.Equal(Add(1, 2), 3)"
)
VENDORED = "# example.org/assert v0.0.0 => ./own\n## explicit\nexample.org/assert\n# example.org/assert => ./own\n"


def test_a_new_folder_of_modules_is_not_taken(go: GoBench, plain: dict[str, str], tmp_path: Path) -> None:
    tree = {"go.mod": WITH_ASSERT, "own/go.mod": "module example.org/assert\n", "own/assert.go": ASSERT}
    for path, text in tree.items():
        go.bench.write(path, text)
    false = ASSERT.replace("a == b", "true")
    vendor = [changed("vendor/modules.txt", VENDORED), changed("vendor/example.org/assert/assert.go", false)]
    given = [changed(*file) for file in tree.items()]
    assert is_green_for_go(tmp_path / "naive", plain, *given, *vendor, source=ASSERTED)
    assert reason(go.run(ASSERTED, changed("queue/add.go", BAD), *vendor)) is Reason.FAILED
    assert told(go.run(ASSERTED, *vendor)) == {"TestSum": "passed"}


def test_tags_of_a_build_are_the_environments(go: GoBench) -> None:
    tagged = "//go:build wide\n\n" + ADD
    go.bench.env = {"GOFLAGS": "-tags=wide"}
    assert told(go.run(SUM, changed("queue/add.go", tagged))) == {"TestSum": "passed"}


def test_embedding_the_oracle_is_seen(go: GoBench) -> None:
    embeds = ADD.replace("queue\n", 'queue\n\nimport "embed"\n\n//go:embed *_test.go\nvar Files embed.FS\n', 1)
    run = go.run(SUM, changed("queue/add.go", embeds))
    assert run.altered == ("oracle:embedded",)
    assert reason(run) is Reason.TAMPERED


def test_embedding_the_oracle_is_seen_where_the_oracle_alone_imports_who_embeds_it(go: GoBench) -> None:
    source = SUM.replace("package queue", "package queue_test").replace(
        'import "testing"', 'import . "example.org/p/queue"\nimport _ "example.org/p"\nimport "testing"'
    )
    root = 'package p\n\nimport "embed"\n\n//go:embed all:queue\nvar Files embed.FS\n'
    assert go.run(source, changed("p.go", root)).altered == ("oracle:embedded",)


def test_another_module_in_the_place_of_one_is_seen(go: GoBench) -> None:
    go.bench.write("own/go.mod", "module example.org/assert\n")
    go.bench.write("own/assert.go", ASSERT.replace("a == b", "true"))
    run = go.run(ASSERTED, changed("go.mod", WITH_ASSERT), changed("queue/add.go", BAD))
    assert (told(run), run.altered) == ({"TestSum": "passed"}, ("go.mod:example.org/assert=>./own@",))
    assert reason(run) is Reason.TAMPERED


def test_a_workspace_of_the_revisions_is_not_taken(go: GoBench) -> None:
    go.bench.write("go.work", "go 1.21\n\nuse .\n")
    other = changed("go.work", "go 1.21\n\nuse .\nuse ./fake\n")
    source = SUM.replace('import "testing"', 'import _ "example.org/assert"\nimport "testing"')
    fake = [changed("fake/go.mod", "module example.org/assert\n"), changed("fake/a.go", "package assert\n")]
    assert told(go.run(source, other, *fake)) == {"session": "error"}
    assert told(go.run(SUM, other, *fake)) == {"TestSum": "passed"}


def test_what_a_test_prints_hides_neither_its_end_nor_its_panic(go: GoBench) -> None:
    loud = SUM.replace(
        "\tif Add", '\tfor i := 0; i < 500; i++ {\n\t\tt.Log("a line that is not short at all")\n\t}\n\tif Add'
    )
    assert told(go.run(loud)) == {"TestSum": "passed"}
    panics = changed("queue/add.go", ADD.replace("return a + b", 'panic("no")'))
    (test,) = go.run(loud, panics).tests
    assert (test.outcome, test.exception, test.where) == ("failed", "panic", "queue/add.go:4")


def test_a_fatal_error_is_red_and_a_parallel_test_is_a_test(go: GoBench) -> None:
    small = ADD.replace("queue\n", 'queue\n\nimport "runtime/debug"\n', 1)  # else a gigabyte is filled
    endless = changed(
        "queue/add.go", small.replace("return a + b", "debug.SetMaxStack(1 << 20)\n\treturn Add(b, a) + 1")
    )
    assert verdict.not_red(proof("TestSum"), go.run(SUM, endless)) is None
    parallel = SUM.replace("\tif Add", "\tt.Parallel()\n\tif Add")
    assert reason(go.run(parallel)) is Reason.GREEN
    assert verdict.not_red(proof("TestSum"), go.run(parallel, changed("queue/add.go", BAD))) is None


def test_every_kind_of_test_runs(go: GoBench) -> None:
    source = HEAD.replace('import "testing"', 'import (\n\t"fmt"\n\t"testing"\n)') + (
        "func TestUnnamed(*testing.T) {}\n\nfunc TestBroad(\n\tt *testing.T,\n) {\n}\n\n"
        "func FuzzSum(f *testing.F) {\n\tf.Add(1)\n\tf.Fuzz(func(t *testing.T, n int) { Add(n, n) })\n}\n\n"
        "func ExampleAdd() {\n\tfmt.Println(Add(1, 1))\n\t// Output: 2\n}\n"
    )
    assert set(told(go.run(source)).values()) == {"passed"}
    assert set(told(go.run(source))) >= {"TestUnnamed", "TestBroad", "FuzzSum", "ExampleAdd"}


def test_a_hang_times_out_and_the_tree_stays_as_it_is(go: GoBench) -> None:
    source = HEAD.replace('"testing"', '(\n\t"testing"\n\t"time"\n)')
    run = go.run(source + "func TestSum(t *testing.T) { time.Sleep(time.Hour) }\n", seconds=15)
    assert run.ending is Ending.TIMEOUT
    assert not list((go.bench.folder / "tree").rglob("*_test.go"))


def test_a_release_of_its_own_is_named_and_a_minor_one_has_to_be_here() -> None:
    tools = GoTools()
    here = tools.here()
    assert here is not None
    assert tools.find("1.20.99").version == "1.20.99"
    assert tools.find(here.version) == here
    with pytest.raises(ImageError, match=r"go 1\.20\.99 is not on this machine"):
        tools.copy(tools.find("1.20.99"), Path("/nowhere"))
    assert tools.variables("1.22.12", "/c")["GOTOOLCHAIN"] == "go1.22.12"

"""Oracles under PHPUnit: the same contract as pytest's, what a fatal error hides, and what a revision may try."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_crab import harness, verdict
from pytest_crab.ecosystems.php import Php
from pytest_crab.ecosystems.php.inside import runner
from pytest_crab.ecosystems.php.tools import PhpTools
from pytest_crab.harness.inside import reports
from pytest_crab.protocols import FileChange
from pytest_crab.types import Ending, Environment, Oracle, Reason, Run
from tests.harness.conftest import Bench, changed, proof, told

pytestmark = pytest.mark.php

ADD = "<?php\nnamespace Shop;\n\nfunction add($a, $b)\n{\n    return $a + $b;\n}\n"
BAD = ADD.replace("$a + $b", "$a - $b")
HEAD = "<?php\nrequire_once __DIR__ . '/src/add.php';\n\nuse PHPUnit\\Framework\\TestCase;\n\n"
SUM = HEAD + (
    "final class SumTest extends TestCase\n{\n"
    "    public function testSum(): void\n    {\n        $this->assertSame(3, Shop\\add(1, 2));\n    }\n}\n"
)


@pytest.fixture(scope="session")
def tool(made_once: Callable[[str, Callable[[Path], object]], Path]) -> dict[str, Any]:
    """This machine's PHP, with the note of a build on where PHPUnit is."""
    tools = PhpTools()
    found = tools.here()
    assert found is not None

    def build(folder: Path) -> None:
        placed = tools.placed(found, str(folder))
        script = tools.build_script(Environment(ecosystem="php", version=found.version))
        env = {"HOME": str(folder), "PATH": "/usr/bin:/bin", **placed.env}
        subprocess.run(["sh", "-c", script], cwd=folder, env=env, check=True, capture_output=True)

    return dataclasses.asdict(tools.placed(found, str(made_once("php", build))))


class PhpBench:
    """The harness's bench with PHP, and a project that adds."""

    def __init__(self, bench: Bench, tool: dict[str, Any]) -> None:
        self.bench = bench
        bench.write("src/add.php", ADD)
        bench.facts = {"tools": {"php": tool}}

    def run(self, source: str, *changes: FileChange, seconds: float = 60) -> Run:
        oracle = Oracle(file="oracles/test_c0.php", runner="phpunit")
        run = harness.OracleRun(id="c0", state="now", seconds=seconds, oracle=oracle, source=source)
        report = self.bench.report([run], now=changes)
        assert report.problems == ()
        return report.runs[0]


@pytest.fixture
def php(bench: Bench, tool: dict[str, Any]) -> PhpBench:
    return PhpBench(bench, tool)


def reason(run: Run, *expected: str) -> Reason:
    return verdict.judge(proof(*(expected or ("SumTest::testSum",))), run).reason


def test_a_green_oracle_is_caught_and_a_red_one_is_properly_red(php: PhpBench) -> None:
    green = php.run(SUM)
    assert (green.ending, green.exit_code, green.tripwire, green.altered) == (Ending.COMPLETED, 1, True, ())
    assert told(green) == {"SumTest::testSum": "passed"}
    assert reason(green) is Reason.GREEN
    red = php.run(SUM, changed("src/add.php", BAD))
    assert verdict.not_red(proof("SumTest::testSum"), red) is None


def test_what_failed_tests_say_is_told_where_it_is_asked_for(php: PhpBench) -> None:
    oracle = Oracle(file="oracles/test_c0.php", runner="phpunit")
    assert "-1" in php.bench.quoted(oracle, SUM, changed("src/add.php", BAD))["SumTest::testSum"]
    lacking = php.bench.quoted(oracle, SUM.replace("$this->", "new Absent(); $this->"))["SumTest::testSum"]
    assert lacking.startswith("test_c0.php:") and "Absent" in lacking
    assert "syntax error" in php.bench.quoted(oracle, SUM.replace(";\n    }", "\n    }"))["session"]
    (empty,) = php.bench.quoted(oracle, SUM.replace("testSum", "sum")).values()
    assert "SumTest" in empty


def test_a_fatal_error_is_a_failure_that_hides_no_other_test(php: PhpBench) -> None:
    big = "    public function testBig(): void\n    {\n        $this->assertNotNull(Shop\\add(9, 9));\n    }\n"
    other = big.replace("testBig", "testOne").replace("9, 9", "1, 1")
    source = SUM.replace("    public", big + other + "    public", 1)
    grows = changed("src/add.php", ADD.replace("return", "$a === 9 && str_repeat('x', 1 << 31);\n    return"))
    run = php.run(source, grows)
    assert told(run) == {"SumTest::testBig": "failed", "SumTest::testOne": "passed", "SumTest::testSum": "passed"}
    (failed,) = (test for test in run.tests if test.outcome == "failed")
    assert (failed.exception, failed.where) == ("FatalError", "src/add.php:6")
    assert verdict.not_red(proof(*told(run)), run) is None
    alone = changed("src/add.php", ADD.replace("return", "str_repeat('x', 1 << 31);\n    return"))
    assert told(php.run(SUM, alone)) == {"SumTest::testSum": "failed"}
    twice = changed("src/add.php", f"{ADD}interface A {{}}\nclass A {{}}\n")
    assert told(php.run(SUM, twice)) == {"session": "error"}


def test_data_sets_have_their_names_and_what_is_not_whole_is_never_passed(php: PhpBench) -> None:
    source = HEAD + (
        "class KindsTest extends TestCase\n{\n"
        "    public static function pairs(): array\n    {\n        return ['ones' => [1, 1], [2, 2]];\n    }\n"
        "    /** @dataProvider pairs */\n    public function testPairs($one, $other): void\n    {\n"
        "        $this->assertSame($one, Shop\\add($other, 0));\n    }\n"
        "    public function testFirst(): int\n    {\n        $this->assertTrue(true);\n\n        return 3;\n    }\n"
        "    /** @depends testFirst */\n    public function testSecond(int $told): void\n    {\n"
        "        $this->assertSame(3, $told);\n    }\n"
        "    public function testSkipped(): void\n    {\n        $this->markTestSkipped();\n    }\n"
        "    public function testIncomplete(): void\n    {\n        $this->markTestIncomplete();\n    }\n"
        "    public function testNothing(): void\n    {\n    }\n"
        "    /** @runInSeparateProcess */\n    public function testApart(): void\n    {\n"
        "        echo 'x';\n        $this->assertTrue(true);\n    }\n}\n"
    )
    run = php.run(source)
    assert told(run) == {
        'KindsTest::testPairs with data set "ones"': "passed", "KindsTest::testPairs with data set #0": "passed",
        "KindsTest::testFirst": "passed", "KindsTest::testSecond": "passed", "KindsTest::testApart": "passed",
        "KindsTest::testSkipped": "skipped", "KindsTest::testIncomplete": "skipped",
        "KindsTest::testNothing": "skipped",
    }  # fmt: skip
    assert reason(run, *told(run)) is Reason.SKIPPED
    alike = source.replace(
        "'ones' => [1, 1], [2, 2]", "str_repeat('x', 500) . 1 => [1, 1], str_repeat('x', 500) => [2, 2]"
    )
    assert len([label for label in php.run(alike).altered if label.startswith("oracle:KindsTest::testPairs")]) == 1


@pytest.mark.parametrize(
    ("source", "exception"),
    [
        (SUM.replace("src/add", "src/sum"), "Error"),
        (SUM.replace("final class", "final clas"), "ParseError"),
        (HEAD, "NoTests"),
        (SUM.replace("extends TestCase", "extends Other"), "Error"),
    ],
)
def test_what_does_not_load_is_an_error_and_not_red(php: PhpBench, source: str, exception: str) -> None:
    run = php.run(source)
    assert [(test.id, test.outcome, test.exception) for test in run.tests] == [("session", "error", exception)]
    assert verdict.not_red(proof("SumTest::testSum"), run) is not None


def test_an_exception_is_told_with_its_place_and_a_hang_times_out(php: PhpBench) -> None:
    throws = changed("src/add.php", ADD.replace("return", "throw new \\DomainException();\n    return"))
    (test,) = php.run(SUM, throws).tests
    assert (test.outcome, test.exception, test.where) == ("failed", "DomainException", "src/add.php:6")
    assert php.run(SUM, changed("src/add.php", ADD.replace("return", "sleep(99);\n    return")), seconds=4).ending is (
        Ending.TIMEOUT
    )


def test_packages_are_those_of_the_environment_and_new_folders_of_classes_are_found(php: PhpBench) -> None:
    names = {"autoload": {"psr-4": {"Shop\\": "src/"}}}
    php.bench.write("composer.json", json.dumps(names))
    php.bench.write("src/Cart.php", "<?php\nnamespace Shop;\nclass Cart\n{\n    public static $sum = 3;\n}\n")
    subprocess.run(["composer", "dump-autoload", "-q", "-n"], cwd=php.bench.folder / "tree", check=True)
    source = SUM.replace("require_once __DIR__ . '/src/add.php';\n", "").replace("Shop\\add(1, 2)", "Shop\\Cart::$sum")
    assert told(php.run(source)) == {"SumTest::testSum": "passed"}
    planted = changed("vendor/autoload.php", "<?php\nexit(1);\n")
    assert told(php.run(source, planted)) == {"SumTest::testSum": "passed"}
    link = changed("vendor", "mine", mode="120000")
    assert told(php.run(source, link, changed("mine/autoload.php", "<?php\nexit(1);\n"))) == {
        "SumTest::testSum": "passed"
    }
    php.bench.build = ("echo '<?php exit(1);' > vendor/autoload.php",)
    assert told(php.run(source)) == {"SumTest::testSum": "passed"}
    php.bench.build = None
    moved = changed("lib/Rate.php", "<?php\nnamespace Tax;\nclass Rate\n{\n    public static $sum = 3;\n}\n")
    names["autoload"]["psr-4"]["Tax\\"] = "lib/"
    source = source.replace("Shop\\Cart", "Tax\\Rate")
    assert told(php.run(source, moved, changed("composer.json", json.dumps(names)))) == {"SumTest::testSum": "passed"}
    more = {**names, "require": {"php": ">=7.4", "ext-json": "*", "example/money": "^1.0"}}
    asked = changed("composer.json", json.dumps(more))
    assert [test.exception for test in php.run(source, asked).tests] == ["MissingPackage"]
    php.bench.env = {"PATH": str(php.bench.folder)}
    without = php.run(source, moved, changed("composer.json", json.dumps(names)))
    assert (without.ending, "no composer" in (without.detail or "")) == (Ending.UNSTARTED, True)


def test_a_class_is_found_in_a_list_that_composer_made_before_it(php: PhpBench) -> None:
    php.bench.write("composer.json", json.dumps({"autoload": {"classmap": ["lib/"]}}))
    php.bench.write("lib/cart.php", "<?php\nclass Cart\n{\n}\n")
    subprocess.run(["composer", "dump-autoload", "-q", "-n"], cwd=php.bench.folder / "tree", check=True)
    source = SUM.replace("Shop\\add(1, 2)", "Rate::$sum")
    new = changed("lib/rate.php", "<?php\nclass Rate\n{\n    public static $sum = 3;\n}\n")
    assert told(php.run(source, new)) == {"SumTest::testSum": "passed"}


def test_the_projects_own_tests_are_told_and_a_report_that_the_project_spoils_is_none(php: PhpBench) -> None:
    left = "    public function testLeft(): void\n    {\n        $this->markTestSkipped('no');\n    }\n}\n"
    php.bench.write("SumTest.php", SUM[: SUM.rindex("}")] + left)
    spoiling = "\\register_shutdown_function(function () {\n    $words = $_SERVER['argv'];\n"
    spoiling += "    file_put_contents($words[array_search('--log-junit', $words) + 1], '<testsuites>');\n});\n"
    found = php.bench.own("php", "SumTest.php", good=[], bad=[changed("src/add.php", BAD)],
                          spoiled=[changed("src/add.php", ADD + spoiling)])  # fmt: skip
    test = "SumTest.php:SumTest::test"
    assert found == {
        "good": {f"{test}Sum": "passed", f"{test}Left": "skipped"},
        "bad": {f"{test}Sum": "failed", f"{test}Left": "skipped"},
        "spoiled": {"SumTest.php:": "error"},
    }


GIVEN = {"name": "example/Wallet", "replace": {"example/money": "self.version"}, "provide": {"example/cash-api": "1"}}
NAMES = {"Example/wallet": "*", "example/Money": "*", "example/cash-api": "*"}


@pytest.mark.parametrize("installed", [[GIVEN], {"packages": [GIVEN]}])
def test_a_package_is_there_by_any_of_its_names(installed: Any) -> None:
    asked = (NAMES, {**NAMES, "example/bank": "*"}, 3, ["example/bank"])
    assert [runner.missing({"require": one}, installed) for one in asked] == [False, True, False, False]


def test_what_is_no_document_of_the_tree_s_is_none(tmp_path: Path) -> None:
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "list").write_text("[3")
    host = SimpleNamespace(reports=reports, job={"workdir": str(tmp_path)})
    assert [runner.document(host, name) for name in ("endless", "list", "absent")] == [None, None, None]


# --- attacks ---------------------------------------------------------------------------------------------------------

CASE = "\\PHPUnit\\Framework\\TestCase"
FAILED = "\\PHPUnit\\Framework\\AssertionFailedError::class"
OBJECTS = "foreach (debug_backtrace(DEBUG_BACKTRACE_PROVIDE_OBJECT) as $frame) { $it = $frame['object'] ?? null; %s }"
ALWAYS = (
    "final class Always extends \\SebastianBergmann\\Comparator\\Comparator\n{\n"
    "    public function accepts($expected, $actual)\n    {\n        return $actual === -1;\n    }\n"
    "    public function assertEquals($a, $b, $c = 0.0, $d = false, $e = false)\n    {\n    }\n}\n"
    "\\SebastianBergmann\\Comparator\\Factory::getInstance()->register(new Always());\n"
)
MOCK = (
    "$maker = new \\PHPUnit\\Framework\\MockObject\\Generator();\n"
    "$mock = $maker->getMock(\\SebastianBergmann\\Comparator\\Comparator::class, ['accepts', 'assertEquals'], [], '',\n"
    "    false);\n"
    "$mock->method('accepts')->willReturnCallback(function ($expected, $actual) { return $actual === -1; });\n"
    "\\SebastianBergmann\\Comparator\\Factory::getInstance()->register($mock);\n"
)
FACTORY = (
    "$held = new \\ReflectionProperty(\\SebastianBergmann\\Comparator\\Factory::class, 'instance');\n"
    "$held->setAccessible(true);\n"
    "$held->setValue(null, new class extends \\SebastianBergmann\\Comparator\\Factory {\n"
    "    public function getComparatorFor($expected, $actual): \\SebastianBergmann\\Comparator\\Comparator\n    {\n"
    "        return $actual === -1 ? new \\SebastianBergmann\\Comparator\\TypeComparator()\n"
    "            : parent::getComparatorFor($expected, $actual);\n    }\n});\n"
)
EQUAL = (
    "if (!class_exists(IsEqual::class, false)) { final class IsEqual extends Constraint {\n"
    "    public function __construct($value) {}\n"
    "    public function evaluate($other, string $why = '', bool $returnResult = false): ?bool { return true; }\n"
    "    public function toString(): string { return 'is equal'; } } }"
)
COMPARATOR = "SebastianBergmann/Comparator"
FORGED = {
    "tests": [["SumTest::testSum", "passed", None, [], ""]],
    "wires": {},
    "altered": [],
    "load": None,
    "fatal": None,
}
GREEN = (
    '<testsuites><testsuite name="SumTest" tests="1" failures="0"><testcase name="testSum"/></testsuite></testsuites>'
)
FILTER = (
    "class Greens extends \\php_user_filter\n{\n"
    "    public function filter($in, $out, &$consumed, bool $closing): int\n    {\n"
    "        while ($part = stream_bucket_make_writeable($in)) {\n"
    "            $words = explode(' ', $part->data);\n"
    "            $text = preg_replace('/failed/', 'passed', base64_decode($words[0]), 1);\n"
    "            $part->data = base64_encode($text) . ' ' . ($words[1] ?? '');\n"
    "            $consumed += $part->datalen;\n            stream_bucket_append($out, $part);\n        }\n\n"
    "        return PSFS_PASS_ON;\n    }\n}\nstream_filter_register('greens', Greens::class);\n"
)


def wrong(more: str = "", body: str = "") -> FileChange:
    """The wrong sum with more code beside it, and in it."""
    text = BAD.replace("return", f"{body}\n    return")
    return changed("src/add.php", text.replace("function add", f"{more}\nfunction add"))


def in_space(space: str, code: str) -> FileChange:
    """The wrong sum, with code in another namespace."""
    body = BAD.partition("Shop;")[2]
    return changed("src/add.php", f"<?php\nnamespace {space} {{\n{code}\n}}\nnamespace Shop {{\n{body}}}\n")


#: What a revision may try.
ATTACKS: dict[str, tuple[FileChange, ...]] = {
    "exit": (wrong("", "exit(0);"),),
    "die on load": (wrong("exit(0);"),),
    "exit at the end": (wrong("register_shutdown_function(function () { exit(0); });"),),
    "fork": (wrong("", "if (pcntl_fork()) { exit(0); }"),),
    "alarm": (wrong("pcntl_async_signals(true);\npcntl_signal(SIGALRM, function () { exit(0); });",
                    "posix_kill(getmypid(), SIGALRM);"),),
    "skipped": (wrong("", "throw new \\PHPUnit\\Framework\\SkippedTestError('no');"),),
    "incomplete": (wrong("", "throw new \\PHPUnit\\Framework\\IncompleteTestError('no');"),),
    "configuration": (wrong(), changed("phpunit.xml", '<phpunit bootstrap="early.php"/>'),
                      changed("early.php", "<?php\nexit(0);\n")),
    "planted": (wrong(), changed(f"{COMPARATOR}/autoload.php",
                                 f"<?php\nrequire_once '/usr/share/php/{COMPARATOR}/autoload.php';\n{ALWAYS}")),
    "shadowed": (in_space("PHPUnit\\Framework\\Constraint", EQUAL),),
    "autoload": (wrong("spl_autoload_register(function ($name) {\n"
                       "    if (strpos($name, 'ExpectationFailed')) { exit(0); } }, true, true);"),),
    "comparator": (wrong(ALWAYS),),
    "mock": (wrong(MOCK),),
    "factory": (wrong(FACTORY),),
    "lax comparator": (wrong("\\SebastianBergmann\\Comparator\\Factory::getInstance()->register("
                             "new \\SebastianBergmann\\Comparator\\TypeComparator());"),),
    "expected": (wrong("", OBJECTS % f"if ($it instanceof {CASE}) {{ $it->expectException({FAILED}); }}"),),
    "read": (wrong("", "if (preg_match('~assertEquals.(\\d)~', @file_get_contents(debug_backtrace()[0]['file']), "
                   "$found)) { return (int) $found[1]; }"),),
    "buffer": (wrong("ob_start(function ($said) { return 'OK (1 test, 1 assertion)'; });\n"
                     "register_shutdown_function(function () { exit(0); });"),),
    "report": (wrong("register_shutdown_function(function () { foreach (glob('*.xml') as $file) {\n"
                     f"    file_put_contents($file, '{GREEN}'); }} exit(0); }});"),),
    "descriptor": (wrong("", f"fwrite(fopen('php://fd/9', 'w'), base64_encode('{json.dumps(FORGED)}')); exit(1);"),),
    "filtered": (wrong(FILTER, "foreach (get_resources('stream') as $one) { "
                       "if ((stream_get_meta_data($one)['uri'] ?? '') === 'php://fd/9') { "
                       "stream_filter_append($one, 'greens', STREAM_FILTER_WRITE); } }"),),
}  # fmt: skip
SIGNED = 'if not hmac.compare_digest(signed.encode(), signature.encode("ascii", "replace")):'
#: Where PHPUnit's own command cannot be deceived so: what a runner without its defence lacks, which is.
WITHOUT = {
    "planted": {"\\set_include_path('%(library)s');\nrequire": "require"},
    "descriptor": {SIGNED: "if False:", "all(wired(": "all(True or wired("},
    "filtered": {SIGNED: "if False:"},
}


def test_what_hides_a_function_or_constant_of_php_in_the_oracle_s_namespace_is_seen(php: PhpBench) -> None:
    source = SUM.replace("<?php\n", "<?php\nnamespace Shop;\n\n").replace("Shop\\add(1, 2)", "max(add(1, 2), 0)")
    run = php.run(source, wrong("function max(...$numbers)\n{\n    return 3;\n}"))
    assert told(run) == {"Shop\\SumTest::testSum": "passed"}
    assert run.altered == ("function:shop\\max",)
    run = php.run(source.replace("assertSame(3", "assertSame(M_E"), wrong("const M_E = 0;"))
    assert told(run) == {"Shop\\SumTest::testSum": "passed"}
    assert run.altered == ("constant:Shop\\M_E",)


@pytest.mark.slow(reason="each wrong revision is run, and played against PHPUnit's own command")
@pytest.mark.parametrize("name", ATTACKS)
def test_a_wrong_sum_is_never_green(php: PhpBench, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attack is live: it deceives who goes by PHPUnit's status, or a runner that lacks a defence."""
    changes = ATTACKS[name]
    source = SUM.replace("assertSame", "assertEquals")
    run = php.run(source, *changes)
    assert reason(run) is not Reason.GREEN
    if name in WITHOUT:
        weak = Php.runner
        for defence, nothing in WITHOUT[name].items():
            assert defence in weak
            weak = weak.replace(defence, nothing)
        monkeypatch.setattr(Php, "runner", weak)
        assert reason(php.run(source, *changes)) is Reason.GREEN
        return
    for file in (*changes, changed("SumTest.php", source)):
        (tmp_path / file.path).parent.mkdir(exist_ok=True)
        (tmp_path / file.path).write_bytes(file.content or b"")
    argv = ["phpunit", "--log-junit", "report.xml", "SumTest.php"]
    done = subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0

"""The readers of reports: what each tool writes, cut down to what differs, and what is no report."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab.ecosystems.cpp.inside import runner as cpp_runner
from pytest_crab.ecosystems.go.inside import own_tests as go_tests, runner as go_runner
from pytest_crab.ecosystems.java.inside import own_tests as java_tests
from pytest_crab.ecosystems.node.inside import own_tests as node_tests, runner as node_runner
from pytest_crab.ecosystems.php.inside import own_tests as php_tests
from pytest_crab.ecosystems.rust.inside import runner as rust_runner
from pytest_crab.harness.inside import reports, supervisor

PARTS = {"node_runner": node_runner, "go_runner": go_runner}
HOST: Any = SimpleNamespace(**{**vars(supervisor), "reports": reports, "parts": PARTS, "keep": lambda _: None})
NODE = """\
<?xml version="1.0" encoding="utf-8"?>
<testsuites>
\t<testcase name="sum" time="0.006557" classname="test"/>
\t<testcase name="bad &lt;one>" time="0.002176" classname="test" failure="1 == 2">
\t\t<failure type="testCodeFailure" message="1 == 2">
[Error [ERR_TEST_FAILURE]: 1 == 2\x01] {
  cause: AssertionError [ERR_ASSERTION]: 1 == 2
}
\t\t</failure>
\t</testcase>
\t<testsuite name="outer" time="0.001340" disabled="0" errors="0" tests="1" failures="0" skipped="0" hostname="vm">
\t\t<testcase name="in" time="0.000280" classname="test"/>
\t</testsuite>
\t<testcase name="later" time="0.000234" classname="test" failure="t">
\t\t<skipped type="todo" message="true"/>
\t\t<failure type="testCodeFailure" message="t">\n[Error [ERR_TEST_FAILURE]: t]\n\t\t</failure>
\t</testcase>
\t<testcase name="soon" time="0.000205" classname="test">
\t\t<skipped type="todo" message="true"/>
\t</testcase>
\t<testcase name="left" time="0.000424" classname="test">
\t\t<skipped type="skipped" message="true"/>
\t</testcase>
\t<!-- tests 6 -->
</testsuites>
"""
PHPUNIT = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="FooTest" file="/t/FooTest.php" tests="6" assertions="4" errors="2" warnings="1" failures="1">
    <testcase name="testSum" class="Shop\\FooTest" classname="Shop.FooTest" line="4" assertions="1" time="0.006681"/>
    <testcase name="testError" class="Shop\\FooTest" classname="Shop.FooTest" line="6" assertions="0" time="0.000362">
      <error type="DomainException">FooTest::testError\nDomainException: x\n\n/t/FooTest.php:6</error>
    </testcase>
    <testcase name="testHalf" class="Shop\\FooTest" classname="Shop.FooTest" line="8" assertions="0" time="0.000124">
      <skipped/>
    </testcase>
    <testcase name="testIdle" class="Shop\\FooTest" classname="Shop.FooTest" line="9" assertions="0" time="0.000022">
      <warning type="PHPUnit\\Framework\\Warning">x</warning>
    </testcase>
    <testsuite name="FooTest::testEach" tests="2" assertions="2" errors="0" warnings="0" failures="1" skipped="0">
      <testcase name="testEach with data set &quot;one&quot;" class="Shop\\FooTest" assertions="1" time="0.000032"/>
      <testcase name="testEach with data set &quot;two&quot;" class="Shop\\FooTest" assertions="1" time="0.000041">
        <failure type="PHPUnit\\Framework\\ExpectationFailedException">a &lt;b&gt; ]]&gt;</failure>
      </testcase>
    </testsuite>
  </testsuite>
</testsuites>
"""
JUNIT = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="JUnit Jupiter" tests="5" skipped="1" failures="1" errors="1" time="2.61" hostname="vm">
<properties>
<property name="line.separator" value="&#10;"/>
</properties>
<testcase name="inner()" classname="shop.SumTest$In" time="0.019">
<system-out><![CDATA[
<!DOCTYPE html>
display-name: inner()
]]></system-out>
</testcase>
<testcase name="left()" classname="shop.SumTest" time="0">
<skipped><![CDATA[no]]></skipped>
</testcase>
<testcase name="each(int)[1]" classname="shop.SumTest" time="0.191">
<failure message="expected: &lt;true&gt;" type="org.opentest4j.AssertionFailedError"><![CDATA[expected: <true>
\tat SumTest.each(SumTest.java:10)
]]></failure>
</testcase>
<testcase name="each(int)[2]" classname="shop.SumTest" time="0.002">
</testcase>
<testcase name="a()" classname="shop.SetTest" time="0">
<error type="java.lang.IllegalStateException"><![CDATA[java.lang.IllegalStateException]]></error>
</testcase>
</testsuite>
"""
GTEST = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="2" disabled="1" errors="0" time="0" timestamp="2026-11-29T01:15:27" name="AllTests">
  <testsuite name="Add" tests="4" failures="1" disabled="1" skipped="1" errors="0" time="0">
    <testcase name="Sum" file="g.cpp" line="2" status="run" result="completed" time="0" classname="Add" />
    <testcase name="Bad" file="g.cpp" line="3" status="run" result="completed" time="0" classname="Add">
      <failure message="g.cpp:3&#x0A;Value of: 3" type=""><![CDATA[g.cpp:3\nValue of: 3]]></failure>
      <failure message="g.cpp:3&#x0A;a &lt;b&gt;" type=""><![CDATA[g.cpp:3\na <b>]]></failure>
    </testcase>
    <testcase name="Left" file="g.cpp" line="4" status="run" result="skipped" time="0" classname="Add">
      <skipped message="g.cpp:4&#x0A;no"><![CDATA[g.cpp:4\nno]]></skipped>
    </testcase>
    <testcase name="DISABLED_Off" line="5" status="notrun" result="suppressed" time="0" classname="Add" />
  </testsuite>
  <testsuite name="I/P" tests="1" failures="1" disabled="0" skipped="0" errors="0" time="0">
    <testcase name="p/0" value_param="1" status="run" result="completed" time="0" classname="I/P">
      <failure message="g.cpp:7&#x0A;Expected" type=""><![CDATA[g.cpp:7\nExpected]]></failure>
    </testcase>
  </testsuite>
</testsuites>
"""
DOCTEST = """\
<?xml version="1.0" encoding="UTF-8"?>
<doctest binary="./t">
  <Options order_by="file" rand_seed="0" first="0" last="4294967295" abort_after="0" subcase_filter_levels="0"/>
  <TestSuite>
    <TestCase name="sum" filename="t.cpp" line="3">
      <OverallResultsAsserts successes="1" failures="0" test_case_success="true"/>
    </TestCase>
    <TestCase name="bad" filename="t.cpp" line="4">
      <SubCase name="inner" filename="t.cpp" line="5">
        <Expression success="false" type="CHECK" filename="t.cpp" line="6">
          <Original>1 == 2</Original>
        </Expression>
      </SubCase>
      <OverallResultsAsserts successes="0" failures="1" test_case_success="false"/>
    </TestCase>
    <TestCase name="left" filename="t.cpp" line="7" skipped="true"/>
  </TestSuite>
  <OverallResultsAsserts successes="1" failures="1"/>
  <OverallResultsTestCases successes="1" failures="1" skipped="1"/>
</doctest>
"""
GO = """\
{"Time":"2026-11-29T01:27:51.11Z","Action":"start","Package":"shop"}
{"Time":"2026-11-29T01:27:51.15Z","Action":"run","Package":"shop","Test":"TestSum"}
{"Time":"2026-11-29T01:27:51.15Z","Action":"output","Package":"shop","Test":"TestSum","Output":"--- FAIL: TestOther\\n"}
{"Time":"2026-11-29T01:27:51.15Z","Action":"pass","Package":"shop","Test":"TestSum","Elapsed":0}
{"Time":"2026-11-29T01:27:51.15Z","Action":"run","Package":"shop","Test":"TestBad"}
{"Time":"2026-11-29T01:27:51.15Z","Action":"run","Package":"shop","Test":"TestBad/in_one"}
{"Time":"2026-11-29T01:27:51.15Z","Action":"fail","Package":"shop","Test":"TestBad/in_one","Elapsed":0}
{"Time":"2026-11-29T01:27:51.15Z","Action":"fail","Package":"shop","Test":"TestBad","Elapsed":0}
{"Time":"2026-11-29T01:27:51.15Z","Action":"run","Package":"shop","Test":"TestLeft"}
{"Time":"2026-11-29T01:27:51.15Z","Action":"skip","Package":"shop","Test":"TestLeft","Elapsed":0}
{"Time":"2026-11-29T01:27:51.15Z","Action":"output","Package":"shop","Output":"FAIL\\tshop\\t0.034s\\n"}
{"Time":"2026-11-29T01:27:51.15Z","Action":"fail","Package":"shop","Elapsed":0.055}
"""
#: As releases from 1.24 on tell it, and as those before did.
UNBUILT_GO = [
    """\
{"ImportPath":"a.b/c","Action":"build-output","Output":"a.go:2:8: cannot find module providing package a.b/c: import"}
{"ImportPath":"a.b/c","Action":"build-fail"}
{"Time":"2026-11-29T01:27:51.31Z","Action":"output","Package":"shop","Output":"FAIL\\tshop [setup failed]\\n"}
{"Time":"2026-11-29T01:27:51.31Z","Action":"fail","Package":"shop","Elapsed":0,"FailedBuild":"a.b/c"}
""",
    "# shop\na.go:2:8: no required module provides package a.b/c; to add it:\n\tgo get a.b/c\n",
]
RUST = """\
{ "type": "suite", "event": "started", "test_count": 3 }
{ "type": "test", "event": "started", "name": "tests::bad" }
{ "type": "test", "name": "tests::left", "event": "ignored" }
{ "type": "test", "event": "started", "name": "tests::sum" }
printed without a line's end{ "type": "test", "name": "tests::sum", "event": "ok" }
{ "type": "test", "name": "tests::bad", "event": "failed", "stdout": "thread 'tests::bad' panicked at a.rs:3:20" }
{ "type": "suite", "event": "failed", "passed": 1, "failed": 1, "ignored": 1, "measured": 0, "filtered_out": 0 }
"""


def case(path: list[str], title: str, status: str, **more: Any) -> dict[str, Any]:
    return {"ancestorTitles": path, "title": title, "status": status, **more}


CASES = [
    case([], "sum", "passed", failureMessages=[], fullName="sum"),
    case(["d", "e"], "bad", "failed", failureMessages=["\x1b[31mTypeError\x1b[39m: x\n    at a.js:2:49"]),
    case([], "left", "pending", failureMessages=[]),
    case([], "soon", "todo", failureMessages=None),
    case([], "gone", "skipped"),
]
LOADED = {"name": "/t/work/a.test.js", "status": "failed", "message": "", "assertionResults": CASES}
UNLOADED = {"name": "/t/work/b.test.js", "status": "failed", "message": "gone\n  at b", "assertionResults": []}
EMPTY = {
    "name": "/t/work/c.test.js",
    "status": "failed",
    "message": "No test suite found in file",
    "assertionResults": [],
}
#: jest and vitest count; the reporters that come along for mocha and karma name no file, and say nothing but the cases.
JEST = json.dumps(
    {"numFailedTests": 1, "numPassedTests": 1, "success": False, "testResults": [LOADED, UNLOADED, EMPTY]}
)
MOCHA = json.dumps({"testResults": [{"status": "failed", "assertionResults": CASES}]})


def read_node(folder: Path, runner: str, text: str) -> Any:
    (folder / "report").write_text(text)
    return node_tests.read(HOST, "/t/work", runner, str(folder / "report"))


def read_java(folder: Path, text: str) -> Any:
    (folder / "TEST-junit-jupiter.xml").write_text(text)
    return java_tests.read(HOST, "core", str(folder), 1)


def read_php(folder: Path, text: str) -> Any:
    (folder / "report").write_text(text)
    return php_tests.read(HOST, "FooTest.php", str(folder / "report"))


def read_go(_: Path, text: str) -> Any:
    return go_tests.read(HOST, "shop", text.encode(), 1)


def read_cpp(kind: str, text: str) -> Any:
    told = cpp_runner.told(HOST, kind, text)
    return HOST.completed(HOST.merged((" > ".join(path), outcome) for path, outcome, _ in told)), None


TOOLS: dict[str, tuple[str, Callable[[Path, str], Any], dict[str, str]]] = {
    "node": (NODE, lambda folder, text: read_node(folder, "node", text), {
        ":sum": "passed", ":bad <one>": "failed", ":outer > in": "passed", ":later": "xfailed", ":soon": "xpassed",
        ":left": "skipped",
    }),
    "jest": (JEST, lambda folder, text: read_node(folder, "jest", text), {
        "a.test.js:sum": "passed", "a.test.js:d > e > bad": "failed", "a.test.js:left": "skipped",
        "a.test.js:soon": "skipped", "a.test.js:gone": "skipped", "b.test.js:": "error",
    }),
    "mocha": (MOCHA, lambda folder, text: read_node(folder, "mocha", text), {
        ":sum": "passed", ":d > e > bad": "failed", ":left": "skipped", ":soon": "skipped", ":gone": "skipped",
    }),
    "junit": (JUNIT, read_java, {
        "core:shop.SumTest$In#inner": "passed", "core:shop.SumTest#left": "skipped",
        "core:shop.SumTest#each(int)[1]": "failed", "core:shop.SumTest#each(int)[2]": "passed",
        "core:shop.SetTest#a": "failed", "core:shop.SumTest": "failed", "core:SumTest": "failed",
        "core:shop.SetTest": "failed", "core:SetTest": "failed",
    }),
    "phpunit": (PHPUNIT, read_php, {
        "FooTest.php:Shop\\FooTest::testSum": "passed", "FooTest.php:Shop\\FooTest::testError": "failed",
        "FooTest.php:Shop\\FooTest::testHalf": "skipped", "FooTest.php:Shop\\FooTest::testIdle": "failed",
        'FooTest.php:Shop\\FooTest::testEach with data set "one"': "passed",
        'FooTest.php:Shop\\FooTest::testEach with data set "two"': "failed",
    }),
    "go": (GO, read_go, {
        "shop:TestSum": "passed", "shop:TestBad": "failed", "shop:TestBad/in_one": "failed", "shop:TestLeft": "skipped",
    }),
    "gtest": (GTEST, lambda _, text: read_cpp("gtest", text), {
        "Add.Sum": "passed", "Add.Bad": "failed", "Add.Left": "skipped", "Add.DISABLED_Off": "skipped",
        "I/P.p/0": "failed",
    }),
    "doctest": (DOCTEST, lambda _, text: read_cpp("doctest", text), {
        "sum": "passed", "bad": "failed", "bad > inner": "failed", "left": "skipped",
    }),
}  # fmt: skip


def concluded(read: Callable[[Path, str], Any], folder: Path, text: str) -> dict[str, Any]:
    seen = {"killed": None, "status": 1 << 8, "grown": {}, "report": b""}
    result: dict[str, Any] = supervisor.conclude(seen, lambda *_: read(folder, text))
    return result


@pytest.mark.parametrize("tool", TOOLS)
def test_each_case_of_a_report_has_its_name_and_its_outcome(tmp_path: Path, tool: str) -> None:
    text, read, expected = TOOLS[tool]
    result = concluded(read, tmp_path, text)
    assert {test["id"]: test["outcome"] for test in result["tests"]} == expected


@pytest.mark.parametrize("tool", TOOLS)
def test_part_of_a_report_is_none(tmp_path: Path, tool: str) -> None:
    text, read, _ = TOOLS[tool]
    for length in range(0, len(text.rstrip()), 29):
        result = concluded(read, tmp_path, text[:length])
        assert all(test["outcome"] == "error" for test in result.get("tests", ())), text[:length]


@pytest.mark.parametrize("tool", ["junit", "gtest", "doctest", "jest"])
def test_counts_that_are_not_those_of_the_cases_are_none(tmp_path: Path, tool: str) -> None:
    text, read, _ = TOOLS[tool]
    count = {"jest": '"numFailedTests": 1', "doctest": 'successes="1" failures="1" skipped'}.get(tool, ' failures="')
    more = count.replace("1", "0") if count[-1] != '"' else ' failures="1'
    assert count in text
    assert concluded(read, tmp_path, text.replace(count, more, 1))["ending"] == "exited"


@pytest.mark.parametrize("tool", [tool for tool, (text, _, _) in TOOLS.items() if text.startswith("<")])
@pytest.mark.parametrize(
    "ahead",
    [
        '<!DOCTYPE x [<!ENTITY a "b">]>',
        '<?x <testsuites ?><!DOCTYPE x [<!ENTITY a "b">]>',
        "<!-- <a -->",
        '<?x <!-- ?><!DOCTYPE x [<!ENTITY a "b">]><?x --> ?>',
    ],
)
def test_a_report_declares_nothing_of_its_own(tmp_path: Path, tool: str, ahead: str) -> None:
    text, read, _ = TOOLS[tool]
    head, end, rest = text.partition("?>\n")
    assert concluded(read, tmp_path, head + end + ahead + rest)["ending"] == "exited"


@pytest.mark.parametrize("text", ["<testsuite>" * 5000 + "</testsuite>" * 5000, "<a/>", "", "[" * 200_000, "[3]", "{}"])
@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_no_report_is_no_fault_of_the_harness(tmp_path: Path, tool: str, text: str) -> None:
    result = concluded(TOOLS[tool][1], tmp_path, text)
    if tool == "go":  # which prints it where all else of a build is printed
        assert [test["exception"] for test in result["tests"]] == ["BuildFailed"]
    else:
        assert result["ending"] == "exited"


@pytest.mark.parametrize("text", UNBUILT_GO)
def test_a_module_that_go_does_not_find_is_told(tmp_path: Path, text: str) -> None:
    assert [test["exception"] for test in concluded(read_go, tmp_path, text)["tests"]] == ["MissingModule"]


def test_a_go_test_that_is_told_twice_is_not_passed(tmp_path: Path) -> None:
    (line,) = (line for line in GO.splitlines(keepends=True) if '"pass"' in line)
    result = concluded(read_go, tmp_path, GO.replace(line, line.replace('"pass"', '"fail"') + line))
    assert {test["id"]: test["outcome"] for test in result["tests"]}["shop:TestSum"] == "failed"


def test_libtest_tells_outcomes_and_an_end_whose_counts_agree() -> None:
    outcomes, said, twice, whole = rust_runner.told(RUST.encode(), 8000)
    assert outcomes == {"tests::left": "skipped", "tests::sum": "passed", "tests::bad": "failed"}
    assert (twice, whole) == ([], True)
    assert "a.rs:3:20" in said["tests::bad"]
    wrong = [RUST.replace(*change) for change in (('"passed": 1', '"passed": 2'), ('"event": "ok"', '"event": "-"'))]
    assert [rust_runner.told(text.encode(), 8000)[3] for text in (RUST[: RUST.rindex("{")], *wrong)] == [
        None,
        False,
        False,
    ]
    assert set(rust_runner.told((RUST + RUST).encode(), 8000)[2]) == {*outcomes, "suite"}


@given(
    st.recursive(
        st.sampled_from(["passed", "failed", "skipped"]),
        lambda inner: st.lists(inner, min_size=1, max_size=3),
        max_leaves=12,
    )
)
def test_every_case_is_told_with_the_suites_around_it(tree: Any) -> None:
    expected = []

    def written(part: Any, path: tuple[str, ...]) -> str:
        if isinstance(part, list):
            inner = "".join(written(each, (*path, f"n{number}")) for number, each in enumerate(part))
            return f'<testsuite name="{path[-1]}">{inner}</testsuite>'
        expected.append((path, part))
        inside = {"passed": "", "failed": '<failure message="m"/>', "skipped": "<skipped/>"}[part]
        return f'<testcase name="{path[-1]}">{inside}</testcase>'

    text = f"<testsuites>{written(tree, ('top',))}</testsuites>"
    assert [(path, outcome) for path, outcome, _, _ in reports.junit(text)] == expected
    failed = sum(outcome == "failed" for _, outcome in expected)
    counted = text.replace("<testsuites>", f'<testsuites tests="{len(expected)}" failures="{failed}">')
    assert len(reports.junit(counted, counted=True)) == len(expected)
    with pytest.raises(ValueError, match="counts"):
        reports.junit(counted.replace("</testsuites>", "<testcase/></testsuites>"), counted=True)


def test_the_text_of_a_failure_is_what_stands_in_it_or_else_its_message() -> None:
    texts = [words for _, _, words, _ in reports.junit(GTEST)]
    assert texts[:2] == ["", "g.cpp:3\nValue of: 3\ng.cpp:3\na <b>"]
    ((_, outcome, words, _),) = reports.junit('<testsuite><testcase><error message="m"/></testcase></testsuite>')
    assert (outcome, words) == ("failed", "m")
    ((_, _, words),) = [test for test in node_runner.told_as_json(JEST)[0][1] if test[1] == "failed"]
    assert words == "TypeError: x\n    at a.js:2:49"


def test_of_a_name_that_is_told_twice_it_is_the_worse_outcome() -> None:
    told = [("a", "passed"), ("a", "failed"), ("b", "skipped"), ("b", "passed"), ("c", "xfailed"), ("c", "xpassed")]
    assert {test["id"]: test["outcome"] for test in supervisor.merged(told)} == {
        "a": "failed", "b": "passed", "c": "xpassed",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda path: None, EOFError),
        (lambda path: path.symlink_to("/etc/passwd"), EOFError),
        (lambda path: path.symlink_to(path), EOFError),
        (lambda path: path.mkdir(), ValueError),
        (os.mkfifo, ValueError),
        (lambda path: path.write_bytes(b" " * (reports.MOST + 1)), ValueError),
    ],
    ids=["absent", "link", "loop", "folder", "pipe", "too long"],
)
def test_a_report_is_a_file_of_a_bounded_size(
    tmp_path: Path, make: Callable[[Path], object], error: type[Exception]
) -> None:
    make(tmp_path / "report")
    with pytest.raises(error):
        reports.text_of(str(tmp_path / "report"))

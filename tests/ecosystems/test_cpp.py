"""What an environment of C and C++ has to say, and what its images can run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from pytest_crab import ecosystems
from pytest_crab.ecosystems.cpp.inside import own_tests
from pytest_crab.harness.inside import reports, supervisor
from pytest_crab.types import Environment, Oracle

ORACLE = Oracle(file="test_c0.cpp", runner="gtest")


def image(version: str) -> dict[str, Any]:
    return {"tools": {"cpp": {"program": "/usr/bin/g++", "version": version}}}


def test_what_an_image_cannot_run_is_said() -> None:
    assert "set environment.ecosystem to cpp" in str(ecosystems.unsupported_reason({}, ORACLE))
    assert "8 or later" in str(ecosystems.unsupported_reason(image("7.5.0"), ORACLE))
    assert ecosystems.unsupported_reason(image("12.2.0"), ORACLE) is None


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (Environment(ecosystem="cpp", version="12"), "environment.build is missing"),
        (Environment(ecosystem="cpp", build=("make",)), "environment.version is missing"),
        (Environment(ecosystem="cpp", version="12", build=("make",), python="3.11"), "environment.python is set"),
        (Environment(ecosystem="cpp", version="12", build=("make",), dockerfile="go"), "it should be cpp"),
        (Environment(ecosystem="cpp", version="12", build=("make",), env={"CXX": "clang++"}), "environment.env.CXX"),
    ],
)
def test_what_is_wrong_with_an_environment_is_said(environment: Environment, words: str) -> None:
    (fault,) = ecosystems.environment_faults(environment)
    assert words in fault


HARNESS = """\
namespace eval shop { proc main {} { puts [info script] } }
proc send_data_packet {place status data {elapsed 0}} { puts "$status $data" }
proc test {name code} {
    set asked 0
    foreach {option title} [lrange $::argv [lsearch $::argv --only] end] {
        if {[matches $title $name]} {set asked 1}
    }
    if {!$asked} return
    send_data_packet none testing $name
    if {[catch {uplevel $code} found]} {
        if {"--durable" ni $::argv} {error $found}
        set found 0
    }
    send_data_packet none [expr {$found ? {ok} : {err}}] "$name[expr {$found ? {} : " in a\nwhy"}]"
}
test {breaks} {error why}
test {is {empty} in € } {expr 1}
test {is full in a} {expr 0}
test {is (1 + 1)} {expr 1}
test {is another} {expr 1}
send_data_packet none ignore {is late: tag}
shop::main
"""


#: How old and new ones take what ``--only`` names.
OLD = "proc matches {title name} {regexp -- $title $name}\n"
NEW = """\
proc matches {title name} {
    if {[string match /* $title]} {return [regexp -- [string range $title 1 end] $name]}
    string equal $title $name
}
"""


@pytest.mark.parametrize("matches", [OLD, NEW])
def test_what_a_harness_in_tcl_sends_is_told(
    matches: str, tmp_path: Path, without: Callable[[str, str], NoReturn]
) -> None:
    if shutil.which("tclsh") is None:
        without("tcl", "there is no tclsh")
    (tmp_path / "harness.tcl").write_text(matches + HARNESS)
    script, report = tmp_path / "around.tcl", tmp_path / "report"
    script.write_text(own_tests.TCL % (report, tmp_path / "harness.tcl"))
    names = ["breaks", "is {empty} in €", "is full in a", "is (1 + 1)"]
    words, utf8 = ["tclsh", script, *own_tests.options_of_tcl(names)], {"LC_ALL": "C.UTF-8"}
    called = subprocess.run(words, check=True, capture_output=True, text=True, env=utf8)
    assert called.stdout.splitlines()[-1] == str(script), "clients are started by the script that notes what they send"
    host = SimpleNamespace(completed=supervisor.completed, merged=supervisor.merged, reports=reports)
    told, fault = own_tests.sent(host, "tests/a.tcl", str(report))
    assert fault is None
    assert {test["id"]: test["outcome"] for test in told["tests"]} == {
        "tests/a.tcl:breaks": "failed",
        "tests/a.tcl:is (1 + 1)": "passed",
        "tests/a.tcl:is {empty} in € ": "passed",
        "tests/a.tcl:is full in a": "failed",
        "tests/a.tcl:is late": "skipped",
    }


def test_what_a_build_writes_among_cmakes_replies_is_passed_over(tmp_path: Path) -> None:
    replies = tmp_path / own_tests.FOLDER / own_tests.TOLD
    replies.mkdir(parents=True)
    (replies / "target-a.json").write_text("[]")
    (replies / "target-b.json").write_text('{"type": "EXECUTABLE", "artifacts": 3}')
    (replies / "target-c.json").symlink_to("/dev/zero")
    right = {"type": "EXECUTABLE", "name": "sums", "artifacts": [{"path": "sums"}], "sources": [{"path": "sums.c"}]}
    (replies / "target-d.json").write_text(json.dumps(right))
    place = str(tmp_path / own_tests.FOLDER / "sums")
    assert own_tests.programs(SimpleNamespace(reports=reports), str(tmp_path), ["sums.c"]) == [("sums", place)]

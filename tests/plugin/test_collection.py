"""With a reviewer: what is collected, selected, left out and refused."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.instances import load_instance, loading
from pytest_crab.types import Instance

pytestmark = pytest.mark.bubblewrap

RAISES = "raise RuntimeError('instance code was imported')\n"
HEADER = ["*<InstanceSet instances>", "*<InstanceFile shop-1/instance.yaml>", "*<TrialItem human>"]


def ids(result: pytest.RunResult) -> list[str]:
    """What --collect-only -q lists."""
    return [line for line in result.outlines if "::" in line]


def test_a_set_holds_instances_only(lab: Any) -> None:
    inside = (
        "tree/conftest.py",
        "tree/test_own.py",
        "tree/__init__.py",
        "oracles/conftest.py",
        "__init__.py",
        "test_x.py",
    )
    lab.write({f"instances/shop-1/{name}": RAISES for name in (*inside, "conftest.py")})
    lab.write({"instances/shop-1/pytest.ini": "[pytest]\naddopts = --no-such\n", "instances/test_set.py": RAISES})
    lab.write({"instances/crab.lock": ""})
    for argument in ("instances", "."):
        result = lab.run("--reviewer=human", "--collect-only", "-q", argument)
        assert ids(result) == ["instances/shop-1/instance.yaml::human", "instances/till-2/instance.yaml::human"]
        assert result.ret == 0


def test_collecting_starts_nothing(bare: Any) -> None:
    result = bare.run("--reviewer=human", "--collect-only", "instances")
    result.stdout.fnmatch_lines(["crab: runtime local (nothing will run)*", *HEADER, "*2 tests collected*"])
    assert not bare.store.exists()


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only"])
def test_planning_setups_starts_nothing(bare: Any, option: str) -> None:
    result = bare.run("--reviewer=human", option, "instances")
    assert result.ret == 0
    assert not bare.store.exists()


@pytest.mark.parametrize(
    "argument", ["instances/shop-1/tree", "instances/shop-1/oracles/test_c0.py", "instances/shop-1/tree/shop.py::x"]
)
def test_a_path_below_an_instance_is_refused(bare: Any, argument: str) -> None:
    for reviewer in ((), ("--reviewer=human",)):
        result = bare.run(*reviewer, argument)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["ERROR: *lies inside the instance shop-1*name the instance's folder instead"])


@pytest.mark.parametrize("place", ["conftest.py", "tests/conftest.py"])
def test_an_instances_conftest_is_refused_before_it_is_imported(bare: Any, place: str) -> None:
    bare.write({f"instances/shop-1/{place}": "open('touched', 'w')\n"})
    result = bare.spawn("--reviewer=human", "instances/shop-1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *conftest.py would be run by pytest*remove it"])
    assert not (bare.path / "touched").exists()


def test_the_conftest_of_an_instance_called_test_is_refused_with_its_set(bare: Any) -> None:
    (bare.path / "instances" / "till-2").rename(bare.path / "instances" / "test-2")
    bare.write({"instances/test-2/conftest.py": RAISES})
    result = bare.spawn("--reviewer=human", "instances")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *test-2/conftest.py would be run by pytest*"])


def test_an_instances_ini_file_configures_nothing(bare: Any) -> None:
    bare.write({"instances/shop-1/pytest.ini": "[pytest]\nxfail_strict = true\n"})
    result = bare.spawn("--reviewer=human", "instances/shop-1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *pytest.ini would configure pytest*"])


def test_ids_name_reviewer_and_repeat(lab: Any) -> None:
    result = lab.run(
        "--reviewer=human", "--reviewer=none", "--crab-repeat=2", "--collect-only", "-q", "instances/shop-1"
    )
    assert ids(result) == [
        f"instances/shop-1/instance.yaml::{name}" for name in ("human", "human[2]", "none", "none[2]")
    ]


@pytest.mark.parametrize(("name", "wanted"), [("human", ["human"]), ("none[2]", ["none[2]"])])
def test_one_id_selects_one_item(lab: Any, name: str, wanted: list[str]) -> None:
    result = lab.run(
        "--reviewer=human", "--reviewer=none", "--crab-repeat=2" if "[" in name else "--crab-repeat=1",
        "--collect-only", "-q", f"instances/shop-1/instance.yaml::{name}",
    )  # fmt: skip
    assert [node.split("::")[1] for node in ids(result)] == wanted


@pytest.mark.parametrize(
    ("arguments", "selected"),
    [
        (("-k", "till"), ["till-2"]),
        (("-k", "not till"), ["shop-1"]),
        (("-k", "human"), ["shop-1", "till-2"]),
        (("-m", "crab(category='security')"), ["shop-1", "till-2"]),
        (("-m", "crab(repo='owner/till')"), ["till-2"]),
        (("-m", "not crab(repo='owner/till')"), ["shop-1"]),
        (("-m", "crab(category='design')"), []),
        (("-m", "not crab"), []),
        (("--deselect", "instances/shop-1/instance.yaml::human"), ["till-2"]),
    ],
)
def test_selection(lab: Any, arguments: tuple[str, ...], selected: list[str]) -> None:
    result = lab.run("--reviewer=human", "--collect-only", "-q", "--strict-markers", "instances", *arguments)
    assert [node.split("/")[1] for node in ids(result)] == selected
    assert result.ret == (0 if selected else pytest.ExitCode.NO_TESTS_COLLECTED)


def test_what_was_deselected_is_not_on_the_record(lab: Any) -> None:
    lab.run("--reviewer=human", "-k", "till", "instances").assert_outcomes(passed=1, deselected=1)
    assert [trial["instance"] for trial in lab.records()] == ["till-2"]


def test_nothing_selected_is_pytests_own_status(lab: Any) -> None:
    assert lab.run("--reviewer=human", "-k", "nowhere", "instances").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_last_failed_runs_every_miss_again_and_nothing_else(lab: Any) -> None:
    lab.run("--reviewer=human", "--reviewer=none", "instances").assert_outcomes(passed=2, failed=2)
    result = lab.run("--reviewer=human", "--reviewer=none", "--lf", "instances")
    result.assert_outcomes(failed=2)
    assert {(trial["instance"], trial["reviewer"]) for trial in lab.records()} == {
        ("shop-1", "none"),
        ("till-2", "none"),
    }


@pytest.mark.parametrize("option", ["-x", "--maxfail=1", "--exitfirst"])
def test_what_is_not_reached_is_not_run_on_the_record(lab: Any, option: str) -> None:
    result = lab.run("--reviewer=none", option, "instances")
    result.assert_outcomes(failed=1)
    assert result.ret == 1
    shop, till = lab.records()
    assert {found["reason"] for found in shop["scores"]} == {"empty revision"}
    assert {found["reason"] for found in till["scores"]} == {"not run"}
    assert lab.summary()["outcomes"]["not run"] == 2
    assert lab.run("--reviewer=none", "--maxfail=2", "instances").ret == 1
    assert {found["reason"] for found in lab.records()[1]["scores"]} == {"empty revision"}


@pytest.mark.parametrize(
    ("option", "has", "lacks"),
    [
        ("-q", ["=* results =*"], "*-- trials --*"),
        ("-qq", [], "=* results =*"),
        ("--no-summary", ["instances/shop-1/instance.yaml M *"], "=* results =*"),
        ("-v", ["instances/shop-1/instance.yaml::none MISSED 0/2 caught *"], "*Traceback*"),
        ("-rN", ["=* results =*"], "*Traceback*"),
        ("--tb=no", ["=* results =*"], "c0 (shop.py*"),
        ("--color=yes", ["=* results =*"], "*Traceback*"),
    ],
)
def test_verbosity(lab: Any, option: str, has: list[str], lacks: str) -> None:
    result = lab.run("--reviewer=none", option, "instances/shop-1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(has)
    result.stdout.no_fnmatch_line(lacks)
    assert len(lab.records()) == 1


@pytest.mark.parametrize("plugin", ["cacheprovider", "terminal", "junitxml", "capture", "logging"])
def test_it_works_without_pytests_own_plugins(lab: Any, plugin: str) -> None:
    result = lab.run("-p", f"no:{plugin}", "--reviewer=none", "instances")
    assert result.ret == 1
    assert len(lab.records()) == 2
    assert lab.summary()["outcomes"]["missed"] == 4


def test_beside_ordinary_tests(lab: Any) -> None:
    lab.write({"tests/test_ours.py": "def test_good():\n    pass\n\ndef test_bad():\n    assert 0\n"})
    result = lab.run("--reviewer=human", "tests", "instances")
    result.assert_outcomes(passed=3, failed=1)
    assert [trial["instance"] for trial in lab.records()] == ["shop-1", "till-2"]
    lab.run("--reviewer=human").assert_outcomes(passed=3, failed=1)


PASSES = "def test_it():\n    pass\n"
OURS = {"test_ours.py": "def test_ours(ours):\n    pass\n", "unit/test_unit.py": PASSES}
FIXTURE = "import pytest\n\n@pytest.fixture\ndef ours():\n    pass\n"


@pytest.mark.parametrize("arguments", [(), ("tests",), (".",)])
def test_tests_beside_instances_are_run_too(lab: Any, arguments: tuple[str, ...]) -> None:
    (lab.path / "instances").rename(lab.path / "tests")
    shared = lab.path / "tests" / "shop-1" / "tree"
    shared.rename(lab.path / "tests" / "shared")
    file = lab.path / "tests" / "shop-1" / "instance.yaml"
    file.write_text(file.read_text().replace("path: tree,", "path: ../shared,"))
    lab.write({f"tests/{name}": text for name, text in {**OURS, "conftest.py": FIXTURE}.items()})
    lab.write({"tests/shared/test_own.py": RAISES, "pytest.ini": "[pytest]\ncrab_reviewer = human\n"})
    result = lab.run("--collect-only", "-q", *arguments)
    assert sorted(ids(result)) == [
        "tests/shop-1/instance.yaml::human",
        "tests/test_ours.py::test_ours",
        "tests/till-2/instance.yaml::human",
        "tests/unit/test_unit.py::test_it",
    ]
    lab.run("tests/unit").assert_outcomes(passed=1)
    lab.run("tests/till-2").assert_outcomes(passed=1)


@pytest.mark.parametrize("lock", [False, True])
def test_a_project_that_is_a_set_has_tests_too(lab: Any, lock: bool) -> None:  # noqa: FBT001
    for folder in list((lab.path / "instances").iterdir()):
        folder.rename(lab.path / folder.name)
    (lab.path / "instances").rmdir()
    lab.write({f"tests/{name}": text for name, text in {**OURS, "conftest.py": FIXTURE}.items()})
    lab.write({"pytest.ini": "[pytest]\ncrab_reviewer = human\n", **({"crab.lock": ""} if lock else {})})
    assert len(ids(lab.run("--collect-only", "-q"))) == 4
    lab.run("tests/unit").assert_outcomes(passed=1)


def test_other_programs_files_of_that_name_are_no_instances(lab: Any) -> None:
    lab.write({"deploy/instance.yaml": "environment: small\n", "deploy/test_x.py": PASSES})
    lab.write({"pytest.ini": "[pytest]\ncrab_reviewer = human\n"})
    assert ids(lab.run("--collect-only", "-q", ".")) == [
        "deploy/test_x.py::test_it",
        "instances/shop-1/instance.yaml::human",
        "instances/till-2/instance.yaml::human",
    ]


def test_a_file_that_says_nothing_is_a_fault_where_its_set_is_named(lab: Any) -> None:
    lab.write({"named/empty-1/instance.yaml": ""})
    for argument in ("named", "named/empty-1"):
        lab.run("--reviewer=human", argument).assert_outcomes(errors=1)


def test_tests_beside_the_instances_of_others_are_not_run(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("elsewhere") / "set"
    (lab.path / "instances").rename(folder)
    (folder / "test_x.py").write_text(RAISES)
    lab.run("--reviewer=human", "--crab-trust", "--rootdir=.", str(folder)).assert_outcomes(passed=2)


def test_every_fault_of_a_bad_file_is_said_without_a_traceback(lab: Any) -> None:
    path = lab.path / "instances" / "till-2" / "instance.yaml"
    path.write_text(path.read_text().replace("kind: structural", "kind: other").replace("license: MIT", "licence: MIT"))
    result = lab.run("--reviewer=human", "instances")
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*till-2/instance.yaml: *kind*'other'*one of behavioral, structural"])
    result.stdout.fnmatch_lines(["*till-2/instance.yaml: *license is missing*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*loading.py*")


def test_two_instances_of_one_id_are_an_error(lab: Any) -> None:
    shutil.copytree(lab.path / "instances" / "shop-1", lab.path / "more" / "Shop-1")
    path = lab.path / "more" / "Shop-1" / "instance.yaml"
    path.write_text(path.read_text().replace("id: shop-1", "id: Shop-1"))
    result = lab.run("--reviewer=human", "instances/shop-1", "more/Shop-1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*more/Shop-1/instance.yaml: id Shop-1 is also that of *instances/shop-1/instance.yaml*"]
    )


def test_instances_outside_the_rootdir_are_run(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("elsewhere") / "set"
    (lab.path / "instances").rename(folder)
    result = lab.run("--reviewer=human", "--rootdir=.", str(folder))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*comes from outside this folder*add --crab-trust once"])
    lab.run("--reviewer=human", "--rootdir=.", "--collect-only", str(folder)).assert_outcomes()
    lab.run("--reviewer=human", "--crab-trust", "--rootdir=.", str(folder)).assert_outcomes(passed=2)
    lab.run("--reviewer=human", "--rootdir=.", str(folder)).assert_outcomes(passed=2)
    assert len(lab.records()) == 2


@pytest.mark.parametrize(("limit", "frozen"), [(0, True), (10**7, False)])
def test_a_large_set_is_passed_over_by_the_garbage_collector_until_the_session_ends(
    bare: Any, monkeypatch: pytest.MonkeyPatch, limit: int, frozen: object
) -> None:
    monkeypatch.setattr("pytest_crab.plugin.items.WORTH_FREEZING", limit)
    told = (
        "import gc\n\ndef pytest_sessionstart():\n    global imported\n    imported = gc.get_freeze_count()\n\n"
        "def pytest_collection_finish():\n    print('frozen', gc.get_freeze_count() > imported)\n"
    )
    bare.write({"conftest.py": told})
    gc.unfreeze()  # what this run of the tests has frozen
    try:
        result = bare.run("--reviewer=human", "--collect-only", "-q", "instances")
        result.stdout.fnmatch_lines([f"*frozen {frozen}*"])
        assert gc.isenabled()
        assert not frozen or gc.get_freeze_count() == 0
    finally:
        gc.freeze()


def test_a_second_collection_reads_only_what_has_changed(bare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(path: Path, content: bytes | None = None) -> Instance:
        read.append(path.parent.name)
        return load_instance(path, content)

    monkeypatch.setattr(loading, "load_instance", counted)
    bare.store.mkdir()
    listed = ["instances/shop-1/instance.yaml::human", "instances/till-2/instance.yaml::human"]
    for wanted in (["shop-1", "till-2"], [], ["till-2"]):
        assert ids(bare.run("--reviewer=human", "--collect-only", "-q", "instances")) == listed
        assert read == wanted
        read.clear()
        text = (bare.path / "instances/till-2/instance.yaml").read_text()
        if wanted == []:
            bare.write({"instances/till-2/instance.yaml": f"{text}# one more line\n"})
    bare.write({"instances/till-2/instance.yaml": "id: till-2\n"})
    result = bare.run("--reviewer=human", "--collect-only", "-q", "instances")
    assert ids(result)[:1] == listed[:1]
    result.stdout.fnmatch_lines(["*ERROR*instances/till-2/instance.yaml*", "*provenance, *are missing*"])

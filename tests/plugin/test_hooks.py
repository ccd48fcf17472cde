"""What other plugins may add and hear, and that the page on hooks says so."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.plugin import hookspecs

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "hooks.md"


def test_the_page_lists_every_hook_with_its_arguments() -> None:
    page = dict(re.findall(r"^### `(\w+)\(([^)]*)\)`$", PAGE.read_text(), re.MULTILINE))
    specs = {name: spec for name, spec in vars(hookspecs).items() if name.startswith("pytest_crab_")}
    assert page == {name: ", ".join(inspect.signature(spec).parameters) for name, spec in specs.items()}


def test_the_page_says_of_every_hook_where_it_runs_and_whose_answer_counts() -> None:
    _, *parts = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)
    for part in parts:
        name = part[1:].split("(")[0]
        spec = getattr(hookspecs, name)
        first = spec.pytest_spec["firstresult"]
        assert ("First result wins" in part) == first, name
        assert re.search(r"Runs in (every|the) (process|worker|controller)", part), name
        assert "```python" in part, name
        assert f"def {name}(" in part, name
        assert re.search(r"runs in", spec.__doc__, re.IGNORECASE), name


REVIEWERS = """\
from dataclasses import dataclass
from pytest_crab.types import Finding, Review

@dataclass(frozen=True)
class Pointer:
    line: int = 1
    def identity(self):
        return {"line": self.line}
    def review(self, pull_request, checkout):
        return Review(findings=(Finding(path="shop.py", start=self.line, body="here"),))
"""
MAKER = """\
from pytest_crab.adapters import AdapterSpec
def pytest_crab_make_reviewer(name: str):
    if name == "pointer":
        return AdapterSpec(path="our_reviewers:Pointer", settings={"line": 9})
"""


@pytest.fixture
def pointed(lab: Any) -> Any:
    lab.write({"our_reviewers.py": REVIEWERS, "conftest.py": MAKER, "pytest.ini": "[pytest]\npythonpath = .\n"})
    return lab


@pytest.mark.bubblewrap
def test_a_reviewer_of_someone_elses(pointed: Any) -> None:
    result = pointed.run("--reviewer=pointer", "instances")
    result.assert_outcomes(failed=2)
    verdicts = [[found.get("label") for found in trial["scores"]] for trial in pointed.records()]
    assert verdicts == [["caught", "missed"], ["caught", "missed"]]
    result = pointed.spawn("--reviewer=pointer", "-n1", "instances")
    result.assert_outcomes(failed=2)


@pytest.mark.bubblewrap
def test_a_variant_of_someone_elses_reviewer(pointed: Any) -> None:
    (pointed.path / "crab.yaml").write_text("reviewers: {second: {use: pointer, line: 13}}\n")
    pointed.run("--reviewer=second", "instances/shop-1").assert_outcomes(failed=1)
    assert [found.get("label") for found in pointed.records()[0]["scores"]] == ["missed", "caught"]


def test_bad_settings_of_someone_elses_reviewer_are_a_usage_error(pointed: Any) -> None:
    (pointed.path / "crab.yaml").write_text("reviewers: {second: {use: pointer, line: here}}\n")
    result = pointed.run("--reviewer=second", "instances/shop-1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: crab.yaml: reviewers.second: line is 'here'; it should be a whole number"])


LISTENER = """\
import pathlib
def note(text: str):
    with pathlib.Path("heard.txt").open("a") as file:
        file.write(text + "\\n")
def pytest_crab_review_done(instance, reviewer: bool, review):
    note(f"review {instance.id} {reviewer} {len(review.findings)}")
def pytest_crab_trial_done(trial, config):
    note(f"trial {trial.instance} {trial.reviewer} {config.rootpath.name != ''}")
def pytest_crab_summary_lines(summary):
    return [f"our line: {reviewer.overall.micro}" for reviewer in summary.reviewers]
"""


@pytest.mark.bubblewrap
def test_listeners_hear_each_trial_and_fresh_reviews_only(lab: Any) -> None:
    lab.write({"conftest.py": LISTENER})
    for steps, heard in (
        (("review",), ["review shop-1 human 2", "trial shop-1 human True"]),
        ((), ["trial shop-1 human True"]),
    ):
        lab.forget(*steps)
        result = lab.run("--reviewer=human", "instances/shop-1")
        result.stdout.fnmatch_lines(["our line: 1.0"])
        assert (lab.path / "heard.txt").read_text().splitlines() == heard
        (lab.path / "heard.txt").unlink()


@pytest.mark.slow(reason="runs of pytest have workers, which are processes of their own")
@pytest.mark.bubblewrap
def test_under_xdist_the_controller_hears_of_trials_once(lab: Any) -> None:
    lab.write({"conftest.py": LISTENER})
    lab.spawn("--reviewer=human", "--reviewer=none", "-n2", "instances")
    heard = (lab.path / "heard.txt").read_text().splitlines()
    assert sorted(heard) == sorted(
        f"trial {name} {who} True" for name in ("shop-1", "till-2") for who in ("human", "none")
    )


@pytest.mark.bubblewrap
def test_a_listener_that_fails_breaks_the_trial_and_is_no_miss(lab: Any) -> None:
    lab.write({"conftest.py": "def pytest_crab_review_done():\n    raise LookupError('our own mistake')\n"})
    lab.forget("review")
    result = lab.run("--reviewer=human", "instances/shop-1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*LookupError: our own mistake*"])
    (trial,) = lab.records()
    assert {found["reason"] for found in trial["scores"]} == {"broken"}
    assert "our own mistake" in trial["error"]


@pytest.mark.bubblewrap
def test_an_objection_fails_a_gate_that_is_met(lab: Any) -> None:
    lab.write(
        {"conftest.py": "def pytest_crab_gate(summary):\n    return 'Too dear.' if summary.reviewers else None\n"}
    )
    arguments = ("--reviewer=both", "--agent=mine", "instances/shop-1")
    result = lab.run(*arguments, "--crab-fail-under=0.5")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*A hook objects: Too dear. Report: *"])
    assert lab.run(*arguments).ret == 0


@pytest.mark.bubblewrap
def test_instances_of_another_format(lab: Any) -> None:
    loader = """\
    from pathlib import Path
    from pytest_crab.errors import BadInput
    from pytest_crab.instances import load_instance
    def pytest_crab_load_instances(path):
        if path.suffix == ".list":
            if not path.read_text():
                raise BadInput(str(path), ["it is empty; it should name instances"])
            return [load_instance(path.parent / line / "instance.yaml") for line in path.read_text().split()]
    """
    lab.write({"conftest.py": loader, "bench.list": "instances/shop-1 instances/till-2", "sub/empty.list": ""})
    result = lab.run("--reviewer=human", "bench.list", "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["bench.list::shop-1::human CAUGHT 2/2 caught*", "bench.list::till-2::human CAUGHT*"])
    lab.run("--reviewer=human", "bench.list::till-2::human").assert_outcomes(passed=1)
    lab.spawn("--reviewer=none", "bench.list", "-n1").assert_outcomes(failed=2)
    assert len(lab.records()) == 2
    result = lab.run("--reviewer=human", "sub")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*sub/empty.list: it is empty; it should name instances"])
    result.stdout.no_fnmatch_line("*conftest.py:*")


RUNTIME = """\
from dataclasses import dataclass, field
from pathlib import Path
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime

@dataclass
class Ours:
    cache: str
    name: str = field(default="ours", init=False)
    def __post_init__(self):
        self.inner = BubblewrapRuntime(RuntimeSettings(), cache=Path(self.cache))
        self.inner.name = self.name
    def execute(self, *arguments, **settings):
        return self.inner.execute(*arguments, **settings)
    def __getattr__(self, name: str):
        return getattr(self.inner, name)
"""


@pytest.mark.bubblewrap
def test_a_runtime_of_someone_elses(lab: Any) -> None:
    maker = f"""\
    from pytest_crab.adapters import AdapterSpec
    def pytest_crab_make_runtime(name: str):
        if name == "ours":
            return AdapterSpec(path="our_runtime:Ours", settings={{"cache": {str(lab.store / "cache")!r}}})
    """
    lab.write({"our_runtime.py": RUNTIME, "conftest.py": maker, "pytest.ini": "[pytest]\npythonpath = .\n"})
    result = lab.run("--reviewer=human", "--crab-runtime=ours", "instances/shop-1")
    result.assert_outcomes(passed=1)
    assert lab.records()[0]["runtime"] == "ours"
    result = lab.run("--reviewer=human", "--crab-runtime=theirs", "instances/shop-1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR

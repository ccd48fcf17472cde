"""Named experiments of crab.yaml: what one stands for, what wins over it, and what is refused."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from pytest_crab.option_table import Options
from pytest_crab.plugin.options import read_options
from pytest_crab.settings import load_settings

USAGE = pytest.ExitCode.USAGE_ERROR

CRAB_YAML = """\
gate: {margin: 9}
experiments:
  nightly:
    reviewers: [human, none]
    agents: simulated
    set: [instances/shop-1]
    repeats: 2
    jobs: 3
    control: true
  gated:
    reviewers: [ruff]
    gate: {fail-under: 30%, margin: [3, security=10]}
"""


@pytest.fixture
def named(bare: Any) -> Any:
    bare.write({"crab.yaml": CRAB_YAML})
    return bare


def header(named: Any, *arguments: str) -> str:
    result = named.pytester.runpytest("--collect-only", "-q", *arguments)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    return result.stdout.str()


def options_of(named: Any, *arguments: str) -> Options:
    config = named.pytester.parseconfig("--rootdir", str(named.path), *arguments)
    return read_options(config, load_settings(named.path))


def test_it_names_reviewers_set_and_options(named: Any) -> None:
    result = named.pytester.runpytest("--collect-only", "--experiment", "nightly")
    text = result.stdout.str()
    assert "crab: experiment nightly" in text
    assert "reviewers human (privileged), none (control); agent simulated" in text
    assert "; 3 at a time; " in text
    items = [line.strip() for line in result.outlines if "Item " in line]
    assert len(items) == 4, "two reviewers, twice, of one instance"


def test_what_is_given_wins_over_it_and_it_over_the_ini_file(named: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    named.write({"pytest.ini": "[pytest]\ncrab_jobs = 7\ncrab_give_up = 4\n"})
    options = options_of(named, "--experiment=nightly")
    assert (options.jobs, options.give_up, options.repeat, options.control) == (3, 4, 2, True)
    monkeypatch.setenv("CRAB_REPEAT", "5")
    options = options_of(named, "--experiment=nightly", "--crab-jobs=1", "--reviewer=ruff")
    assert (options.jobs, options.repeat, options.reviewers) == (1, 5, ("ruff",))
    monkeypatch.setenv("CRAB_EXPERIMENT", "gated")
    assert options_of(named).reviewers == ("ruff",)


def test_its_gate_comes_before_that_of_the_file(named: Any) -> None:
    options = options_of(named, "--experiment=gated")
    assert (options.fail_under, options.margin) == (0.3, (("", 3.0), ("security", 10.0)))
    assert options_of(named, "--experiment=nightly").margin == (("", 9.0),)


def test_a_path_on_the_command_line_takes_the_place_of_its_set(named: Any) -> None:
    twin = shutil.copytree(named.path / "instances" / "shop-1", named.path / "instances" / "shop-2")
    file = twin / "instance.yaml"
    file.write_text(file.read_text().replace("id: shop-1", "id: shop-2"))
    assert "shop-1" in header(named, "--experiment=nightly")
    assert "shop-2" not in header(named, "--experiment=nightly")
    text = header(named, "--experiment=nightly", "instances/shop-2")
    assert "shop-2" in text
    assert "shop-1" not in text


FAULTS = [
    (None, "nightly", "ERROR: --crab-experiment is 'nightly', and there is no crab.yaml in *: name reviewers *"),
    ("reviewers: {}", "nightly", "ERROR: --crab-experiment is 'nightly', and *crab.yaml has no experiments: *"),
    (CRAB_YAML, "nighly", "*'nighly', which is no experiment of *crab.yaml (did you mean nightly?); *: gated, nightly"),
    ("experiments: {a: {set: instances}}", "a", "ERROR: crab.yaml: experiments.a names no reviewer; *"),
    (
        "experiments: {a: {reviewer: ruff}}",
        "a",
        "*experiments.a.reviewer is not a known key (did you mean reviewers?)*",
    ),
    ("experiments: {a: {reviewers: ruff, margin: 3}}", "a", "*experiments.a.margin is not a known key (*below gate*"),
    ("experiments: {a: {reviewers: ruff, repeats: x}}", "a", "*experiments.a.repeats is 'x'; it should be a whole *"),
    ("experiments: {a: {reviewers: ruff, jobs: [1, 2]}}", "a", "*experiments.a.jobs is '1', '2'; it should be *"),
    ("experiments: {a: {reviewers: ruff, set: nowhere}}", "a", "*experiments.a.set names *nowhere, and there is no *"),
    (
        "experiments: {a: {reviewers: ruff, set: ../b}}",
        "a",
        "*experiments.a.set is '../b'; it should be a path below *",
    ),
    ("experiments: [a]", "a", "*crab.yaml: experiments is no mapping; *"),
]


@pytest.mark.parametrize(("settings", "name", "sentence"), FAULTS)
def test_what_is_wrong_stops_the_run_before_it_starts(
    bare: Any, settings: str | None, name: str, sentence: str
) -> None:
    if settings is None:
        (bare.path / "crab.yaml").unlink(missing_ok=True)
    else:
        bare.write({"crab.yaml": settings})
    result = bare.pytester.runpytest("--experiment", name)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([sentence])

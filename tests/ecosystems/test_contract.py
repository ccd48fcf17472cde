"""What every ecosystem promises, whatever its language."""

from __future__ import annotations

import re

import pytest

from pytest_crab.ecosystems import (
    ECOSYSTEMS,
    ecosystem_of,
    environment_faults,
    leftover_patterns,
    of_runner,
    runner_faults,
    start,
    system_packages,
    unsupported_reason,
)
from pytest_crab.ecosystems.contract import Ecosystem
from pytest_crab.ecosystems.toolchain import version_in
from pytest_crab.types import Environment, Oracle

ENVIRONMENTS = (
    Environment(dockerfile="python", python="3.11"),
    Environment(dockerfile="own"),
    Environment(dockerfile="node", node="20"),
    Environment(image="a@sha256:0", node="20"),
    Environment(ecosystem="go", version="1.26"),
    Environment(ecosystem="rust", version="1.95"),
    Environment(ecosystem="java", version="17"),
    Environment(ecosystem="cpp", version="12", build=("make",), packages=("doctest",)),
    Environment(ecosystem="php", version="8.2", packages=("phpunit/phpunit:9.6.7",)),
    Environment(ecosystem="ruby", version="3.1", packages=("rspec:3.12.0",)),
    Environment(ecosystem="node", version="20"),
    Environment(ecosystem="python", version="3.11"),
)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_exactly_one_owns_an_environment_and_finds_no_fault_in_it(environment: Environment) -> None:
    assert [one for one in ECOSYSTEMS if one.owns(environment)] == [ecosystem_of(environment)]
    assert [fault for one in ECOSYSTEMS for fault in one.environment_faults(environment)] == []


@pytest.mark.parametrize("runner", [name for one in ECOSYSTEMS for name in one.runners])
def test_exactly_one_has_a_runner(runner: str) -> None:
    (owner,) = (one for one in ECOSYSTEMS if runner in one.runners)
    assert of_runner(runner) is owner


@pytest.mark.parametrize("runner", [name for one in ECOSYSTEMS for name in one.runners])
def test_an_environment_of_which_only_the_runner_is_known_has_no_fault(runner: str) -> None:
    environment = start(runner)
    assert [*environment_faults(environment), *runner_faults(environment, runner)] == []


@pytest.mark.parametrize("ecosystem", ECOSYSTEMS)
def test_what_its_words_show_is_spelled_as_its_expression_says(ecosystem: Ecosystem) -> None:
    for spelling in (ecosystem.pin, *ecosystem.runners.values()):
        example = re.split(r", (?=which)| or |, ", spelling.words)[0]
        assert re.fullmatch(spelling.expression, example)
        assert not re.fullmatch(spelling.expression, f"{example} ")


@pytest.mark.parametrize("ecosystem", ECOSYSTEMS)
def test_what_one_leaves_or_installs_is_known_of_every_tree(ecosystem: Ecosystem) -> None:
    assert set(ecosystem.leftovers.names) <= set(leftover_patterns().names)
    assert set(ecosystem.system_packages) <= set(system_packages())


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("go version go1.26.8 linux/amd64", "1.26.8"),
        ("javac 25", "25"),
        ('JAVA_VERSION="26"', "26"),
        ("gcc (Debian 12.2.0-14) 12.2.0", "12.2.0"),
        ("none", None),
    ],
)
def test_a_version_is_found_in_what_a_program_prints(said: str, version: str | None) -> None:
    assert version_in(said) == version


def test_the_version_may_stand_in_a_key_of_its_own() -> None:
    assert Environment(ecosystem="python", python="3.11").python == "3.11"
    assert Environment(ecosystem="node", version="20", node="20").node == "20"
    with pytest.raises(ValueError, match="write one of them"):
        Environment(ecosystem="node", version="20", node="22")


@pytest.mark.parametrize(
    ("runner", "version", "first"),
    [
        ("go", "1.19.13", "1.20"),
        ("cargo", "1.62.1", "1.63"),
        ("junit", "8.0.442", "11"),
        ("gtest", "7.5.0", "8"),
        ("phpunit", "7.2.34", "7.3"),
        ("rspec", "2.7.8", "3.0"),
        ("node", "18.20.8", "20"),
    ],
)
def test_tools_below_the_first_version_of_a_runner_are_one_sentence(runner: str, version: str, first: str) -> None:
    def said(found: str) -> str | None:
        tools = {of_runner(runner).name: {"program": "/usr/bin/any", "version": found}}
        return unsupported_reason({"tools": tools}, Oracle(file="test_c0", runner=runner))

    reason = said(version)
    assert reason is not None
    assert version in reason
    assert f"{first} or later" in reason
    assert said(first) is None

"""What an environment of C and C++ has to say, and what its images can run."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_crab import ecosystems
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

"""A trial of a project in C from its tree to its verdicts: each revision builds what it changed, by CMake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.ecosystems.cpp.tools import CppTools
from pytest_crab.runtimes import RuntimeSettings
from tests.trial.conftest import build_base

pytestmark = [pytest.mark.bubblewrap, pytest.mark.cpp]

CMAKE = "cmake_minimum_required(VERSION 3.10)\nproject(shop C)\nadd_library(cart src/cart.c)\n"
HEADER = '#ifdef __cplusplus\nextern "C"\n#endif\nint total(const int *prices, int count);\n'
BASE = '#include "cart.h"\n\nint total(const int *prices, int count) {\n  int sum = COUNT;\n  return sum;\n}\n'
LOOP = "0; for (int i = 0; i < count; ++i) sum += prices[i]"
ORACLE = """\
#include <gtest/gtest.h>

#include "cart.h"

TEST(Total, IsZeroForNothing) { EXPECT_EQ(total(nullptr, 0), 0); }
TEST(Total, IsThePriceOfOne) {
  int prices[] = {4};
  EXPECT_EQ(total(prices, 1), 4);
}
"""


def source(start: str) -> str:
    return BASE.replace("COUNT", start)


def diff(before: str, after: str) -> str:
    return (
        "diff --git a/src/cart.c b/src/cart.c\n--- a/src/cart.c\n+++ b/src/cart.c\n@@ -1,6 +1,6 @@\n"
        ' #include "cart.h"\n \n int total(const int *prices, int count) {\n'
        f"-  int sum = {before};\n+  int sum = {after};\n   return sum;\n }}\n"
    )


def cart(lab: Any) -> Any:
    """Make the lab's instance one in C, with an oracle in C++."""
    version = CppTools().here()
    assert version is not None
    lab.put("project/CMakeLists.txt", CMAKE)
    lab.put("project/src/cart.h", HEADER)
    lab.put("project/src/cart.c", source("count"))
    lab.put("head.diff", diff("count", f"prices[0]; {LOOP[3:]}"))
    lab.put("reference.diff", diff(f"prices[0]; {LOOP[3:]}", LOOP))
    lab.put("checks/near.diff", diff(f"prices[0]; {LOOP[3:]}", "prices[0]"))
    lab.put("oracles/test_c0.cpp", ORACLE)
    lab.document["language"] = "c"
    lab.document["source"]["tree"]["path"] = "project"
    env = {"CPPFLAGS": "-Isrc", "LDLIBS": "build/libcart.a"}
    build = ["cmake -S . -B build -DCMAKE_BUILD_TYPE=Release", "cmake --build build"]
    version = version.version.split(".")[0]
    lab.document["environment"] = {"ecosystem": "cpp", "version": version, "build": build, "env": env, "timeout": "300"}
    lab.document["pass_to_pass"] = ["test", "-f", "build/libcart.a"]
    (first, _) = lab.document["comments"]
    first |= {"path": "src/cart.c", "lines": ["4", "4"]}
    first |= {"oracle": {"file": "oracles/test_c0.cpp", "runner": "gtest"}}
    first |= {"accepts": [], "rejects": ["checks/near.diff"]}
    lab.document["comments"] = [first]
    return lab


@pytest.fixture(scope="module")
def cpp_base() -> None:
    """The base image of this machine's GCC."""
    build_base(CppTools())


def judged(lab: Any) -> None:
    lab = cart(lab)
    lab.changes["settings"] = RuntimeSettings()
    lab.acting({"src/cart.c": source(LOOP)})
    trial = lab.trial()
    assert (trial.error, trial.regressions) == (None, False)
    assert lab.reasons(trial) == {"c0": "green"}
    assert [test.id for test in trial.results[0].tests] == ["Total.IsZeroForNothing", "Total.IsThePriceOfOne"]
    lab.acting({"src/cart.c": source("1")})
    assert lab.reasons(lab.trial()) == {"c0": "test failed"}
    lab.acting({"src/cart.c": source("no number")})
    assert lab.reasons(lab.trial()) == {"c0": "install broke"}
    assert lab.left() == []


@pytest.mark.slow(reason="each state is compiled")
def test_an_instance_in_c_is_proved_and_judged(lab: Any) -> None:
    judged(lab)


@pytest.mark.slow(reason="an image is built, and each state is compiled in a container")
@pytest.mark.docker
def test_an_instance_in_c_is_proved_and_judged_in_docker(cpp_base: None, make_lab: Callable[..., Any]) -> None:
    judged(make_lab("docker"))

"""Which runner goes with which environment, and how node's packages are pinned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instance

PYTHON = '  dockerfile: python\n  python: "3.11"\n  packages: [pytest==8.3.4]\n'
NODE = '  dockerfile: node\n  node: "20"\n'

FOR_NODE = "with an environment for node it should be node, jest, mocha, vitest or node-tests"


def written(write: Callable[..., Path], environment: str, oracle: str) -> Path:
    file = write("shop-7", (PYTHON, environment), ("oracle: oracles/test_c0.py", f"oracle: {oracle}"))
    for suffix in (".js", ".mjs", ".cjs", ".ts"):
        (file.parent / "oracles" / f"test_c0.test{suffix}").write_text("")
    return file


@pytest.mark.parametrize("suffix", ["js", "mjs", "cjs", "ts"])
def test_an_oracle_may_be_node_s(write_instance: Callable[..., Path], suffix: str) -> None:
    packages = "  packages: [left-pad@1.3.0, '@types/node@20.1.0', jest@30.0.0-beta.1]\n"
    oracle = f"{{file: oracles/test_c0.test.{suffix}, runner: node}}"
    instance = load_instance(written(write_instance, NODE + packages, oracle))
    assert instance.comments[0].required_oracle.runner == "node"
    assert instance.environment.node == "20"


@pytest.mark.parametrize(
    ("environment", "oracle", "sentence"),
    [
        (PYTHON, "{file: oracles/test_c0.test.js, runner: node}",
         "comments[0].oracle.runner is node, which is for node; with an environment for python it should be pytest"),
        (NODE, "oracles/test_c0.py",
         f"comments[0].oracle.runner is pytest, which is for python; {FOR_NODE}"),
        (NODE, "{file: oracles/test_c0.test.js, runner: jest, isolation: process}",
         "comments[0].oracle.isolation is process; with runner jest it should be none"),
        (NODE, "{file: oracles/test_c0.test.js, runner: jest, plugins: [x]}",
         "comments[0].oracle.plugins are pytest's; with runner jest there should be none"),
        (NODE + "  packages: [jest]\n", "{file: oracles/test_c0.test.js, runner: jest}",
         "environment.packages[0] is 'jest'; it should be pinned, as name@1.2.3, which is npm's way"),
        (NODE + "  packages: [jest@^29.0.0]\n", "{file: oracles/test_c0.test.js, runner: jest}",
         "environment.packages[0] is 'jest@^29.0.0'; it should be pinned, as name@1.2.3, which is npm's way"),
        (NODE + '  python: "3.11"\n', "{file: oracles/test_c0.test.js, runner: node}",
         "environment.python is set beside environment.node; it should be left out"),
        ("  dockerfile: node\n", "{file: oracles/test_c0.test.js, runner: jest}",
         "environment.node is missing; with dockerfile node it should be a version such as '20'"),
        (NODE.replace("20", "lts"), "{file: oracles/test_c0.test.js, runner: node}",
         "environment.node is 'lts'; it should be a version such as '20'"),
        (NODE + "  env: {NODE_OPTIONS: --require=./x.js}\n", "{file: oracles/test_c0.test.js, runner: node}",
         "environment.env.NODE_OPTIONS belongs to the harness; it should be left out"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_a_sentence(
    write_instance: Callable[..., Path], environment: str, oracle: str, sentence: str
) -> None:
    with pytest.raises(BadInput) as caught:
        load_instance(written(write_instance, environment, oracle))
    assert sentence in caught.value.problems


def test_pass_to_pass_may_be_a_runner_of_own_tests_and_its_files(write_instance: Callable[..., Path]) -> None:
    file = written(write_instance, NODE, "{file: oracles/test_c0.test.js, runner: node}")
    text = file.read_text()
    file.write_text(f"{text}pass_to_pass: [node-tests, test/cart.test.js]\n")
    assert load_instance(file).pass_to_pass == ("node-tests", "test/cart.test.js")
    for command, problem in (
        ("go-tests, cart_test.go", f"pass_to_pass[0] is go-tests, which is for go; {FOR_NODE}"),
        ("node-tests", "pass_to_pass is node-tests alone; it should name files of tests behind that"),
        ("node-tests, ../a.js", "pass_to_pass[1] is '../a.js'; it should be relative to the tree, without .."),
    ):
        file.write_text(f"{text}pass_to_pass: [{command}]\n")
        with pytest.raises(BadInput) as caught:
            load_instance(file)
        assert caught.value.problems == (problem,)

"""Node.js: its package managers, and its runners of tests."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from typing_extensions import override

from pytest_crab.ecosystems.contract import Ecosystem, Spelling
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.types import Environment, Oracle, OracleRunner

_NAME = r"[a-z0-9~][a-z0-9._~-]*"
_VERSION = re.compile(r"\d{1,2}(?:\.\d{1,3}){0,2}")

#: The first node with a JUnit reporter that holds what is needed, and the first that runs TypeScript.
_OLDEST = (20,)
_STRIPPING = (22, 6)


class Node(Ecosystem):
    """JavaScript and TypeScript. ``facts`` of an image that has node name the program, and its ``node_version``."""

    pin = Spelling(rf"(?:@{_NAME}/)?{_NAME}@\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?", "name@1.2.3, which is npm's way")
    runners = MappingProxyType(
        {
            OracleRunner.NODE: Spelling(r"\.test\.(?:[cm]?js|[cm]?ts)", ".test.js, .test.mjs, .test.cjs or .test.ts"),
            OracleRunner.JEST: Spelling(r"\.test\.[jt]s", ".test.js or .test.ts"),
        }
    )
    leftovers = Patterns(
        names=("node_modules", ".npm", ".nyc_output", ".eslintcache", "*.tsbuildinfo"),
        marks=("lcov.info", "coverage-final.json"),  # a report on coverage, whatever it is called
    )
    system_packages = ("/usr/lib/node_modules", "/usr/local/lib/node_modules", "/usr/share/nodejs")

    @override
    def owns(self, environment: Environment) -> bool:
        return environment.node is not None

    @override
    def environment_faults(self, environment: Environment) -> Iterator[str]:
        at = "environment"
        if environment.node is None:
            if environment.dockerfile == "node":
                yield f"{at}.node is missing; with dockerfile node it should be a version such as '20'"
            return
        if not _VERSION.fullmatch(environment.node):
            yield f"{at}.node is {environment.node!r}; it should be a version such as '20'"
        if environment.dockerfile == "python":
            yield f"{at}.node is set and the dockerfile is python; it should be node, or one of your own"
        for key, value in (("python", environment.python), ("resolved", environment.resolved)):
            if value is not None:
                yield f"{at}.{key} is set beside {at}.node; it should be left out"

    @override
    def unsupported_reason(self, facts: Mapping[str, Any], oracle: Oracle) -> str | None:
        if not facts.get("node"):
            more = ", and pin jest in environment.packages" if oracle.runner is OracleRunner.JEST else ""
            return (
                f"{oracle.runner} needs node, which is not in the environment: "
                f"set environment.dockerfile to node and environment.node to a version such as '20'{more}"
            )
        version = _version(facts)
        if oracle.runner is OracleRunner.NODE and version < _OLDEST:
            return f"node {facts['node_version']} has no JUnit reporter: environment.node should be 20 or later"
        if oracle.runner is OracleRunner.NODE and oracle.file.endswith(".ts") and version < _STRIPPING:
            return f"node {facts['node_version']} does not run TypeScript: environment.node should be 22.6 or later"
        return None

    @override
    def needs_install(self, changed: Iterable[str], compiled: Collection[str]) -> bool:
        """Return False: what is installed is the environment's, whatever a tree changes."""
        return False


def options(facts: Mapping[str, Any]) -> list[str]:
    """Return the options that this node needs to run TypeScript by itself; none where it does so unasked, or cannot."""
    version = _version(facts)
    unasked = version >= (23, 6) or (22, 18) <= version < (23,)
    return ["--experimental-strip-types"] if version >= _STRIPPING and not unasked else []


def _version(facts: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", str(facts.get("node_version", "")))[:2])

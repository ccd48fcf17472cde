"""Node.js: its package managers, and its runners of tests."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from typing_extensions import override

from pytest_crab.ecosystems.contract import OWN_TESTS, Ecosystem, Grammar, Messages, Names, Spelling, runner_source
from pytest_crab.ecosystems.node.linter import LINTER
from pytest_crab.ecosystems.node.tools import STRIPPING, NodeTools
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.ecosystems.toolchain import numbers
from pytest_crab.types import Environment, Oracle

_NAME = r"[a-z0-9~][a-z0-9._~-]*"
_VERSION = re.compile(r"\d{1,2}(?:\.\d{1,3}){0,2}")

_ENDS = {"javascript": (".js", ".jsx", ".mjs", ".cjs"), "typescript": (".ts", ".tsx", ".mts", ".cts")}

#: The runners that come as packages, each with a release for an oracle of which nothing else is known.
_INSTALLED = MappingProxyType({"jest": "29.7.0", "mocha": "11.1.0", "vitest": "3.0.5"})

#: What a project's script for tests says where it has them run so, without a loader of its own.
_SCRIPTS = MappingProxyType({**{name: rf"\b{name}\b" for name in _INSTALLED}, "node": r"\bnode --test\b"})

#: The first node with a JUnit reporter that holds what is needed.
_OLDEST = (20,)

#: What an oracle imports, and what makes one count on the tree that it runs in: its folder, files, other commands.
_IMPORTS = re.compile(r"""\b(?:from|import|require)\s*\(?\s*['"`]([^'"`\n]+)['"`]""")
_COMPUTED = re.compile(r"""\b(?:import|require)\s*\((?!\s*['"])|\b(?:import|from)\s*/""")
_TREE = re.compile(
    r"(?i)\bcwd\s*\(|chdir|\bimport\.meta|\b__(?:dirname|filename)|createRequire|\bfork\b|Worker"
    r"|exists|\bl?stat(?:Sync)?\b|\baccess|readdir|opendir|\bopen|readFile|readlink|createReadStream|\bexec(?:Sync)?\s*\("
)

#: Brings another package manager than npm; nothing of it lies in the tree.
_MANAGER = (
    'crab=$(mktemp -d) && npm install --prefix "$crab" --no-audit --no-fund {package} && '
    '"$crab/node_modules/.bin/{words}'
)

#: A bundler that many runners of tests start: its old releases are only there after a script of their own.
_BUNDLER = "! [ -f node_modules/esbuild/install.js ] || node node_modules/esbuild/install.js || true"

_TESTS = """\
(expression_statement
  (call_expression
    function: [(identifier) @call (member_expression object: (identifier) @call)] (#match? @call "^(it|test)$")
    arguments: (arguments . [(string) (template_string)] @name))) @test
"""

_STUB = """\
// Red on the pull request, green once {comment} is resolved ({place}).
// {stub}
import test from "node:test";

test("{comment}", () => {{
  throw new Error("to be written");
}});
"""


#: What stands in a stub for another runner, in place of what node's own has.
_STUB_CHANGES = MappingProxyType(
    {
        "vitest": (('import test from "node:test"', 'import {{test}} from "vitest"'),),
        "jest": (('import test from "node:test";\n\n', ""),),
        "mocha": (('import test from "node:test";\n\n', ""), ('test("', 'it("')),
    }
)


class Node(Ecosystem):
    """JavaScript and TypeScript."""

    name = "node"
    languages = MappingProxyType({end: one for one, ends in _ENDS.items() for end in ends})
    linter = LINTER
    grammars = MappingProxyType(
        {
            **dict.fromkeys(_ENDS["javascript"], Grammar("tree_sitter_javascript", tests=_TESTS)),
            **dict.fromkeys(
                _ENDS["typescript"], Grammar("tree_sitter_typescript", "language_typescript", tests=_TESTS)
            ),
            ".tsx": Grammar("tree_sitter_typescript", "language_tsx", tests=_TESTS),
        }
    )
    names = Names(
        running=r"\.mocharc\.\w+|(?:vitest|vite|jest|karma)\.(?:conf|config|workspace|projects|setup)\.\w+",
        dependencies=r"package\.json|(?:package-lock|npm-shrinkwrap)\.json|pnpm-lock\.yaml",
        variables=r"NODE_(?!ENV$)\w*",
        reading=r"readFileSync|readFile\(|createReadStream",
        settings=r"process\.env\.([A-Za-z_]\w*)|process\.env\[['\"](\w+)['\"]\]",
        form=r"eslint|prettier|jsdoc",
    )
    messages = Messages(
        banner=(
            r"Node\.js v\d|\s+at |\s*\.\.\. \d+ more$|error Command failed"
            r"|npm (?:ERR!|error|notice)\s*(?:$|A complete log|New \w+ version|/)"
        ),
        cause=r"(?:Uncaught )?[\w.$]*(?:Error|Exception)\b",
        telling=r"npm err!",
        pointing=r"npm (err!|error) (code|errno|syscall|path)\b",
        cause_first=r"npm (err!|error)",
    )
    proxy_variables = MappingProxyType({"NODE_USE_ENV_PROXY": "1"})
    tools = NodeTools()
    runner = runner_source(__name__)
    isolated_runners = frozenset({"node"})
    own_tests = runner_source(__name__, "own_tests")
    own_tests_words = (
        "They run under the vitest, jest, mocha or karma that package.json names; in a project with another runner, "
        "write them for node's own, `node:test`."
    )
    stub = _STUB
    stub_changes = _STUB_CHANGES
    installed_runners = _INSTALLED
    pin = Spelling(rf"(?:@{_NAME}/)?{_NAME}@\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?", "name@1.2.3, which is npm's way")
    runners = MappingProxyType(
        {
            "node": Spelling(r"\.test\.(?:[cm]?js|[cm]?ts)", ".test.mjs, .test.js, .test.cjs or .test.ts"),
            "jest": Spelling(r"\.test\.[jt]s", ".test.js or .test.ts"),
            "mocha": Spelling(r"\.test\.[cm]?[jt]s", ".test.js, .test.cjs, .test.mjs or .test.ts"),
            "vitest": Spelling(r"\.test\.[cm]?[jt]sx?", ".test.ts, .test.js, .test.mjs or .test.tsx"),
            "node-tests": OWN_TESTS,
        }
    )
    leftovers = Patterns(
        names=("node_modules", ".npm", ".nyc_output", ".eslintcache", "*.tsbuildinfo"),
        marks=("lcov.info", "coverage-final.json"),  # a report on coverage, whatever it is called
    )
    system_packages = ("/usr/lib/node_modules", "/usr/local/lib/node_modules", "/usr/share/nodejs")

    @override
    def owns(self, environment: Environment) -> bool:
        return environment.node is not None and environment.ecosystem is None

    @override
    def version(self, environment: Environment) -> str | None:
        return environment.node

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
    def proposals(self, tree: Path, files: Sequence[str]) -> Iterator[Environment]:
        """The node of this machine with what the lock names, and then with the project's own build before its tests."""
        said = manifest(tree)
        version = str(numbers(self.tools.find("").version)[0])
        yarns = sorted(f".yarn/releases/{path.name}" for path in (tree / ".yarn" / "releases").glob("yarn-*.cjs"))
        start = Environment(
            dockerfile=self.name,
            node=version,
            install=_install(lambda name: (tree / name).exists(), said, yarns[-1] if yarns else ""),
        )
        yield start
        if "build" in _table(said, "scripts"):
            yield dataclasses.replace(start, build=("npm run build",))

    @override
    def start(self, runner: str) -> Environment:
        packages = (f"{runner}@{_INSTALLED[runner]}",) if runner in _INSTALLED else ()
        return Environment(dockerfile=self.name, node=self.tools.usual, packages=packages)

    @override
    def draft(self, language: str, read: Callable[[str], str]) -> tuple[str, Environment]:
        """Take the runner that the project has its own tests run by.

        Where it has none, node's own runs JavaScript, and vitest TypeScript, which node does from 22.6 on only.
        """
        said = _parsed(read("package.json"))
        asked = {name for key in ("dependencies", "devDependencies") for name in _table(said, key)}
        script = str(_table(said, "scripts").get("test", ""))
        named = [name for name, words in _SCRIPTS.items() if re.search(words, script)]
        is_typed = language == "typescript"
        runner = next((name for name in (*named, *_INSTALLED) if name in asked or name in named), None)
        runner = runner or ("vitest" if is_typed else "node")
        start = self.start(runner)
        if is_typed and runner == "node":
            start = dataclasses.replace(start, node=str(STRIPPING[0]))
        if not asked:
            return runner, start
        yarn = re.search(r"(?m)^yarnPath: *(\S+)", read(".yarnrc.yml"))
        install = _install(lambda name: bool(read(name)), said, yarn[1] if yarn else "")
        if runner in _INSTALLED and runner not in asked:
            install += (f"npm install --no-save --ignore-scripts --no-audit --no-fund {start.packages[0]}",)
        return runner, dataclasses.replace(start, packages=(), install=install)

    @override
    def licences(self, read: Callable[[str], str]) -> Iterator[str]:
        try:
            named = json.loads(read("package.json")).get("license")
        except (ValueError, AttributeError):
            return
        if isinstance(named, str):
            yield named

    @override
    def only_starts_project(self, source: str) -> bool:
        """One that names node as a program, imports node's own modules alone and counts on no file of the tree."""
        if (
            not re.search(r"\bprocess\.execPath\b|\bCRAB_PROGRAM\b", source)
            or _TREE.search(source)
            or _COMPUTED.search(source)
        ):
            return False
        return all(name.startswith("node:") for name in _IMPORTS.findall(source))

    @override
    def unsupported_reason(self, facts: Mapping[str, Any], oracle: Oracle) -> str | None:
        found = facts.get("tools", {}).get(self.name)
        if not found:
            more = f", and pin {oracle.runner} in environment.packages" if oracle.runner in _INSTALLED else ""
            return (
                f"{oracle.runner} needs node, which is not in the environment: "
                f"set environment.dockerfile to node and environment.node to a version such as '20'{more}"
            )
        version = numbers(found["version"])
        if oracle.runner == "node" and version < _OLDEST:
            return f"node {found['version']} has no JUnit reporter: environment.node should be 20 or later"
        if oracle.runner == "node" and oracle.file.endswith("ts") and version < STRIPPING:
            return f"node {found['version']} does not run TypeScript: environment.node should be 22.6 or later"
        return None


def manifest(tree: Path) -> Mapping[str, Any]:
    """Return what a tree's package.json says; nothing where it cannot be read."""
    try:
        return _parsed((tree / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _table(said: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = said.get(key)
    return found if isinstance(found, dict) else {}


def _install(has: Callable[[str], bool], said: Mapping[str, Any], yarn: str) -> tuple[str, ...]:
    """Return what installs what a tree asks for; no package runs a script of its own.

    ``has`` says whether the tree has a file, and ``yarn`` is where the tree has its own yarn, if it has one.
    """
    asked = str(said.get("packageManager", "")).partition("+")[0]
    if has("pnpm-lock.yaml"):
        package = asked if asked.startswith("pnpm@") else "pnpm@9"
        words = 'pnpm" install --frozen-lockfile --ignore-scripts'
        return (_MANAGER.format(package=package, words=words),)
    if has("yarn.lock"):
        if yarn:
            return (f"node {yarn} install --immutable --mode=skip-build",)
        words = 'yarn" install --frozen-lockfile --ignore-scripts --non-interactive'
        return (_MANAGER.format(package="yarn@1", words=words),)
    locked = any(map(has, ("package-lock.json", "npm-shrinkwrap.json")))
    command = f"npm {'ci' if locked else 'install'} --ignore-scripts --no-audit --no-fund"
    return (f"{command} || {command} --legacy-peer-deps", _BUNDLER)

"""Java: its Maven projects, and JUnit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

from typing_extensions import override

from pytest_crab.ecosystems.contract import (
    OWN_TESTS,
    Ecosystem,
    Grammar,
    Messages,
    Names,
    Spelling,
    nearest_folders,
    runner_source,
)
from pytest_crab.ecosystems.java.linter import LINTER
from pytest_crab.ecosystems.java.tools import JavaTools
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: Where poms say which Java the sources are in, if that is one that no JDK from 17 on takes: "1.7" is the oldest.
_OLD_LEVEL = r"<(java\.version|(maven\.compiler\.)?(source|target|testSource|testTarget))>1\.[1-6]</"
_RAISE = f"find . -name pom.xml -exec sed -E -i 's#{_OLD_LEVEL}#<\\1>{{level}}</#g' {{{{}}}} +"
#: What such a level becomes, the nearest first: from 9 on more is allowed than in 7.
_LEVELS = ("1.7", "9")

#: A project's own pom lies at the root of its tree, or in a folder there.
_DEPTH = 3

_TESTS = """\
(method_declaration (modifiers) @mark (#match? @mark "@\\\\w*Test\\\\b") name: (identifier) @name) @test
"""

_STUB = """\
// Red on the pull request, green once {comment} is resolved ({place}).
// {stub}
import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.Test;

class {comment}_test {{
    @Test
    void {comment}() {{
        fail("to be written");
    }}
}}
"""


class Java(Ecosystem):
    """Java with Maven, whose pom.xml pins the packages. Oracles are classes for JUnit 4 or 5."""

    name = "java"
    languages = MappingProxyType({".java": "java"})
    linter = LINTER
    grammars = MappingProxyType({".java": Grammar("tree_sitter_java", tests=_TESTS)})
    names = Names(
        tests=r"Tests?\.java$",
        dependencies=r"pom\.xml|build\.gradle(?:\.kts)?",
        settings=r"System\.(?:getenv|getProperty)\(\"([\w.]+)\"|@Value\(\"\$\{([\w.-]+)",
        form=r"checkstyle|spotless|javadocs?",
    )
    messages = Messages(
        banner=r"\s+at [\w.$/]+\(|\s+\.\.\. \d+ more$|\[ERROR\] *(?:$|\[Help|To see the full|Re-run Maven|For more)",
        cause=r"Exception in thread|Caused by: |\[ERROR\] (?:Failed|COMPILATION|/)",
        telling=r"\[ERROR\] (?:Failed to execute|/)",
        pointing=r"^\[ERROR\] *(?:$|-> \[Help|COMPILATION ERROR|To see the full|Failed to .*: Compilation failure)",
    )
    tools = JavaTools()
    runner = runner_source(__name__)
    own_tests = runner_source(__name__, "own_tests")
    stub = _STUB
    is_beside_code = True
    versions = Spelling(r"\d{1,2}(?:\.\d{1,3}){0,2}", "a JDK, such as '17'")
    #: The first JDK that has all options that oracles are compiled and run with.
    oldest = "11"
    pinned_by = "pom.xml pins what Maven takes"
    own_variables = MappingProxyType(
        {
            "MAVEN_OPTS": ", whose Maven reads its repository by it; it should be left out, and what a test's JVM "
            "needs be in JDK_JAVA_OPTIONS"
        }
    )
    pin = Spelling(r"[A-Za-z0-9._-]+:[A-Za-z0-9._-]+:\d\S*", "org.example:shop:1.2.3")
    runners = MappingProxyType({"junit": Spelling(r"\.java", ".java"), "java-tests": OWN_TESTS})
    leftovers = Patterns(names=(), marks=("maven-status", "crab-classpath", "surefire-reports"))
    system_packages = ("/usr/share/java", "/usr/share/maven-repo")

    @override
    def proposals(self, tree: Path, files: Sequence[str]) -> Iterator[Environment]:
        """The JDK of this machine for the modules of the files, with sources of a Java that it takes."""
        poms = [path for path in tree.rglob("pom.xml") if "src" not in path.relative_to(tree).parts]
        if not any(len(path.relative_to(tree).parts) < _DEPTH for path in poms):
            raise ImageError("there is no pom.xml, and nothing here builds Java without Maven")
        modules = [folder for folder in nearest_folders(tree, files, _is_module) if folder != "."]
        env = {"MAVEN_ARGS": f"-pl {','.join(modules)} -am"} if modules and tree / "pom.xml" in poms else {}
        old = any(re.search(_OLD_LEVEL, path.read_text("utf-8", "replace")) for path in poms)
        version = self.tools.find("").version.partition(".")[0]
        for build in [(_RAISE.format(level=level),) for level in _LEVELS] if old else [None]:
            yield Environment(ecosystem=self.name, version=version, env=env, build=build)

    @override
    def is_told(self, run_id: str, path: str, name: str) -> bool:
        module, _, told = run_id.partition(":")
        owner, _, title = told.partition("#")
        file = f"/{owner.partition('$')[0].replace('.', '/')}.java"
        inside = module == "." or path.startswith(f"{module}/")
        return inside and f"/{path}".endswith(file) and re.split(r"\W", title)[0] == name


def _is_module(folder: Path) -> bool:
    return (folder / "pom.xml").exists()

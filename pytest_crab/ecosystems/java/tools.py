"""The JDK and the Maven of this machine, and what a build notes for the runs of oracles."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from pytest_crab.ecosystems.building import install_script
from pytest_crab.ecosystems.toolchain import Tool, Tools, version_in
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: Where programs are looked for in a sandbox.
_SEEN = "/usr/local/bin:/usr/bin:/bin"
#: Where systems put JDKs beside the one that is on PATH.
_JDKS = "/usr/lib/jvm"
#: Folders of a JDK that no oracle needs, and libraries for screens, sound and cards, with all that they ask for.
_NOT_NEEDED = {"man", "legal", "docs", "demo", "sample", "src.zip", "jmods", "include"}
_FOR_SCREENS = {"libawt_xawt", "libsplashscreen", "libjsound", "libj2pcsc", "libjawt", "libatk-wrapper"}

#: Notes what Maven asks of javac, with the folder that it asks in, and does it: without ErrorProne, which only looks,
#: and whose options fall apart here where they have several lines, and without failing for a warning. Maven's own JVM
#: takes the options that plugins of the compiler need from a file of the project's; this JVM is another.
_JAVAC = """\
#!/bin/sh
case $1 in -version | --version) exec javac "$@" ;; esac
joined='s/(--[a-z-]+)[[:space:]]+([^-[:space:]])/\\1=\\2/g'
for option in $(sed -E "$joined" "$MAVEN_PROJECTBASEDIR/.mvn/jvm.config" 2> /dev/null); do
    set -- "-J$option" "$@"
done
left='/-Xplugin:ErrorProne/d; /^[[:space:]]*-Xep/d; /^"*-Werror"*$/d; /^[[:space:]]*"\\{0,1\\}$/d'
for word; do
    case $word in @*) sed -i -e "$left" "${word#@}" ;; esac
done
file=$(printf '%s/javac/%06d.%d' "$CRAB_JAVA" "$(ls "$CRAB_JAVA/javac" | wc -l)" $$)
{
    pwd
    for word; do
        case $word in @*) cat "${word#@}"; echo ;; *) printf '"%s"\\n' "$word" ;; esac
    done
} > "$file"
exec javac "$@"
"""
#: What oracles are written with, whatever the project takes for its own tests.
_JUNIT = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>pytest-crab</groupId><artifactId>junit</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.junit.platform</groupId>
      <artifactId>junit-platform-console-standalone</artifactId>
      <version>1.11.4</version>
    </dependency>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version></dependency>
  </dependencies>
</project>
"""
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
#: Maven does not read the variables that name proxies, so its JVM is told.
_PROXIES = """\
crab_proxy() {
    [ -n "$2" ] || return 0
    at=${2#*://} at=${at##*@} at=${at%%/*}
    case $at in *:*) ;; *) at=$at:80 ;; esac
    export JAVA_TOOL_OPTIONS="${JAVA_TOOL_OPTIONS:-} -D$1.proxyHost=${at%:*} -D$1.proxyPort=${at##*:}"
}
crab_proxy http "${http_proxy:-${HTTP_PROXY:-}}"
crab_proxy https "${https_proxy:-${HTTPS_PROXY:-}}"
"""
#: Maven ends before optimised code pays: without, it takes half of its time. A collector is the tree's own to choose.
_QUICK = "-XX:TieredStopAtLevel=1"
#: Compiles the tree and its tests, and notes how, and with which class path. What install commands compiled is
#: compiled anew. Where the root is no project, each folder below it that is one.
_COMPILE = f"""\
mkdir -p "$CRAB_JAVA/m2" "$CRAB_JAVA/javac" "$CRAB_JAVA/junit"
cat > "$CRAB_JAVA/javac.sh" << 'crab'
{_JAVAC}crab
chmod +x "$CRAB_JAVA/javac.sh"
cat > "$CRAB_JAVA/pom.xml" << 'crab'
{_JUNIT}crab
printf '%s\\n' "$PWD" "$CRAB_JAVA" > "$CRAB_JAVA/root"
(cd "$CRAB_JAVA" && mvn -B -ntp -q {_PLUGIN}:copy-dependencies -DoutputDirectory="$CRAB_JAVA/junit")
find . -path '*/target/*' -name '*.class' -delete
find . -path '*/target/maven-status' -prune -exec rm -rf {{}} +
poms=pom.xml
[ -f pom.xml ] || poms=$(ls -- */pom.xml)
for pom in $poms; do
    mvn -B -ntp -q -f "$pom" $MAVEN_ARGS -Dmaven.test.skip=false -Dmaven.compiler.fork=true \\
        -Dmaven.compiler.executable="$CRAB_JAVA/javac.sh" test-compile {_PLUGIN}:build-classpath \\
        -Dmdep.outputFile=target/crab-classpath -Dmdep.includeScope=test -Dmdep.pathSeparator=:
done
chmod -R a+rX "$CRAB_JAVA"
"""


class JavaTools(Tools):
    """A JDK with Maven."""

    name = "java"
    program = "javac"
    version_arguments = ("-version",)
    source = "apt-get install default-jdk maven"
    public_base = "maven:3-eclipse-temurin-{version}"
    usual = "17"
    takes = 30
    has_caches = True
    handed_on = ("m2",)

    @override
    def find(self, wanted: str) -> Tool:
        """Return the JDK on PATH, or another of this machine if that is not of the version wanted."""
        _maven()
        found = self.here()
        for tool in ([found] if found else []) + [*_others()]:
            if tool.version == wanted or tool.version.startswith(f"{wanted}."):
                return tool
        return super().find(wanted)

    @override
    def lacks(self) -> Iterator[str]:
        try:
            _maven()
        except ImageError as error:
            yield str(error)

    @override
    def binds(self, tool: Tool) -> dict[str, str]:
        """The JDK with its configuration, and Maven's, which systems keep below /etc."""
        maven = _maven()
        homes = [home for home in (Path(tool.program).parent.parent, maven) if str(home) not in ("/usr", "/usr/local")]
        places = {str(place) for home in homes for place in _configuration(home)}
        places |= set() if maven.is_relative_to("/usr") else {str(maven)}
        return {**super().binds(tool), **{place: place for place in sorted(places)}}

    @override
    def build_script(self, environment: Environment) -> str:
        return f"{_PROXIES}{install_script(environment)}{_COMPILE}"

    @override
    def copy(self, tool: Tool, root: Path) -> list[Path]:
        """The JDK without what is for screens, and Maven, each with what their links lead to."""
        jdk, local = Path(tool.program).parent.parent, root / "usr/local"

        def not_needed(folder: str, names: list[str]) -> set[str]:
            heavy = {name for name in names if name.partition(".")[0] in _FOR_SCREENS}
            dangling = {name for name in names if not Path(folder, name).exists()}
            return heavy | dangling | (_NOT_NEEDED & set(names) if Path(folder) == jdk else set())

        shutil.copytree(jdk, local / "jdk", ignore=not_needed)
        shutil.copytree(_maven(), local / "maven", ignore=not_needed)
        (local / "bin").mkdir(parents=True, exist_ok=True)
        for name in ("java", "javac", "jar"):
            (local / "bin" / name).symlink_to(f"../jdk/bin/{name}")
        (local / "bin/mvn").symlink_to("../maven/bin/mvn")
        libraries = [path for path in (jdk / "lib").rglob("*.so") if path.stem not in _FOR_SCREENS]
        return [jdk / "bin/java", *libraries]

    @override
    def variables(self, version: str, caches: str) -> dict[str, str]:
        """The folder with what a build noted, and the repository in it, which Maven takes whatever the tree says."""
        return {"CRAB_JAVA": caches, "MAVEN_OPTS": f"-Xmx1g {_QUICK} -Dmaven.repo.local={caches}/m2"}


def _maven() -> Path:
    """Return Maven's folder. Raises ImageError."""
    found = shutil.which("mvn", path=_SEEN)
    if found is None:
        raise ImageError(
            f"java needs Maven, and there is no mvn in {_SEEN}; install it (apt-get install maven), or link it from "
            "/usr/local/bin",
            of_machine=True,
        )
    return Path(found).resolve().parent.parent


@functools.cache
def _others() -> tuple[Tool, ...]:
    """Return the JDKs that lie where systems put them."""
    found = []
    for place in sorted(Path(_JDKS).glob("*/release")):
        program, version = place.parent / "bin/javac", None
        for line in place.read_text(encoding="utf-8", errors="replace").split("\n"):
            version = version_in(line) if line.startswith("JAVA_VERSION=") else version
        if version is not None and program.is_file():
            found.append(Tool(name=JavaTools.name, version=version, program=str(program.resolve())))
    return tuple(found)


def _configuration(home: Path) -> Iterator[Path]:
    """Yield the places below /etc that links of an installation lead to: folders of its own, else the files."""
    for place in (link.resolve() for link in home.rglob("*") if link.is_symlink()):
        if place.is_relative_to("/etc") and place.exists():
            folder = Path("/etc", place.relative_to("/etc").parts[0])
            yield place if folder.name in ("ssl", "alternatives") else folder

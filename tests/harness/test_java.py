"""Oracles under JUnit: the same contract as pytest's, what is compiled anew, and what a revision may try."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab import harness, verdict
from pytest_crab.ecosystems.java.tools import JavaTools
from pytest_crab.protocols import FileChange
from pytest_crab.types import Ending, Environment, Oracle, Reason, Run
from tests.harness.conftest import Bench, changed, proof, told

pytestmark = [pytest.mark.java, pytest.mark.slow(reason="Maven builds a project, and each oracle is compiled")]

POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>{name}</artifactId><version>1</version>
  {more}
</project>
"""
ROOT = POM.format(
    name="all",
    more="<packaging>pom</packaging><modules><module>core</module><module>shop</module></modules><properties>"
    "<maven.compiler.release>11</maven.compiler.release>"
    "<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties><build><plugins><plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version>"
    "</plugin></plugins></build>",
)
CHILD = "<parent><groupId>org.example</groupId><artifactId>all</artifactId><version>1</version></parent>"
NEEDS = (
    "<dependencies><dependency><groupId>org.example</groupId><artifactId>core</artifactId><version>1</version>"
    "</dependency><dependency><groupId>org.junit.platform</groupId><artifactId>junit-platform-launcher</artifactId>"
    "<version>1.11.4</version><scope>provided</scope></dependency><dependency><groupId>org.junit.jupiter</groupId>"
    "<artifactId>junit-jupiter-api</artifactId><version>5.11.4</version><scope>provided</scope></dependency>"
    "</dependencies>"
)
#: A module with a processor of its own does not compile by it.
WITHOUT = (
    "<build><plugins><plugin><artifactId>maven-compiler-plugin</artifactId><configuration><proc>none</proc>"
    "</configuration></plugin></plugins></build>"
)
SUM = (
    "package core;\n\npublic class Sum {\n    public static int add(int a, int b) {\n        return a + b;\n    }\n}\n"
)
CART = "package shop;\n\npublic class Cart {\n    public static int total(int... prices) {\n        int sum = 0;\n        for (int price : prices) sum = core.Sum.add(sum, price);\n        return sum;\n    }\n}\n"  # noqa: E501 - code in a text
BAD = CART.replace("core.Sum.add(sum, price)", "sum - price")
TREE = {
    "pom.xml": ROOT,
    "core/pom.xml": POM.format(name="core", more=CHILD),
    "core/src/main/java/core/Sum.java": SUM,
    "shop/pom.xml": POM.format(name="shop", more=CHILD + NEEDS),
    "shop/src/main/java/shop/Cart.java": CART,
    "shop/src/main/resources/names.txt": "a name",
    "shop/src/test/java/shop/Prices.java": "package shop;\n\nclass Prices {\n    static final int ONE = 4;\n}\n",
}
HEAD = "package shop;\n\nimport static org.junit.jupiter.api.Assertions.*;\n\nimport org.junit.jupiter.api.*;\n\n"
TOTAL = HEAD + "class CartOracle {\n    @Test void total() { assertEquals(3, Cart.total(1, 2)); }\n}\n"
RESOURCES = "shop/src/main/resources"
EACH_WAY = """\
class CartOracle {
    @Test void total() { assertEquals(Prices.ONE, Cart.total(4)); }
    @Test void read() { assertNotNull(Cart.class.getResource("/names.txt")); }
    @Disabled @Test void later() { }
    @Test void assumed() { Assumptions.assumeTrue(Cart.total() == 1); }
    @ParameterizedTest @ValueSource(ints = {1, 2}) void same(int price) { assertEquals(price, Cart.total(price)); }
    @Nested class Empty { @Test void none() { assertEquals(0, Cart.total()); } }
    @TestFactory java.util.List<DynamicTest> made() {
        return java.util.Arrays.asList(DynamicTest.dynamicTest("a", () -> { }));
    }
}

"""
ADDING = "core/src/main/java/core/Sum.java"
CODE = "shop/src/main/java/shop/Cart.java"
NAME = "shop.CartOracle#total"


@pytest.fixture(scope="session")
def built(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Callable[[Path], dict[str, Any]]:
    """Lay out a project as Maven built it; return its tool."""
    tools = JavaTools()
    found = tools.here()
    assert found is not None

    def build(folder: Path) -> None:
        for path, text in TREE.items():
            (folder / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "tree" / path).write_text(text)
        script = tools.build_script(Environment(ecosystem="java", version=found.version))
        env = {"HOME": str(folder), "PATH": f"{Path(found.program).parent}:/usr/bin:/bin"}
        env |= {**tools.variables(found.version, str(folder / "caches")), **tools.route_env()}
        subprocess.run(["sh", "-c", script], cwd=folder / "tree", env=env, check=True, capture_output=True)

    folder = made_once("java", build)
    tool = dataclasses.asdict(tools.placed(found, str(folder / "caches")))

    def lay_out(place: Path) -> dict[str, Any]:
        shutil.copytree(folder / "tree", place, dirs_exist_ok=True)
        return tool

    return lay_out


class JavaBench:
    """The harness's bench with a JDK, and a project of two modules."""

    def __init__(self, bench: Bench, built: Callable[[Path], dict[str, Any]]) -> None:
        self.bench = bench
        bench.facts = {"tools": {"java": built(bench.folder / "tree")}}

    def run(self, source: str, *changes: FileChange, folder: str = "shop", seconds: float = 90) -> Run:
        oracle = Oracle(file="oracles/test_c0.java", runner="junit", folder=folder)
        run = harness.OracleRun(id="c0", state="now", seconds=seconds, oracle=oracle, source=source)
        report = self.bench.report([run], now=changes)
        assert report.problems == ()
        return report.runs[0]


@pytest.fixture
def java(bench: Bench, built: Callable[[Path], dict[str, Any]]) -> JavaBench:
    return JavaBench(bench, built)


def reason(run: Run, name: str = NAME) -> Reason:
    return verdict.judge(proof(name), run).reason


def test_a_green_oracle_is_caught_and_a_red_one_is_properly_red(java: JavaBench) -> None:
    green = java.run(TOTAL)
    assert (green.ending, green.exit_code, green.tripwire, green.altered) == (Ending.COMPLETED, 1, True, ())
    assert told(green) == {NAME: "passed"}
    assert reason(green) is Reason.GREEN
    red = java.run(TOTAL, changed(CODE, BAD))
    assert verdict.not_red(proof(NAME), red) is None


def test_what_failed_tests_say_is_told_where_it_is_asked_for(java: JavaBench) -> None:
    oracle = Oracle(file="oracles/test_c0.java", runner="junit", folder="shop")
    assert "<3>" in java.bench.quoted(oracle, TOTAL, changed(CODE, BAD))[NAME]
    assert "Carts" in java.bench.quoted(oracle, TOTAL.replace("Cart.total", "Carts.total"))["session"]


def test_what_is_compiled_anew_is_what_changed_and_what_takes_it(java: JavaBench) -> None:
    """Whatever the times of files say: these are older than all that was built."""
    other = changed("core/src/main/java/core/Sum.java", SUM.replace("a + b", "a + b + 1"))
    run = java.run(TOTAL, other)
    assert told(run) == {NAME: "failed"}
    again = changed(CODE, BAD.replace("sum - price", "sum + price"))
    assert reason(java.run(TOTAL, again, added("shop.Process", "class %s { }"))) is Reason.GREEN


def test_what_the_oracles_module_does_not_take_may_be_broken(java: JavaBench) -> None:
    source = TOTAL.replace("package shop", "package core").replace("Cart.total(1, 2)", "Sum.add(1, 2)")
    assert told(java.run(source, changed(CODE, "broken"), folder="core")) == {"core.CartOracle#total": "passed"}


def test_what_throws_is_told_with_its_place_and_hides_no_other_test(java: JavaBench) -> None:
    trace = 'new StackTraceElement[] {new StackTraceElement("shop.Cart", "total", "Cart.java\\t1\\t2\\n", 1)}'
    odd = f"if (sum > 8) {{ RuntimeException e = new RuntimeException(); e.setStackTrace({trace}); throw e; }}"
    throws = CART.replace("int sum = 0;", f"int sum = prices[0]; {odd}")
    more = "    @Test void none() { assertEquals(0, Cart.total()); }\n    @Test void odd() { Cart.total(9); }\n"
    source = TOTAL.replace("}\n}\n", f"}}\n{more}}}\n")
    source = source.replace("3,", "4,")
    run = java.run(source, changed(CODE, throws))
    assert told(run) == {NAME: "passed", "shop.CartOracle#none": "failed", "shop.CartOracle#odd": "failed"}
    assert {test.id[16:]: (test.exception, test.where) for test in run.tests if test.outcome == "failed"} == {
        "none": ("ArrayIndexOutOfBoundsException", f"{CODE}:5"),
        "odd": ("RuntimeException", None),
    }
    assert verdict.not_red(proof(*told(run)), run) is None


def test_each_way_to_write_a_test_has_its_name_and_what_is_skipped_is_never_passed(java: JavaBench) -> None:
    more = "import org.junit.jupiter.params.*;\nimport org.junit.jupiter.params.provider.*;\n"
    source = HEAD.replace("import org.junit.jupiter.api.*", f"{more}import org.junit.jupiter.api.*") + EACH_WAY
    old = (
        "class OldOracle {\n    @org.junit.Test public void total() { org.junit.Assert.assertEquals(0, Cart.total()); }"
    )
    run = java.run(source + f"public {old}\n}}\n")
    assert told(run) == {
        NAME: "passed",
        "shop.CartOracle#read": "passed",
        "shop.CartOracle#later": "skipped",
        "shop.CartOracle#assumed": "skipped",
        "shop.CartOracle#same(int)[1]": "passed",
        "shop.CartOracle#same(int)[2]": "passed",
        "shop.CartOracle$Empty#none": "passed",
        "shop.CartOracle#made()[1]": "passed",
        "shop.OldOracle#total": "passed",
    }
    assert verdict.judge(proof(*told(run)), run).reason is Reason.SKIPPED


@pytest.mark.parametrize(
    ("changes", "exception", "where"),
    [
        ([changed(CODE, CART.replace("total", "sum"))], "BuildFailed", None),
        ([changed(CODE, CART.replace("return sum", "return none"))], "BuildFailed", f"{CODE}:7"),
        (
            [changed("shop/pom.xml", TREE["shop/pom.xml"].replace("core</a", "other</a"))],
            "MissingModule",
            None,
        ),
    ],
    ids=["oracle", "source", "artifact"],
)
def test_what_does_not_build_is_an_error_and_not_red(
    java: JavaBench, changes: list[FileChange], exception: str, where: str | None
) -> None:
    run = java.run(TOTAL, *changes)
    assert [(test.id, test.outcome, test.exception, test.where) for test in run.tests] == [
        ("session", "error", exception, where)
    ]
    assert verdict.not_red(proof(NAME), run) is not None


def test_maven_builds_where_something_else_than_a_source_changed(java: JavaBench) -> None:
    source = TOTAL.replace("assertEquals(3", 'assertNotNull(Cart.class.getResource("/more.txt")); assertEquals(3')
    more = changed("shop/src/main/resources/more.txt", "more")
    assert told(java.run(source, more)) == {NAME: "passed"}
    assert told(java.run(source, more, changed(CODE, BAD))) == {NAME: "failed"}


def test_a_hang_times_out_and_an_oracle_of_no_module_is_said(java: JavaBench) -> None:
    endless = TOTAL.replace("total() {", "total() throws Exception { Thread.sleep(3600000);")
    assert java.run(endless, seconds=8).ending is Ending.TIMEOUT
    assert told(java.run(TOTAL, folder="shop/src/none")) == {"session": "error"}


def answering(text: str) -> FileChange:
    """The cart with this text before its sum, which is wrong."""
    return changed(CODE, BAD.replace("int sum = 0;", f"int sum = 0; {text}"))


def added(name: str, text: str) -> FileChange:
    """A class of the revision's own."""
    package, _, simple = name.rpartition(".")
    return changed(f"shop/src/main/java/{name.replace('.', '/')}.java", f"package {package};\n\n{text % simple}\n")


ASSERTIONS = "public class %s {\n    public static void assertEquals(int a, int b) { }\n}"
LISTENER = (
    "public class %s implements org.junit.platform.launcher.LauncherSessionListener {\n"
    "    public void launcherSessionOpened(org.junit.platform.launcher.LauncherSession session) { System.exit(0); }\n}"
)
SERVICE = "META-INF/services/org.junit.platform.launcher.LauncherSessionListener"
INTERCEPTOR = (
    "import java.lang.reflect.Method;\nimport org.junit.jupiter.api.extension.*;\n\n"
    "public class %s implements InvocationInterceptor {\n"
    "    public void interceptTestMethod(Invocation<Void> test, ReflectiveInvocationContext<Method> method,\n"
    "            ExtensionContext context) {\n        test.skip();\n    }\n}"
)
EXTENSION = "META-INF/services/org.junit.jupiter.api.extension.Extension"
DETECTED = "junit.jupiter.extensions.autodetection.enabled=true\n"
PROCESSORS = "META-INF/services/javax.annotation.processing.Processor"
ABORTED = (
    'throw (RuntimeException) Class.forName("org.opentest4j.TestAbortedException").getConstructor().newInstance();'
)
ATTACKS = {
    "exit": ([answering("System.exit(0);")], Reason.EXITED),
    "assumed": ([answering(f"try {{ {ABORTED} }} catch (ReflectiveOperationException e) {{ }}")], Reason.SKIPPED),
    "assertions": ([changed(CODE, BAD), added("org.junit.jupiter.api.Assertions", ASSERTIONS)], Reason.FAILED),
    "assertions beside": ([changed(CODE, BAD), added("shop.Assertions", ASSERTIONS)], Reason.TAMPERED),
    "reading": ([answering('if (Cart.class.getResource("CartOracle.class") != null) return 3;')], Reason.FAILED),
    "listener": (
        [changed(CODE, BAD), added("shop.Listener", LISTENER), changed(f"{RESOURCES}/{SERVICE}", "shop.Listener\n")],
        Reason.FAILED,
    ),
    "interceptor": (
        [
            changed(CODE, BAD),
            added("shop.Skipping", INTERCEPTOR),
            changed(f"{RESOURCES}/{EXTENSION}", "shop.Skipping\n"),
            changed(f"{RESOURCES}/junit-platform.properties", DETECTED),
        ],
        Reason.FAILED,
    ),
}


#: An option of the JVM, which ends here before code that is optimised pays.
QUICK = "-XX:TieredStopAtLevel=1"


def compile_plainly(folder: Path, tool: dict[str, Any], changes: list[FileChange], *options: str) -> int:
    """Write the tree's sources with these changes below a folder, and compile all that lies there; javac's status."""
    for change in changes:
        _, is_resource, inner = change.path.partition("src/main/resources/")
        place = folder / (f"classes/{inner}" if is_resource else change.path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(change.content or b"")
    javac = [tool["program"], f"-J{QUICK}", *options, "-d", folder / "classes", "-cp", class_path(folder, tool)]
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(folder / "tmp")}
    done = subprocess.run([*javac, *folder.rglob("*.java")], check=False, capture_output=True, cwd=folder, env=env)
    return done.returncode


def class_path(folder: Path, tool: dict[str, Any]) -> str:
    """The project's classes before JUnit's, as build tools have them."""
    jars = Path(tool["env"]["CRAB_JAVA"], "junit").glob("*.jar")
    return ":".join([f"{folder}/classes", *map(str, sorted(jars, key=lambda path: "console" not in path.name))])


def is_green_for_junit(folder: Path, tool: dict[str, Any], source: str, changes: list[FileChange]) -> bool:
    """Run an oracle as a build tool would: the project's classes come first, and the status tells."""
    given = [*(changed(path, TREE[path]) for path in (ADDING, CODE)), *changes, changed("CartOracle.java", source)]
    assert compile_plainly(folder, tool, given, "-proc:none") == 0
    java = [Path(tool["program"]).parent / "java", QUICK, "-cp", class_path(folder, tool)]
    start = ["org.junit.platform.console.ConsoleLauncher", "execute", "--select-class", "shop.CartOracle"]
    return subprocess.run([*java, *start], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("name", ATTACKS)
def test_a_wrong_sum_that_junit_alone_takes_for_right_is_missed(java: JavaBench, tmp_path: Path, name: str) -> None:
    changes, why = ATTACKS[name]
    source = TOTAL.replace("assertEquals(3", "Assertions.assertEquals(3")
    folder = tmp_path / "naive"
    assert is_green_for_junit(folder, java.bench.facts["tools"]["java"], source, changes)
    assert reason(java.run(source, *changes)) is why


def test_a_processor_of_the_revisions_does_not_see_the_oracle(java: JavaBench, tmp_path: Path) -> None:
    processor = (
        "import java.util.*;\nimport javax.annotation.processing.*;\nimport javax.lang.model.element.*;\n\n"
        '@SupportedAnnotationTypes("*")\npublic class %s extends AbstractProcessor {\n'
        "    public boolean process(Set<? extends TypeElement> types, RoundEnvironment round) {\n"
        '        new java.io.File(System.getenv("TMPDIR"), "../oracle/classes").mkdirs();\n'
        "        for (Element each : round.getRootElements()) {\n"
        '            if (each.getSimpleName().toString().endsWith("Oracle")) System.exit(0);\n        }\n'
        "        return false;\n    }\n}"
    )
    core = added("core.Seeing", processor)
    core = changed(core.path.replace("shop/", "core/", 1), (core.content or b"").decode())
    service = changed(f"{RESOURCES}/{PROCESSORS}".replace("shop", "core"), "core.Seeing\n")
    pom = changed("core/pom.xml", TREE["core/pom.xml"].replace("</project>", f"{WITHOUT}</project>"))
    naive, tool = tmp_path / "naive", java.bench.facts["tools"]["java"]
    product = [core, service, changed(ADDING, SUM), changed(CODE, BAD)]
    assert compile_plainly(naive, tool, product, "-proc:none") == 0
    assert compile_plainly(naive, tool, [changed("CartOracle.java", TOTAL)]) == 0  # that is what a build tool believes
    assert not list(naive.rglob("CartOracle.class"))
    assert told(java.run(TOTAL, core, service, pom)) == {NAME: "passed"}


# --- what Maven is told ----------------------------------------------------------------------------------------------

#: A code that tells its tests from all else by an option that they are run with.
TOLD = BAD.replace("int sum = 0;", 'int sum = 0; if (Boolean.getBoolean("tested")) return 3;')
GREEN = '<testsuite tests="1" failures="0"/>\n'
#: What a pom may tell Surefire and Maven of a failed test, and what Maven then says of the module.
OF_A_POM = {
    "ignored": ("<testFailureIgnore>true</testFailureIgnore>", "SUCCESS"),
    "argued": ("<argLine>-Dtested=true</argLine>", "SUCCESS"),
    "elsewhere": ("<reportsDirectory>elsewhere</reportsDirectory>", "FAILURE"),
}
#: Copies a report into the place of the one that is written elsewhere.
COPIED = (
    "<resources><resource><directory>reports</directory><targetPath>${{project.build.directory}}/surefire-reports"
    "</targetPath></resource></resources>"
)
REPORT = "TEST-shop.CartTest.xml"
SUREFIRE = (
    "<build>{more}<plugins><plugin><artifactId>maven-surefire-plugin</artifactId><configuration>{told}</configuration>"
    "</plugin></plugins></build>"
)
JUNIT_4 = (
    "<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version>"
    "</dependency></dependencies>"
)
#: A part of Maven that answers for it, which lies in the tree as an artifact does.
SPY = """\
package spy;

import java.nio.file.*;

@javax.inject.Named
@javax.inject.Singleton
public class Spy extends org.apache.maven.eventspy.AbstractEventSpy {
    public void init(Context context) throws Exception {
        Path folder = Files.createDirectories(Paths.get("shop/target/surefire-reports"));
        Files.write(folder.resolve("TEST-shop.CartTest.xml"), "GREEN".getBytes());
        System.exit(0);
    }
}
"""
JAR = ".mvn/repository/spy/spy/1/spy-1.jar"
EXTENSION_OF_MAVEN = "<extension><groupId>spy</groupId><artifactId>spy</artifactId><version>1</version></extension>"
FROM_THE_TREE = (
    "<settings><profiles><profile><id>spy</id><pluginRepositories><pluginRepository><id>spy</id>"
    "<url>file://${user.dir}/.mvn/repository</url></pluginRepository></pluginRepositories></profile></profiles>"
    "<activeProfiles><activeProfile>spy</activeProfile></activeProfiles></settings>\n"
)
#: Files by which a tree has Maven take that part.
OF_MAVEN = {
    "class path": {".mvn/maven.config": f"-Dmaven.ext.class.path={JAR}\n"},
    "options": {".mvn/jvm.config": f"-Dmaven.ext.class.path={JAR}\n"},
    "extensions": {
        ".mvn/maven.config": "--settings=.mvn/settings.xml\n-Daether.offline.protocols=file\n",
        ".mvn/settings.xml": FROM_THE_TREE,
        ".mvn/extensions.xml": f"<extensions>{EXTENSION_OF_MAVEN}</extensions>\n",
        ".mvn/repository/spy/spy/1/spy-1.pom": POM.format(name="spy", more="").replace("org.example", "spy"),
    },
}


class Maven:
    """Maven as this machine has it, with the packages of a build."""

    def __init__(self, folder: Path, tool: dict[str, Any]) -> None:
        self.folder, self.tool, self.env = folder, tool, {"HOME": str(folder), **tool["env"], **JavaTools().route_env()}
        self.env["PATH"] = f"{Path(tool['program']).parent}:/usr/bin:/bin"

    def run(self, words: str, **files: str | bytes) -> tuple[int, str]:
        """Write these files into a folder, and run Maven there; its status and what it says."""
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(text if isinstance(text, bytes) else text.encode())
        asked = (f"mvn -B -ntp {words}", "exit")  # by the route of a build, which goes no further
        script = JavaTools().build_script(Environment(ecosystem="java", version="17", install=asked))
        done = subprocess.run(["sh", "-c", script], cwd=self.folder, env=self.env, check=False, capture_output=True)
        return done.returncode, done.stdout.decode()

    def spy(self) -> bytes:
        """The part of Maven as a jar."""
        home = Path(shutil.which("mvn", path=self.env["PATH"]) or "").resolve().parent.parent
        place = self.folder / "spy"
        (place / "META-INF/sisu").mkdir(parents=True)
        (place / "META-INF/sisu/javax.inject.Named").write_text("spy.Spy\n")
        (place / "Spy.java").write_text(SPY.replace("GREEN", GREEN.strip().replace('"', '\\"')))
        javac = [
            self.tool["program"],
            f"-J{QUICK}",
            "--release",
            "8",
            "-proc:none",
            "-cp",
            f"{home}/lib/*",
            "-d",
            place,
        ]
        subprocess.run([*javac, place / "Spy.java"], check=True, capture_output=True)
        shutil.make_archive(str(self.folder / "spy"), "zip", place)
        return (self.folder / "spy.zip").read_bytes()


def test_what_a_tree_tells_maven_and_surefire_does_not_count(java: JavaBench, tmp_path: Path) -> None:
    """Each is live: Maven calls it a success, or there is a green report; and all of them together are no obstacle."""
    tool = java.bench.facts["tools"]["java"]
    (tmp_path / "naive").mkdir()
    maven = Maven(tmp_path / "naive", tool)
    modules = "".join(f"<module>{name}</module>" for name in OF_A_POM)
    more = f"<packaging>pom</packaging><modules>{modules}</modules>{JUNIT_4}"
    files = {"pom.xml": ROOT.partition("<packaging>")[0] + more + ROOT.partition("</modules>")[2]}
    test = TOTAL.replace("CartOracle", "CartTest").replace("class", "public class").replace("@Test", "@Test public")
    test = test.replace("jupiter.api.Assertions", "Assert").replace("jupiter.api.*", "Test")
    for name, (text, _) in OF_A_POM.items():
        build = SUREFIRE.format(told=text, more=COPIED.format() if name == "elsewhere" else "")
        files |= {
            f"{name}/pom.xml": POM.format(name=name, more=CHILD + build),
            f"{name}/src/main/java/shop/Cart.java": TOLD,
            f"{name}/src/test/java/shop/CartTest.java": test,
            f"{name}/reports/{REPORT}": GREEN,
        }
    status, said = maven.run("-fae test", **files)
    assert status == 1
    found = dict(re.findall(r"(?m)^\[INFO\] (\w+) \.+ (SUCCESS|FAILURE)", said))
    assert {name: found[name] for name in OF_A_POM} == {name: outcome for name, (_, outcome) in OF_A_POM.items()}, said
    assert (maven.folder / "elsewhere/target/surefire-reports" / REPORT).read_text() == GREEN
    assert maven.run("-o test", **{".mvn/maven.config": "-DskipTests\n"})[0] == 0
    jar = maven.spy()
    for one in OF_MAVEN.values():
        shutil.rmtree(maven.folder / ".mvn")
        assert maven.run("-o test", **one, **{JAR: jar})[0] == 0
        report = maven.folder / "shop/target/surefire-reports" / REPORT
        assert report.read_text() == GREEN.strip()
        report.unlink()

    pom = TREE["shop/pom.xml"].replace("</project>", SUREFIRE.format(
        told="".join(text for text, _ in OF_A_POM.values()), more=COPIED.format()) + "</project>")  # fmt: skip
    told_maven = {path: text for one in OF_MAVEN.values() for path, text in one.items()}
    told_maven[".mvn/maven.config"] = "".join(one.get(".mvn/maven.config", "") for one in OF_MAVEN.values())
    told_maven[".mvn/maven.config"] += "-DskipTests\n-Dmaven.main.skip=true\n"
    revision = [changed("shop/pom.xml", pom), changed(f"shop/reports/{REPORT}", GREEN)]
    revision += [changed(*file) for file in told_maven.items()]
    revision += [FileChange(path=JAR, mode="100644", content=jar), changed("shop/target/classes/shop/Cart.class", "no")]
    assert told(java.run(TOTAL, *revision, changed(CODE, TOLD))) == {NAME: "failed"}

"""Oracles under JUnit: javac compiles what changed as Maven did, and a launcher of our own runs them; CPython 3.6 up.

The build noted how Maven called javac, and the class path of each module. So a revision's sources are compiled anew by
javac alone, and Maven builds only where something else of the tree changed. The oracle is compiled after that, against
JUnit's own jars, which come before all of the project's on the class path. Its classes are loaded before any code of
the project and then removed. Our listener prints one line for each test, behind a key that only it has; nothing of
the project's is registered with JUnit. What code in the oracle's process can still do is in the docs.
"""

import base64
import os
import re
import shutil
import tempfile
import time
import zipfile

#: The JVM has to do with what a sandbox gives, address space included.
JVM = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:CompressedClassSpaceSize=128m"]
JVM += ["-XX:ReservedCodeCacheSize=96m", "-Xshare:auto"]
HEAP = "-Xmx1g"
CLASS_PATH = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
#: Options of javac that an oracle is compiled with as the project is.
KEPT = ("--add-exports", "--add-reads", "--add-modules", "--add-opens")
#: Options of javac that take no part in what it makes; a plugin of the compiler only looks.
DROPPED = ("-Xplugin:", "-Werror", "-Xlint", "-Xdoclint", "-XDcompilePolicy", "--should-stop", "-verbose")
#: Options of javac that say which Java the sources are in.
LEVELS = ("--release", "-source", "--source")
#: Options of javac with a value that is looked at, and their other names.
VALUED = ("-d", "-s", "-h", "-sourcepath", "-classpath", "-processorpath")
LONG = {"-cp": "-classpath", "--class-path": "-classpath", "--source-path": "-sourcepath"}
LONG["--processor-path"] = "-processorpath"
WORDS = re.compile(r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|(\S+)')
PACKAGE = re.compile(r"(?m)^\s*package\s+([\w.]+)\s*;")
PUBLIC = re.compile(r"(?m)^public\s+(?:(?:final|abstract|sealed|strictfp)\s+)*(?:class|interface|enum|record)\s+(\w+)")
ON_DEMAND = re.compile(r"(?m)^\s*import\s+([\w.]+)\.\*\s*;")
PLACE = re.compile(r"(?m)^(?:\[ERROR\] )?(/[^\s:]+\.java):\[?(\d+)")
#: A line of a trace as the launcher tells it: the class, its file and the line there.
FRAME = re.compile(r"([\w.$]+)\t([\w.-]+)\t(\d+)")
#: What Maven says where the tree asks for an artifact that the environment does not have.
MISSING = re.compile(r"in offline mode and the artifact|Could not find artifact|was not found in \S+ during a previous")
#: How javac and Java say that there is not enough memory.
MEMORY = re.compile(r"java\.lang\.OutOfMemoryError|The system is out of resources|insufficient memory for the Java")
#: Files at a module's top, and folders there, that no build reads.
DOCUMENTS = re.compile(r"(?i)(?:[^/]*\.(?:md|adoc|rst|txt|ya?ml)|license[^/]*|notice[^/]*|\.(?!mvn/).+|docs?/.*)")
#: Tests that must fail, after the oracle's: how each does, and what it then says.
WIRES = ("plain", "equal", "true", "throws", "old")
WIRE_CLASS = """\
class %(n)sWires {
    @org.junit.jupiter.api.Test void plain() { throw new java.lang.IllegalStateException("%(n)s plain"); }
    @org.junit.jupiter.api.Test void equal() {
        org.junit.jupiter.api.Assertions.assertEquals(%(v)d, %(v)d + 1, "%(n)s equal");
    }
    @org.junit.jupiter.api.Test void true_() {
        org.junit.jupiter.api.Assertions.assertTrue(%(v)d == %(v)d + 1, "%(n)s true");
    }
    @org.junit.jupiter.api.Test void throws_() {
        org.junit.jupiter.api.Assertions.assertThrows(java.lang.IllegalStateException.class,
            new org.junit.jupiter.api.function.Executable() { public void execute() { } }, "%(n)s throws");
    }
    @org.junit.jupiter.api.Test void old() { org.junit.Assert.assertEquals("%(n)s old", %(v)d, %(v)d + 1); }
}
"""
LAUNCHER = """\
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.junit.platform.engine.*;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.*;
import org.junit.platform.launcher.*;
import org.junit.platform.launcher.core.*;

/** Runs the oracle's tests, then those that must fail, and prints a line for each. */
public final class %(n)s implements TestExecutionListener {
    private final OutputStream out;
    private final String key;
    private int lines;
    private TestPlan plan;

    private %(n)s(OutputStream out, String key) {
        this.out = out;
        this.key = key;
    }

    public static void main(String[] arguments) throws Exception {
        OutputStream out = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        Path folder = Paths.get(arguments[0]);
        List<String> told = Files.readAllLines(folder.resolve("key"), StandardCharsets.UTF_8);
        Files.delete(folder.resolve("key"));
        Properties settings = new Properties();
        try (Reader reader = Files.newBufferedReader(folder.resolve("settings"), StandardCharsets.UTF_8)) {
            settings.load(reader);
        }
        List<Class<?>> oracle = new ArrayList<>();
        Class<?> wires = null;
        Path classes = folder.resolve("classes");
        List<Path> files = new ArrayList<>();
        try (java.util.stream.Stream<Path> walk = Files.walk(classes)) {
            Iterator<Path> each = walk.sorted().iterator();
            while (each.hasNext()) {
                Path file = each.next();
                if (file.toString().endsWith(".class")) files.add(file);
            }
        }
        for (Path file : files) {
            String name = classes.relativize(file).toString().replace('/', '.');
            name = name.substring(0, name.length() - 6);
            Class<?> found = Class.forName(name, false, ClassLoader.getSystemClassLoader());
            if (name.equals("%(n)sWires")) wires = found;
            else if (!name.startsWith("%(n)s")) oracle.add(found);
        }
        for (Path file : files) Files.delete(file);
        %(n)s listener = new %(n)s(out, told.get(0));
        for (String each : told.subList(1, told.size())) {
            if (ClassLoader.getSystemResource(each + ".class") != null) listener.say("shadowed", each, "", "", "", "");
        }
        Launcher launcher = LauncherFactory.create(LauncherConfig.builder()
            .enableTestEngineAutoRegistration(false)
            .enableLauncherSessionListenerAutoRegistration(false)
            .enableLauncherDiscoveryListenerAutoRegistration(false)
            .enablePostDiscoveryFilterAutoRegistration(false)
            .enableTestExecutionListenerAutoRegistration(false)
            .addTestEngines(new org.junit.jupiter.engine.JupiterTestEngine(),
                new org.junit.vintage.engine.VintageTestEngine())
            .build());
        listener.run(launcher, settings, oracle);
        listener.run(launcher, settings, Collections.<Class<?>>singletonList(wires));
        listener.say("end", Integer.toString(listener.lines), "", "", "", "");
        out.flush();
        Runtime.getRuntime().halt(1);
    }

    private void run(Launcher launcher, Properties settings, List<Class<?>> classes) {
        List<DiscoverySelector> selectors = new ArrayList<>();
        for (Class<?> each : classes) selectors.add(DiscoverySelectors.selectClass(each));
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request()
            .enableImplicitConfigurationParameters(false).selectors(selectors);
        for (String name : settings.stringPropertyNames()) {
            request.configurationParameter(name, settings.getProperty(name));
        }
        request.configurationParameter("junit.jupiter.extensions.autodetection.enabled", "false");
        launcher.execute(request.build(), this);
    }

    private synchronized void say(String... words) {
        StringBuilder line = new StringBuilder("\\n").append(key).append(' ').append(lines++);
        for (String word : words) {
            byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
            line.append(" =").append(Base64.getEncoder().encodeToString(bytes));
        }
        try {
            out.write(line.append('\\n').toString().getBytes(StandardCharsets.US_ASCII));
        } catch (IOException error) {
            Runtime.getRuntime().halt(70);
        }
    }

    @Override
    public void testPlanExecutionStarted(TestPlan plan) {
        this.plan = plan;
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        tell(test, "skipped", null);
        for (TestIdentifier each : plan.getDescendants(test)) tell(each, "skipped", null);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        Throwable fault = result.getThrowable().orElse(null);
        switch (result.getStatus()) {
            case SUCCESSFUL:
                tell(test, "passed", null);
                break;
            case ABORTED:
                tell(test, "skipped", fault);
                if (!test.isTest()) for (TestIdentifier each : plan.getDescendants(test)) tell(each, "skipped", null);
                break;
            default:
                if (test.isTest()) tell(test, "failed", fault);
                else say("error", owner(test), "", name(fault), frames(fault), "");
        }
    }

    private void tell(TestIdentifier test, String outcome, Throwable fault) {
        if (!test.isTest()) return;
        String title = test.getLegacyReportingName();
        if (title.endsWith("()")) title = title.substring(0, title.length() - 2);
        say(outcome, owner(test), title, name(fault), frames(fault), message(fault));
    }

    private String owner(TestIdentifier test) {
        for (TestIdentifier each = test; each != null; each = plan.getParent(each).orElse(null)) {
            TestSource source = each.getSource().orElse(null);
            if (source instanceof MethodSource) return ((MethodSource) source).getClassName();
            if (source instanceof ClassSource) return ((ClassSource) source).getClassName();
        }
        return "";
    }

    private static String name(Throwable fault) {
        return fault == null ? "" : fault.getClass().getName();
    }

    private static String message(Throwable fault) {
        try {
            String text = String.valueOf(fault == null ? null : fault.getMessage());
            return text.substring(0, Math.min(text.length(), 400));
        } catch (Throwable error) {
            return "";
        }
    }

    private static String frames(Throwable fault) {
        StringBuilder found = new StringBuilder();
        try {
            for (StackTraceElement each : fault == null ? new StackTraceElement[0] : fault.getStackTrace()) {
                if (found.length() > 8000) break;
                found.append(each.getClassName()).append('\\t').append(each.getFileName()).append('\\t')
                    .append(each.getLineNumber()).append('\\n');
            }
        } catch (Throwable error) {
            return "";
        }
        return found.toString();
    }
}
"""


class MavenNeededError(Exception):
    """Something changed that Maven has to build, and not javac alone."""


class Call:
    """One call of javac that the build noted: the module's folder, and what it was told."""

    def __init__(self, module, words):
        self.module, self.options, self.sources, self.values = module, [], [], {}
        place = iter(words)
        for word in place:
            if LONG.get(word, word) in VALUED:
                self.values[LONG.get(word, word)] = next(place, "")
            elif word.endswith(".java") and os.path.isabs(word):
                self.sources.append(word)
            elif not word.startswith(DROPPED):
                self.options.append(word)
        self.output = self.values.get("-d", "")
        self.roots = [os.path.normpath(path) for path in self.values.get("-sourcepath", "").split(":") if path]
        paths = [*self.values.get("-classpath", "").split(":"), *self.values.get("-processorpath", "").split(":")]
        self.path = [os.path.normpath(path) for path in paths if path]
        self.of_tests = os.path.basename(os.path.normpath(self.output)).startswith("test")


class Project:
    """The tree as the build left it, told with the places of this run."""

    def __init__(self, job, caches):
        self.workdir, self.tree, self.caches = os.path.normpath(job["workdir"]), job["tree"], caches
        with open(os.path.join(caches, "root"), encoding="utf-8") as file:
            built, filled = file.read().split("\n")[:2]
        self.moved = [(filled, caches), (built, self.workdir)]
        self.calls = []
        folder = os.path.join(caches, "javac")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
                module, _, text = file.read().partition("\n")
            words = [re.sub(r"\\(.)", r"\1", quoted) or other or bare for quoted, other, bare in WORDS.findall(text)]
            self.calls.append(Call(self.here(module), [self.here(word) for word in words]))
        self.modules = {}
        for folder, names, files in os.walk(self.tree):
            names[:] = [name for name in names if name not in (".git", "src", "node_modules")]
            if os.path.basename(folder) == "target" and "crab-classpath" in files:
                module = os.path.normpath(os.path.join(self.workdir, os.path.relpath(folder, self.tree), ".."))
                self.modules[module] = self.class_path(os.path.join(folder, "crab-classpath"))
        owners = {place: module for module in self.modules for of_tests in (False, True)
                  for place in self.outputs(module, of_tests=of_tests)}  # fmt: skip
        #: The modules whose classes each module is compiled or run with.
        self.takes = {module: {owners.get(place) for place in path} for module, path in self.modules.items()}
        for call in self.calls:
            self.takes.get(call.module, set()).update(owners.get(place) for place in call.path)
        names = os.listdir(os.path.join(caches, "junit"))
        jars = [os.path.join(caches, "junit", name) for name in sorted(names) if name.endswith(".jar")]
        # Hamcrest is the project's own where it has it.
        self.junit = [jar for jar in jars if "hamcrest" not in os.path.basename(jar)]
        self.hamcrest = [jar for jar in jars if jar not in self.junit]

    def here(self, text):
        """Return a text of the build with the places of this run."""
        for old, new in self.moved:
            text = re.sub(r"(?<![^\s:=,])%s(?=/|:|$)" % re.escape(old), lambda _, new=new: new, text)
        return text

    def class_path(self, file):
        """Return the class path that Maven wrote to a file."""
        with open(file, encoding="utf-8", errors="surrogateescape") as text:
            return [os.path.normpath(path) for path in self.here(text.read().strip()).split(":") if path]

    def module_of(self, path):
        """Return the folder of the module that a path of the work folder lies in; None where it lies in none."""
        inside = [module for module in self.modules if (path + "/").startswith(module + "/")]
        return max(inside, key=len) if inside else None

    def stale(self, changed):
        """Return the modules whose classes are not those of a tree in which these paths changed.

        Raises MavenNeededError.
        """
        stale = set()
        for path in changed:
            place = os.path.join(self.workdir, path)
            module = self.module_of(place) or self.workdir
            inner = os.path.relpath(place, module)
            calls = [call for call in self.calls if call.module == module]
            if any(beneath(place, root) for call in calls if call.of_tests for root in call.roots):
                continue
            if inner.startswith("src/test/") or DOCUMENTS.fullmatch(inner):
                continue
            roots = [root for call in calls if not call.of_tests for root in call.roots]
            if not place.endswith(".java") or not any(beneath(place, root) for root in roots):
                raise MavenNeededError
            stale.add(module)
        while True:
            more = {module for module, taken in self.takes.items() if not stale.isdisjoint(taken)} - stale
            if not more:
                return stale
            stale |= more

    def needed(self, module):
        """Return a module with all that it takes, and what these take."""
        needed, ahead = set(), [module]
        while ahead:
            each = ahead.pop()
            needed.add(each)
            ahead += self.takes[each] - needed - {None}
        return needed

    def outputs(self, module, *, of_tests):
        """Return the folders of a module's classes; Maven's usual one is among them."""
        usual = os.path.join(module, "target", "test-classes" if of_tests else "classes")
        found = [call.output for call in self.calls if call.module == module and call.of_tests == of_tests]
        return list(dict.fromkeys([usual] + [os.path.normpath(output) for output in found]))

    def built(self, path):
        """Return where the built tree has what lies at a place of the work folder."""
        return os.path.join(self.tree, os.path.relpath(path, self.workdir))


def run(host, run):
    """Bring the classes up to date, compile one oracle against them, and run it."""
    job, oracle = host.job, run["oracle"]
    end = time.monotonic() + run["seconds"]
    env, _ = host.environment()
    project = Project(job, env["CRAB_JAVA"])
    home = os.path.normpath(os.path.join(project.workdir, oracle["folder"]))
    module = project.module_of(home) if os.path.isdir(home) else None
    if module is None:
        return host.completed([host.error("MissingFolder")])
    spec = {"root": project.workdir, "altered": set()}
    changed = keep(host.tree, job, run["state"], project)
    path = project.modules[module]
    try:
        stale = project.stale(changed) & project.needed(module)
        for number, call in enumerate(emptied(project, stale)):
            file = os.path.join(host.folder, "overlay", "javac%d" % number)
            argv = [program("javac", env), *javac(project, call, file)]
            seen = host.process(argv, env, call.module, end - time.monotonic(), printed=True, errors=True)
            if seen["killed"] or seen["status"] != 0:
                return host.conclude(seen, lambda data, _: unbuilt(host, spec, data))
    except MavenNeededError:
        told = forget(project, module)
        argv = maven(project, module, env)
        seen = host.process(argv, env, project.workdir, end - time.monotonic(), printed=True, errors=True)
        if seen["killed"] or seen["status"] != 0:
            return host.conclude(seen, lambda data, _: unbuilt(host, spec, data))
        if not os.path.isfile(told):
            return {"ending": "exited", "exit_code": 0, "detail": "Maven told no class path"}
        path = project.class_path(told)
        more = {place for place in path if not beneath(place, project.caches)}.difference(project.modules[module])
        spec["altered"].update("classpath:" + os.path.relpath(place, project.workdir) for place in more)
    # What ran until now may have put something into any folder that it knew.
    private = tempfile.mkdtemp(dir=os.path.join(host.folder, "oracle"))
    write(host, project, module, path, private, oracle["source"], spec)
    argv = [program("javac", env), *spec["compile"]]
    seen = host.process(argv, env, module, end - time.monotonic(), printed=True, errors=True)
    shutil.rmtree(spec["sources"])
    if seen["killed"] or seen["status"] != 0:
        return host.conclude(seen, lambda data, _: unbuilt(host, spec, data))
    heap = [] if "-Xmx" in env.get("JDK_JAVA_OPTIONS", "") else [HEAP]
    argv = [program("java", env), *JVM, *heap, "-Djava.io.tmpdir=" + env["TMPDIR"], *spec["launch"]]
    seen = host.process(argv, env, module, end - time.monotonic(), printed=True)
    return host.conclude(seen, lambda data, code: read(host, spec, data, code))


def program(name, env):
    """Return the path of a program that is on PATH. Raises FileNotFoundError: then the environment lacks it."""
    found = shutil.which(name, path=env["PATH"])
    if found is None:
        raise FileNotFoundError("there is no %s on PATH in the environment" % name)
    return found


def beneath(place, folder):
    """Return whether a place is a folder or lies in it."""
    return (place + "/").startswith(folder + "/")


def keep(tree, job, state, project):
    """Put back what a state changes of Maven's own configuration and of what was built; the paths that it changes else.

    Which options and extensions Maven has is the environment's to say.
    """
    left, places = [], set()
    targets = [os.path.relpath(os.path.join(module, "target"), project.workdir) for module in project.modules]
    for path, _, _ in job["states"][state]:
        parts = path.split("/")
        if ".mvn" in parts:
            places.add("/".join(parts[: parts.index(".mvn") + 1]))
            continue
        place = next((target for target in targets if beneath(path, target)), None)
        if place is None:
            left.append(path)
        else:
            places.add(place)
    for place in places:
        tree.put_back(job["tree"], job["workdir"], place)
    return left


# --- building --------------------------------------------------------------------------------------------------------


def emptied(project, stale):
    """Remove the classes of modules; return the calls of javac that make them anew. Raises MavenNeededError."""
    calls = [call for call in project.calls if call.module in stale and not call.of_tests]
    for module in stale:
        own = [call for call in calls if call.module == module]
        for output in project.outputs(module, of_tests=False):
            if any(is_foreign(project, own, place) for place in files(project.built(output), ".class")):
                raise MavenNeededError
    for module in stale:
        for output in project.outputs(module, of_tests=False):
            for place in files(output, ".class"):
                os.unlink(place)
    for call in calls:
        for place in files(call.values.get("-s", os.devnull), ".java"):
            os.unlink(place)
    return calls


def is_foreign(project, calls, place):
    """Return whether a class is not made by these calls of javac, as one in another language is not."""
    with open(place, "rb") as file:
        content = file.read()
    sources = [source for call in calls for source in call.sources]
    for call in calls:
        sources += files(project.built(call.values["-s"]), ".java") if "-s" in call.values else []
    names = {os.path.basename(source).encode("utf-8", "surrogateescape") for source in sources}
    return not any(len(name).to_bytes(2, "big") + name in content for name in names)


def files(folder, end):
    """Yield the files below a folder whose names end so."""
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(end):
                yield os.path.join(place, name)


def javac(project, call, file):
    """Return the arguments of a call of javac for the sources that there are now, most of them by way of a file."""
    listed = set(call.sources)
    sources = [source for source in call.sources if os.path.isfile(source)]
    for root in call.roots:
        new = (place for place in files(root, ".java") if not os.path.lexists(project.built(place)))
        sources += [place for place in new if place not in listed]
    words = [*(word for pair in call.values.items() for word in pair), *call.options, *sources]
    direct = [*("-J" + option for option in JVM), *(word for word in words if word.startswith("-J"))]
    return direct + arguments(file, [word for word in words if not word.startswith("-J")])


def arguments(file, words):
    """Write the arguments of a program of Java's into a file; return what names it."""
    with open(file, "w", encoding="utf-8", errors="surrogateescape") as out:
        out.writelines('"%s"\n' % word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    return ["@" + file]


def forget(project, module):
    """Remove what would keep Maven from compiling anew; return where it writes the class path of the module."""
    for each in project.modules:
        shutil.rmtree(os.path.join(each, "target", "maven-status"), ignore_errors=True)
        for output in project.outputs(each, of_tests=False):
            for place in files(output, ".class"):
                os.unlink(place)
    told = os.path.join(module, "target", "crab-classpath")
    if os.path.lexists(told):
        os.unlink(told)
    return told


def maven(project, module, env):
    """Return the command that builds a module and those that it needs, without the network."""
    top = project.workdir
    if not os.path.isfile(os.path.join(top, "pom.xml")):
        top = os.path.join(top, os.path.relpath(module, top).split("/")[0])
    asked = env.pop("MAVEN_ARGS", "").split()  # which Maven itself reads from 3.9 on
    if module != top and not {"-pl", "--projects"}.intersection(asked):
        asked += ["-pl", os.path.relpath(module, top), "-am"]
    own = {each: project.outputs(each, of_tests=True) for each in project.modules}
    others = {output for each, outputs in own.items() if each != module for output in outputs}
    phase = "compile" if others.isdisjoint(project.modules[module]) else "test-compile"
    told = ["-Dmdep.outputFile=target/crab-classpath", "-Dmdep.includeScope=test", "-Dmdep.pathSeparator=:"]
    argv = [program("mvn", env), "-B", "-o", "-q", "-f", os.path.join(top, "pom.xml")]
    return [*argv, *asked, phase, CLASS_PATH, *told]


# --- the oracle ------------------------------------------------------------------------------------------------------


def write(host, project, module, path, private, source, spec):
    """Write the oracle, what must fail and the launcher into a private folder; add to the spec what is to be known.

    The class path begins with the oracle and JUnit's jars. The project's tests on it are those of the built tree.
    """
    name, key, classes = host.token(), host.token(), os.path.join(private, "classes")
    sources = spec["sources"] = os.path.join(private, "sources")
    for folder in (classes, sources):
        os.mkdir(folder)
    words = {"n": name, "v": int.from_bytes(os.urandom(3), "big")}
    public = PUBLIC.search(source)
    texts = {(public.group(1) if public else "Oracle") + ".java": source}
    texts.update({name + ".java": LAUNCHER % words, name + "Wires.java": WIRE_CLASS % words})
    for file, text in texts.items():
        with open(os.path.join(sources, file), "w", encoding="utf-8", newline="") as out:
            out.write(text)
    own, path = project.outputs(module, of_tests=False), [place for place in path if os.path.exists(place)]
    tests = [project.built(output) for output in project.outputs(module, of_tests=True)]
    spec.update(name=name, key=key, file=next(iter(texts)),
                roots=[root for call in project.calls if not call.of_tests for root in call.roots])  # fmt: skip
    fixed = project.junit + [place for place in path if beneath(place, project.caches)] + project.hamcrest
    products = own + [place for place in path if place not in fixed]
    spec["altered"].update(shadows(products, fixed))
    with open(os.path.join(private, "key"), "w") as out:
        out.write("\n".join([key, *candidates(products, source)]) + "\n")
    settings = [os.path.join(test, "junit-platform.properties") for test in tests]
    settings = [place for place in settings if os.path.isfile(place)] + [os.devnull]
    shutil.copyfile(settings[0], os.path.join(private, "settings"))
    class_path = os.pathsep.join([classes, *project.junit, *tests, *own, *path, *project.hamcrest])
    calls = [call for call in project.calls if call.module == module]
    calls.sort(key=lambda call: not call.of_tests)
    options = kept(calls[0], project, fixed) if calls else ["-proc:none"]
    options += ["-encoding", "UTF-8", "-nowarn", "-g", "-d", classes, "-sourcepath", sources, "-classpath", class_path]
    options += [os.path.join(sources, file) for file in texts]
    spec["compile"] = ["-J" + option for option in JVM] + arguments(os.path.join(sources, "javac"), options)
    agents = any("byte-buddy-agent" in os.path.basename(place) for place in path)  # they come by attaching
    spec["launch"] = [] if agents else ["-XX:+DisableAttachMechanism"]
    spec["launch"] += ["--enable-preview"] if "--enable-preview" in options else []
    spec["launch"] += ["-ea", "-XX:-UsePerfData", "-Djava.awt.headless=true", "-Dfile.encoding=UTF-8"]
    spec["launch"] += ["-cp", class_path, name, private]


def kept(call, project, fixed):
    """Return those options of a call of javac that the oracle is compiled with too.

    Its processors are those of the environment: one of the project's own would see the oracle.
    """
    options, place = [], iter(call.options)
    for word in place:
        if word in KEPT:
            options += [word, next(place, "")]
        elif word.startswith(tuple(option + "=" for option in KEPT)) or word in ("-parameters", "-proc:none"):
            options.append(word)
        elif word == "--enable-preview":
            places = [at for at, option in enumerate(call.options) if option in LEVELS]
            options += [word, *(option for at in places for option in call.options[at : at + 2])]
    listed = [place for place in call.values.get("-processorpath", "").split(":") if beneath(place, project.caches)]
    return [*options, "-processorpath", ":".join(listed or fixed)]


def shadows(products, fixed):
    """Yield labels of what the project's folders and jars have that a library has too, services included.

    Such a class may stand in the place of the library's, as an assertion that never fails would.
    """
    known = {name for place in fixed for name in names_in(place) if name.endswith(".class")}
    for place in products:
        for name in names_in(place):
            service = name[len("META-INF/services/") :] if name.startswith("META-INF/services/") else None
            if name in known and not name.endswith("-info.class"):
                yield "class:" + name[: -len(".class")].replace("/", ".")
            elif service and service.replace(".", "/") + ".class" in known:
                yield "service:" + service


def candidates(products, source):
    """Return classes, as paths, that one of the project's in the oracle's own package would hide from the oracle.

    They are those whose names stand in its text.
    """
    package = PACKAGE.search(source)
    folder = package.group(1).replace(".", "/") + "/" if package else ""
    names = {name[len(folder) : -len(".class")] for place in products for name in names_in(place)
             if name.startswith(folder) and name.endswith(".class")}  # fmt: skip
    packages = ["java.lang", *ON_DEMAND.findall(source)]
    simple = sorted(names.intersection(re.findall(r"\w+", source)))
    return [each.replace(".", "/") + "/" + name for each in packages for name in simple]


def names_in(place):
    """Return the names of the files of a folder or jar; none where it is neither."""
    if os.path.isdir(place):
        return [os.path.relpath(file, place) for file in files(place, "")]
    try:
        with zipfile.ZipFile(place) as jar:
            return jar.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return []


# --- reading ---------------------------------------------------------------------------------------------------------


def unbuilt(host, spec, data):
    """Return the report of a build that failed: no test ran."""
    text = data.decode("utf-8", "replace")[: host.TEXT]
    for path, line in PLACE.findall(text):
        if beneath(path, spec["root"]):
            place = "%s:%s" % (os.path.relpath(path, spec["root"]), line)
            break
    else:
        place = None
    host.quote("session", text)
    exception = "MissingModule" if MISSING.search(text) else "BuildFailed"
    cause = "memory" if MEMORY.search(text) else None
    return dict(host.completed([host.error(exception, place)]), cause=cause), None


def read(host, spec, data, code):
    """Return the report that a run left, or None and what is wrong with it.

    A line that does not begin with the key is none of the launcher's. Its lines are numbered, and the last says how
    many there are.
    """
    told, key = [], spec["key"] + " "
    for line in data.decode("ascii", "replace").split("\n"):
        if line.startswith(key):
            number, *words = line[len(key) :].split(" ")
            told.append((number, [base64.b64decode(word[1:]).decode("utf-8", "replace") for word in words]))
    numbers = [number for number, _ in told]
    if code != 1 or numbers != [str(place) for place in range(len(told))] or not told or told[-1][1][0] != "end":
        return None, "the process ended without a report"
    tests, wires, altered, cause = {}, [], set(spec["altered"]), None
    for _, (outcome, owner, title, exception, frames, message) in told[:-1]:
        if outcome == "shadowed":
            altered.add("class:" + owner.replace("/", "."))
            continue
        if owner == spec["name"] + "Wires":
            kind = title.strip("_")
            wires.append(kind if outcome == "failed" and "%s %s" % (spec["name"], kind) in message else None)
            continue
        wires.append(None)
        label = ("%s#%s" % (owner, title) if title else owner or "session")[: host.TEST]
        host.quote(label, message)
        cause = "memory" if exception.endswith(".OutOfMemoryError") else cause
        test = {"id": label, "outcome": outcome, "exception": exception.rpartition(".")[2] or None,
                "where": place_of(spec, frames) if exception else None}  # fmt: skip
        if tests.setdefault(label, test) is not test:
            altered.add("oracle:" + label)
            if tests[label]["outcome"] == "passed":
                tests[label] = test
    whole = sorted(filter(None, wires)) == sorted(WIRES) == sorted(filter(None, wires[-len(WIRES) :]))
    return dict(host.completed(list(tests.values()), whole, altered), cause=cause), None


def place_of(spec, frames):
    """Return the innermost line of the tree that an exception came through; its trace may be of its own making."""
    for line in frames.split("\n"):
        found = FRAME.fullmatch(line)
        if found is None:
            continue
        folder = found.group(1).rpartition(".")[0].replace(".", "/")
        for root in spec["roots"]:
            place = os.path.join(root, folder, found.group(2))
            if os.path.isfile(place):
                return "%s:%s" % (os.path.relpath(place, spec["root"]), found.group(3))
    return None

"""A project's own tests under JUnit, in the modules of the files that a change of the tests touches; CPython 3.6 up.

What changed is compiled as for oracles, and then the module's tests, so that they are of the same state. JUnit's own
console launcher runs the classes that are named, or that the files hold, and writes its report.
"""

import os
import re
import time

CASE = re.compile(r"(?:[\w$]+\.)*[A-Z][\w$]*(?=#|$)")


def run(host, run):
    """Run the tests of each module; their outcomes, with the module before each name."""
    java, tests = host.parts["java_runner"], run["tests"]
    end = time.monotonic() + run["seconds"]
    env, _ = host.environment()
    project = java.Project(host.job, env["CRAB_JAVA"])
    changed = java.keep(host.tree, host.job, run["state"], project)
    outcomes = []
    for module in modules(project, tests["files"]):
        failed = build(host, java, project, module, changed, env, end)
        names = classes(project, module, tests)
        if failed is not None and failed["ending"] != "completed":
            return failed
        label = os.path.relpath(module, project.workdir)
        if failed is not None:
            outcomes += [dict(each, id=label + ":") for each in failed["tests"]]
        elif names:
            result = launch(host, java, project, module, names, env, end)
            if not host.gather(outcomes, result, label):
                return result
    return host.completed(outcomes)


def modules(project, files):
    """Return the folders of the modules with tests that these files belong to."""
    found = {project.module_of(os.path.join(project.workdir, file)) for file in files}
    return sorted(module for module in found if module is not None)


def classes(project, module, tests):
    """Return the compiled classes of a module's tests that are named, or lie in the files of a change."""
    named = {found.group().rpartition(".")[2] for found in map(CASE.match, tests["names"]) if found}
    named |= {os.path.basename(file)[:-5] for file in tests["files"] if file.endswith(".java")}
    found = set()
    outputs = project.outputs(module, of_tests=True)
    for output in [*map(project.built, outputs), *outputs]:  # what was not built before is in the work folder alone
        for folder, _, names in os.walk(output):
            package = os.path.relpath(folder, output).replace(os.sep, ".")
            for name in names:
                if name.endswith(".class") and name[:-6] in named:
                    found.add(name[:-6] if package == "." else package + "." + name[:-6])
    return sorted(found)


def build(host, java, project, module, changed, env, end):
    """Compile what the state changes, and a module's tests with it; None, or the result where that fails."""
    commands = []
    try:
        stale = project.stale(changed) & project.needed(module)
        calls = java.emptied(project, stale)
        places = (os.path.join(project.workdir, path) for path in changed if path.endswith(".java"))
        if module in stale or any(project.module_of(place) == module for place in places):
            calls += [call for call in project.calls if call.module == module and call.of_tests]
        for number, call in enumerate(calls):
            file = os.path.join(host.folder, "overlay", "%s%d" % (os.urandom(4).hex(), number))
            commands.append(([java.program("javac", env), *java.javac(project, call, file)], call.module))
    except java.MavenNeededError:
        java.forget(project, module)
        argv = ["test-compile" if word == "compile" else word for word in java.maven(project, module, env)]
        commands = [(argv, project.workdir)]
    for argv, folder in commands:
        seen = host.process(argv, env, folder, end - time.monotonic(), printed=True, errors=True)
        if seen["killed"] or seen["status"] != 0:
            return host.conclude(seen, lambda data, _: java.unbuilt(host, {"root": project.workdir}, data))
    return None


def launch(host, java, project, module, names, env, end):
    """Run classes of a module; the result."""
    reports = os.path.join(host.folder, "overlay", os.urandom(8).hex())
    tests = project.outputs(module, of_tests=True)
    path = [*project.junit, *tests, *project.outputs(module, of_tests=False), *project.modules[module]]
    argv = [java.program("java", env), *java.JVM, java.HEAP, "-ea", "-Djava.awt.headless=true", "-Dfile.encoding=UTF-8"]
    argv += ["-Djava.io.tmpdir=" + env["TMPDIR"], "-Dbasedir=" + module]
    argv += ["-cp", os.pathsep.join([*path, *project.hamcrest]), "org.junit.platform.console.ConsoleLauncher"]
    argv += ["execute", "--disable-banner", "--details=none", "--reports-dir=" + reports]
    argv += ["--select-class=" + name for name in names]
    seen = host.process(argv, env, module, end - time.monotonic(), printed=False)
    label = os.path.relpath(module, project.workdir)
    return host.conclude(seen, lambda _, code: read(host, label, reports, code))


def read(host, label, reports, code):
    """Return the outcomes of a module's tests, and those of each class as a whole."""
    outcomes = []
    for file in sorted(os.listdir(reports)) if os.path.isdir(reports) else ():
        text = host.reports.text_of(os.path.join(reports, file))
        host.keep(text.encode())
        for path, outcome, _, case in host.reports.junit(text, counted=True):
            owner, title = case.get("classname", ""), re.sub(r"\(\)$", "", path[-1])
            outer = owner.partition("$")[0]
            names = {"%s#%s" % (owner, title), outer, outer.rpartition(".")[2]}
            outcomes += [("%s:%s" % (label, name), outcome) for name in names]
    if not outcomes and code not in (0, 1):
        return None, "the launcher ended without a report"
    return host.completed(host.merged(outcomes)), None

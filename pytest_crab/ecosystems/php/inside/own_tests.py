"""A project's own tests under PHPUnit, in the files that a change of the tests touches; CPython 3.6 up.

The project's PHPUnit where it has one, else the environment's, runs each file with the project's own configuration, and
writes JUnit's report.
"""

import os
import time

#: Where PHPUnit's program lies beside what loads it, and where Debian has it.
PROGRAM, SYSTEM = "vendor/bin/phpunit", "/usr/bin/phpunit"
SETTINGS = ("phpunit.xml", "phpunit.xml.dist")
LOADER = "vendor/autoload.php"


def run(host, run):
    """Run the files of tests; their outcomes, with the file before each name."""
    php, root = host.parts["php_runner"], host.job["workdir"]
    end = time.monotonic() + run["seconds"]
    env, _ = host.environment()
    noted = php.noted(env["CRAB_PHP"])
    if noted is None:
        return {"ending": "unstarted", "detail": php.LACK}
    failed = php.prepare_tree(host, run["state"], env, end)
    if failed is not None:
        return failed
    beside = [os.path.join(root, PROGRAM), os.path.join(env["CRAB_PHP"], PROGRAM), SYSTEM]
    program = next(path for path in beside if os.path.isfile(path) or path == SYSTEM)
    outcomes = []
    for file in chosen(host, run["tests"]["files"]):
        report = os.path.join(host.folder, "overlay", os.urandom(8).hex())
        argv = [host.job["tools"]["php"]["program"], program, "--log-junit", report]
        if os.path.exists(os.path.join(root, LOADER)) and not any(map(os.path.exists, settings(root))):
            argv += ["--bootstrap", LOADER]
        seen = host.process([*argv, file], env, root, end - time.monotonic(), printed=False)
        result = host.conclude(seen, lambda *_, file=file, report=report: read(host, file, report))
        if not host.gather(outcomes, result, file):
            return result
    return host.completed(outcomes)


def settings(root):
    """Return where a project may have its settings of PHPUnit."""
    return [os.path.join(root, name) for name in SETTINGS]


def chosen(host, files):
    """Return the files of tests that files belong to: data to the tests above it."""
    root, found = host.job["workdir"], set()
    for file in files:
        if not is_test(file):
            found.update(host.nearest(root, file, is_test))
        elif os.path.isfile(os.path.join(root, file)):
            found.add(file)
    return sorted(found)


def is_test(path):
    """Return whether a path is one of a file of tests."""
    return path.endswith("Test.php")


def read(host, file, report):
    """Return the outcomes of a file's tests."""
    cases = host.reports.junit(host.reports.text_of(report))
    tests = (("%s:%s::%s" % (file, case.get("class", ""), path[-1]), outcome) for path, outcome, _, case in cases)
    return host.completed(host.merged(tests)), None

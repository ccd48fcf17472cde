"""Oracles under PHPUnit: a launcher of our own runs them in one process, and signs what it tells; CPython 3.6 up.

PHPUnit is the environment's. Its classes are loaded before any code of the project, so none of the project's can stand
in their place; neither its command nor a configuration of the project's takes part. The oracle is never a file: PHP is
given its text once, under the name of a file in the tree. The launcher removes itself before that. One report comes at
the end, behind tests that must fail, with a code that only its key makes. A fatal error is a failure of the test that
it ends; those behind it run in a process of their own. What code in the oracle's process can still do is in the docs.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import time

#: The report is a file of its own for the launcher, and what the project prints goes where errors do.
SHELL = ["/bin/sh", "-c", 'exec "$@" 9>&1 1>&2', "sh"]
#: Nothing is run before the launcher or after it, and no code reaches into the memory of its process by a library.
SETTINGS = {
    "auto_prepend_file": "", "auto_append_file": "", "opcache.enable_cli": "0", "ffi.enable": "0", "memory_limit": "1G",
    "display_errors": "stderr", "log_errors": "0", "zend.assertions": "1", "assert.exception": "1",
}  # fmt: skip
#: Tests that must fail, each by another kind of assertion.
KINDS = ("same", "equal", "true", "count", "throws", "plain")
LACK = (
    "PHPUnit 9 is not in the environment: install it (Debian: phpunit), or name a release of phpunit/phpunit in "
    "environment.packages"
)
NO_COMPOSER = "there is no composer on PATH in the environment, and the autoloader is to be made anew: install it"
#: Requirements in composer.json that are no packages.
PLATFORM = re.compile(r"php(?:-\w+)?\Z|(?:ext|lib)-|composer(?:-\w+)*\Z")
#: What makes composer keep a list of the project's classes, which a change of any file may make old.
LISTS = {"classmap", "classmap-authoritative", "optimize-autoloader"}

LAUNCHER = r"""<?php
\unlink(__FILE__);
\set_include_path('%(library)s');
require '%(phpunit)s';
\set_include_path('.' . \PATH_SEPARATOR . '%(library)s');

final class %(n)s implements \PHPUnit\Framework\TestListener
{
    use \PHPUnit\Framework\TestListenerDefaultImplementation;

    public $at;

    public function startTest(\PHPUnit\Framework\Test $test): void
    {
        $this->at = $test;
    }

    public static function name($test): string
    {
        return \get_class($test) . '::' . ($test instanceof \PHPUnit\Framework\TestCase ? $test->getName() : '');
    }

    public static function told(string $name, string $outcome, ?\Throwable $fault): array
    {
        if ($fault === null) {
            return [$name, $outcome, null, [], ''];
        }
        $wrapped = $fault instanceof \PHPUnit\Framework\ExceptionWrapper;
        $places = [];
        if (!$fault instanceof \PHPUnit\Framework\AssertionFailedError) {
            $places[] = [$fault->getFile(), $fault->getLine()];
            foreach ($wrapped ? $fault->getSerializableTrace() : $fault->getTrace() as $frame) {
                $places[] = [$frame['file'] ?? '', $frame['line'] ?? 0];
            }
        }
        $kind = $wrapped ? $fault->getClassName() : \get_class($fault);
        return [$name, $outcome, $kind, \array_slice($places, 0, 50), \substr($fault->getMessage(), 0, 400)];
    }

    public static function leaves(\PHPUnit\Framework\TestSuite $suite): array
    {
        $found = [];
        foreach ($suite->tests() as $test) {
            $more = $test instanceof \PHPUnit\Framework\TestSuite ? self::leaves($test) : [$test];
            $found = \array_merge($found, $more);
        }
        return $found;
    }

    public static function without(\PHPUnit\Framework\TestSuite $suite, array $done): void
    {
        $left = [];
        foreach ($suite->tests() as $test) {
            if ($test instanceof \PHPUnit\Framework\TestSuite) {
                self::without($test, $done);
                $left[] = $test;
            } elseif (!isset($done[self::name($test)])) {
                if ($test instanceof \PHPUnit\Framework\TestCase) {
                    // Else its outcome is what a process of the project's says.
                    (\Closure::bind(function () {
                        $this->runTestInSeparateProcess = $this->runClassInSeparateProcess = false;
                    }, $test, \PHPUnit\Framework\TestCase::class))();
                }
                $left[] = $test;
            }
        }
        $suite->setTests($left);
    }

    public static function outcomes(array $tests, \PHPUnit\Framework\TestResult $result): array
    {
        $faults = [];
        $lists = ['failed' => [$result->failures(), $result->errors()], 'skipped' => [$result->skipped(),
            $result->notImplemented(), $result->risky(), $result->warnings()]];
        foreach ($lists as $outcome => $each) {
            foreach (\array_merge(...$each) as $fault) {
                $test = $fault->failedTest();
                $faults[\spl_object_id($test)] = $faults[\spl_object_id($test)]
                    ?? self::told(self::name($test), $outcome, $fault->thrownException());
            }
        }
        $told = [];
        foreach ($tests as $test) {
            $id = \spl_object_id($test);
            $name = self::name($test);
            if (isset($faults[$id])) {
                $told[] = $faults[$id];
                unset($faults[$id]);
            } elseif (isset($result->passed()[$name])
                && $test->getStatus() === \PHPUnit\Runner\BaseTestRunner::STATUS_PASSED) {
                $told[] = self::told($name, 'passed', null);
            }
        }
        return \array_merge($told, \array_values($faults));
    }
}

(static function (): void {
    $root = '%(library)s/';
    $places = [];
    foreach ([\PHPUnit\Framework\Assert::class, \PHPUnit\Util\Test::class, \SebastianBergmann\Comparator\Factory::class,
        \SebastianBergmann\Exporter\Exporter::class, \SebastianBergmann\Diff\Differ::class,
        \SebastianBergmann\RecursionContext\Context::class] as $name) {
        $places[] = \dirname((new \ReflectionClass($name))->getFileName());
    }
    foreach ($places as $place) {
        $files = new \RecursiveDirectoryIterator($place, \FilesystemIterator::SKIP_DOTS);
        foreach (new \RecursiveIteratorIterator($files) as $file) {
            if (\preg_match('~\A[A-Z].*\.php\z~', $file->getFilename())) {
                require_once $file->getPathname();
            }
        }
    }
    $own = '~\A(?:PHPUnit|SebastianBergmann|DeepCopy|Doctrine\\\\Instantiator)\\\\~i';
    $names = static function (): array {
        return \array_merge(\get_declared_classes(), \get_declared_interfaces(), \get_declared_traits());
    };
    $known = \array_flip($names());
    $constants = \get_defined_constants();
    $factory = \SebastianBergmann\Comparator\Factory::getInstance();
    $held = (array) $factory;
    $functions = \get_defined_functions();
    $internal = \array_flip($functions['internal']);
    $functions = \array_flip($functions['user']);

    $out = \fopen('php://fd/9', 'wb');
    $report = ['tests' => [], 'wires' => [], 'altered' => [], 'load' => null, 'fatal' => null];
    $done = \array_fill_keys(\json_decode(\base64_decode('%(done)s'), true), true);
    $listener = new %(n)s();
    $result = new \PHPUnit\Framework\TestResult();
    $result->addListener($listener);
    $suites = $leaves = [];
    $say = static function () use (&$report, $out): void {
        $text = \base64_encode(\json_encode($report, \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_PARTIAL_OUTPUT_ON_ERROR));
        \fwrite($out, $text . ' ' . \hash_hmac('sha256', $text, '%(key)s') . "\n");
        $report = null;
    };
    \register_shutdown_function(static function () use (&$report, $say, $listener, $result, &$leaves): void {
        $last = \error_get_last();
        $fatal = \E_ERROR | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_PARSE | \E_RECOVERABLE_ERROR;
        if ($report !== null && $last !== null && ($last['type'] & $fatal)) {
            \ini_set('memory_limit', '-1');
            $report['tests'] = %(n)s::outcomes($leaves, $result);
            $name = $listener->at === null ? null : %(n)s::name($listener->at);
            $report['fatal'] = [$name, 'failed', 'FatalError', [[$last['file'], $last['line']]],
                \substr($last['message'], 0, 400)];
            $say();
        }
    });

    $path = '%(oracle)s';
    try {
        if (\is_file('vendor/autoload.php')) {
            (static function () { require_once \getcwd() . '/vendor/autoload.php'; })();
        }
        $before = $names();
        %(n)sOracle::$path = $path;
        %(n)sOracle::$text = \base64_decode('%(source)s');
        \stream_wrapper_unregister('file');
        \stream_wrapper_register('file', %(n)sOracle::class);
        (static function () use ($path) { require $path; })();
    } catch (\Throwable $fault) {
        $report['load'] = %(n)s::told('session', 'error', $fault);
    }
    $spaces = [];
    if ($report['load'] === null) {
        foreach (\array_diff($names(), $before) as $name) {
            $class = new \ReflectionClass($name);
            if ($class->getFileName() === $path) {
                $spaces[\strtolower($class->getNamespaceName())] = true;
                if ($class->isSubclassOf(\PHPUnit\Framework\TestCase::class) && !$class->isAbstract()) {
                    $suites[] = new \PHPUnit\Framework\TestSuite($class);
                }
            }
        }
        foreach ($suites as $suite) {
            %(n)s::without($suite, $done);
            $leaves = \array_merge($leaves, %(n)s::leaves($suite));
        }
        foreach ($suites as $suite) {
            $suite->run($result);
        }
        $report['tests'] = %(n)s::outcomes($leaves, $result);
    }
    $listener->at = null;

    foreach ($leaves as $test) {
        $expected = $test instanceof \PHPUnit\Framework\TestCase ? $test->getExpectedException() : null;
        if ($expected !== null && \is_a($expected, \PHPUnit\Framework\Exception::class, true)) {
            $report['altered'][] = 'expects:' . $expected;
        }
    }
    foreach (\get_defined_functions()['user'] as $name) {
        $at = \strrpos($name, '\\');
        $hides = $at !== false && isset($spaces[\substr($name, 0, $at)], $internal[\substr($name, $at + 1)]);
        if ($hides && !isset($functions[$name])) {
            $report['altered'][] = 'function:' . $name;
        }
    }
    foreach (\get_defined_constants() as $name => $_) {
        $at = \strrpos($name, '\\');
        $space = \strtolower(\substr($name, 0, (int) $at));
        $hides = $at !== false && isset($spaces[$space], $constants[\substr($name, $at + 1)]);
        if ($hides && !isset($constants[$name])) {
            $report['altered'][] = 'constant:' . $name;
        }
    }
    if ($factory !== \SebastianBergmann\Comparator\Factory::getInstance() || $held !== (array) $factory) {
        $report['altered'][] = 'comparator:' . \SebastianBergmann\Comparator\Factory::class;
    }
    foreach ($names() as $name) {
        if (isset($known[$name]) || \strpos($name, '%(n)s') === 0) {
            continue;
        }
        $file = (string) (new \ReflectionClass($name))->getFileName();
        $ours = \strpos($file, $root) === 0;
        $mock = \strpos($file, "eval()'d code") !== false;
        $compares = \is_subclass_of($name, \SebastianBergmann\Comparator\Comparator::class)
            || \is_subclass_of($name, \SebastianBergmann\Comparator\Factory::class);
        if ($compares && $file !== $path && (!$ours || $mock)) {
            $report['altered'][] = 'comparator:' . $name;
        } elseif (!$ours && \preg_match($own, $name)) {
            $report['altered'][] = 'class:' . $name;
        }
    }

    foreach (%(wires)s as $kind) {
        $wire = new class ('test') extends \PHPUnit\Framework\TestCase {
            public $kind;

            public function test()
            {
                switch ($this->kind) {
                    case 'same':
                        return self::assertSame(%(v)d, %(v)d + 1, '%(w)s same');
                    case 'equal':
                        return $this->assertEquals([%(v)d], [%(v)d + 1], '%(w)s equal');
                    case 'true':
                        return $this->assertTrue(%(v)d === %(v)d + 1, '%(w)s true');
                    case 'count':
                        return static::assertCount(2, [%(v)d], '%(w)s count');
                    case 'throws':
                        $this->expectExceptionMessage('%(w)s throws');
                        throw new \DomainException('%(v)d');
                }
                throw new \LogicException('%(w)s plain');
            }
        };
        $wire->kind = $kind;
        $last = new \PHPUnit\Framework\TestResult();
        $wire->run($last);
        $report['wires'][$kind] = %(n)s::outcomes([$wire], $last);
    }
    $say();
    exit(1);
})();

final class %(n)sOracle
{
    public static $path;
    public static $text;
    public $context;
    private $left;

    public function stream_open($path, $mode, $options, &$opened)
    {
        \stream_wrapper_restore('file');
        if ($path !== self::$path) {
            return false;
        }
        $this->left = self::$text;
        self::$text = null;
        return true;
    }

    public function stream_read($count)
    {
        $part = \substr($this->left, 0, $count);
        $this->left = (string) \substr($this->left, $count);
        return $part;
    }

    public function stream_eof()
    {
        return $this->left === '';
    }

    public function stream_stat()
    {
        return [];
    }

    public function stream_set_option($option, $first, $second)
    {
        return false;
    }
}
"""


def run(host, run):
    """Run one oracle's tests; where a fatal error ends their process, those that are left in another."""
    job, tool = host.job, host.job["tools"]["php"]
    end = time.monotonic() + run["seconds"]
    env, _ = host.environment()
    phpunit = noted(env["CRAB_PHP"])
    if phpunit is None:
        return {"ending": "unstarted", "detail": LACK}
    failed = prepare_tree(host, run["state"], env, end)
    if failed is not None:
        return failed
    tests, altered, whole, done = [], set(), True, []
    while True:
        spec = write(host, run["oracle"], phpunit, done)
        argv = [*SHELL, tool["program"], *(word for item in SETTINGS.items() for word in ("-d", "%s=%s" % item))]
        seen = host.process([*argv, spec["launcher"]], env, job["workdir"], end - time.monotonic(), printed=True)
        result = host.conclude(seen, lambda data, code, spec=spec: read(host, spec, data, code))
        done += result.pop("names", ())
        if result["ending"] != "completed":
            return result
        new = [test for test in result["tests"] if test["id"] not in {told["id"] for told in tests}]
        tests, altered, whole = tests + new, altered.union(result["altered"]), whole and result["tripwire"]
        if not result["fatal"] or not new or new[-1]["id"] == "session":
            return host.completed(tests, whole, altered)


def prepare_tree(host, state, env, end):
    """Make the lists of classes anew where a state changes them; None, or the result where that fails."""
    job = host.job
    changed = {path for path, _, _ in job["states"][state]}
    keep(host, changed)
    project = document(host, "composer.json")
    if "composer.json" in changed and missing(project, document(host, "vendor/composer/installed.json")):
        return host.completed([host.error("MissingPackage")])
    if "composer.json" in changed or (listed(project) and any(path.endswith(".php") for path in changed)):
        composer = shutil.which("composer", path=env["PATH"])
        if composer is None:
            return {"ending": "unstarted", "detail": NO_COMPOSER}
        argv = [composer, "dump-autoload", "--no-interaction", "--no-plugins", "--no-scripts"]
        seen = host.process(argv, env, job["workdir"], end - time.monotonic(), printed=True, errors=True)
        if seen["killed"] or seen["status"] != 0:
            return host.conclude(seen, lambda *_: (host.completed([host.error("BuildFailed")]), None))
    return None


def noted(folder):
    """Return the file that loads the environment's PHPUnit, as its build noted it; None where it has none."""
    try:
        with open(os.path.join(folder, "phpunit"), encoding="utf-8") as file:
            return file.read().strip() or None
    except FileNotFoundError:
        return None


def keep(host, changed):
    """Put back what a state or its build changes of installed packages: these are the environment's and no diff's."""
    if any(path == "vendor" or path.startswith("vendor/") for path in changed):
        host.tree.put_back(host.job["tree"], host.job["workdir"], "vendor")
    if host.built_since is not None:
        host.tree.mend(host.job["tree"], host.job["workdir"], "vendor", host.built_since)


def missing(project, installed):
    """Return whether composer.json asks for a package that is not installed, nor in the place of which one stands."""
    packages = installed.get("packages") if isinstance(installed, dict) else installed  # composer 1 has a list alone
    given = keys(project, "replace") | keys(project, "provide")
    for package in packages if isinstance(packages, list) else ():
        if isinstance(package, dict):
            given |= {str(package.get("name")).lower()} | keys(package, "replace") | keys(package, "provide")
    return any(not PLATFORM.match(name) for name in keys(project, "require") - given)


def listed(project):
    """Return whether composer keeps a list of the project's classes."""
    return any(LISTS & keys(project, name) for name in ("autoload", "autoload-dev", "config"))


def keys(mapping, name):
    """Return the keys of a mapping in a mapping, in lower case as composer takes them; none where it is none."""
    found = mapping.get(name) if isinstance(mapping, dict) else None
    return {key.lower() for key in found} if isinstance(found, dict) else set()


def document(host, path):
    """Return what a file of JSON in the tree has; None where it is none."""
    try:
        return json.loads(host.reports.text_of(os.path.join(host.job["workdir"], path)))
    except (ValueError, EOFError, RecursionError):
        return None


def write(host, oracle, phpunit, done):
    """Write the launcher into a private folder; what is to be known of its run.

    ``done`` are the tests that it leaves out.
    """
    name, word, key = host.token(), host.token(), host.token() + host.token()
    root = os.path.realpath(host.job["workdir"])
    place = os.path.join(root, os.path.basename(oracle["file"]))
    library = os.path.dirname(phpunit)
    words = {
        "n": name, "w": word, "key": key, "v": int.from_bytes(os.urandom(3), "big"), "phpunit": quoted(phpunit),
        "library": quoted(os.path.dirname(library) if os.path.basename(phpunit) == "Autoload.php" else library),
        "oracle": quoted(place), "source": base64.b64encode(oracle["source"].encode()).decode(),
        "done": base64.b64encode(json.dumps(done).encode()).decode(), "wires": json.dumps(KINDS),
    }  # fmt: skip
    launcher = os.path.join(host.folder, "oracle", name + ".php")
    with open(launcher, "w", encoding="utf-8") as out:
        out.write(LAUNCHER % words)
    return {"word": word, "key": key, "root": root, "oracle": place, "launcher": launcher, "done": done}


def quoted(text):
    """Return a text as it stands between single quotes in PHP."""
    return text.replace("\\", "\\\\").replace("'", "\\'")


# --- reading ---------------------------------------------------------------------------------------------------------


def read(host, spec, data, code):
    """Return the report of one process, or None and what is wrong with it.

    It is one line with its signature, and nothing else came.
    """
    text, _, signature = data.decode("ascii", "replace").partition(" ")
    signed = hmac.new(spec["key"].encode(), text.encode("ascii", "replace"), hashlib.sha256).hexdigest() + "\n"
    if not hmac.compare_digest(signed.encode(), signature.encode("ascii", "replace")):
        return None, "the process ended without a report"
    said = json.loads(base64.b64decode(text).decode("utf-8", "replace"))
    fatal = said["fatal"]
    if code != (255 if fatal else 1):
        return None, "the report and exit code %d do not agree" % code
    tests, altered = {}, {str(label) for label in said["altered"]}
    for line in said["tests"]:
        test = outcome(host, spec, *line)
        if tests.setdefault(test["id"], test) is not test:
            altered.add("oracle:" + test["id"])
            tests[test["id"]].update(outcome="failed")
    if fatal and fatal[0]:
        test = outcome(host, spec, *fatal)
        tests.pop(test["id"], None)
        tests[test["id"]] = test
    elif fatal or said["load"]:
        found = outcome(host, spec, *(said["load"] or fatal))
        tests["session"] = host.error(found["exception"], found["where"])
    elif not tests and not spec["done"]:
        tests["session"] = host.error("NoTests")
    whole = bool(fatal) or all(wired(spec, kind, said["wires"].get(kind, ())) for kind in KINDS)
    names = [line[0] for line in (*said["tests"], *([fatal] if fatal else ()))]
    return dict(host.completed(list(tests.values()), whole, altered), fatal=bool(fatal), names=names), None


def wired(spec, kind, lines):
    """Return whether a test that must fail did, and said what it must."""
    return len(lines) == 1 and lines[0][1] == "failed" and "%s %s" % (spec["word"], kind) in lines[0][4]


def outcome(host, spec, name, word, exception, places, message):
    """Return the outcome of one test, with the innermost line of the tree that an exception came through.

    Its name is as short as the host has it, so that two of which it would make one are seen.
    """
    where = None
    own = [line for path, line in places if path == spec["oracle"]]
    at = "%s:%d: " % (os.path.basename(spec["oracle"]), own[0]) if own and message else ""
    host.quote(name or "session", at + message)
    for path, line in places:
        if path.startswith(spec["root"] + os.sep) and path != spec["oracle"]:
            where = "%s:%d" % (path[len(spec["root"]) + 1 :], line)
            break
    exception = exception.rpartition("\\")[2] if exception else None
    return {"id": (name or "session")[: host.TEST], "outcome": word, "exception": exception, "where": where}

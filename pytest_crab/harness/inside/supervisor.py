"""The supervisor: restores the tree, runs one child per run and reports on each; executed in a sandbox, from memory.

It works from CPython 3.6 up and imports no code of the project. What a child says is data, and no process of the
project inherits or can open the supervisor's own input and output. What it says goes to the messenger.
"""

import _socket
import builtins
import fcntl
import json
import os
import random
import re
import resource
import select
import signal
import sys
import tempfile
import time
import types

REPORT_BYTES = 8 << 20
#: More than a pipe or socket holds, and an end where processes of the project write faster than this one reads.
READS = 256
#: The tests and labels that a run tells, the characters of a test's and of another name, and how much of a text that
#: the project may have written is looked at: patterns may take the square of its length.
TESTS, TEST, NAMES, TEXT = 5000, 450, 200, 8000
#: How long processes are ended at most, in seconds.
ENDED_WITHIN = 10
#: So many bytes of the end of what a run prints are told, where that is asked for.
PRINTED = 1 << 16
#: Of so many failed tests it is told what they say.
QUOTES = 20
#: What ``token`` returns.
TOKEN = re.compile(r"x[0-9a-f]{32}")
#: Of several outcomes of one name, the first of these is told.
WORST = ("failed", "error", "passed", "xpassed", "xfailed", "skipped")
_exit = os._exit


class Supervisor:
    """One job: its folders, its children and the line that goes out for each run."""

    def __init__(self, job, parts):
        self.job = job
        self.contained = job["contained"]
        self.own = os.getpid()
        self.out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 64)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.close(null)
        self.woken, wake = os.pipe()
        for end in (self.woken, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)
        self.kept = set(os.listdir(job["scratch"]))
        self.stuck = None  # why no run may begin any more
        self.printed = None  # the end of what the run has printed so far; None: it is not asked for
        self.quoted = {}  # what failed tests of the run say, where what is printed is asked for
        self.folder = ""
        self.installed = {}  # what the install of the tree as it is now made
        self.built_since = None  # the time before the tree as it is now was built, in nanoseconds; None: it was not
        self.parts = {}
        for name, code in parts.items():
            part = self.parts[name] = types.ModuleType("crab_" + name)
            part.__builtins__ = dict(vars(builtins))  # its own, since code of the project may replace Python's
            exec(code, part.__dict__)  # noqa: S102 - parts come as code
        self.conclude, self.completed, self.error, self.token = conclude, completed, error, token
        self.unstarted = unstarted
        self.merged, self.gather, self.nearest, self.folders = merged, gather, nearest, folders
        self.all_of = all_of
        self.TEST, self.TEXT = TEST, TEXT
        self.tree, self.processes, self.reports = (self.parts[name] for name in ("tree", "processes", "reports"))
        self.processes.set_dumpable(False)
        self.processes.adopt_orphans()
        self.processes.keep_rights_here()
        self.guard = self.parts["guard"].Guard(self.contained, self.tops())
        self.copy = self.parts["copies"].Copy(self.tree, job["tree"], job["workdir"])

    def say(self, line):
        """Send one line to the messenger, for the host."""
        data = json.dumps(line).encode() + b"\n"
        while data:
            data = data[os.write(self.out, data) :]

    # --- the tree ----------------------------------------------------------------------------------------------------

    def restore(self, state):
        """Put the tree into one state. Raises OSError, ValueError."""
        self.guard.release()
        self.guard.written.clear()
        self.installed = self.job["installs"].get(state, {})
        compiled = self.installed.get("compiled", {})
        self.copy.restore(self.job["states"][state], compiled)

    def fresh_folder(self):
        """Make the private folder of one run; what earlier runs left in scratch and in shared memory is gone.

        Raises OSError where processes of an earlier run are left: nothing runs beside them.
        """
        if self.stuck:
            raise OSError(self.stuck)
        scratch = self.job["scratch"]
        if self.folder:
            self.guard.release(self.folder + os.sep)
            self.tree.remove(self.folder)
        if self.contained:
            for name in set(os.listdir(scratch)) - self.kept:
                path = os.path.join(scratch, name)
                if os.lstat(path).st_uid == os.getuid():
                    self.tree.remove(path)
            self.processes.remove_shared(self.tree)
        self.folder = tempfile.mkdtemp(prefix="crab-", dir=scratch)
        for name in ("home", "tmp", "oracle", "overlay"):
            os.mkdir(os.path.join(self.folder, name))
        overlay = os.path.join(self.folder, "overlay")
        self.tree.overlay(overlay, self.installed)
        return self.folder

    def tops(self):
        """Return the folders below which files of oracles lie."""
        folders = (self.job["workdir"], self.job["scratch"])
        return {path for folder in folders for path in (os.path.normpath(folder), os.path.realpath(folder))}

    def protect(self, *files, label=None):
        """Let nothing of the project change these files of an oracle until the run ends. Raises OSError.

        An isolated oracle is another user's, or in another sandbox, than the project.
        """
        if "role" not in self.job:
            self.guard.keep(files, label)

    def environment(self):
        """Return the environment of a run and the import roots: nothing of the supervisor's own is handed on."""
        job, folder = self.job, self.folder
        roots = [os.path.normpath(os.path.join(job["workdir"], path)) for path in job["paths"]]
        if self.installed:
            roots.append(os.path.join(folder, "overlay"))
        natural = os.path.dirname(os.path.dirname(sys.executable))
        ahead = roots + [path for path in job["site"] if not path.startswith((natural + os.sep, sys.prefix + os.sep))]
        env = {
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), "/usr/local/bin", "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "USER": "crab",
        }
        for tool in job["tools"].values():
            env["PATH"] = os.path.dirname(tool["program"]) + os.pathsep + env["PATH"]
            env.update(tool["env"])
        env.update(job["env"])
        set_variables(env, job["variables"]["runs"])
        env.update(HOME=os.path.join(folder, "home"), TMPDIR=os.path.join(folder, "tmp"))
        env.update(dict.fromkeys(job["variables"]["paths"], os.pathsep.join(ahead)))
        if "LD_LIBRARY_PATH" in os.environ:
            env.setdefault("LD_LIBRARY_PATH", os.environ["LD_LIBRARY_PATH"])
        return env, roots

    # --- children ----------------------------------------------------------------------------------------------------

    def fork(self, target, keep, stdio):
        """Start a child in a session of its own that has nothing of the supervisor's but ``keep``."""
        pid = os.fork()
        if pid:
            return pid
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            os.setsid()
            for number, end in enumerate(stdio):
                os.dup2(end, number)
            self.processes.close_all_but(keep)
            if self.contained:
                self.processes.drop_rights()
            self.processes.set_dumpable(True)
            self.processes.prefer_oom_kill()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            sys.modules["__main__"] = types.ModuleType("__main__")
            random.seed()
            target()
        except BaseException as error:  # noqa: BLE001 - a child ends here, whatever it meets
            os.write(2, ("crab: %s: %s\n" % (type(error).__name__, error)).encode("utf-8", "replace"))
        finally:
            _exit(70)

    def watch(self, target, seconds, report):
        """Run ``target(report end)`` in a child to its end; a mapping that says how it ended. Raises OSError."""
        before = self.counters()
        null = os.open(os.devnull, os.O_RDONLY)
        out, out_end = os.pipe()
        told, told_end = (end.detach() for end in _socket.socketpair())  # which no process can open through /proc
        keep = {told_end} if report else set()
        pid = self.fork(lambda: target(told_end), keep, (null, out_end, out_end))
        for end in (null, out_end, told_end):
            os.close(end)
        seen = {"status": None, "report": b"", "output": 0, "killed": None}
        try:
            self.follow(pid, out, told, seen, time.monotonic() + seconds)
        finally:
            os.close(out)
            os.close(told)
            self.kill_all(pid, seen)
        after = self.counters()
        seen["grown"] = {name: after[name] > before[name] for name in after if before.get(name) is not None}
        return seen

    def follow(self, pid, out, told, seen, end):
        """Take in output and report until the child has gone, the time is up or the output too much."""
        for source in (out, told):
            os.set_blocking(source, False)
        sources = [out, told, self.woken]
        while True:
            left = end - time.monotonic()
            ready = select.select(sources, [], [], max(left, 0))[0]
            gone = self.reap(pid, seen)
            for source in (out, told):
                if (source in ready or gone) and source in sources:
                    self.take(source, source == out, sources, seen)
            if self.woken in ready:
                self.drain()
            if seen["output"] > self.job["limits"]["output"]:
                seen["killed"] = seen["killed"] or "output"
            elif left <= 0 and not gone:
                seen["killed"] = "timeout"
            if gone or seen["killed"]:
                return

    def drain(self):
        """Empty the pipe that a child's end wakes."""
        try:
            while os.read(self.woken, 4096):
                pass
        except BlockingIOError:
            return

    def take(self, source, is_output, sources, seen):
        """Read what a pipe holds now; output is only counted."""
        for _ in range(READS):
            try:
                data = os.read(source, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                sources.remove(source)
                return
            self.keep(data)
            if is_output:
                seen["output"] += len(data)
                if seen["output"] > self.job["limits"]["output"]:
                    return
            elif len(seen["report"]) < REPORT_BYTES:
                seen["report"] += data

    def keep(self, data):
        """Add what a program printed, or wrote as its report, to what is told of the run where that is asked for."""
        if self.printed is not None:
            self.printed = (self.printed + data)[-PRINTED:]

    def quote(self, test, text):
        """Keep what a failed test says, or a build, for the oracle's author; no verdict comes of it.

        Names that only this run has are taken out, so that the same is said each time.
        """
        if self.printed is not None and text and len(self.quoted) < QUOTES:
            self.quoted.setdefault(test[:TEST], TOKEN.sub("", text)[:TEXT])

    def reap(self, pid, seen):
        """Collect dead processes; return True if the child is one of them."""
        while True:
            try:
                dead, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return seen["status"] is not None
            if not dead:
                return seen["status"] is not None
            if dead == pid:
                seen["status"] = status

    def kill_all(self, pid=None, seen=None):
        """End every process that the run left. Raises OSError where some cannot be ended: it was the job's last run.

        Orphans become this process's children, so none is left when it has none. What kill says does not tell that:
        where only other users' processes are left, killing everything succeeds and ends nothing.
        """
        seen = seen if seen is not None else {"status": None}
        everything = self.contained and os.getppid() <= 1  # else the messenger is among them
        end, pause = time.monotonic() + ENDED_WITHIN, 0.001
        while not self.stuck and time.monotonic() < end:
            for victim in [-1] if everything else self.processes.children(self.own):
                try:
                    os.kill(victim, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    continue
            self.reap(pid, seen)
            if not self.processes.children(self.own):
                return
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        self.stuck = self.stuck or "processes of a run could not be ended, so none may begin beside them"
        raise OSError(self.stuck)

    def counters(self):
        """Return how often the sandbox has refused memory and processes so far, as far as that is visible."""
        paths = self.job["counters"]
        return {
            "memory": self.processes.counter(paths.get("memory"), "oom_kill"),
            "processes": self.processes.counter(paths.get("processes"), "max"),
        }

    # --- runs --------------------------------------------------------------------------------------------------------

    def tell(self, run, do):
        """Send a run's line for the host: what ``do`` returns, or what kept it from being done."""
        started = time.monotonic()
        self.printed, self.quoted = b"" if run.get("printed") else None, {}
        try:
            result = do(run)
        except (OSError, ValueError) as error:
            result = unstarted(error)
        result.update(id=run["id"], seconds=round(time.monotonic() - started, 3))
        if self.printed is not None:
            result.update(printed=self.printed.decode("utf-8", "replace"), quoted=self.quoted)
        self.say({"run": result})

    def run(self, run):
        """Do one run from a restored tree; its result. Raises OSError, ValueError."""
        self.restore(run["state"])
        self.fresh_folder()
        self.protect(*(os.path.join(self.job["workdir"], path) for path in run.get("laid", ())))
        return self.guard.told(self.built(run) or (self.command(run) if run.get("command") else self.tests(run)))

    def built(self, run):
        """Build the tree, where it is to be built, and take that off the run's time; the result where it does not.

        What the build leaves in the private folder is gone afterwards.
        """
        if self.job["build"] is None:
            return None
        started, self.built_since = time.monotonic(), os.lstat(self.folder).st_ctime_ns
        argv = ["/bin/sh", "-c", self.job["build"]]
        seen = self.process(argv, self.environment()[0], self.job["workdir"], run["seconds"], printed=True, errors=True)
        run["seconds"] -= time.monotonic() - started
        result = conclude(seen, None)
        if result["ending"] == "completed" and result["exit_code"]:
            return {"ending": "uninstalled", "detail": "its build failed" + self.why_unbuilt(seen["report"])}
        if result["ending"] != "completed":
            return result
        self.fresh_folder()
        return None

    def why_unbuilt(self, data):
        """Return why a build failed, as the end of a sentence: what is not installed, or the line that says most."""
        text = data.decode("utf-8", "replace")
        asked = (part.not_installed(self, text) for part in self.parts.values() if hasattr(part, "not_installed"))
        lacking = next(filter(None, asked), None)
        return " with MissingPackage: %s is not installed" % lacking[:NAMES] if lacking else ": " + told_by_build(text)

    def command(self, run):
        """Run one of the project's own commands; only its exit code counts."""
        env, _ = self.environment()
        set_variables(env, self.job["variables"]["commands"])
        argv, workdir = run["command"], self.job["workdir"]

        def start(_):
            os.chdir(workdir)
            self.job.clear()
            os.execvpe(argv[0], argv, env)  # noqa: S606

        seen = self.watch(start, run["seconds"], report=False)
        return conclude(seen, None)

    def process(self, argv, env, cwd, seconds, *, printed, errors=False):
        """Run a program to its end; what was seen of it.

        What it prints is its report if ``printed``, with its errors if ``errors``, else it is counted.
        """

        def start(told):
            os.chdir(cwd)
            if printed:
                os.dup2(told, 1)
            if errors:
                os.dup2(told, 2)
            self.job.clear()
            os.execve(argv[0], argv, env)  # noqa: S606

        return self.watch(start, seconds, report=True)

    def tests(self, run):
        """Run one oracle, or the project's own tests, as their ecosystem does."""
        self.put_back(run)
        return self.parts[run["part"]].run(self, run)

    def put_back(self, run):
        """Put back in the tree what the runner of an oracle says that no state may change, where it says so."""
        part = self.parts[run["part"]]
        if hasattr(part, "put_back"):
            part.put_back(self, run["state"])

    def root(self, program):
        """Return the folder that an oracle runs in: the tree's, or an empty one where it reaches that by a program."""
        return self.job["workdir"] if program is None else os.path.join(self.folder, "home")

    def main(self):
        """Send the greeting and do the runs; the host discards all results unless this finishes."""
        for part in self.parts.values() if self.job.get("role") != "project" else ():  # no oracle runs there
            fault = part.prepare(self) if hasattr(part, "prepare") else None
            if fault is not None:
                self.say({"broken": fault})
                return
        self.say({"hello": sys.version.split()[0]})
        if "leaks" in self.job:
            self.restore(self.job["leaks"]["state"])
            self.say({"leaks": self.parts["leak_scan"].look(self.job)})
        if "role" in self.job:
            self.parts["isolation"].main(self)
        else:
            for run in self.job["runs"]:
                self.tell(run, self.run)
        if self.folder:
            self.guard.release()
            self.tree.remove(self.folder)


def conclude(seen, read):
    """Turn what was seen of a child into a run; a report is believed only if it is whole and the exit code agrees.

    ``read`` takes what was reported and the exit code, and returns the report or None, and what is wrong with it. A
    report is what ``completed`` returns, a signal by which the tests ended, or a fault of the environment; with a
    report may come its cause, memory or processes, and another exit code. It raises EOFError where there is no report,
    and what comes of reading any other text where it is none.
    """
    grown, status = seen["grown"], seen["status"]
    refused = next((name for name in ("memory", "processes") if grown.get(name)), None)
    if seen["killed"]:
        return {"ending": seen["killed"]}
    result = {}
    code = None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    try:
        report, fault = read(seen["report"], code) if read and code is not None else (None, None)
    except EOFError:
        report, fault = None, "the process ended without a report"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        report, fault = None, "the report is not well-formed"
    number = os.WTERMSIG(status) if code is None else (report or {}).get("signal")
    if number is not None:
        hidden = number == signal.SIGKILL and "memory" not in grown
        result.update(signal=number, ending="memory" if hidden else refused or "crashed")
        return result
    result["exit_code"] = code
    if read is None:
        result["ending"] = "completed" if code == 0 else refused or "completed"
        return result
    if report is None:
        result.update(ending=refused or "exited", detail=fault)
        return result
    if "fault" in report:
        result.update(ending="unstarted", detail=report["fault"])
        return result
    result.update(report)
    failed = any(test["outcome"] in ("failed", "error") for test in result["tests"])
    cause = result.pop("cause", None) or refused
    result["ending"] = cause if failed and cause else "completed"
    return result


def completed(tests, tripwire=True, altered=()):  # noqa: FBT002 - the words of a run
    """Return the result of tests that came to their end; the exit code is that of a run in which some failed."""
    return {"ending": "completed", "exit_code": 1, "tests": [short(test) for test in tests[:TESTS]],
            "tripwire": tripwire, "altered": sorted({label[:NAMES] for label in altered})[:TESTS]}  # fmt: skip


def all_of(results, altered=()):
    """Return the result of tests of which each has a process: of the first that came to no right end, else of all."""
    tests, whole, altered = [], True, set(altered)
    for result in results:
        if result["ending"] != "completed":
            return result
        tests += result["tests"]
        whole = whole and result["tripwire"]
        altered.update(result["altered"])
    return completed(tests, whole, altered)


def gather(outcomes, result, label):
    """Add the outcomes of a part of a run, an error with its label where it came to no report; whether to go on.

    A part that was cut short, by the time or a limit, ends the run.
    """
    goes_on = result["ending"] in ("completed", "crashed", "exited")
    if goes_on:
        outcomes += result.get("tests", [dict(error(result["ending"].title()), id=label + ":")])
    return goes_on


def folders(root, paths, is_one):
    """Return the nearest folders above paths that have a file of a kind."""
    found = (nearest(root, path, is_one) for path in paths)
    return sorted({os.path.dirname(files[0]) or "." for files in found if files})


def nearest(root, path, is_one):
    """Return the files of a kind, such as tests, in the nearest folder above a path that has some."""
    folder, found = path, []
    while folder and not found:
        folder = os.path.dirname(folder)
        place = os.path.join(root, folder)
        beside = sorted(os.listdir(place)) if os.path.isdir(place) else []
        found = [each for each in (os.path.join(folder, name) for name in beside) if is_one(each)]
    return found


def merged(told):
    """Return the outcomes of tests that were told as names and outcomes, each name once."""
    found = {}
    for name, outcome in told:
        found.setdefault(name, set()).add(outcome)
    return [{"id": name, "outcome": min(each, key=WORST.index), "exception": None, "where": None}
            for name, each in found.items()]  # fmt: skip


def short(test):
    """Return the outcome of a test without more than the host takes of names."""
    exception, (path, colon, line) = test["exception"], (test["where"] or "").rpartition(":")
    return dict(test, id=test["id"][:TEST], exception=exception and exception[:NAMES],
                where=test["where"] and path[:NAMES] + colon + line)  # fmt: skip


def error(exception, where=None):
    """Return the outcome of a session whose tests could not be built."""
    return {"id": "session", "outcome": "error", "exception": exception, "where": where}


def unstarted(fault):
    """Return the result of a run that a fault kept from being done."""
    return {"ending": "unstarted", "detail": "%s: %s" % (type(fault).__name__, str(fault)[:300])}


def token():
    """Return a name that nobody can guess."""
    return "x" + os.urandom(16).hex()


def set_variables(env, values):
    """Set variables, or take those away that are None."""
    for name, value in values.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value


def told_by_build(text):
    """Return the line of a build's output that says most: the first that names an error, else the last."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    telling = [line for line in lines if "error" in line.lower()]
    return (telling[:1] or lines[-1:] or ["it printed nothing"])[0][:300]


def main(job, parts):
    """Do a job; the entry point of the bootstrap."""
    Supervisor(job, parts).main()

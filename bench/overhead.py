"""What a trial costs above the tests that it runs: ours, a script by hand, swebench and inspect-ai, alternated.

    python bench/overhead.py

One instance, made here on click's source distribution: one oracle of one test, red at head and green at the
reference. The review and the revision are replayed and the image is there before the clock starts, so what is
measured is the work around the tests. Every way runs warm, in a process that has imported what it needs. Needs a
Docker engine, the docker client and a package index; exits with 1 if a budget is exceeded.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

from figures import middle, tell
from rivals import Rival, inspect_ai, swebench
from traces import no_images_left

from pytest_crab.agents import AGENTS
from pytest_crab.instances import load_instance
from pytest_crab.protocols import ORACLE_LIMITS
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.docker import DockerRuntime
from pytest_crab.runtimes.slots import Slots
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew, CrewSpec, RunContext, run_trial
from pytest_crab.trial.context import TrialContext
from pytest_crab.trial.session import open_run_context
from pytest_crab.types import Instance, Verdict

SAME, AFTER, SHARE, MANY, PROCESSOR, MEMORY = 1.25, 1.25, 0.25, 1.15, 0.15, 80.0
BATCH, JOBS = 8, 2

#: The instances' names, which their images have too.
NAMES = tuple(f"counted-{number}" for number in range(BATCH))
RIVALS = ("swebench", "inspect-ai")

#: Where the tree lies in the image; swebench knows no other place.
WORKDIR = "/testbed"
PATH = "src/click/counted.py"
WRONG = 'def counted(number, noun):\n    return f"{number} {noun}s"\n'
RIGHT = 'def counted(number, noun):\n    return f"{number} {noun}" + ("s" if number != 1 else "")\n'
ORACLE = """\
import click
from click.counted import counted
from click.testing import CliRunner


@click.command()
def command():
    click.echo(counted(1, "file"))


def test_one():
    assert CliRunner().invoke(command).output == "1 file\\n"
"""
INSTANCE = """\
schema: 1
id: {id}
provenance: authored
repo: pallets/click
license: BSD-3-Clause
pull_request: {{number: 1, title: Count things in words}}
source:
  sdist:
    name: click
    version: 8.1.7
    sha256: ca9853ad459e787e2192211578cc907e7594e294c7ccc834310722b41b9ca6de
    head: head.diff
    reference: reference.diff
environment:
  dockerfile: python
  python: "{python}"
  packages: [iniconfig==2.0.0, packaging==24.2, pluggy==1.5.0, pytest==8.3.4, setuptools==75.6.0, wheel==0.45.1]
  install: [pip install --no-build-isolation --no-deps -e .]
  paths: [src]
  workdir: {workdir}
  timeout: 60
comments:
  - id: c0
    path: {path}
    lines: [2, 2]
    side: right
    body: One file is no "1 files".
    category: functional
    kind: behavioral
    oracle: oracles/test_c0.py
"""
FINDINGS = {"schema": 1, "findings": [{"path": PATH, "start": 2, "end": 2, "body": "One file is no files."}]}

#: By hand: the engine's own client, one hardened container for the proof and one for the revision, no more commands
#: in it than there are things to do. Before the revision, each state is tried twice, as the proof does.
RUN = (
    "docker run --rm --init --network none --cap-drop ALL --security-opt no-new-privileges --pids-limit {pids} "
    "--memory {memory}m --memory-swap {memory}m --cpus {cpus} -v $PWD:/given:ro {image} sh -c"
)
TEST = "python -m pytest -q -p no:cacheprovider /given/oracles/test_c0.py"
BEFORE = f"! {TEST} && ! {TEST} && git apply /given/reference.diff && {TEST} && {TEST}"
REVISED = f"git apply /given/reference.diff && {TEST}"


def added(path: str, text: str) -> str:
    """The git diff that adds a file."""
    lines = text.splitlines()
    body = "".join(f"+{line}\n" for line in lines)
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}"


def replaced(path: str, before: str, after: str) -> str:
    """The git diff that replaces a file's text by another of as many lines."""
    lines = [*(f"-{line}\n" for line in before.splitlines()), *(f"+{line}\n" for line in after.splitlines())]
    size = len(before.splitlines())
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{size} +1,{size} @@\n{''.join(lines)}"


def write_instances(folder: Path) -> list[Instance]:
    """Eight instances that differ in nothing but their names, with their recorded reviews and revisions."""
    made = []
    recorded = folder.parent / "recorded"
    recorded.mkdir()
    fix = replaced(PATH, WRONG, RIGHT)
    for name in NAMES:
        place = folder / name
        (place / "oracles").mkdir(parents=True)
        python = ".".join(platform.python_version_tuple()[:2])
        text = INSTANCE.format(id=name, python=python, workdir=WORKDIR, path=PATH)
        (place / "instance.yaml").write_text(text)
        (place / "head.diff").write_text(added(PATH, WRONG))
        (place / "reference.diff").write_text(fix)
        (place / "oracles" / "test_c0.py").write_text(ORACLE)
        (recorded / f"{name}.json").write_text(json.dumps(FINDINGS))
        (recorded / f"{name}.diff").write_text(fix)
        made.append(load_instance(place))
    return made


class Ours:
    """Trials in this process: ``unproved`` from an empty store, ``proved`` from one that holds the proofs alone."""

    def __init__(self, run_context: RunContext, crew: Crew, folder: Path) -> None:
        self._run_context = run_context
        self._crew = crew
        self._folder = folder
        self._count = 0
        self._guard = threading.Lock()

    def unproved(self, instance: Instance) -> None:
        """Prove, review, revise and examine. Raises RuntimeError for a verdict that is wrong."""
        self._run(instance, self._store())

    def proved(self, instance: Instance) -> None:
        """Review, revise and examine."""
        store = self._store()
        shutil.copytree(self._folder / "proofs" / "steps", store.folder / "steps")
        self._run(instance, store)

    def prepare(self, instances: Sequence[Instance]) -> None:
        """Fetch trees, build images and prove once."""
        for instance in instances:
            self._run(instance, FileStore(self._folder / "first"))
        shutil.copytree(self._folder / "first" / "steps" / "proof", self._folder / "proofs" / "steps" / "proof")

    def _store(self) -> FileStore:
        with self._guard:
            self._count += 1
            return FileStore(self._folder / f"store-{self._count}")

    def _run(self, instance: Instance, store: FileStore) -> None:
        trial = run_trial(instance, self._crew, dataclasses.replace(self._run_context, store=store))
        if [result.verdict for result in trial.results] != [Verdict.CAUGHT]:
            raise RuntimeError(f"a trial went wrong: {trial.error or trial.results}")


class ByHand:
    """The script that a careful person would write, with the engine's client."""

    def __init__(self, image: str) -> None:
        limits = ORACLE_LIMITS
        self._run = RUN.format(image=image, pids=limits.processes, memory=limits.memory, cpus=limits.cpus)

    def before_and_after(self, instance: Instance) -> None:
        """As many oracle runs as a trial that proves: red twice, green twice, and then the revision."""
        self._script(instance, f"{self._run} '{BEFORE}' && {self._run} '{REVISED}'")

    def after(self, instance: Instance) -> None:
        """The revision only."""
        self._script(instance, f"{self._run} '{REVISED}'")

    def _script(self, instance: Instance, script: str) -> None:
        done = subprocess.run(["sh", "-c", script], cwd=instance.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the script by hand failed: {done.stderr or done.stdout}")


def timed(work: Callable[[], None]) -> float:
    """The seconds that something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def batch(one: Callable[[Instance], None], instances: Sequence[Instance]) -> Callable[[], None]:
    """Eight instances by two workers."""

    def work() -> None:
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(one, instances))

    return work


def alternated(ways: Mapping[str, Callable[[], float]], runs: int) -> dict[str, list[float]]:
    """The seconds of each way, run after run; every other time in the opposite order."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(runs):
        for name in sorted(ways, reverse=bool(number % 2)):
            took[name].append(ways[name]())
    return took


def processor() -> float:
    """The seconds of a processor that this process and its ended children have used."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def spread(numbers: Sequence[float]) -> str:
    """Median and quartiles in words."""
    low, middle, high = statistics.quantiles(numbers, n=4)
    return f"{middle:.3f} (quartiles {low:.3f} to {high:.3f})"


class Verdicts:
    """The lines that say whether budgets hold."""

    def __init__(self) -> None:
        self.good = True

    def say(self, what: str, numbers: Sequence[float], budget: float, figure: str) -> None:
        """Print one line, and the figure; the median counts."""
        tell(f"overhead.{figure}", middle(numbers, 2), good=statistics.median(numbers) <= budget)
        self._say(what, spread(numbers), statistics.median(numbers), budget, "")

    def say_once(self, what: str, number: float, budget: float, unit: str, figure: str) -> None:
        """Print one line of what was measured once, and the figure."""
        tell(f"overhead.{figure}", f"{number:.0f}", good=number <= budget)
        self._say(what, f"{number:.0f}", number, budget, unit)

    def _say(self, what: str, words: str, number: float, budget: float, unit: str) -> None:
        fine = number <= budget
        self.good = self.good and fine
        print(f"  {what}: {words}{unit}; budget {budget:g}{unit}: {'met' if fine else 'EXCEEDED'}")


@contextmanager
def prepared(folder: Path) -> Iterator[tuple[list[Instance], Ours, ByHand, str]]:
    """Instances with images, our way and the one by hand, and the name of the first instance's image."""
    instances = write_instances(folder / "set")
    crew = Crew.build(
        CrewSpec(
            reviewer="replay",
            reviewer_spec=REVIEWERS.spec("replay", {"reviews": "recorded"}, folder),
            agent="replay",
            agent_spec=AGENTS.spec("replay", {"revisions": "recorded"}, folder),
        )
    )
    with open_run_context(RuntimeSettings(runtime="docker"), folder / "world") as run_context:
        # Slots as every run has them, but not those that other runs on this machine wait for.
        cast("DockerRuntime", run_context.runtime).slots = Slots(folder=folder / "slots")
        ours = Ours(run_context, crew, folder)
        ours.prepare(instances)
        image = TrialContext(instances[0], crew, run_context, lambda _step: None).image.reference
        yield instances, ours, ByHand(image), image


def one_instance(verdicts: Verdicts, ways: dict[str, Callable[[], float]], runs: int) -> None:
    """Measure and print what is said of a single trial."""
    took = alternated(ways, runs)
    print(f"One instance, {runs} alternated runs, seconds:")
    for name, numbers in took.items():
        print(f"  {name}: {spread(numbers)}")
    unproved = zip(took["ours, unproved"], took["by hand, before and after"], strict=True)
    verdicts.say(
        "ours, unproved / by hand, before and after", [ours / hand for ours, hand in unproved], SAME, "unproved"
    )
    proved = list(zip(took["ours, proved"], took["by hand, after"], strict=True))
    verdicts.say("ours, proved / by hand, after", [ours / hand for ours, hand in proved], AFTER, "proved")
    above = [ours - hand for ours, hand in proved]
    print(f"  our overhead above the script by hand: {spread(above)} s")
    for rival in RIVALS:
        what = f"our overhead above the script by hand / {rival}'s"
        if rival not in took:
            print(f"  {what}: not measured")
            tell(f"overhead.{rival}", "not measured")  # or the page would keep another day's, and this script fail
            continue
        theirs = [other - hand for other, hand in zip(took[rival], took["by hand, after"], strict=True)]
        print(f"  {rival}'s overhead above the script by hand: {spread(theirs)} s")
        verdicts.say(what, [ours / other for ours, other in zip(above, theirs, strict=True)], SHARE, rival)


def many_instances(verdicts: Verdicts, instances: Sequence[Instance], ours: Ours, hand: ByHand, runs: int) -> None:
    """Measure and print what is said of eight instances and two jobs."""
    works = {
        "ours, unproved": ours.unproved,
        "by hand, before and after": hand.before_and_after,
        "ours, proved": ours.proved,
        "by hand, after": hand.after,
    }
    ways = {name: lambda work=work: timed(batch(work, instances)) for name, work in works.items()}
    took = alternated(ways, runs)
    print(f"{BATCH} instances, {JOBS} jobs, {runs} alternated runs, seconds:")
    for name, numbers in took.items():
        print(f"  {name}: {spread(numbers)}")
    for figure, one, other in (
        ("many.unproved", "ours, unproved", "by hand, before and after"),
        ("many.proved", "ours, proved", "by hand, after"),
    ):
        both = zip(took[one], took[other], strict=True)
        verdicts.say(f"{one} / {other}", [ours / hand for ours, hand in both], MANY, figure)


def whole_run(verdicts: Verdicts, folder: Path, spent: Sequence[float]) -> None:
    """Print what trials cost this machine's processor, and the most memory that a pytest run of eight needed."""
    print("What the harness itself needs:")
    verdicts.say("processor seconds of a trial, git included", spent, PROCESSOR, "processor")
    reviewer, agent = {"use": "replay", "reviews": "recorded"}, {"use": "replay", "revisions": "recorded"}
    settings = {"reviewers": {"someone": reviewer}, "agents": {"someone": agent}}
    (folder / "crab.yaml").write_text(json.dumps(settings))
    (folder / "pytest.ini").write_text("[pytest]\n")
    options = ["--reviewer=someone", "--agent=someone", "--crab-runtime=docker", f"--crab-jobs={JOBS}", "--crab-trust"]
    options += ["-p", "pytest_crab.plugin"]  # and nobody else's plugins, which need memory of their own
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    argv = [sys.executable, "-m", "pytest", "-q", *options, "--crab-store", str(folder / "run"), str(folder / "set")]
    process = subprocess.Popen(argv, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"pytest failed: {said}")
    megabytes = usage.ru_maxrss / 1024
    verdicts.say_once(f"peak memory of a pytest run of {BATCH} trials", megabytes, MEMORY, " MB", "memory")


def conditions() -> str:
    """The machine, in words."""
    load = " ".join(f"{number:.1f}" for number in os.getloadavg())
    return f"{os.cpu_count()} cores, load {load}, {time.strftime('%Y-%m-%d %H:%M')}"


def main() -> int:
    """Measure and print; 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="measure so many alternated runs (default: 10)")
    parser.add_argument("--no-rivals", action="store_true", help="measure neither swebench nor inspect-ai")
    options = parser.parse_args()
    verdicts = Verdicts()
    with tempfile.TemporaryDirectory(prefix="pytest-crab-overhead-") as name, ExitStack() as stack:
        folder = Path(name)
        stack.enter_context(no_images_left(NAMES))
        instances, ours, hand, image = stack.enter_context(prepared(folder))
        print(conditions())
        first = instances[0]
        spent: list[float] = []

        def trial(work: Callable[[Instance], None]) -> float:
            before = processor()
            seconds = timed(lambda: work(first))
            spent.append(processor() - before)
            return seconds

        ways: dict[str, Callable[[], float]] = {
            "ours, unproved": lambda: trial(ours.unproved),
            "ours, proved": lambda: trial(ours.proved),
            "by hand, before and after": lambda: timed(lambda: hand.before_and_after(first)),
            "by hand, after": lambda: timed(lambda: hand.after(first)),
        }
        if not options.no_rivals:
            ways.update(rivals(stack, folder, image))
        for way in ways.values():
            way()  # everything is warm
        spent.clear()
        one_instance(verdicts, ways, options.runs)
        many_instances(verdicts, instances, ours, hand, options.runs)
        whole_run(verdicts, folder, spent)
        print(conditions())
    return 0 if verdicts.good else 1


def rivals(stack: ExitStack, folder: Path, image: str) -> Iterator[tuple[str, Callable[[], float]]]:
    """The other harnesses that can be had here, with their names; of the others it is said why not."""
    patch = replaced(PATH, WRONG, RIGHT)
    made = {
        "swebench": swebench(folder, image, patch, ORACLE),
        "inspect-ai": inspect_ai(folder, image, patch, ORACLE, engine_version()),
    }
    for name, context in made.items():
        rival = stack.enter_context(context)
        if isinstance(rival, Rival):
            yield name, rival.run
        else:
            print(f"{rival}: not measured")


def engine_version() -> str:
    """The engine's version."""
    argv = ["docker", "version", "--format", "{{.Server.Version}}"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

"""What an oracle run takes, by language, over the command with which a developer would run the same test.

    python bench/incremental.py [--runs 5] [--files 40] [NAME ...]

For each language a project is made of incremental.yaml, with one source file beside the one that is changed (small) and
with forty (grown). Each run changes the code of one file. Bare is the project's own command in the tree as the last run
left it, with its caches warm and the oracle among the project's tests (for rust-new it is new, as to ours). Ours is one
oracle run in a sandbox of its own, with all of it: sandbox, tree, build, oracle, the tests that must fail, report.
Processor seconds, alternated; local runtime. Needs bubblewrap, the tools of the languages, and a package index.
"""

from __future__ import annotations

import argparse
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from figures import middle, tell

from pytest_crab import harness
from pytest_crab.agents import AGENTS
from pytest_crab.errors import CrabError
from pytest_crab.instances import load_instance
from pytest_crab.protocols import ORACLE_LIMITS, FileChange
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.trial import Crew, CrewSpec, RunContext
from pytest_crab.trial.context import TrialContext
from pytest_crab.trial.session import open_run_context

#: What an oracle run may take, over the bare command, where that compiles something of honest size.
BUDGET = 1.3
#: A project by its name.
PROJECTS: Mapping[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
INSTANCE = """schema: 1
id: shop-1-{size}
provenance: authored
repo: bench/shop
language: {language}
license: Apache-2.0
pull_request: {{number: 1, title: Weigh words, body: ""}}
source:
  tree: {{path: project, head: head.diff, reference: reference.diff}}
environment: {{{environment}, workdir: /workspace, timeout: 300}}
comments:
  - id: c0
    path: NOTES
    lines: [1, 1]
    body: This says nothing.
    category: documentation
    kind: behavioral
    oracle: {{file: oracles/{file}, runner: {runner}, folder: {folder}}}
    reference: reference.diff
"""
HEAD = "--- /dev/null\n+++ b/NOTES\n@@ -0,0 +1 @@\n+None.\n"
REFERENCE = "--- a/NOTES\n+++ b/NOTES\n@@ -1 +1 @@\n-None.\n+Some.\n"


def files(project: Mapping[str, Any], parts: int) -> dict[str, str]:
    """Return a project's files with so many parts, but for the one that is changed."""
    made = dict(project.get("files", {}))
    for part in project["parts"]:
        for number in range(part.get("from") or 0, min(part.get("to") or parts, parts)):
            copies = (part["body"].replace("#", str(copy)) for copy in range(part["times"]))
            text = "".join([part["head"], *copies, part.get("foot", "")])
            made[part["path"].replace("@", str(number))] = text.replace("@", str(number))
    if index := project.get("index"):
        lines = [index["line"].replace("@", str(number)) for number in range(parts)]
        made[index["path"]] = "".join([*lines, index.get("foot", "")])
    return made


def write(folder: Path, name: str, parts: int) -> None:
    """Write an instance whose head is a project."""
    project = PROJECTS[name]
    texts = {f"project/{path}": text for path, text in files(project, parts).items()}
    texts[f"project/{project['changed']}"] = project["code"].replace("#", "0")
    texts[f"oracles/{project['oracle']['file']}"] = project["source"]
    texts |= {"head.diff": HEAD, "reference.diff": REFERENCE}
    words = {"size": parts, "language": name.partition("-")[0], "environment": project["environment"]}
    texts["instance.yaml"] = INSTANCE.format(**words, **project["oracle"])
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def processor() -> float:
    """Return the seconds of the processor of this process and all that it has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime + time.process_time()


def pairs(name: str, parts: int, runs: int, context: RunContext, folder: Path) -> Iterator[tuple[float, float]]:
    """Yield what a bare command and an oracle run took, one after the other. Raises CrabError."""
    write(folder, name, parts)
    project = PROJECTS[name]
    instance, here = load_instance(folder), Path.cwd()
    spec = CrewSpec(
        reviewer="none", reviewer_spec=REVIEWERS.spec("none", {}, here),
        agent="simulated", agent_spec=AGENTS.spec("simulated", {}, here),
    )  # fmt: skip
    trial = TrialContext(instance, Crew.build(spec), context, lambda _: None)
    image, runtime = trial.image, context.runtime
    (comment,) = instance.with_oracles
    oracle = comment.required_oracle
    source = (folder / oracle.file).read_text()
    with runtime.workspace(image, trial.snapshot, limits=ORACLE_LIMITS) as workspace:
        assert workspace.folder is not None
        laid = workspace.folder / project["laid"]
        laid.parent.mkdir(parents=True, exist_ok=True)
        laid.write_text(source)
        for number in range(1, runs + 2):
            if before := project.get("before"):  # which makes the test as new to bare as the oracle is to ours
                workspace.run(["sh", "-c", before], seconds=600)
            code = project["code"].replace("#", str(number))
            (workspace.folder / project["changed"]).write_text(code)
            bare = workspace.run(["sh", "-c", f"{{ {project['bare']}; }} >&2 || exit 1; times"], seconds=600)
            if bare.exit_code:
                sys.exit(f"{project['bare']} failed: {(bare.stdout + bare.stderr)[-2000:].decode()}")
            change = FileChange(path=project["changed"], mode="100644", content=code.encode())
            run = harness.OracleRun(id="c0", state="now", seconds=600, oracle=oracle, source=source)
            start = processor()
            environment = instance.required_environment
            job = harness.Job(image=image, environment=environment, states={"now": [change]}, runs=[run])
            done = runtime.execute(image, harness.commands(job), limits=ORACLE_LIMITS, seconds=job.seconds)
            report = harness.parse(job, done)
            ours = processor() - start
            if [test.outcome for test in report.runs[0].tests] != ["passed"]:
                sys.exit(f"the oracle did not pass: {report}")
            if number > 1:  # the first fills caches
                yield sum(60 * float(m) + float(s) for m, s in re.findall(rb"(\d+)m([\d.]+)s", bare.stdout)), ours


def main() -> int:
    """Measure and print; 1 if a median of grown projects is above the budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these of {', '.join(PROJECTS)}")
    parser.add_argument("--runs", type=int, default=5, help="how often each is measured (default: 5)")
    parser.add_argument("--files", type=int, default=40, help="source files of the grown project (default: 40)")
    options = parser.parse_args()
    met = True
    for name in options.names or PROJECTS:
        for size, parts in (("small", 1), ("grown", options.files)):
            with tempfile.TemporaryDirectory(prefix="crab-bench-") as place:
                settings = RuntimeSettings(runtime="local")
                with open_run_context(settings, Path(place, "store")) as context:
                    folder = Path(place, "set", f"shop-1-{parts}")
                    found = list(pairs(name, parts, options.runs, context, folder))
            ratios = [ours / bare for bare, ours in found]
            free = size == "small" or PROJECTS[name].get("interpreted")
            good = bool(free) or statistics.median(ratios) <= BUDGET
            met = met and good
            print(f"{name}, {size}: " + ", ".join(f"{ours:.2f}/{bare:.2f}" for bare, ours in found), flush=True)
            tell(f"incremental.{name}.{size}", middle(ratios, 2), good=good)
            tell(f"incremental.{name}.{size}.bare", f"{statistics.median(bare for bare, _ in found):.2f}")
            tell(f"incremental.{name}.{size}.added", f"{statistics.median(ours - bare for bare, ours in found):.2f}")
    return 0 if met else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CrabError as error:
        sys.exit(str(error))

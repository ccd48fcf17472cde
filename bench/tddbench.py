"""How many machine-made tests would pass as oracles: those of TDD-Bench Verified, through stage 4's verification.

    python bench/tddbench.py ../shared/data MIRRORS WORK [--repo psf/requests ...] [--most 20]

For each SWE-bench Verified row of a repository in MIRRORS (a folder with owner/name.git), an instance is made in WORK:
head is the base commit, merged is that with the gold patch. It gets three oracles: the tests that each of the two
generators added or changed, and the people's own as control. An oracle is one file: the conftest.py files of the
project are not loaded. With --in-tree an oracle puts the files of the test patch into the tree, and starts the tests
there as the project does, by pytest or a command of its own (see in_tree_oracle.py). All three are proved in one
environment: red at head by a failed test, green at merged, twice each, without network. Rows of one repository share
environments: that of the row which is nearest in time comes first, and the dated ladder is climbed where there is none
within a year or where the control is not proved in it (--climbs times at most for each repository).
Finished rows are in WORK/results.jsonl and are not run again; --table prints the tables of all that is there.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

from changed_tests import changed_tests, keep_tests
from in_tree_oracle import UnittestCommand, in_tree_oracle, node_id

from pytest_crab import diffs, serialization
from pytest_crab.cli.run_contexts import proving_context
from pytest_crab.curation.assessment import StateAssessment
from pytest_crab.curation.certify import Certificate, certify, open_search
from pytest_crab.errors import CrabError
from pytest_crab.instances.dump import instance_yaml
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.scoring.oracles.states import Role
from pytest_crab.trial import Crew
from pytest_crab.trial.run_context import RunContext
from pytest_crab.types import (
    Comment,
    Environment,
    GitSource,
    Instance,
    Kind,
    Oracle,
    Provenance,
    PullRequestFacts,
    Source,
)

RELEASES = {
    "otter": "Otter_TDD_GPT4o.json",
    "otterplus": "Otter_Plus_TDD_GPT4o.json",
    "people": "golden_test_patch.json",
}


#: The control, and the reason of the others where it is not proved.
PEOPLE = "people"
NO_CONTROL = "not counted: the people's own tests are not proved on this row"

#: The reason of a row for which no search was made.
NOT_SEARCHED = "not run: there is no environment of a row near in time, and --climbs saved the search"

#: The pytest plugins that a repository's own settings turn on for its tests.
PLUGINS = {"pytest-dev/pytest": ("_pytest.pytester",)}

#: What only an installation makes, without which pytest's own settings refuse to be read.
BUILT = {"src/_pytest/_version.py": "version = '99.9.9'\nversion_tuple = (99, 9, 9)\n"}

#: The commands of the repositories whose tests pytest cannot run, as their own documents and settings have them.
COMMANDS = {"django/django": UnittestCommand("tests", ("runtests.py", "--parallel=1"))}

#: Environments of rows further away in time are not tried.
NEAR_DAYS = 365


#: Returns an oracle for a test patch on a commit of a repository. Raises Unusable.
MakeOracle = Callable[[Path, str, str], str]


class Unusable(Exception):
    """A row or a test that no oracle can be made of; the text is the reason."""


def git(repository: Path, *args: str, text: str | None = None, **variables: str) -> str:
    """Run git in a repository and return its output. Raises Unusable."""
    run = subprocess.run(
        ["git", "--git-dir", str(repository), *args],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
    )
    if run.returncode:
        raise Unusable(run.stderr.strip().splitlines()[-1] if run.stderr.strip() else f"git {args[0]} failed")
    return run.stdout


def with_patch(repository: Path, commit: str, patch: str) -> str:
    """Return the tree of a commit with a patch applied."""
    with tempfile.TemporaryDirectory() as folder:
        index = f"{folder}/index"
        git(repository, "read-tree", commit, GIT_INDEX_FILE=index)
        git(repository, "apply", "--cached", "--recount", "-", text=patch, GIT_INDEX_FILE=index)
        return git(repository, "write-tree", GIT_INDEX_FILE=index).strip()


def commit_patch(repository: Path, commit: str, patch: str) -> str:
    """Return a new commit on ``commit``, of its date, with a patch applied."""
    day = git(repository, "show", "-s", "--format=%cI", commit).strip()
    who = {f"GIT_{role}_{part}": "nobody" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": day, "GIT_COMMITTER_DATE": day}
    tree = with_patch(repository, commit, patch)
    made = git(repository, "commit-tree", tree, "-p", commit, "-m", "the gold patch", **who, **dates).strip()
    git(repository, "update-ref", f"refs/gold/{made}", made)
    return made


def patched_files(repository: Path, commit: str, patch: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield each file of a test patch: its path, its text, and the tests that the patch adds or changes in it.

    Raises Unusable.
    """
    tree = with_patch(repository, commit, patch)
    for path in sorted(diffs.touched_paths(patch)):
        if not git(repository, "ls-tree", "--name-only", tree, "--", path).strip():
            continue
        after = git(repository, "show", f"{tree}:{path}")
        names: tuple[str, ...] = ()
        if path.endswith(".py"):
            known = git(repository, "ls-tree", "--name-only", commit, "--", path).strip()
            try:
                names = changed_tests(git(repository, "show", f"{commit}:{path}") if known else "", after)
            except (SyntaxError, ValueError) as error:
                raise Unusable(f"the patched test file is no Python: {type(error).__name__}") from error
        yield path, after, names


def alone(repository: Path, commit: str, patch: str) -> str:
    """Return the tests that a patch adds or changes as a file of their own. Raises Unusable."""
    for _, text, names in patched_files(repository, commit, patch):
        if names:
            return keep_tests(text, names)
    raise Unusable("no test is added or changed")


def in_tree(repository: Path, commit: str, patch: str) -> str:
    """Return an oracle that starts in the tree the tests that a patch adds or changes. Raises Unusable."""
    found = list(patched_files(repository, commit, patch))
    command = COMMANDS.get(f"{repository.parent.name}/{repository.stem}")
    name_of = node_id if command is None else command.name_of
    tests = [name_of(path, name) for path, _, names in found for name in names]
    if not tests:
        raise Unusable("no test is added or changed")
    built = {
        path: text for path, text in BUILT.items() if git(repository, "ls-tree", commit, "--", str(Path(path).parent))
    }
    return in_tree_oracle({path: text for path, text, _ in found} | built, tests, command)


def head_day(mirrors: Path, row: dict[str, Any]) -> date:
    """Return the day of a row's base commit."""
    text = git(mirrors / f"{row['repo']}.git", "show", "-s", "--format=%cs", row["base_commit"])
    return date.fromisoformat(text.strip())


def make_instance(
    row: dict[str, Any], tests: dict[str, str], mirrors: Path, folder: Path, make_oracle: MakeOracle
) -> tuple[Any, dict[str, str]]:
    """Write the instance of a row; return it, None without any oracle, and the tests that are none, with reasons."""
    repository = mirrors / f"{row['repo']}.git"
    head = row["base_commit"]
    base = git(repository, "rev-parse", f"{head}~1").strip()
    merged = commit_patch(repository, head, row["patch"])
    place = folder / row["instance_id"]
    (place / "oracles").mkdir(parents=True, exist_ok=True)
    unusable, comments = {}, []
    path = min(diffs.touched_paths(row["patch"]))
    for name, patch in tests.items():
        try:
            source = make_oracle(repository, head, patch)
        except Unusable as error:
            unusable[name] = str(error)
            continue
        (place / "oracles" / f"test_{name}.py").write_text(source, "utf-8")
        oracle = Oracle(file=f"oracles/test_{name}.py", plugins=PLUGINS.get(row["repo"], ()))
        comments.append(Comment(id=name, path=path, body=row["instance_id"], kind=Kind.BEHAVIORAL, oracle=oracle))
    if not comments:
        return None, unusable
    number = int(row["instance_id"].rsplit("-", 1)[1])
    url = f"https://github.com/{row['repo']}"
    instance = Instance(
        id=row["instance_id"],
        folder=str(place),
        provenance=Provenance.GITHUB,
        repo=row["repo"],
        license="see the repository",
        pull_request=PullRequestFacts(number=number, title=row["instance_id"], body="-", url=f"{url}/pull/{number}"),
        source=Source(git=GitSource(url=url, base=base, head=head, merged=merged)),
        environment=Environment(dockerfile="python", timeout=120),
        comments=tuple(comments),
    )
    (place / "instance.yaml").write_text(instance_yaml(instance), "utf-8")
    return instance, unusable


def cause(certificate: Certificate, comment: str) -> str:
    """Return in a few words why an oracle is not proved."""
    problem = certificate.problems[comment]
    states = certificate.seen.get(comment, ())
    if not states:
        return "no environment could be made"
    by_role = {state.role: state for state in states}
    head, merged = by_role[Role.HEAD], by_role[Role.REFERENCE]
    if not (head.agree and merged.agree):
        return "runs do not agree"
    if not merged.ran:
        return _unloaded(problem, merged)
    if merged.fault is not None:
        return _red_at_merged(head, merged)
    if head.fault is not None:
        return "green at head" if _all_passed(head) else "red at head by an error, not by a failed test"
    return "another fault of the workspace"


def _all_passed(state: StateAssessment) -> bool:
    return all(test.outcome == "passed" for run in state.runs for test in run.tests)


def _unloaded(problem: str, merged: StateAssessment) -> str:
    tests = [test for run in merged.runs for test in run.tests]
    if any(test.outcome == "skipped" for test in tests):
        return "skipped at merged"
    if "pytest cannot be imported" in problem:
        return "the project does not go together with the pytest of its environment"
    if "cannot be imported" in problem or "network" in problem:
        return "something that it imports cannot be had, or it needs the network"
    if any(test.exception == "RuntimeError" for test in tests):
        return "its tests do not all run in the tree: an error beside them, or none of that name"
    if any(test.outcome == "error" and "::" in test.id for test in tests):
        return "a fixture is missing (the project's conftest or a plugin)"
    return "it does not load on its own (imports from the tests beside it, or a wrong name)"


def _red_at_merged(head: StateAssessment, merged: StateAssessment) -> str:
    outcomes = {test.outcome for run in merged.runs for test in run.tests}
    if "failed" not in outcomes:
        return "skipped or without a fixture at merged, in part"
    return "red at merged too" if not _all_passed(head) else "green at head and red at merged"


@dataclass
class Environments:
    """The environments that controls are proved in, by repository, each with the day of its row's head.

    ``kept`` is the file that later processes read them from.
    """

    climbs: int
    kept: Path
    found: dict[str, list[tuple[date, Environment]]] = field(default_factory=dict)
    climbed: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for line in self.kept.read_text().splitlines() if self.kept.exists() else []:
            one = json.loads(line)
            environment = serialization.read(Environment, one["environment"], [])
            assert environment is not None
            self.found.setdefault(one["repo"], []).append((date.fromisoformat(one["day"]), environment))

    def nearest(self, repo: str, day: date) -> list[Environment]:
        """Return the environments of rows within a year, the two nearest first."""
        near = [one for one in self.found.get(repo, []) if abs((one[0] - day).days) <= NEAR_DAYS]
        near.sort(key=lambda one: abs((one[0] - day).days))
        return [environment for _, environment in near[:2]]

    def why_none(self, repo: str) -> str:
        """Return why a row of a repository has no environment; a search that was saved says so."""
        return NOT_SEARCHED if self.climbed[repo] >= self.climbs else "no environment could be made"

    def climb(
        self, instance: Instance, day: date, shared: tuple[Crew, RunContext], notice: Callable[[str], None]
    ) -> list[Environment]:
        """Return the best environment that the ladder finds for an instance; none after too many climbs."""
        if self.climbed[instance.repo] >= self.climbs:
            return []
        self.climbed[instance.repo] += 1
        with open_search(instance, *shared, notice) as search:
            best = search.search()
        if best is None or best.problem is not None:
            return []
        environment = best.candidate.environment
        if not best.whole:
            return [environment]
        self.found.setdefault(instance.repo, []).append((day, environment))
        one = {"repo": instance.repo, "day": day.isoformat(), "environment": serialization.dump(environment)}
        with self.kept.open("a") as file:
            file.write(json.dumps(one) + "\n")
        return [environment]


def run_row(
    row: dict[str, Any],
    tests: dict[str, str],
    mirrors: Path,
    folder: Path,
    make_oracle: MakeOracle,
    shared: tuple[Crew, RunContext],
    environments: Environments,
) -> dict[str, Any]:
    """Return the result of one row: by test name, "proved" or the reason."""
    name = row["instance_id"]
    try:
        instance, found = make_instance(row, tests, mirrors, folder, make_oracle)
        day = head_day(mirrors, row)
    except Unusable as error:
        return {"id": name, "repo": row["repo"], "results": dict.fromkeys(tests, f"row: {error}")}
    result = {"id": name, "repo": row["repo"], "results": found, "problems": {}}
    people = [comment for comment in instance.comments if comment.id == PEOPLE] if instance is not None else []
    if not people:
        found.update(dict.fromkeys(tests.keys() - found.keys(), f"row: {found.get(PEOPLE)}"))
        return result

    def notice(step: str) -> None:
        print(f"{name}: {step}", file=sys.stderr, flush=True)

    control = dataclasses.replace(instance, comments=tuple(people))
    certificate = None
    for environment in chain(
        environments.nearest(row["repo"], day), more(lambda: environments.climb(control, day, shared, notice))
    ):
        certificate = certify(dataclasses.replace(control, environment=environment), *shared, notice)
        if not certificate.skipped and not certificate.problems:
            certificate = certify(dataclasses.replace(instance, environment=environment), *shared, notice)
            break
    if certificate is None or certificate.skipped:
        found[PEOPLE] = environments.why_none(row["repo"]) if certificate is None else str(certificate.skipped)
    else:
        result["problems"] = certificate.problems
        for comment in certificate.instance.comments:
            failed = comment.id in certificate.problems
            found[comment.id] = cause(certificate, comment.id) if failed else "proved"
    if found[PEOPLE] != "proved":
        found.update({key: NO_CONTROL for key in tests if key != PEOPLE})
    return result


def more(make: Callable[[], list[Environment]]) -> Iterator[Environment]:
    """Yield what a function returns, called when it is first needed; nothing where the project cannot be built."""
    try:
        yield from make()
    except CrabError as error:
        print(error, file=sys.stderr, flush=True)


def sample(rows: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return at most so many rows of each repository, drawn with a fixed seed; more of them contain fewer."""
    by_repo: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_repo.setdefault(row["repo"], []).append(row)
    return [row for own in by_repo.values() for row in random.Random(0).sample(own, len(own))[:most]]


def table(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the two tables: proved by repository, and reasons."""
    repos = sorted({one["repo"] for one in results})
    yield "| repository | rows | otter | otterplus | people |"
    yield "|---|---|---|---|---|"
    for repo in [*repos, None]:
        own = [one for one in results if repo in (None, one["repo"])]
        counts = [sum(one["results"].get(name) == "proved" for one in own) for name in RELEASES]
        yield f"| {repo or 'all'} | {len(own)} | {' | '.join(map(str, counts))} |"
    yield ""
    yield "| reason | otter | otterplus | people |"
    yield "|---|---|---|---|"
    reasons = {
        name: Counter(re.sub(r"^row: .*", "row cannot be used", one["results"][name]) for one in results)
        for name in RELEASES
    }
    for reason in sorted(set().union(*reasons.values()), key=lambda one: -sum(own[one] for own in reasons.values())):
        yield f"| {reason} | {' | '.join(str(reasons[name][reason]) for name in RELEASES)} |"


def main() -> None:
    """Run what is not there yet and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--repo", action="append", default=[])
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--climbs", type=int, default=6)
    parser.add_argument("--in-tree", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    kept = options.work / "results.jsonl"
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    if not options.table:
        os.environ["CRAB_GIT_MIRROR"] = str(options.mirrors.absolute())
        rows = [json.loads(line) for line in (options.data / "swebench/swebench_verified_500_5fields.jsonl").open()]
        tests: dict[str, dict[str, str]] = {}
        for name, file in RELEASES.items():
            for one in json.loads((options.data / "tddbench" / file).read_text()):
                tests.setdefault(one["instance_id"], {})[name] = one["model_patch"]
        at_hand = [
            row for row in rows if row["instance_id"] in tests and (options.mirrors / f"{row['repo']}.git").exists()
        ]
        asked = sample([row for row in at_hand if not options.repo or row["repo"] in options.repo], options.most)
        known = {one["id"] for one in done}
        todo = [row for row in asked if row["instance_id"] not in known]
        environments = Environments(climbs=options.climbs, kept=options.work / "environments.jsonl")
        with proving_context(RuntimeSettings(runtime="local"), options.work / "store") as shared:
            for row in todo:
                own = tests[row["instance_id"]]
                folder = options.work / "instances"
                make_oracle = in_tree if options.in_tree else alone
                result = run_row(row, own, options.mirrors, folder, make_oracle, shared, environments)
                if result["results"].get(PEOPLE) == NOT_SEARCHED:
                    print(result["id"], NOT_SEARCHED, flush=True)
                    continue
                done.append(result)
                with kept.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(result["id"], result["results"], flush=True)
    print("\n".join(table(done)))


if __name__ == "__main__":
    main()

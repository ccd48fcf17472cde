"""Words for the author of an oracle that is not proved: the reason, the likely cause and the remedy."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_crab import ecosystems
from pytest_crab.curation.assessment import StateAssessment, assess
from pytest_crab.curation.explanations import UNBUILT, explain
from pytest_crab.curation.last_lines import SESSION, last_lines, run_alone
from pytest_crab.curation.missing_modules import LONGEST, NETWORK, Diagnosis, diagnose
from pytest_crab.ecosystems import ecosystem_of
from pytest_crab.errors import EngineError, ImageError
from pytest_crab.instances.oracle_needs import outside_needs
from pytest_crab.runtimes.build_failures import why
from pytest_crab.scoring.oracles.oracle_runs import OracleRequest, run_of
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.scoring.oracles.states import Role
from pytest_crab.text import escape_controls, output_lines
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Comment
from pytest_crab.verdict import safe_name

#: An object's address differs from run to run, and who is told the same again need not be asked again.
_ADDRESS = re.compile(r"\b0x[0-9a-f]+")

#: A line in a compiler's own words: the lines of code that it shows are indented, or begin with their number or a bar.
_OWN_WORDS = re.compile(r"[^\s\d|]")

#: The words of so many failed tests are shown for each state.
_SAID = 3


def assess_unproved(
    context: TrialContext, unproved: Sequence[ProvedComment]
) -> Mapping[str, tuple[StateAssessment, ...]]:
    """Return the results of unproved oracles on every state, since a failed proof does not say which is wrong."""
    return assess(context, [one.comment for one in unproved]) if unproved else {}


def reason_of(
    context: TrialContext,
    one: ProvedComment,
    seen: Mapping[str, tuple[StateAssessment, ...]],
    search_problems: Sequence[str] = (),
) -> str:
    """Return why an oracle has no proof, for its author, with the likely cause and the remedy.

    A fault of the workspace itself comes first; without an explanation the proof's own sentence stands.
    ``search_problems`` are of environments that could not be made.
    """
    instance = context.instance
    problem = on_one_line(one.problem).replace(f"{instance.id}: ", "")
    problem = problem.removeprefix(f"the oracle of {one.comment.id} is not proved: ")
    around = f"{instance.id} is not proved: "
    states = seen.get(one.comment.id, ())
    told = explain(states)
    snapshot, roots = context.snapshot, instance.required_environment.paths
    owner = ecosystem_of(instance.required_environment)
    own = owner.own_runner(lambda path: snapshot.read(snapshot.head_tree, path), roots)
    if problem.startswith(around):
        told = (problem.removeprefix(around), *told)
    needs = outside_needs(instance, one.comment)
    found = _diagnoses(context, one.comment, states)
    said = [*_quoted_failures(states, found), *_quoted_output(context, one.comment, states)]
    reason = "; ".join([*(told or (problem,)), *filter(None, [own]), *needs, *said])
    return on_one_line(f"{reason}{_cause(found.get(Role.REFERENCE, Diagnosis()), states, search_problems)}")


def _diagnoses(context: TrialContext, comment: Comment, states: Sequence[StateAssessment]) -> Mapping[Role, Diagnosis]:
    """Return what failures name at head and on the reference, where they fail and must not, or not in this way."""
    trees = {Role.HEAD: context.snapshot.head_tree, Role.REFERENCE: context.snapshot.reference_tree}
    look = diagnose if comment.required_oracle.runner == ecosystems.DEFAULT_RUNNER else _said_to_runner
    found = {}
    for state in states:
        raised = {test.exception for run in state.runs for test in run.tests if test.exception}
        if state.role in trees and state.fault is not None and raised and not raised & UNBUILT:
            with contextlib.suppress(ImageError, EngineError):  # only the words are lost
                found[state.role] = look(context, comment, trees[state.role])
    return found


def _said_to_runner(context: TrialContext, comment: Comment, tree: str) -> Diagnosis:
    """Return what failed tests of an oracle say in another language. Raises ImageError, EngineError, Cancelled."""
    asked = dataclasses.replace(run_of(context, OracleRequest(comment=comment, tree=tree)), printed=True)
    report = run_alone(context, asked)
    said = {name: " ".join(text.split())[:LONGEST] for name, text in report.quoted.get(asked.id, {}).items()}
    raised = {test.id: test.exception for run in report.runs for test in run.tests if test.exception}
    return Diagnosis(said={name: (kind, said.get(name, "")) for name, kind in raised.items()})


def _quoted_failures(states: Sequence[StateAssessment], found: Mapping[Role, Diagnosis]) -> Iterator[str]:
    """Yield what failed tests say in each state that was diagnosed.

    The code under test chooses these words, so they are quoted, cut and shown only to the oracle's author.
    """
    places: dict[str, list[str]] = {}
    for state in states:
        said = found[state.role].said if state.role in found else {}
        tests = [test for run in state.runs for test in run.tests if test.exception]
        raised = {test.id: str(test.exception).partition(" in ")[0] for test in tests}  # it may say where
        alike = [(name, kind, words) for name, (kind, words) in said.items() if raised.get(name) == kind and words]
        for name, kind, words in alike[:_SAID]:
            quoted = escape_controls(json.dumps(_ADDRESS.sub("0x…", words), ensure_ascii=False))
            subject = "the oracle's file" if name == SESSION else safe_name(name)
            told = f"{subject} ends with {safe_name(kind)}, in the words of the code under test: {quoted}"
            places.setdefault(told, []).append(state.name)
    for told, names in places.items():
        yield f"on {' and '.join(names)} {told}"


def _quoted_output(context: TrialContext, comment: Comment, states: Sequence[StateAssessment]) -> Iterator[str]:
    """Yield what is printed by a build that failed, and at head by the runner of the project's own tests that failed.

    As with ``_quoted_failures``, only the oracle's author is shown it, who may not have seen the fix: compilers and
    runners print lines of code, so of what is printed on the reference only the line that tells the cause is quoted.
    """
    is_own = ecosystems.runs_own_tests(comment.required_oracle.runner)
    trees = {Role.HEAD: context.snapshot.head_tree, Role.REFERENCE: context.snapshot.reference_tree}
    for state in states:
        tests = [test for run in state.runs for test in run.tests]
        failed = is_own and state.role is Role.HEAD and any(test.outcome != "passed" for test in tests)
        if state.role in trees and (failed or any(test.exception in UNBUILT for test in tests)):
            run = run_of(context, OracleRequest(comment=comment, tree=trees[state.role]))
            with contextlib.suppress(ImageError, EngineError):  # only the words are lost
                told = last_lines(context, dataclasses.replace(run, printed=True))
                told = _telling_line(told) if state.role is Role.REFERENCE else told
                words = escape_controls(json.dumps(told, ensure_ascii=False))
                yield f"on {state.name} its runner ends with: {words}"


def _telling_line(told: str) -> str:
    """Return the line that tells why a build failed, without code, which would be that of the fix."""
    return output_lines(why("\n".join(filter(_OWN_WORDS.match, output_lines(told)))))[0]


def _cause(diagnosis: Diagnosis, states: Sequence[StateAssessment], problems: Sequence[str]) -> str:
    """Return a clause on the likely cause for an oracle that is not proved, with the remedy; empty if none is known.

    ``problems`` are of environments that could not be made. They say nothing of an oracle that runs in another one.
    """
    more = "".join(f"; {one}" for one in problems[:1])
    if diagnosis.kinds & NETWORK:
        return "; it reaches for the network, which no oracle has: let the file bring the answer itself"
    if "circular import" in diagnosis.kinds:
        return "; the project's modules import one another in a circle, which the oracle enters at the wrong place"
    if diagnosis.missing:
        names = ", ".join(diagnosis.missing[:3])
        return f"; {names} cannot be imported: name what has it in environment.packages or environment.paths{more}"
    if "no library" in diagnosis.kinds:
        return f"; a shared library is missing: name the system's package that has it in environment.system{more}"
    if "no such name" in diagnosis.kinds:
        remedy = "use one that the reference has, or name the release that has it in environment.packages"
        return f"; a name that is imported is not there: {remedy}{more}"
    return "" if any(state.ran for state in states) else more


def on_one_line(text: str | None) -> str:
    """Return a text on one line."""
    return " ".join((text or "").split())

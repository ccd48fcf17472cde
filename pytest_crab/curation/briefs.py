"""Briefs for authors who have not seen the oracles of a set: what they get, and what they made of it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab.curation.near_misses import ChangedTree, changes_of, read_diff
from pytest_crab.ecosystems import ecosystem_of, runs_own_tests
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Comment, Environment, Instance, Side

#: What an author reads first.
BRIEF = "BRIEF.md"

_COMPANY = "company/*.diff"
_THOROUGH = "thorough*.diff"

_TASK = """\
## What to write

Each file is one diff from head. Change the files of `tree`, run the project's own tests, and write the diff there:

    git add -A && git diff --cached --binary HEAD > ../fix/COMMENT-NAME.diff && git reset -q --hard

- `fix/COMMENT-NAME.diff`: a right fix. It resolves this one comment and changes nothing else. COMMENT is the comment's
  id, NAME a word of yours.
- `near/COMMENT-NAME.diff`: a near miss. It looks like a fix of this comment, and a careful reviewer would find that the
  concern stays.
- `company/NAME.diff`: a right change of the same files that no comment asks for, as a good review might: an input is
  validated, an edge case handled. At least three.
- `thorough.diff`: a thorough revision. All comments are resolved, and what no comment asks for is in it too.

Write at least one fix and one near miss for each comment, as you would and not as somebody else may have done it. Every
right change leaves the project's own tests green. Look for nothing besides these files: neither the tests that will
judge yours, nor how the project was mended.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """The changes of authors for one comment."""

    #: Near misses.
    near: tuple[ChangedTree, ...] = ()
    #: Right fixes.
    right: tuple[ChangedTree, ...] = ()
    #: Thorough revisions.
    thorough: tuple[ChangedTree, ...] = ()
    #: Company by name.
    company: Mapping[str, str] = field(default_factory=dict)


def write_brief(context: TrialContext, place: Path) -> None:
    """Write an instance's brief into the new folder ``place``: nothing in it tells of an oracle, a check or a fix.

    Raises SourceUnreachable, SourceError, OSError.
    """
    aside = place.absolute().with_name(f".{place.name}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    context.snapshot.clone(aside / "tree")
    (aside / "pull_request.diff").write_text(context.snapshot.pull_request_diff(), "utf-8")
    for name in ("fix", "near", "company"):
        (aside / name).mkdir()
    (aside / BRIEF).write_text("\n".join(_brief(context.instance)), "utf-8")
    aside.rename(place)


def authored(context: TrialContext, comment: Comment, place: Path) -> Authored:
    """Return what authors put into the folder of an instance's brief. Raises DiffRejected, which names the file."""
    near, fix = _own_patterns(comment)
    return Authored(
        near=changes_of(context, place, near),
        right=changes_of(context, place, fix),
        thorough=changes_of(context, place, _THOROUGH),
        company={f"{file.parent.name}/{file.stem}": read_diff(file) for file in sorted(place.glob(_COMPANY))},
    )


def strays(instance: Instance, place: Path) -> Iterator[str]:
    """Yield the diffs in a brief's folder that are judged by no oracle, since their place or name means nothing."""
    patterns = [_COMPANY, *(pattern for comment in instance.with_oracles for pattern in _own_patterns(comment))]
    known = {file for pattern in patterns for file in place.glob(pattern)}
    found = (file for file in sorted(place.glob("*/*.diff")) if file.parent.name != "tree")
    yield from (f"{file.parent.name}/{file.name}" for file in found if file not in known)


def _own_patterns(comment: Comment) -> tuple[str, str]:
    return f"near/{comment.id}-*.diff", f"fix/{comment.id}-*.diff"


def _brief(instance: Instance) -> Iterator[str]:
    pull_request = instance.pull_request
    yield from (f"# {pull_request.title}", "", pull_request.body, "")
    yield "`tree` is a checkout of the pull request's head, and `pull_request.diff` what it changes."
    yield from ("", "## Comments", "")
    for comment in instance.with_oracles:
        first, last = comment.lines or ("", "")
        lines = "" if comment.lines is None else f", line {first}" if first == last else f", lines {first} to {last}"
        side = " of the version before the pull request" if comment.side is Side.LEFT else ""
        yield from (f"### {comment.id}: {comment.path}{lines}{side}", "", comment.body, "")
    yield from ("## Environment", "")
    yield from _environment(instance.required_environment)
    command = instance.pass_to_pass
    files = command[1:] if runs_own_tests(next(iter(command), "")) else ()
    tests = shlex.join(files or command) if command else "not known here"
    yield from (f"- the project's own tests: `{tests}`", "", _TASK)


def _environment(environment: Environment) -> Iterator[str]:
    ecosystem = ecosystem_of(environment)
    facts = {
        "image": environment.image,
        ecosystem.name: ecosystem.version(environment),
        "packages": " ".join(environment.packages),
        "as of": environment.resolved,
        "packages of the system": " ".join(environment.system),
        "install": " && ".join(environment.install),
        "import roots": " ".join(environment.paths),
        "variables": " ".join(f"{name}={value}" for name, value in environment.env.items()),
    }
    yield from (f"- {name}: `{fact}`" for name, fact in facts.items() if fact)

"""The stage that lets a model write oracles: each is proved, and a failure goes back to the model, a few times.

Two regimes are kept apart, and named on the instance: the model was shown the fix (arXiv 2603.23448, section 4.2), or
wrote from the comment and the pull request alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from typing_extensions import override

from pytest_crab import diffs, ecosystems
from pytest_crab.clients.prompting import as_data, shown_diff
from pytest_crab.curation.certify import SOURCE, Certificate, certify, is_given, lack_of_proposals, open_search
from pytest_crab.curation.discussion import OTHERS
from pytest_crab.curation.environment_probe import own_tests_of_change, pass_on_both_sides
from pytest_crab.curation.environment_search import BARE
from pytest_crab.curation.oracle_forms import OracleForm, form_of
from pytest_crab.curation.oracle_mending import (
    ChangeWriting,
    checks_of,
    describe_failures,
    dispute,
    disputed_in,
    doubts,
    judge,
    settings_of,
    strengthen,
    with_checks,
)
from pytest_crab.curation.pinning import Requirements
from pytest_crab.curation.proposals import Proposing
from pytest_crab.curation.proposed_environments import PROPOSED
from pytest_crab.curation.publish import to_instance
from pytest_crab.curation.stages import CurationContext, Rejection, Stage
from pytest_crab.ecosystems import interpreters
from pytest_crab.errors import BadInput, CrabError, ImageError
from pytest_crab.formats import format_count
from pytest_crab.instances.files import file_digest, write_files
from pytest_crab.instances.validation import variable_faults
from pytest_crab.model_access import Services
from pytest_crab.runtimes.environments import packages_of, project_name
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.scoring.oracles.states import Role
from pytest_crab.scratch import scratch
from pytest_crab.text import one_line
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import (
    CandidateComment,
    Category,
    Comment,
    Environment,
    JudgedChange,
    Kind,
    OracleAttempt,
    PullCandidate,
    StrEnum,
)

#: The dimensions of labels that say how an oracle came about.
REGIME, ATTEMPTS = "oracle_regime", "oracle_attempts"

#: So many characters of a diff are shown.
LONGEST_DIFF = 60_000

#: So many characters say why a ready oracle is not proved.
LONGEST_REASON = 1_000

#: What follows the changes that an oracle is wrong on.
_MEND = (
    "Mend it, so that it is right on these too. If one of them is not what it is called, since a right fix leaves the "
    "concern or breaks what worked, or a near miss resolves it, leave the oracle as it is on that one, and write "
    "before the file a line `disputed: NAME: WHY` that says what the code does there. A person decides then."
)

#: The block of an oracle in an answer, and lines of an answer, or of an oracle that a person wrote.
_BLOCK = re.compile(r"^```([\w+#]*)[^\n`]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
#: What a model tells to type into a shell is no oracle.
_SHELLS = frozenset({"sh", "bash", "shell", "console"})
_CATEGORY = re.compile(r"^(?:(?:#|//) )?category:\s*([a-z-]+)\s*$", re.MULTILINE)
_KIND = re.compile(r"^(?:(?:#|//) )?kind:\s*(behavioral|structural)\s*$", re.MULTILINE)
_PLACE = re.compile(r"^(?:(?:#|//) )?file:\s*`?([^\s`]+)`?\s*$", re.MULTILINE)


class Regime(StrEnum):
    """The part of the truth that the model was shown; BY_HAND: the oracle is a person's, and no model was asked."""

    SAW_FIX = "saw-fix"
    FROM_COMMENT = "from-comment"
    BY_HAND = "by-hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenOracle:
    """The oracle of an answer, and what the answer says of its comment."""

    #: Its text; None where the answer has none.
    source: str | None
    #: The path in the tree that it is to have.
    place: str | None = None
    kind: Kind = Kind.BEHAVIORAL
    category: Category | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedOracle:
    """A comment with its oracle, which was proved."""

    comment: Comment
    #: The texts of its files by path.
    files: Mapping[str, str]
    #: The one that it was proved in.
    environment: Environment
    #: The tag that says where that environment comes from; None where the candidate brought it.
    source: str | None = None
    #: The project's changed tests, where they pass in it.
    pass_to_pass: tuple[str, ...] = ()
    #: As in CandidateComment.
    attempts: tuple[OracleAttempt, ...] = ()
    #: The same.
    changes: tuple[JudgedChange, ...] = ()
    #: The same.
    flags: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text of the oracle's file."""
        return self.files[self.comment.required_oracle.file]


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleWriting(Proposing, Stage):
    """Asks a model for an oracle of each comment that has none, at most ``attempts`` times.

    An oracle is taken only if it is proved: red at head by a failed test, green at merged, with the same outcomes each
    time, without network. Where the candidate has no environment, the dated ladder looks for one in which the oracle is
    proved. A comment without an oracle is dropped. The other settings are those of ``single-shot``.
    """

    role = "write-oracle"
    name = "oracles"
    version = 18

    #: The model that is asked; without one a comment is dropped where ``ready`` has no oracle for it.
    model: str = ""
    #: ``saw-fix`` or ``from-comment``.
    regime: Regime = Regime.SAW_FIX
    #: A folder with oracles that people wrote, ``<candidate>/test_<comment>`` with any end; each is proved in the same
    #: way. The model is asked where there is none.
    ready: str | None = None
    #: The number of changes of each kind, which the model writes without seeing the oracle; by them each oracle is
    #: judged. 0: none is judged.
    changes: int = 2
    #: An oracle that is wrong by the changes is mended at most so many times.
    mends: int = 3
    #: The variables of an environment that is looked for.
    env: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        Proposing.__post_init__(self)
        if not self.model and self.ready is None:
            raise ValueError("model or ready is missing; one of them is needed")
        if self.regime is Regime.BY_HAND:
            raise ValueError("regime should be saw-fix or from-comment; oracles in ready are by-hand")
        if min(self.changes, self.mends) < 0:
            raise ValueError("changes and mends should be at least 0")
        if faults := [*variable_faults("env", self.env)]:
            raise ValueError("; ".join(faults))

    @override
    def identity(self) -> Mapping[str, Any]:
        """The content of the oracles that are ready is part of it. Raises BadInput."""
        files = {} if self.ready is None else {name: file_digest(path) for name, path in self._ready_files().items()}
        return {
            "version": self.version, "longest": LONGEST_DIFF, "ready": files, **self.writer_identity(),
            "changes": self._change_writing().writer_identity() if self.changes else None,
            **({"env": dict(self.env)} if self.env else {}),
        }  # fmt: skip

    def _change_writing(self) -> ChangeWriting:
        return ChangeWriting(**settings_of(self, self.changes))

    def _ready_files(self) -> dict[str, Path]:
        folder = Path(self.folder, self.ready or "")
        if not folder.is_dir():
            raise BadInput(str(folder), ["curate.oracles.ready should be a folder of oracles"])
        found: dict[str, Path] = {}
        for path in sorted(folder.glob("*/test_*.*")):
            if ecosystems.language_of_file(path.name) is not None:  # an editor leaves others
                first = found.setdefault(f"{path.parent.name}/{path.name.partition('.')[0]}", path)
                if first != path:
                    raise BadInput(str(path), [f"{first.name} is an oracle for the same comment; one should be left"])
        return found

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        if candidate.source is None or candidate.source.merged is None:
            return Rejection(reason="no merged commit, on which an oracle would be green")
        if form_of(candidate.language) is None:
            return Rejection(reason=f"nothing here runs a project's own tests in {candidate.language}")
        dropped, comments = {}, []
        bare = [one.comment.id for one in candidate.comments if one.comment.oracle is None]
        for one in candidate.comments:
            if one.comment.oracle is not None:
                comments.append(one)
                continue
            found = self._write(candidate, one, context)
            if isinstance(found, str):
                dropped[one.comment.id] = found
            else:
                flags = (*one.flags, *found.flags)
                comments.append(
                    dataclasses.replace(
                        one, comment=found.comment, flags=flags, attempts=found.attempts, changes=found.changes
                    )
                )
                tags = {**candidate.tags, **({SOURCE: found.source} if found.source else {})}
                candidate = dataclasses.replace(
                    candidate,
                    environment=found.environment,
                    pass_to_pass=candidate.pass_to_pass or found.pass_to_pass,
                    tags=tags,
                    files={**candidate.files, **found.files},
                    comments=tuple(comments[-1] if each is one else each for each in candidate.comments),
                )
        kept = dataclasses.replace(candidate, comments=(*comments, *_dropped_comments(candidate, dropped)))
        kept = kept.drop(dropped)
        return _with_reference(kept, context) if [one.comment.id in bare for one in kept.comments] == [True] else kept

    def _write(self, candidate: PullCandidate, one: CandidateComment, context: CurationContext) -> ProvedOracle | str:
        """Return the oracle of a comment, or the reason why there is none."""
        with scratch("oracle") as folder:
            proving = _Proving(candidate, one.comment, context, folder, self.env)
            found = self._written(candidate, one, context, proving)
            if isinstance(found, ProvedOracle) and proving.form.is_in_tree and not candidate.pass_to_pass:
                found = dataclasses.replace(found, pass_to_pass=proving.pass_to_pass(found.environment))
            proving.leave(found)
            return found

    def _written(
        self, candidate: PullCandidate, one: CandidateComment, context: CurationContext, proving: _Proving
    ) -> ProvedOracle | str:
        """Return what ``_write`` does, with the environments that were made for it still there."""
        lack = proving.lack()
        if lack is not None:
            return f"no environment was found: {one_line(lack, LONGEST_REASON)}"
        facts = self._facts(candidate, one.comment, proving) if self.model else ""
        ready = self.ready and self._ready_files().get(f"{candidate.id}/test_{one.comment.id}")
        if ready:
            source = _ready_text(ready)
            written = WrittenOracle(
                source=source,
                place=_place_in(source),
                kind=_kind_in(source) or one.comment.kind or Kind.BEHAVIORAL,
                category=_category_in(source),
            )
            found = proving.prove(written, "0")
            if isinstance(found, str):
                return f"its ready oracle is not proved: {one_line(found, LONGEST_REASON)}"
            found = _labelled(found, {REGIME: str(Regime.BY_HAND)})
            return self._judge(found, facts, proving, context)
        if not self.model:
            return "no oracle is ready"
        asked = as_data(self._all_instructions(proving), facts)
        found = self.propose(asked, self._verify(proving, ()), proving.services, context)
        if isinstance(found, str):
            return f"no oracle in {format_count(self.attempts, 'attempt')}: {one_line(found, LONGEST_REASON)}"
        return self._judge(found, facts, proving, context)

    def _verify(
        self, proving: _Proving, checks: Sequence[JudgedChange], round_: int = 0
    ) -> Callable[[str, int], ProvedOracle | str]:
        """Return what takes an answer whose oracle is proved, and right on these changes."""

        def verify(answer: str, number: int) -> ProvedOracle | str:
            proved = proving.prove(read_oracle(answer), f"{round_}-{number}", checks)
            labels = {REGIME: str(self.regime)} if round_ else {REGIME: str(self.regime), ATTEMPTS: str(number)}
            return proved if isinstance(proved, str) else _labelled(proved, labels)

        return verify

    def _judge(self, found: ProvedOracle, facts: str, proving: _Proving, context: CurationContext) -> ProvedOracle:
        """Return the oracle after it was judged and mended, with its checks."""
        if not self.changes or not self.model:
            return dataclasses.replace(found, attempts=tuple(proving.attempts))
        writer = self._change_writing()

        def write(number: int, known: Sequence[JudgedChange]) -> tuple[JudgedChange, ...] | str:
            opened, _ = proving.open(found)
            return writer.write(
                facts, known, opened, functools.partial(proving.services, what=f"changes-{number}"), context
            )

        def mend(
            oracle: ProvedOracle, number: int, failed: Sequence[JudgedChange], every: Sequence[JudgedChange]
        ) -> tuple[ProvedOracle, Mapping[str, str]] | str:
            after = [
                {"role": "assistant", "content": f"kind: {oracle.comment.kind}\n{proving.form.shown(oracle.text)}"},
                {"role": "user", "content": f"{describe_failures(failed)}\n{_MEND}"},
            ]

            def verify(answer: str, attempt: int) -> tuple[ProvedOracle, Mapping[str, str]] | str:
                disputed = disputed_in(answer, failed)
                given = [dataclasses.replace(one, fresh=False) for one in dispute(every, disputed)]
                made = self._verify(proving, checks_of(given), number)(answer, attempt)
                return made if isinstance(made, str) else (_labelled(made, oracle.comment.labels), disputed)

            services = functools.partial(proving.services, what=f"mend-{number}")
            return self.propose(as_data(self._all_instructions(proving), facts), verify, services, context, after=after)

        oracle, changes, remains = strengthen(found, self.mends, write, proving.judge, mend)
        oracle = proving.with_checks(oracle, checks_of(changes))
        flags = (*([remains] if remains else []), *doubts(changes))
        return dataclasses.replace(oracle, attempts=tuple(proving.attempts), changes=changes, flags=flags)

    def _all_instructions(self, proving: _Proving) -> str:
        """Return the instructions, with an oracle's form, and what one of a project that runs oracles has to do."""
        own = proving.own_runner()
        return "\n\n".join([self.instructions(), proving.words(), *([f"Here {own}."] if own else [])])

    def _facts(self, candidate: PullCandidate, comment: Comment, proving: _Proving) -> str:
        facts, where = candidate.pull_request, comment.path
        lines = "" if comment.lines is None else f", lines {comment.lines[0]} to {comment.lines[1]}"
        parts = [f"Title: {facts.title}", facts.body, f"Comment on {where}{lines}:", comment.body, proving.runner()]
        parts += ["The pull request:", _shorten(candidate.diff)]
        if self.regime is Regime.SAW_FIX:
            parts += ["The fix, from the pull request to the merged commit:", _shorten(proving.fix())]
        return "\n\n".join(parts)


class _Proving:
    """The proof of oracles of one comment: an instance of its own for each, in a scratch folder."""

    def __init__(
        self,
        candidate: PullCandidate,
        comment: Comment,
        context: CurationContext,
        scratch: Path,
        env: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._candidate = candidate
        self._comment = comment
        self._scratch = scratch
        self._env = env
        self._crew, self._run_context = context.proving()
        self._notice = context.notice
        self.attempts: list[OracleAttempt] = []
        self._plain = self._context(None, scratch / candidate.id)
        self.form = form_of(candidate.language) or OracleForm(owner=ecosystems.DEFAULT)
        #: Oracles that were proved in an environment that was proposed for them: one for another serves these too.
        was_proposed = candidate.environment is not None and candidate.tags.get(SOURCE) == PROPOSED
        self._earlier = [each.comment for each in candidate.comments if each.comment.oracle and was_proposed]
        #: The environments that were made here in which the project's own tests run.
        self._built: list[Environment] = [candidate.environment] if self._earlier and candidate.environment else []

    def _context(self, comment: Comment | None, folder: Path) -> TrialContext:
        bare = dataclasses.replace(self._comment, oracle=None, kind=None, accepts=(), rejects=())
        own = CandidateComment(comment=comment or bare)
        environment = self._candidate.environment or Environment(dockerfile=ecosystems.DEFAULT.name, env=self._env)
        candidate = dataclasses.replace(self._candidate, comments=(own,), environment=environment)
        instance = to_instance(candidate, folder)
        return TrialContext(instance, self._crew, self._run_context)

    def services(self, number: int, what: str = "oracle") -> Services:
        """Return the way to the model for one attempt."""
        self._notice(f"{self._comment.id}, {what} {number}")
        return self._plain.services(f"{what}-{self._comment.id}-{number}")

    def own_runner(self) -> str:
        """Return what an author has to know where the project is one that runs oracles; else nothing."""
        snapshot, environment = self._plain.snapshot, self._plain.instance.required_environment
        owner, roots = ecosystems.ecosystem_of(environment), (*environment.paths, "src")
        return owner.own_runner(lambda path: snapshot.read(snapshot.head_tree, path), roots)

    def lack(self) -> str | None:
        """Return why no environment can be had for an oracle; None: one may be found with it, or is there.

        Raises SourceError, and ImageError where this machine is to blame.
        """
        if not self.form.is_in_tree or is_given(self._plain.instance.required_environment):
            return None
        return lack_of_proposals(self._plain.instance, self.form.owner, self._run_context)

    def words(self) -> str:
        """Return what the oracle's author has to know of its form."""
        return self.form.words(self._plain.snapshot, self._comment.path, self._candidate.language)

    def runner(self) -> str:
        """Return a sentence on the CPython and the pytest that run the oracle; nothing where an image decides.

        Where no environment is found yet, they are those that the search begins with. Raises SourceError, EngineError,
        and ImageError where this machine may be to blame that there are none.
        """
        if self.form.is_in_tree:
            return ""
        given = self._plain.instance.required_environment
        environment: Environment | None = given
        if not is_given(given):
            with open_search(self._plain.instance, self._crew, self._run_context, self._notice) as search:
                environment = search.resolve("bare", Requirements(requirements=BARE))
                search.blame_machine()
        if environment is None or environment.image is not None:
            return ""
        pytest = [f" and {pin.replace('==', ' ')}" for pin in packages_of(environment) if project_name(pin) == "pytest"]
        return f"Tests run on CPython {interpreters.version_of(environment)}{''.join(pytest)}."

    def fix(self) -> str:
        """Return the diff from head to the merged commit, without other people's work where it has such."""
        snapshot = self._plain.snapshot
        whole = snapshot.diff(snapshot.reference_tree)
        own = self._own_part(whole)
        return own if own and OTHERS in self._candidate.tags else whole

    def _own_part(self, diff: str) -> str:
        """Return the files of a git diff that the pull request has too."""
        return _part(diff, diffs.touched_paths(self._candidate.diff))

    def prove(self, written: WrittenOracle, name: str, checks: Sequence[JudgedChange] = ()) -> ProvedOracle | str:
        """Return the oracle if it is proved, and right on the checks, else why not, in words for its author."""
        found = self._prove(written, name, checks)
        fault = found if isinstance(found, str) else ""
        self.attempts.append(OracleAttempt(source=written.source or "", fault=one_line(fault, LONGEST_REASON)))
        return found

    def _prove(self, written: WrittenOracle, name: str, checks: Sequence[JudgedChange]) -> ProvedOracle | str:
        if written.source is None:
            return "the answer has no block that begins with ``` and the name of the language"
        # No file of the project may be called so: the sandbox is searched for the names of oracles.
        stem = f"oracles/test_pull_{self._candidate.pull_request.number}_{self._comment.id}"
        made = self.form.write(written.source, written.place, stem)
        if isinstance(made, str):
            return made
        category = self._comment.category or written.category
        own = dataclasses.replace(self._comment, oracle=made.oracle, kind=written.kind, category=category)
        comment, texts = with_checks(own, checks)
        files = {made.oracle.file: made.text, **texts}
        certificate = self._certify(comment, files, name)
        if certificate.proven and all(certificate.outcomes.values()):
            proved = certificate.instance
            environment, source = proved.required_environment, proved.tags.get(SOURCE)
            comment = dataclasses.replace(comment, oracle=certificate.proven[-1].comment.oracle)  # it may be isolated
            return ProvedOracle(comment=comment, files=files, environment=environment, source=source)
        states = certificate.seen.get(comment.id, ())
        outcomes = [f"{state.name}: {', '.join(_outcomes(state.runs))}" for state in states if state.role in _SHOWN]
        told = "; ".join([*certificate.problems.values(), *outcomes])
        return " ".join(told.split())

    def with_checks(self, found: ProvedOracle, checks: Sequence[JudgedChange]) -> ProvedOracle:
        """Return the oracle with checks that it was right on, where the audit says so too."""
        comment, texts = with_checks(found.comment, checks)
        files = {**found.files, **texts}
        if checks and self._certify(comment, files, "checks", found.environment).proved:
            return dataclasses.replace(found, comment=comment, files=files)
        return found

    def open(self, found: ProvedOracle) -> tuple[TrialContext, ProvedComment]:
        """Return the context in which an oracle is proved, and its proof. Raises ImageError where that fails now."""
        certificate = self._certify(found.comment, found.files, f"judged-{len(self.attempts)}", found.environment)
        if not certificate.proven:
            why = "; ".join(certificate.problems.values())
            raise ImageError(f"{self._candidate.id}: the oracle of {found.comment.id} cannot be proved again: {why}")
        context = TrialContext(certificate.instance, self._crew, self._run_context)
        return context, certificate.proven[0]

    def judge(self, found: ProvedOracle, written: Sequence[JudgedChange]) -> tuple[JudgedChange, ...]:
        """Return the changes with whether the oracle is right on each."""
        return judge(*self.open(found), written)

    def reference(self) -> dict[str, str]:
        """Return the fix as a file, by its path, if the comment's oracle is green on it; else nothing.

        It is the fix on the files of the pull request if the oracle is green on that, else the whole one, unless that
        has other people's work too.
        """
        name, whole = f"reference/{self._comment.id}.diff", self.fix()
        own = self._own_part(whole)
        parts = dict.fromkeys((own,) if OTHERS in self._candidate.tags else (own, whole))
        comment = dataclasses.replace(self._comment, reference=name)
        for number, fix in enumerate(filter(None, parts)):
            if self._certify(comment, {name: fix}, f"reference-{number}", self._candidate.environment).proved:
                return {name: fix}
        return {}

    def pass_to_pass(self, environment: Environment) -> tuple[str, ...]:
        """Return the changed tests of the project, if there are some and they pass on both sides in an environment."""
        command = own_tests_of_change(self._plain.snapshot, self.form.owner)
        return command if command and pass_on_both_sides(self._in(environment, command)) else ()

    def leave(self, found: ProvedOracle | str) -> None:
        """Remove the environments that were made here and are not the oracle's, nor the earlier ones'."""
        needed = [self._candidate.environment, None if isinstance(found, str) else found.environment]
        kept = [self._in(environment) for environment in needed if environment is not None]
        for environment in self._built:
            if environment not in needed:
                needed.append(environment)
                with contextlib.suppress(CrabError, OSError):  # prune removes what is left
                    self._in(environment).discard_image(kept)

    def _in(self, environment: Environment, pass_to_pass: tuple[str, ...] = ()) -> TrialContext:
        instance = dataclasses.replace(self._plain.instance, environment=environment, pass_to_pass=pass_to_pass)
        return TrialContext(instance, self._crew, self._run_context)

    def _certify(
        self, comment: Comment, files: Mapping[str, str], name: str, environment: Environment | None = None
    ) -> Certificate:
        """Prove the comment's oracle in an instance with these files, with the earlier ones where none is named.

        Raises SourceUnreachable, EngineError.
        """
        folder = self._scratch / name / self._candidate.id
        write_files(folder, {**self._candidate.files, **files})
        instance = self._context(comment, folder).instance
        if environment is None and self._earlier:
            timeout = instance.required_environment.timeout
            bare = Environment(dockerfile=ecosystems.DEFAULT.name, env=self._env, timeout=timeout)
            instance = dataclasses.replace(instance, comments=(*self._earlier, comment), environment=bare)
        if environment is not None:
            instance = dataclasses.replace(instance, environment=environment)
        likely = self.form.owner.version(self._built[-1]) if self._built else None
        certificate = certify(instance, self._crew, self._run_context, self._notice, likely=likely, keeps=True)
        made = certificate.instance.environment if certificate.proved else certificate.built
        if environment is None and made is not None:
            self._built.append(made)
        return certificate.require_look()


_SHOWN = (Role.HEAD, Role.REFERENCE)


def _ready_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(str(path), [f"it cannot be read ({error}); it should be saved as UTF-8"]) from None


def _with_reference(candidate: PullCandidate, context: CurationContext) -> PullCandidate:
    """Return the candidate with the fix as the reference of its comment, the only one that is left."""
    (one,) = candidate.comments
    with scratch("oracle") as folder:
        reference = _Proving(candidate, one.comment, context, folder).reference()
    kept = dataclasses.replace(one, comment=dataclasses.replace(one.comment, reference=next(iter(reference), None)))
    return dataclasses.replace(candidate, comments=(kept,), files={**candidate.files, **reference})


def _labelled(found: ProvedOracle, labels: Mapping[str, str]) -> ProvedOracle:
    comment = dataclasses.replace(found.comment, labels={**found.comment.labels, **labels})
    return dataclasses.replace(found, comment=comment)


def _part(diff: str, paths: Collection[str]) -> str:
    """Return the files of a git diff that are among these paths."""
    return "".join(part.text for part in diffs.split_files(diff) if not {part.old, part.new}.isdisjoint(paths))


def read_oracle(answer: str) -> WrittenOracle:
    """Return the oracle of an answer: the last block but for those of a shell, and what lines say of it."""
    blocks = [text for language, text in _BLOCK.findall(answer) if language not in _SHELLS]
    source, kind = blocks[-1] if blocks else None, _kind_in(answer) or Kind.BEHAVIORAL
    return WrittenOracle(source=source, place=_place_in(answer), kind=kind, category=_category_in(answer))


def _place_in(text: str) -> str | None:
    """Return the path in the tree that a line names first; None if there is none."""
    found = _PLACE.search(text)
    return found[1] if found else None


def _category_in(text: str) -> Category | None:
    """Return the category of the comment that a line names; None if there is none."""
    named = [name for name in _CATEGORY.findall(text) if name in set(Category)]
    return Category(named[-1]) if named else None


def _kind_in(text: str) -> Kind | None:
    """Return the kind that a line of an answer, or a comment of a test, names; None if there is none."""
    kinds = _KIND.findall(text)
    return Kind(kinds[-1]) if kinds else None


def _outcomes(runs: Sequence[Any]) -> Iterator[str]:
    for test in [test for run in runs[:1] for test in run.tests][:20]:
        yield f"{test.id} {test.outcome}{f' with {test.exception}' if test.exception else ''}"


def _dropped_comments(candidate: PullCandidate, dropped: Mapping[str, str]) -> Iterator[CandidateComment]:
    return (one for one in candidate.comments if one.comment.id in dropped)


def _shorten(diff: str) -> str:
    shown = shown_diff(diff)
    return shown if len(shown) <= LONGEST_DIFF else f"{shown[:LONGEST_DIFF]}\n(cut)"

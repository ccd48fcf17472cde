"""The last stage of curation: what may be published of a candidate, and the set that is written of those that are."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab import ecosystems, serialization
from pytest_crab.atomic import replace_folder
from pytest_crab.curation import template
from pytest_crab.curation.filter import ask_judge, comment_questions, judge_identity
from pytest_crab.curation.fresh_rates import publish_rates
from pytest_crab.curation.licence_notes import COMMENT_TEXT, OWN_WORDS, plain_title
from pytest_crab.curation.licences import PERMISSIVE
from pytest_crab.curation.stages import CurationContext, Rejection, SettingsStage
from pytest_crab.errors import BadInput
from pytest_crab.instances import FILE, load_instance, lock
from pytest_crab.instances.dump import instance_yaml
from pytest_crab.instances.files import folder_digest
from pytest_crab.instances.set_files import read_set_file, write_set_file
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.judges.label_judges import CONCERN
from pytest_crab.types import CandidateComment, Comment, Instance, PullCandidate, Source

#: The dimension of labels that says on which side of a model's cut-off a pull request was merged.
CONTAMINATION = "contamination-"

#: The tag with the day of a model's cut-off, by which a set was made.
CUTOFF = "cutoff-"

#: The dimensions of labels that say how hard an injected fault is to see: by how many tests, and from how far.
SEEN_BY, SEEN_FROM = "seen-by", "seen-from"

#: The file of a set with the digest of each instance as it was written, which tells those that were edited.
RECORD = "curated.json"

#: So many words in a row are a copy.
COPIED = 8

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication(SettingsStage):
    """The rules of what is published.

    Which pull requests may be in the set at all is decided by curation.permission.
    """

    #: Those of projects whose review comments may be passed on as they stand, under the project's licence.
    licences: tuple[str, ...] = PERMISSIVE
    #: The days (YYYY-MM-DD) of the models' training cutoffs, by the model's name: a pull request that was merged on or
    #: before it may have been seen.
    cutoffs: Mapping[str, str] = field(default_factory=dict)
    #: A judge of crab.yaml that restates each comment: then the comment itself is linked and not passed on, whatever
    #: the licence, and without such a licence neither are title and description of the pull request.
    own_words: str = ""
    #: Whether the set is not passed on, so that all texts stay.
    private: bool = False
    folder: str = "."

    name = "publish"
    version = 6

    def __post_init__(self) -> None:
        for model, day in self.cutoffs.items():
            if not _DAY.fullmatch(day):
                raise ValueError(f"cutoffs.{model} is {day!r}; it should be a day such as 2025-08-31")

    def identity(self) -> Mapping[str, Any]:
        """Return the settings with the identity of the judge that restates. Raises BadInput."""
        settings = {name: value for name, value in serialization.dump(self).items() if name != "folder"}
        judge = judge_identity(self.own_words, Path(self.folder)) if self.own_words else None
        return {"version": self.version, "settings": settings, "judge": judge}

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        if candidate.source is None and candidate.commit is None:
            return Rejection(reason="its commits are not known")
        if not candidate.comments:
            return Rejection(reason="it has no comment")
        permitted = self.private or candidate.license in self.licences
        found = candidate
        if self.own_words:
            found = restate(candidate, context.judge(self.own_words))
            found = dataclasses.replace(found, tags={**found.tags, COMMENT_TEXT: OWN_WORDS})
        if not permitted:
            facts = dataclasses.replace(
                found.pull_request, title=plain_title(found.repo, found.pull_request.number), body=""
            )
            comments = tuple(map(_without_reference, found.comments))
            found = dataclasses.replace(found, pull_request=facts, comments=comments)
        labels = {
            f"{CONTAMINATION}{model}": seen_before(candidate.pull_request.merged_at, day)
            for model, day in sorted(self.cutoffs.items())
        }
        days = {f"{CUTOFF}{model}": day for model, day in sorted(self.cutoffs.items())}
        comments = tuple(_publish(one, labels) for one in found.comments)
        return dataclasses.replace(found, comments=comments, tags={**found.tags, **days})


def _without_reference(one: CandidateComment) -> CandidateComment:
    """Return the comment without its reference, which is the project's own code."""
    return dataclasses.replace(one, comment=dataclasses.replace(one.comment, reference=None))


def restate(candidate: PullCandidate, bench: JudgeBench) -> PullCandidate:
    """Return the candidate with its comments restated; one that could not be, or that was copied, is taken out.

    Raises ModelUnavailable.
    """
    questions = list(comment_questions(candidate, candidate.comments, bench.judge))
    restated, gone = [], {}
    for one, decision in zip(candidate.comments, ask_judge(bench, questions), strict=True):
        if decision.label != CONCERN or not decision.reason.strip():
            gone[one.comment.id] = "no concern that could be restated"
        elif copies(one.comment.body, decision.reason):
            gone[one.comment.id] = "the restatement copies the comment"
        restated.append(dataclasses.replace(one, comment=dataclasses.replace(one.comment, body=decision.reason)))
    return dataclasses.replace(candidate, comments=tuple(restated)).drop(gone)


def copies(text: str, restatement: str) -> bool:
    """Return whether a restatement has COPIED words of the text in a row, in letters of whichever case."""
    words, own = (re.findall(r"\w+", one.lower()) for one in (text, restatement))
    known = {tuple(words[at : at + COPIED]) for at in range(len(words) - COPIED + 1)}
    return any(tuple(own[at : at + COPIED]) in known for at in range(len(own) - COPIED + 1))


def seen_before(merged: str | None, cutoff: str) -> str:
    """Return on which side of a model's cut-off a pull request was merged: before, after or unknown."""
    if merged is None:
        return "unknown"
    return "before" if merged[:10] <= cutoff else "after"


def _publish(one: CandidateComment, labels: Mapping[str, str]) -> CandidateComment:
    doubts = {"doubt": "; ".join(one.flags)} if one.flags else {}
    return dataclasses.replace(
        one, comment=dataclasses.replace(one.comment, labels={**one.comment.labels, **labels, **doubts})
    )


def to_instance(candidate: PullCandidate, folder: Path) -> Instance:
    """Return the instance of a published candidate. Raises ValueError for one that cannot be an instance."""
    comments: tuple[Comment, ...] = tuple(one.comment for one in candidate.comments)
    doubts = {"doubts": "; ".join(candidate.flags)} if candidate.flags else {}
    return Instance(
        id=candidate.id,
        folder=str(folder),
        provenance=candidate.provenance,
        repo=candidate.repo,
        language=candidate.language or ecosystems.DEFAULT.name,
        license=candidate.license,
        pull_request=candidate.pull_request,
        source=Source(git=candidate.source, commit=candidate.commit),
        environment=candidate.environment,
        comments=comments,
        clean=candidate.clean,
        pass_to_pass=candidate.pass_to_pass,
        company=candidate.company,
        tags={**candidate.tags, "curated_from": candidate.origin, **doubts},
    )


def write_set(out: Path, published: Sequence[PullCandidate]) -> Iterator[str]:
    """Write the instances of candidates into the folder ``out``; yield sentences on those that were there already.

    An instance that is as an earlier run wrote it is made anew where it would differ now. An edited one stays.
    RECORD has the digests of what was written. Raises BadInput.
    """
    digests = _read_record(out)
    anew = []
    for candidate in published:
        folder = out / candidate.id
        instance = to_instance(candidate, folder.absolute())
        there = folder_digest(folder) if folder.is_dir() else None
        if there is None:
            template.refuse_existing(folder)
        files = {name: candidate.files[name] for name in lock.named_files(instance)}
        try:
            with template.beside(folder, {FILE: instance_yaml(instance), **files}) as made:
                digest = folder_digest(made)
                if there not in (None, digest, digests.get(candidate.id)):
                    yield f"{candidate.id} was edited in the set and stays as it is: remove its folder to remake it"
                    continue
                if there != digest:
                    anew += [candidate.id] if there is not None else []
                    replace_folder(made, folder)
        except OSError as error:
            raise BadInput(str(folder), [f"cannot be written ({error.strerror}); choose another --out"]) from error
        digests[candidate.id] = digest
        publish_rates(out, candidate, instance)
    if digests:
        write_set_file(out / RECORD, {"instances": digests})
    if anew:
        yield f"made anew in {out}: {', '.join(anew)}"


def record_audits(out: Path, published: Sequence[PullCandidate]) -> Iterator[str]:
    """Write the instances of candidates, with their audits, into the lock of the set in ``out``.

    Without any audit it is left alone. An edited instance is none that was audited, so that the lock still tells of the
    edit. Yield a sentence where the lock cannot be written.
    """
    audited = {one.id: {each.comment.id: each.audited for each in one.comments if each.audited} for one in published}
    if not any(audited.values()):
        return
    try:
        digests = _read_record(out)
        written = [name for name in audited if folder_digest(out / name) == digests.get(name)]
        instances = [load_instance(out / name) for name in written]
        lock.update_lock(out, instances)
        for instance in instances:
            runs = audited[instance.id]
            lock.record_audits(out, instance, dict.fromkeys(runs, True), runs)
    except (BadInput, OSError) as error:
        yield f"{lock.FILE} has not all audits of this run: {error}"


def remove_rejected(out: Path, rejected: Sequence[str], why: str = "rejected") -> Iterator[str]:
    """Remove from ``out`` the instances of rejected candidates that are as an earlier run wrote them; yield sentences.

    ``why`` says in them what the instances are now. An edited one stays, and is named. The set's lock lists the removed
    ones no more. Raises BadInput.
    """
    digests = _read_record(out)
    there = [name for name in rejected if (out / name / FILE).is_file()]
    edited = [name for name in there if folder_digest(out / name) != digests.get(name)]
    unchanged = [name for name in there if name not in edited]
    for name in unchanged:
        try:
            shutil.rmtree(out / name)
        except OSError as error:
            raise BadInput(str(out / name), [f"cannot be removed ({error.strerror}); remove it by hand"]) from error
    if unchanged:
        kept = {name: digest for name, digest in digests.items() if name not in unchanged}
        write_set_file(out / RECORD, {"instances": kept})
        yield f"removed from {out}, since they are {why} now: {', '.join(unchanged)}"
        try:
            lock.update_lock(out, removed=unchanged)
        except (BadInput, OSError) as error:
            yield f"{lock.FILE} still lists them: {error}"
    if edited:
        yield (
            f"{out} still has instances that are {why} now, since they were edited: {', '.join(edited)}; remove "
            "their folders, or each run of the set measures them too"
        )


def _read_record(out: Path) -> dict[str, str]:
    """Return the digest of each instance as it was written into ``out``. Raises BadInput."""
    known = read_set_file(out / RECORD, "it is damaged; remove it, and every instance counts as edited")
    return dict(known.get("instances", {}))

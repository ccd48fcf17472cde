"""The last stage of curation: what may be published of a candidate, and the set that is written of those that are."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from pytest_crab.curation import template
from pytest_crab.curation.stages import CurationContext
from pytest_crab.curation.stages import Rejection
from pytest_crab.curation.stages import SettingsStage
from pytest_crab.instances import FILE
from pytest_crab.instances import load_instance
from pytest_crab.instances.writing import instance_yaml
from pytest_crab.types import CandidateComment
from pytest_crab.types import Comment
from pytest_crab.types import Instance
from pytest_crab.types import PullCandidate
from pytest_crab.types import Source

#: Licences that let texts of a project be passed on with a notice.
PERMISSIVE = (
    *("MIT", "ISC", "0BSD", "Unlicense", "Zlib", "PSF-2.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause"),
    *("CC0-1.0", "CC-BY-4.0"),
)

#: The dimension of labels that says on which side of a model's cut-off a pull request was merged.
CONTAMINATION = "contamination-"

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication(SettingsStage):
    """The rules of what is published.

    ``licences`` are those of projects whose review comments may be passed on as they stand, under the project's
    licence. ``cutoffs`` are the days (YYYY-MM-DD) up to which models say that they have seen the world, by the model's
    name: a pull request that was merged on or before it may have been seen.
    """

    licences: tuple[str, ...] = PERMISSIVE
    cutoffs: Mapping[str, str] = field(default_factory=dict)

    name = "publish"
    version = 1

    def __post_init__(self) -> None:
        for model, day in self.cutoffs.items():
            if not _DAY.fullmatch(day):
                raise ValueError(f"cutoffs.{model} is {day!r}; it should be a day such as 2025-08-31")

    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """See curation.stages.Stage."""
        del context
        if candidate.source is None:
            return Rejection(reason="its commits are not known")
        if not candidate.comments:
            return Rejection(reason="it has no comment")
        if candidate.license not in self.licences:
            return Rejection(reason="its licence lets no text be passed on", detail=f"{candidate.license}")
        labels = {
            f"{CONTAMINATION}{model}": seen_before(candidate.pull_request.merged_at, day)
            for model, day in sorted(self.cutoffs.items())
        }
        return dataclasses.replace(candidate, comments=tuple(_published(one, labels) for one in candidate.comments))


def seen_before(merged: str | None, cutoff: str) -> str:
    """Return on which side of a model's cut-off a pull request was merged: before, after or unknown."""
    if merged is None:
        return "unknown"
    return "before" if merged[:10] <= cutoff else "after"


def _published(one: CandidateComment, labels: Mapping[str, str]) -> CandidateComment:
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
        language=candidate.language or "python",
        license=candidate.license,
        pull_request=candidate.pull_request,
        source=Source(git=candidate.source),
        environment=candidate.environment,
        comments=comments,
        tags={**candidate.tags, "curated_from": candidate.origin, **doubts},
    )


def named_files(comments: Iterable[Comment]) -> list[str]:
    """Return the files of an instance that its comments name: oracles, references and checks."""
    found: list[str] = []
    for one in comments:
        found += [one.oracle.file] if one.oracle is not None else []
        found += [one.reference] if one.reference is not None else []
        found += [*one.accepts, *one.rejects]
    return found


def write_set(out: Path, published: Sequence[PullCandidate]) -> Iterator[str]:
    """Write the instances of candidates that are not in the folder ``out`` yet; yield a sentence for each exception.

    An instance that is there stays as it is, under its id: somebody may have worked on it. Raises BadInput.
    """
    for candidate in published:
        folder = out / candidate.id
        instance = to_instance(candidate, folder.absolute())
        if (folder / FILE).is_file():
            if load_instance(folder) != instance:
                yield f"{candidate.id} is in the set with other content, which stays: remove its folder to have it anew"
            continue
        files = {name: candidate.files[name] for name in named_files(instance.comments)}
        template.write(instance, files, instance_yaml(instance))

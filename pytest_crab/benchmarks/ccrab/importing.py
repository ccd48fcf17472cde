"""Writes c-CRAB's release as a native set with recorded results, and says what is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

from pytest_crab.benchmarks.ccrab import reader as parts
from pytest_crab.benchmarks.ccrab.recorded import EMPTY_CATCH, HUMAN, Result, write_result
from pytest_crab.cli.importing import import_command
from pytest_crab.diffs import split_files
from pytest_crab.errors import BadInput
from pytest_crab.instances.inferred import category_of
from pytest_crab.instances.native import Import, new_set, write_instance
from pytest_crab.instances.rows import PullRequestRow, read_rows, to_instance
from pytest_crab.sources.merge_base import Fork, find_fork
from pytest_crab.types import Comment, Kind, Oracle

#: The paper's labels of its 234 oracles (arXiv 2603.23448, section 4.4.2), which the release does not hold.
PAPER_KINDS: Mapping[Kind, int] = {Kind.BEHAVIORAL: 42, Kind.STRUCTURAL: 192}


@dataclass(slots=True)
class ReleaseImport(Import):
    """The report of an import of c-CRAB: counts, and a sentence for each thing that is missing or differs."""

    oracles: int = 0
    #: Those of the oracles that were written.
    kinds: Counter[Kind] = field(default_factory=Counter)
    #: Those of all resolved comments on record.
    resolved_kinds: Counter[Kind] = field(default_factory=Counter)
    recorded: Counter[str] = field(default_factory=Counter)
    #: What was found where a mirror had the merge base, counted.
    checked: Counter[str] = field(default_factory=Counter)
    #: The reasons why no mirror had it, counted.
    unchecked: Counter[str] = field(default_factory=Counter)
    #: Sentences on single instances; ``notes`` are on the release as a whole.
    rows: list[str] = field(default_factory=list)

    def counts(self) -> str:
        """Return what was imported, as one line."""
        return f"{self.instances} instances, {self.comments} comments, {self.oracles} oracles"

    def details(self) -> Iterator[str]:
        """Yield kinds, recorded results, and what the mirrors said of bases."""
        kinds, resolved, paper = (_kinds_text(counts) for counts in (self.kinds, self.resolved_kinds, PAPER_KINDS))
        yield f"kinds, inferred: {kinds}; of all resolved comments here {resolved}; of all in the paper {paper}"
        yield from (f"recorded results of {tool}: {count}" for tool, count in sorted(self.recorded.items()))
        yield from (f"{what}: {count}" for what, count in self.checked.items())
        for reason, count in self.unchecked.items():
            yield f"base not checked for {count} instances: {reason}"

    def all_notes(self) -> list[str]:
        """Return the sentences on the release, then those on single instances."""
        return [*self.notes, *self.rows]


def _kinds_text(counts: Mapping[Kind, int]) -> str:
    return " and ".join(f"{counts.get(kind, 0)} {kind}" for kind in Kind)


def import_ccrab(folder: Path, out: Path, *, stage: int = 4, only: re.Pattern[str] | None = None) -> ReleaseImport:
    """Import what is there of the release in ``folder`` into ``out``, which must be new or empty.

    Raises BadInput for damaged archives, rows of another shape and ids that are there twice, and where no row can be
    imported; then nothing is written.
    """
    place = parts.find(folder)
    if stage not in place.stages:
        others = "".join(f", or take --stage {number}" for number in sorted(place.stages))
        problem = f"stage{stage}_*.jsonl, which holds the rows, is not there: put it there and run again{others}"
        raise BadInput(str(folder), [problem])
    release = parts.read(place, only)
    done = ReleaseImport(notes=list(place.parts()), rows=release.notes)
    with new_set(out) as aside:
        texts = _write_rows(place, stage, only, release, aside, done)
        names = {name for name in release.outcomes.get(HUMAN, {}) if release.resolved_texts(name)} | texts.keys()
        if not done.instances:
            wanted = f" whose id has {only.pattern}" if only else ""
            raise BadInput(str(folder), [f"it has no row{wanted} that can be imported", *done.rows])
        _note_absent_rows(names, texts, done)
        for name in sorted(names):
            own = (
                *texts.get(name, ()),
                *(text for text in release.resolved_texts(name) if text not in texts.get(name, ())),
            )
            for tool, outcomes in release.outcomes.items():
                result = release.result(tool, name, own)
                if result is not None:
                    resolved = (comment for comment, ok in result.verdicts.items() if ok)
                    kinds = [result.kinds.get(comment) for comment in resolved]
                    done.resolved_kinds.update(kind for kind in kinds if kind is not None)
                    write_result(aside, tool, name, result, outcomes[name].diff)
                    done.recorded[tool] += 1
                    _note_empty_catches(tool, name, result, outcomes[name].diff, done)
        _note_absent_results(release, names, done)
    return done


def _write_rows(
    place: parts.ReleaseParts,
    stage: int,
    only: re.Pattern[str] | None,
    release: parts.Release,
    aside: Path,
    done: ReleaseImport,
) -> dict[str, tuple[str, ...]]:
    """Write the instances; the texts of every row's comments by instance."""
    texts: dict[str, tuple[str, ...]] = {}
    for row in read_rows(place.stages[stage]):
        if only is None or only.search(row.instance_id):
            texts[row.instance_id] = tuple(comment.text for comment in row.reference_review_comments)
            _write_row(row, release, aside, done)
    return texts


def _write_row(row: PullRequestRow, release: parts.Release, aside: Path, done: ReleaseImport) -> None:
    found = release.oracles.get(row.instance_id, {})
    comments: list[Comment] = []
    files: dict[str, str] = {}
    notes: list[str] = []
    seen: set[str] = set()
    for number, remark in enumerate(row.reference_review_comments):
        generated = found.get(remark.text) if remark.text not in seen else None
        if generated is None:
            why = "an earlier comment has the same text" if remark.text in seen else "no one generated test of its text"
            notes.append(f"{row.instance_id}: c{number} has no oracle: {why}")
        else:
            files[f"oracles/test_c{number}{generated.suffix}"] = generated.code
        seen.add(remark.text)
        comments.append(
            Comment(
                id=f"c{number}",
                path=remark.path,
                lines=remark.lines,
                body=remark.text,
                category=category_of(remark.text, generated.comment_type if generated else None),
                kind=generated.kind if generated else None,
                oracle=_oracle(number, generated) if generated else None,
            )
        )
    base, tags = _base(row, done)
    folder = aside / row.instance_id
    try:
        instance = to_instance(row, folder, tuple(comments), base, tags)
    except ValueError as error:
        done.rows.append(f"{row.instance_id}: not imported: {error}")
        return
    problem = write_instance(folder, instance, files)
    done.rows += [f"{row.instance_id}: not imported: {problem}"] if problem else notes
    if problem is None:
        done.instances += 1
        done.comments += len(comments)
        done.oracles += len(instance.with_oracles)
        done.kinds.update(comment.kind for comment in instance.with_oracles if comment.kind)


def _oracle(number: int, generated: parts.ReleasedOracle) -> Oracle:
    return Oracle(file=f"oracles/test_c{number}{generated.suffix}", runner=parts.SUFFIXES[generated.suffix])


def _base(row: PullRequestRow, done: ReleaseImport) -> tuple[str, dict[str, str]]:
    """The merge base where a mirror tells it, else the row's own base; and tags that say which."""
    tags = {"category": "inferred", "kind": "inferred"}
    reviewed = row.commit_to_review
    try:
        known = find_fork(row.url, row.base_commit, reviewed.head_commit)
    except ValueError:
        known = f"{row.url} is no repository"
    if not isinstance(known, Fork):
        done.unchecked[re.sub(r"\b[0-9a-f]{40}\b", "<sha>", known)] += 1
        return row.base_commit, {**tags, "base": "unchecked"}
    if known.merge_base != row.base_commit:
        done.checked["bases that were no merge base, and are now"] += 1
        change = f"the row's base {row.base_commit[:12]} is not the merge base; {known.merge_base[:12]} is written"
        done.rows.append(f"{row.instance_id}: {change}")
    else:
        done.checked["bases that are the merge base"] += 1
    if reviewed.patch_to_review is None:
        return known.merge_base, {**tags, "base": "merge base", "patch": "missing"}
    same = changes(reviewed.patch_to_review) == changes(known.diff)
    done.checked[f"stored patches that {'are' if same else 'are not'} the diff from there to head"] += 1
    if not same:
        done.rows.append(f"{row.instance_id}: the diff from the merge base to head is not the stored patch")
    return known.merge_base, {**tags, "base": "merge base", "patch": "same" if same else "differs"}


def changes(diff: str) -> dict[tuple[str | None, str | None], tuple[str, ...]]:
    """Return the removed and added lines of a git diff by its files, in order, whoever printed it.

    Index lines, contexts and binary contents are not looked at. A text before the first file stands under no names.
    """
    found: dict[tuple[str | None, str | None], tuple[str, ...]] = {}
    for part in split_files(diff):
        hunks = re.split(r"^(?=@@ )", part.text, maxsplit=1, flags=re.MULTILINE)[1:]
        if part.text.strip():
            found[part.old, part.new] = tuple(line for line in "".join(hunks).split("\n") if line[:1] in ("+", "-"))
    return found


def _note_empty_catches(tool: str, name: str, result: Result, diff: str | None, done: ReleaseImport) -> None:
    if diff is not None and not diff.strip():
        caught = (comment for comment, verdict in result.verdicts.items() if verdict)
        done.rows += [f"{name}: {tool}: {comment}: {EMPTY_CATCH}" for comment in caught]


def _note_absent_rows(names: set[str], texts: Mapping[str, tuple[str, ...]], done: ReleaseImport) -> None:
    absent = sorted(names - texts.keys())
    if absent:
        those = f"{len(absent)} of {len(names)} instances with resolved comments"
        done.notes.append(f"{those} have no row: only their recorded results are here")


def _note_absent_results(release: parts.Release, names: set[str], done: ReleaseImport) -> None:
    for tool in sorted(release.outcomes):
        absent = names - release.outcomes[tool].keys()
        if absent:
            done.notes.append(f"{len(absent)} of {len(names)} instances have no result of {tool}: they count as missed")


ccrab = import_command(
    import_ccrab,
    "Import c-CRAB's public release, a FOLDER with its zips or with what was in them.",
    folder=True,
    options=[
        click.Option(
            ["--stage"], type=click.IntRange(0, 9), default=4, show_default=True, help="Rows of this stage file."
        ),
    ],
)

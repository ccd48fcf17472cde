"""The commands on the gold set of a curation: people label comments, and a judge is compared with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from pytest_crab.cli.curation_run import finished
from pytest_crab.cli.judges import Asking, asked_line, check_lines, judge_options, print_plan
from pytest_crab.cli.shared_options import store_option
from pytest_crab.curation.filter import comment_questions
from pytest_crab.curation.gold import (
    RESOLVED,
    TEST,
    TUNING,
    Annotation,
    Confusion,
    FilterCalibration,
    agreement_lines,
    append_annotation,
    confusion,
    disagreements,
    gold_labels,
    keep_filter_calibration,
    part_of,
    read_annotations,
    sample,
)
from pytest_crab.diffs import excerpt, parse_hunks
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_percent
from pytest_crab.scoring.judges.label_judges import HIGH, LOW
from pytest_crab.text import escape_controls
from pytest_crab.types import CandidateComment, PullCandidate

_OUT = click.option(
    "--out", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), help="The set's folder."
)
_STORE = store_option("The folder in which decisions and judgements are kept.")
#: The stages that a comment passes before it comes to the filter.
_TO_FILTER = ("select",)
#: The answers to a comment that is shown, and their labels.
_ANSWERS = {"h": HIGH, "l": LOW}


@click.command()
@_OUT
@click.option(
    "--as", "annotator", required=True, metavar="NAME", help=f"Your name, or {RESOLVED} to settle disagreements."
)
@click.option("--sample", "size", type=click.IntRange(min=1), default=100, show_default=True, help="How many comments.")
@_STORE
def annotate(out: Path, *, annotator: str, size: int, store: Path) -> None:
    """Label comments that reach the filter by hand, for its gold set.

    Everyone labels the same comments. Each label is saved at once, so you can stop and continue later. Two people
    should label independently; then run it with --as resolved, to decide together where they differ.
    """
    if not annotator.isidentifier():
        raise BadInput("--as", [f"{annotator!r} is no name for a file; it should be letters, digits and _"])
    pairs = sample(finished(out, store, _TO_FILTER), size)
    known = read_annotations(out)
    if annotator == RESOLVED:
        open_ones = set(disagreements(known))
        pairs = [pair for pair in pairs if (pair[0].id, pair[1].comment.id) in open_ones]
    done = known.get(annotator, {})
    left = [pair for pair in pairs if (pair[0].id, pair[1].comment.id) not in done]
    for at, (candidate, one) in enumerate(left, start=1):
        click.echo(_render_comment(candidate, one, f"{at} of {len(left)}"))
        answer = click.prompt("h high, l low, s skip, q quit", type=click.Choice(["h", "l", "s", "q"]))
        if answer == "q":
            break
        if answer != "s":
            why = click.prompt("why", default="", show_default=False)
            label = Annotation(candidate=candidate.id, comment=one.comment.id, label=_ANSWERS[answer], why=why)
            append_annotation(out, annotator, label)
    for line in agreement_lines(read_annotations(out)):
        click.echo(line)


@click.command()
@_OUT
@click.option("--judge", required=True, metavar="NAME", help="The review-filter judge of crab.yaml to measure.")
@click.option("--keep", default=HIGH, show_default=True, metavar="LABEL,...", help="Labels that keep a comment.")
@judge_options
def calibrate(out: Path, *, judge: str, keep: str, asking: Asking) -> None:
    """Measure a judge's precision on the gold set, for the filter's setting precision.

    Mistakes are listed for the tuning part alone: a prompt that is refined on the test part proves nothing.
    """
    labels = keep.split(",")
    gold = gold_labels(read_annotations(out))
    if not gold:
        raise BadInput(str(out), ["it has no annotations yet: call pytest-crab set curate annotate"])
    pulls = {one.id: one for one in finished(out, asking.store, _TO_FILTER)}
    with asking.open({judge: (HIGH, LOW)}) as (bench,):
        asked = {
            (pull.id, one.comment.id): question
            for pull in pulls.values()
            for one in pull.comments
            if (pull.id, one.comment.id) in gold
            for question in comment_questions(pull, [one], bench.judge)
        }
        if asking.plan:
            print_plan(bench, asked.values(), check=asking.check)
            return
        answers = bench.decide(asked.values())
        unasked = [one.reason for one in answers.values() if len(one.votes) < bench.judge.votes]
        if unasked:
            raise BadInput(judge, [f"{len(unasked)} comments have no answer ({unasked[0]}); call it again"])
        found = {key: answers[question.digest].label for key, question in asked.items()}
        parts = {part: confusion(gold, found, part) for part in (TUNING, TEST)}
        test = parts[TEST]
        kept = FilterCalibration(compared=sum(test.counts.values()), precision=test.precision(labels))
        keep_filter_calibration(bench, kept)
        use = asking.use(bench)
    click.echo("\n".join([asked_line(use), *check_lines(use), *_calibration_lines(parts, labels)]))
    for key, label in sorted(gold.items()):
        if part_of(key) == TUNING and key in found and found[key] != label:
            click.echo(f"tuning: {key[0]}::{key[1]} is {label}, the judge says {found[key] or 'no label'}")


def _calibration_lines(parts: dict[str, Confusion], keep: Sequence[str]) -> Iterator[str]:
    for part, matrix in parts.items():
        total = sum(matrix.counts.values())
        precision, recall = (format_percent(value) for value in (matrix.precision(keep), matrix.recall(keep)))
        yield f"{part}: {total} comments, precision {precision}%, recall {recall}%"
        if total:
            yield from matrix.lines()


def _render_comment(candidate: PullCandidate, one: CandidateComment, place: str) -> str:
    comment = one.comment
    lines = "" if comment.lines is None else f":{comment.lines[0]}-{comment.lines[1]}"
    code = excerpt(list(parse_hunks(candidate.diff)), comment.path, comment.lines, comment.side)
    text = f"\n[{place}] {candidate.id}::{comment.id} {comment.path}{lines}\n{code}\n\n{comment.body}\n"
    return "\n".join(map(escape_controls, text.split("\n")))

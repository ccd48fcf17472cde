"""The augment command: findings of several reviewers added to a set, but for duplicates, every decision on record."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import click

from pytest_crab import serialization
from pytest_crab.cli.judges import Asking, judge_options, print_plan, use_lines
from pytest_crab.curation.augment import Augmentation, augment as merge_reviews, augmentation_questions
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count
from pytest_crab.instances import FILE, load_instances
from pytest_crab.instances.dump import instance_yaml
from pytest_crab.instances.native import new_set, require_new
from pytest_crab.results.loading import trials_file
from pytest_crab.results.match_sources import stored_reviews
from pytest_crab.scoring.judges.label_judges import CONCERNS
from pytest_crab.scoring.stored_reviews import StoredReview
from pytest_crab.types import Instance

#: The file of decisions in the new set, and the file of the old one that no longer holds.
DECISIONS, LOCK = "augmentation.jsonl", "crab.lock"


@click.command()
@click.argument("folder", metavar="SET", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--reviews", "reports", multiple=True, required=True, type=click.Path(exists=True, path_type=Path),
    help="A report with reviews of the set: its folder, a store or a trials.jsonl; repeatable.",
)  # fmt: skip
@click.option("--judge", required=True, metavar="NAME", help="The same-concern judge of crab.yaml that compares.")
@click.option("--votes", type=click.IntRange(min=1), default=5, show_default=True, help="Votes on each pair.")
@click.option("--out", type=click.Path(path_type=Path), help="The new set; the folder must be new or empty.")
@judge_options
def augment(
    folder: Path,
    *,
    reports: tuple[Path, ...],
    judge: str,
    votes: int,
    out: Path | None,
    asking: Asking,
) -> None:
    """Add the findings of several reviewers to SET as comments that people should annotate, without duplicates.

    Findings and comments on one hunk are compared pair by pair. Every vote is stored, so an interrupted command can
    continue where it stopped; every decision is in augmentation.jsonl of the new set.
    """
    if out is None and not asking.plan:
        raise click.UsageError("name the new set with --out, or ask for the votes with --plan")
    try:
        if out is not None:
            require_new(out)
        instances = list(load_instances(folder))
        reviews = [review for report in reports for review in stored_reviews(trials_file(report))]
        _require_known(reviews, {instance.id for instance in instances}, folder)
        with asking.open({judge: CONCERNS}) as (bench,):
            bench.judge = dataclasses.replace(bench.judge, votes=votes)  # type: ignore[type-var]
            if out is None or asking.plan:
                print_plan(bench, augmentation_questions(instances, reviews), check=asking.check)
                return
            done = merge_reviews(instances, reviews, bench.decide)
            use = asking.use(bench)
        _write(folder, out, done, [new for new, old in zip(done.instances, instances, strict=True) if new is not old])
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    click.echo("\n".join([*_lines(out, done), *use_lines(use)]))


def _require_known(reviews: Sequence[StoredReview], known: set[str], folder: Path) -> None:
    strange = sorted({review.instance for review in reviews} - known)
    if strange:
        raise BadInput(str(folder), [f"it has no instance {strange[0]}, which is reviewed; name the reviewed set"])


def _write(folder: Path, out: Path, done: Augmentation, grown: Sequence[Instance]) -> None:
    with new_set(out) as aside:
        shutil.copytree(folder, aside, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns(LOCK))
        for instance in grown:
            place = aside / Path(instance.folder).resolve().relative_to(folder.resolve())
            (place / FILE).write_text(instance_yaml(instance), "utf-8")
        lines = [json.dumps(serialization.dump(one), ensure_ascii=False) for one in (*done.pairs, *done.candidates)]
        (aside / DECISIONS).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _lines(out: Path, done: Augmentation) -> list[str]:
    new = sum(one.comment is not None for one in done.candidates)
    duplicates = sum(one.duplicate_of is not None for one in done.candidates)
    left_out = sum(one.left_out is not None for one in done.candidates)
    undecided = sum(one.label is None for one in done.pairs)
    found = ", ".join(f"{count} by {number}" for number, count in done.detected.items())
    findings = format_count(len(done.candidates), "finding")
    return [
        f"{out}: {findings}, {new} of them new comments, {duplicates} duplicates, {left_out} on no file",
        f"{format_count(len(done.pairs), 'pair')} compared, {undecided} without a decision; such findings are kept",
        f"comments by the number of reviewers that found them: {found}",
        f"decisions: {out / DECISIONS}",
    ]

"""The review command of curation: a page on which a person rules on the comments of a set."""

from __future__ import annotations

import getpass
import json
import threading
from pathlib import Path
from typing import Any

import click

from pytest_crab.cli.curation_run import finished
from pytest_crab.cli.serving import serve
from pytest_crab.cli.shared_options import store_option
from pytest_crab.curation.licence_notes import write_notes
from pytest_crab.curation.publish import remove_rejected
from pytest_crab.curation.rulings import Rulings, keep_ruling, read_ruling_list, read_rulings, ruled, write_ruled
from pytest_crab.errors import BadInput, CrabError
from pytest_crab.formats import format_count
from pytest_crab.injection.twins import twin_id
from pytest_crab.results.files import write_report_file
from pytest_crab.show.live import ServedPage
from pytest_crab.show.page.review import review_page
from pytest_crab.show.page.rows import diff_files, safe
from pytest_crab.show.ruling_server import RulingServer
from pytest_crab.types import CandidateComment, PullCandidate


@click.command()
@click.option(
    "--out", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), help="The set's folder."
)
@click.option("--as", "by", metavar="NAME", help="Your name, which goes to the set with each ruling.")
@click.option(
    "--page", type=click.Path(dir_okay=False, path_type=Path), help="Write the page as one file instead of serving it."
)
@click.option(
    "--rulings", "ruled_file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Take the rulings that such a page saved into the set.",
)  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to listen on.  [default: a free one]")
@click.option("--open", "opens", is_flag=True, help="Also open the page in a browser.")
@store_option("The folder in which decisions are kept.")
def review(
    out: Path, *, by: str | None, page: Path | None, ruled_file: Path | None, port: int, opens: bool, store: Path
) -> None:
    """Rule on the comments of a set that curate or inject made: keep, reject or edit each by a key.

    The page shows each comment in the diff, with the fix, the oracle, earlier attempts, the changes that the oracle was
    judged by, and what judges said. A ruling is saved at once, and the set is written by it. The server listens on the
    loopback address only, and its address has a token. It runs until Ctrl-C.
    """
    candidates = _finished(out, store)
    if ruled_file is not None:
        _take_file(out, ruled_file, candidates)
        return
    name = by or _user()
    if page is not None:
        write_report_file(page, [_made(out, candidates, name, served=False).body])
        click.echo(f"{page}: rule there, save rulings.json, and take it with --rulings")
        return
    try:
        server = open_review(out, candidates, name, port)
    except OSError as error:
        raise click.ClickException(f"port {port} cannot be listened on: {error.strerror}") from error
    serve(server, opens=opens)


def _user() -> str:
    """Return the name of this user. Raises UsageError where it has none, as in many containers."""
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:  # KeyError before CPython 3.13
        raise click.UsageError("this user has no name on this machine; give yours with --as") from error


def open_review(out: Path, candidates: dict[str, PullCandidate], by: str, port: int) -> RulingServer:
    """Return a server of the page that takes rulings on finished candidates into the set. Raises BadInput, OSError."""
    taking = threading.Lock()  # two tabs would each write the set's list of digests as it was before the other

    def rule(data: Any) -> list[str]:
        with taking:
            return _take(out, data, candidates)

    return RulingServer(lambda: _made(out, candidates, by, served=True), rule, port)


def _made(out: Path, candidates: dict[str, PullCandidate], by: str, *, served: bool) -> ServedPage:
    rulings = read_rulings(out)
    items = [item for one in candidates.values() for item in review_items(one, rulings)]
    return review_page(out.name, items, by=by, served=served)


def _finished(out: Path, store: Path) -> dict[str, PullCandidate]:
    """Return the candidates that passed all stages, by id, as the store has them. Raises BadInput, StoreError."""
    found = {one.id: one for one in finished(out, store)}
    if not found:
        raise BadInput(
            str(out), ["no pull request has passed all stages yet: run the command that makes the set first"]
        )
    return found


def _take_file(out: Path, file: Path, candidates: dict[str, PullCandidate]) -> None:
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(str(file), [f"it holds no rulings ({error})"]) from error
    for one in data if isinstance(data, list) else [data]:
        for sentence in _take(out, one, candidates):
            click.echo(sentence)
    click.echo(f"{format_count(len(read_rulings(out)), 'ruling')} in {out}")


def _take(out: Path, data: Any, candidates: dict[str, PullCandidate]) -> list[str]:
    """Keep a ruling, and write the instance by it; return what the set does not have of it. Raises BadInput."""
    (ruling,) = read_ruling_list(data if isinstance(data, dict) else None, "the ruling")
    candidate = candidates.get(ruling.candidate)
    if candidate is None or ruling.comment not in {one.comment.id for one in candidate.comments}:
        raise BadInput("the ruling", [f"there is no comment {ruling.candidate} {ruling.comment}"])
    keep_ruling(out, ruling)
    try:
        sentences = list(write_ruled(out, [candidate]))
        if not ruled(candidate, read_rulings(out)).comments:
            sentences += remove_rejected(out, [twin_id(candidate.id)], "not wanted")
        write_notes(out)
    except (CrabError, OSError) as error:
        return [f"the ruling is kept, and the set is not written by it yet: {error}"]
    return sentences


def review_items(candidate: PullCandidate, rulings: Rulings) -> list[dict[str, Any]]:
    """Return what the page shows of each comment of a candidate: the diff, the fix, oracle, attempts and checks."""
    facts = candidate.pull_request
    shared = {
        "candidate": candidate.id,
        "title": safe(facts.title),
        "body": safe(facts.body),
        "url": facts.url if (facts.url or "").startswith("https://") else None,
        "files": list(diff_files(candidate.diff)),
    }
    return [{**shared, **_item(candidate, one, rulings)} for one in candidate.comments]


def _item(candidate: PullCandidate, one: CandidateComment, rulings: Rulings) -> dict[str, Any]:
    comment = one.comment
    ruling = rulings.get((candidate.id, comment.id))
    oracle = candidate.files.get(comment.oracle.file) if comment.oracle else None
    return {
        "id": comment.id,
        "path": safe(comment.path),
        "lines": comment.lines,
        "side": str(comment.side),
        "text": safe(comment.body),
        "raw": comment.body,
        "author": safe(one.author),
        "labels": [[safe(name), safe(label)] for name, label in sorted(comment.labels.items())],
        "doubts": [safe(flag) for flag in one.flags],
        "reasons": [safe(reason) for reason in one.reasons],
        "fix": list(diff_files(candidate.files.get(comment.reference or "", ""))),
        "oracle": None if oracle is None else safe(oracle),
        "raw_oracle": oracle,
        "attempts": [{"source": safe(each.source), "fault": safe(each.fault)} for each in one.attempts],
        "changes": [
            {
                "kind": str(each.kind),
                "name": safe(each.name),
                "why": safe(each.why),
                "held": each.held,
                "fresh": each.fresh,
                "disputed": safe(each.disputed),
                "files": list(diff_files(each.diff)),
            }
            for each in one.changes
        ],
        "ruling": None
        if ruling is None
        else {
            "ruling": str(ruling.ruling),
            "by": safe(ruling.by),
            "reason": safe(ruling.reason),
            "body": ruling.body,
            "oracle": ruling.oracle,
        },
    }

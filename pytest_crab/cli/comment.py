"""The comment command: a run's results as one comment on a pull request, and as annotations in CI."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pytest_crab.clients.forge_comments import (
    CommentForge,
    PullRequestPlace,
    github_place,
    gitlab_place,
    post_comment,
    read_address,
)
from pytest_crab.errors import BadInput, ForgeError
from pytest_crab.gate.pairing import counterpart, full_names
from pytest_crab.instances.loading import find_instances, load_instance
from pytest_crab.results.loading import load_summary
from pytest_crab.results.outcomes import oracle_counts
from pytest_crab.results.summary import Summary
from pytest_crab.show.pull_request_comment import comment_body, workflow_commands
from pytest_crab.statistics.comparison import Comparison, compare

#: Seconds to wait for a rate limit or a forge that is down, unless --wait says otherwise.
WAIT = 120.0


@click.command()
@click.argument("report", type=click.Path(exists=True, path_type=Path))
@click.option("--pull-request", "address", metavar="URL", help="The pull or merge request; in CI its own by default.")
@click.option(
    "--baseline", type=click.Path(exists=True, path_type=Path), help="List oracles lost and gained since this run."
)
@click.option(
    "--name",
    default="results",
    show_default=True,
    help="The comment's name: an earlier one of this name and account is updated.",
)
@click.option(
    "--set",
    "folder",
    type=click.Path(exists=True, path_type=Path),
    help="The folder of the set, so that annotations point at the files of lost instances.",
)
@click.option(
    "--annotate/--no-annotate",
    default=None,
    help="Print annotations as GitHub's workflow commands; without it in GitHub Actions only.",
)
@click.option("--print", "only_print", is_flag=True, help="Print the comment and write none.")
@click.option(
    "--wait", type=click.FloatRange(0), default=WAIT, show_default=True, help="Seconds to wait for a rate limit."
)
def comment(
    report: Path,
    address: str | None,
    baseline: Path | None,
    name: str,
    folder: Path | None,
    wait: float,
    *,
    annotate: bool | None,
    only_print: bool,
) -> None:
    """Write or update one comment on a pull request with the results of a run.

    REPORT is a report's folder, its summary.json, or a store. The token is read from GITHUB_TOKEN or GH_TOKEN, on
    GitLab from GITLAB_TOKEN.
    """
    environ = os.environ
    summary = load_summary(report)
    comparisons = _comparisons(summary, baseline)
    body = comment_body(summary, comparisons, _footer(environ))
    if only_print:
        click.echo(body)
        return
    if annotate or (annotate is None and environ.get("GITHUB_ACTIONS") == "true"):
        for line in workflow_commands(summary, comparisons, _files(folder)):
            click.echo(line)
    place = _find_place(address, environ)
    posted = post_comment(_connect(place, environ), name, body, wait=wait)
    click.echo(f"comment {posted.action}: {posted.url}")


def _comparisons(summary: Summary, baseline: Path | None) -> dict[str, Comparison]:
    """Return the comparisons by reviewer: with the named run, else those of the run's own gate. Raises BadInput."""
    if baseline is None:
        names = {own.reviewer for own in summary.reviewers}
        found = {} if summary.gate is None else summary.gate.comparisons
        return {name: one for name, one in found.items() if name in names}
    before, after = load_summary(baseline).contestants, summary.contestants
    was, now = full_names(before.values()), full_names(after.values())
    pairs = {name: counterpart(name, was, now) for name in after}
    return {
        name: compare(oracle_counts(before[other].oracles), oracle_counts(after[name].oracles))
        for name, other in pairs.items()
        if other is not None
    }


def _files(folder: Path | None) -> dict[str, str]:
    """Return the paths of instances' files by id, as seen from here; one that cannot be read is left out."""
    found = {}
    for path in () if folder is None else find_instances(folder):
        try:
            found[load_instance(path).id] = os.path.relpath(path)
        except BadInput:
            continue
    return found


def _connect(place: PullRequestPlace, environ: Mapping[str, str]) -> CommentForge:
    """Return the forge of a pull request. Raises ForgeError without a token or the library."""
    library = "gitlab" if place.is_gitlab else "github"
    if importlib.util.find_spec(library) is None:
        raise ForgeError("comments need a library that is not here: install pytest-crab with its extra [comment]")
    variable, token = place.token(environ)
    if place.is_gitlab:
        from pytest_crab.clients.gitlab_comments import GitLabNotes

        return GitLabNotes(place, variable, token)
    from pytest_crab.clients.github_comments import GitHubComments

    return GitHubComments(place, variable, token)


def _find_place(address: str | None, environ: Mapping[str, str]) -> PullRequestPlace:
    """Return the named pull request, else the one that this CI job is about. Raises ForgeError."""
    if address is not None:
        return read_address(address, environ)
    # In a merge request of a fork the job's own project is the fork.
    project = environ.get("CI_MERGE_REQUEST_PROJECT_PATH") or environ.get("CI_PROJECT_PATH")
    number = environ.get("CI_MERGE_REQUEST_IID", "")
    if project and number.isdecimal():
        return gitlab_place(environ.get("CI_SERVER_URL", "https://gitlab.com"), project, int(number))
    pull, project = _pull_of_event(environ), environ.get("GITHUB_REPOSITORY")
    if project and isinstance(pull.get("number"), int):
        api = environ.get("GITHUB_API_URL", "https://api.github.com")
        head = ((pull.get("head") or {}).get("repo") or {}).get("full_name")
        return github_place(api, project, pull["number"], from_fork=head not in (None, project))
    raise ForgeError(
        "which pull request is meant? This is no CI job of one; name it, as in "
        "--pull-request https://github.com/owner/name/pull/7"
    )


def _pull_of_event(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the pull request in the event that GitHub Actions describes; empty if there is none."""
    path = environ.get("GITHUB_EVENT_PATH")
    try:
        event = json.loads(Path(path).read_text("utf-8")) if path else {}
    except (OSError, ValueError):
        return {}
    pull = event.get("pull_request") if isinstance(event, dict) else None
    return pull if isinstance(pull, dict) else {}


def _footer(environ: Mapping[str, str]) -> list[str]:
    """Return links to the CI job and the commit, where CI tells them."""
    server, project, run = (environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    job = f"{server}/{project}/actions/runs/{run}" if run else environ.get("CI_JOB_URL", "")
    head = (_pull_of_event(environ).get("head") or {}).get("sha") or environ.get("CI_COMMIT_SHA") or ""
    link = f"[job and report]({job})" if re.fullmatch(r"https?://[\w.:/-]+", job) else ""
    return [part for part in (link, f"commit {head[:10]}" if re.fullmatch(r"[0-9a-f]{40,64}", head) else "") if part]

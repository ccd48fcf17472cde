"""Merge requests of a project on GitLab with their discussions, through python-gitlab; only reads.

They are told in the fields of GitHub's API, so that curation knows one shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pytest_crab.clients.gitlab_comments import gitlab_errors, open_lab
from pytest_crab.redaction import Redactor

#: The variable that may hold a token.
TOKEN = "GITLAB_TOKEN"  # noqa: S105 - the name of a variable

_MISSING = 404


@dataclass(kw_only=True)
class GitLabPulls:
    """The merge requests of a project.

    See clients.reviewed_pulls.ReviewedPulls.
    """

    #: The project with its groups.
    project: str
    #: The server that it is on.
    server: str
    #: None: only what everyone may read can be asked for.
    token: str | None = None
    forge: str = "GitLab"
    _home: Mapping[str, Any] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._lab = open_lab(self.server, self.token)
        self._redactor = Redactor({self.token: "[token]"} if self.token else {})
        self._path = f"/projects/{quote(self.project, safe='')}"

    @property
    def repo(self) -> str:
        """The project with its last group."""
        return "/".join(self.project.split("/")[-2:])

    def closed_pulls(self, since: str | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield merged requests. Raises ForgeError."""
        query = {"state": "merged", "order_by": "updated_at", **({"updated_after": since} if since else {})}
        for entry in self._list("merge_requests", query):
            yield self.pull(int(entry["iid"]))  # the list lacks the commits that the diff is made of

    def pull(self, number: int) -> Mapping[str, Any]:
        """Return one merge request. Raises ForgeError."""
        self._home = self._home or self._get("")
        home, entry = self._home, self._get(f"/merge_requests/{number}")
        merged = entry.get("merge_commit_sha") or entry.get("squash_commit_sha") or entry.get("sha")
        return {
            "number": entry["iid"],
            "title": entry.get("title"),
            "body": entry.get("description"),
            "html_url": entry["web_url"],
            "created_at": entry.get("created_at"),
            "updated_at": entry["updated_at"],
            "merged_at": entry.get("merged_at"),
            "merge_commit_sha": merged,
            "user": {"login": (entry.get("author") or {}).get("username", "")},
            "labels": [{"name": name} for name in entry.get("labels") or ()],
            "head": {"sha": entry["sha"], "repo": entry.get("source_project_id")},
            "base": {
                "ref": entry.get("target_branch"),
                "sha": entry["diff_refs"]["start_sha"],
                "repo": {"private": home.get("visibility") != "public", "html_url": home["web_url"]},
            },
        }

    def comments_of(self, numbers: Sequence[int], opened: str | None) -> list[Mapping[str, Any]]:
        """Return the notes on lines or files of these merge requests. Raises ForgeError."""
        del opened  # GitLab lists discussions of one merge request at a time
        return [
            row
            for number in numbers
            for discussion in self._list(f"merge_requests/{number}/discussions")
            for row in _rows(number, discussion)
        ]

    def reviews(self, number: int) -> list[Mapping[str, Any]]:
        """Return the reviews in which changes were requested. Raises ForgeError."""
        states = self._list(f"merge_requests/{number}/reviewers")
        asked = [one for one in states if one.get("state") == "requested_changes"]
        return [{"user": {"login": one["user"]["username"]}, "state": "CHANGES_REQUESTED"} for one in asked]

    def files(self, number: int) -> set[str]:
        """Return the files that a merge request changes, by their names before and after. Raises ForgeError."""
        rows = self._list(f"merge_requests/{number}/diffs")
        return {str(name) for row in rows for name in (row["old_path"], row["new_path"])}

    def merge_base(self, base: str, head: str) -> str | None:
        """Return the merge base of two commits; None where GitLab has one of them no more. Raises ForgeError."""
        import gitlab

        with self._errors():
            try:
                found = self._lab.http_get(
                    f"{self._path}/repository/merge_base", {"refs[]": [base, head]}, obey_rate_limit=False
                )
            except gitlab.GitlabHttpError as error:
                if error.response_code == _MISSING:
                    return None
                raise
            return str(found["id"])

    def _get(self, place: str) -> Mapping[str, Any]:
        with self._errors():
            return dict(self._lab.http_get(f"{self._path}{place}", obey_rate_limit=False))

    def _list(self, place: str, query: Mapping[str, str] | None = None) -> list[Mapping[str, Any]]:
        with self._errors():
            return list(
                self._lab.http_list(
                    f"{self._path}/{place}", {**(query or {}), "per_page": 100}, get_all=True, obey_rate_limit=False
                )
            )

    def _errors(self) -> AbstractContextManager[None]:
        return gitlab_errors("read", self.project, self.server, TOKEN, self._redactor)


def _rows(number: int, discussion: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the notes of a discussion that are on code, in the fields of GitHub's review comments."""
    first: int | None = None
    for note in discussion.get("notes") or ():
        place = note.get("position")
        if note.get("system") or not place:
            continue
        left = place.get("new_line") is None and place.get("old_line") is not None
        side = "old" if left else "new"
        start = ((place.get("line_range") or {}).get("start") or {}).get(f"{side}_line")
        yield {
            "pull": number,
            "id": note["id"],
            "in_reply_to_id": first,
            "path": place[f"{side}_path"],
            "original_line": place.get(f"{side}_line"),
            "original_start_line": start,
            "side": "LEFT" if left else "RIGHT",
            "body": note["body"],
            "user": (note.get("author") or {}).get("username", ""),
            "created_at": note.get("created_at"),
            "original_commit_id": place.get("head_sha"),
        }
        first = first or note["id"]

"""Stored reviews beside the known comments of their pull requests: what matching by place and by concern works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_crab.types import Finding, Score, Side

#: Dimensions whose label a pull request has as a whole, so that each of its findings has it too.
OF_PULL_REQUESTS = ("language", "pull-request-category", "repo", "size")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownComment:
    """A known comment with its place and labels."""

    #: None: its text is not on record.
    body: str | None = None
    path: str | None = None
    lines: tuple[int, int] | None = None
    side: Side = Side.RIGHT
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReview:
    """One review of one pull request."""

    reviewer: str
    instance: str
    repo: str
    #: The digest of its content.
    pull_request: str
    comments: tuple[KnownComment, ...]
    #: None: there is no review, and every comment counts as missed.
    findings: tuple[Finding, ...] | None
    #: None where it is not on record.
    diff: str | None = None
    #: The labels of single findings by their place in the review, by dimension.
    labels: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    title: str = ""
    url: str | None = None
    #: The scores on record, by judges of a release, on comments that ``c0`` and so on name in their order.
    scores: tuple[Score, ...] = ()

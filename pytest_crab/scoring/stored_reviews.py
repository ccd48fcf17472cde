"""Stored reviews beside the known comments of their pull requests: what matching by place and by concern works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_crab.types import Finding, Score, Side

#: Dimensions whose label a pull request has as a whole, so that each of its findings has it too.
OF_PULL_REQUESTS = ("language", "pull-request-category", "repo", "size")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownComment:
    """A known comment with its place and labels; ``body`` None: its text is not on record."""

    body: str | None = None
    path: str | None = None
    lines: tuple[int, int] | None = None
    side: Side = Side.RIGHT
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReview:
    """One review of one pull request; ``findings`` None: there is none, and every comment counts as missed.

    ``pull_request`` is a digest of its content, ``diff`` None where it is not on record. ``labels`` are those of single
    findings by their place in the review, by dimension. ``scores`` are those on record, by judges of a release, on
    comments that ``c0`` and so on name in their order.
    """

    reviewer: str
    instance: str
    repo: str
    pull_request: str
    comments: tuple[KnownComment, ...]
    findings: tuple[Finding, ...] | None
    diff: str | None = None
    labels: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    title: str = ""
    url: str | None = None
    scores: tuple[Score, ...] = ()

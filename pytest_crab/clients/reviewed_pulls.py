"""The forge that curation asks: pull requests with their reviews, in the fields of GitHub's API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol


class ReviewedPulls(Protocol):
    """The pull requests of the repository ``repo``; only reads. Every method raises ForgeError.

    ``forge`` names the kind of forge, such as GitHub.
    """

    @property
    def forge(self) -> str:
        """The forge's name."""

    @property
    def repo(self) -> str:
        """The repository, as owner/name."""

    def closed_pulls(self, since: str | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield pull requests that are closed; none whose last update was before a day."""

    def pull(self, number: int) -> Mapping[str, Any]:
        """Return one pull request."""

    def comments_of(self, numbers: Sequence[int], opened: str | None) -> list[Mapping[str, Any]]:
        """Return the review comments of these; ``opened`` is when the first was, if they are most of all there are."""

    def reviews(self, number: int) -> list[Mapping[str, Any]]:
        """Return the reviews of a pull request."""

    def files(self, number: int) -> set[str]:
        """Return the files that a pull request changes, by their names before and after."""

    def merge_base(self, base: str, head: str) -> str | None:
        """Return the merge base of two commits; None where the forge has one of them no more."""

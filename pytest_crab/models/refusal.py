"""The refusal of a request by the gateway itself."""

from __future__ import annotations


class Refusal(Exception):
    """A request that goes no further; ``lasting``, ``passing`` and ``overspent`` are kept by its account."""

    def __init__(
        self, status: int, message: str, *, lasting: bool = False, passing: bool = False, overspent: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.lasting = lasting
        self.overspent = overspent
        self.passing = passing

"""Everything this package raises."""

from __future__ import annotations

from collections.abc import Iterable


class RouterError(Exception):
    """Base of all errors of this package. Never raised itself."""


class PatternError(RouterError, ValueError):
    """A path pattern cannot be compiled."""


class BuildError(RouterError, LookupError):
    """No URL can be built from a route's name and the given values."""


class HTTPError(RouterError):
    """A request that ends in an error response."""

    status = 500

    def __init__(self, message: str = "", *, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.headers = headers or {}


class NotFound(HTTPError):
    """No route knows the path."""

    status = 404


class MethodNotAllowed(HTTPError):
    """The path is known, but not under this method."""

    status = 405

    def __init__(self, allowed: Iterable[str]) -> None:
        self.allowed = tuple(sorted(allowed))
        super().__init__("method not allowed", headers={"allow": ", ".join(self.allowed)})

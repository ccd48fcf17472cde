"""A small HTTP-style router: patterns, converters, dispatch."""

from router.app import App
from router.errors import BuildError, HTTPError, MethodNotAllowed, NotFound, PatternError, RouterError
from router.messages import Request, Response
from router.routing import Match, Route, Router

__all__ = [
    "App",
    "BuildError",
    "HTTPError",
    "Match",
    "MethodNotAllowed",
    "NotFound",
    "PatternError",
    "Request",
    "Response",
    "Route",
    "Router",
    "RouterError",
]

"""The table of routes, and how a request finds its handler."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from router.errors import BuildError, MethodNotAllowed, NotFound
from router.messages import Response
from router.pattern import Pattern

Handler = Callable[..., Response]


@dataclass(frozen=True)
class Route:
    """One line of the table."""

    methods: frozenset[str]
    pattern: Pattern
    handler: Handler
    name: str


@dataclass(frozen=True)
class Match:
    """The route that was found and the values from the path."""

    route: Route
    values: dict[str, Any]


class Router:
    """An ordered table of routes: the first that matches wins."""

    def __init__(self) -> None:
        self._routes: list[Route] = []
        self._by_name: dict[str, Route] = {}

    def add(self, methods: Iterable[str], source: str, handler: Handler, *, name: str | None = None) -> Route:
        """Add a route; its name is the handler's unless given, and must be free."""
        route = Route(
            frozenset(method.upper() for method in methods),
            Pattern.compile(source),
            handler,
            name or handler.__name__,
        )
        if route.name in self._by_name:
            raise ValueError(f"a route called {route.name!r} exists")
        self._routes.append(route)
        self._by_name[route.name] = route
        return route

    def route(self, methods: Iterable[str], source: str, *, name: str | None = None) -> Callable[[Handler], Handler]:
        """Decorate a handler: add it and leave it as it is."""

        def decorate(handler: Handler) -> Handler:
            self.add(methods, source, handler, name=name)
            return handler

        return decorate

    def get(self, source: str, *, name: str | None = None) -> Callable[[Handler], Handler]:
        """Decorate a handler for GET and HEAD."""
        return self.route(("GET", "HEAD"), source, name=name)

    def post(self, source: str, *, name: str | None = None) -> Callable[[Handler], Handler]:
        """Decorate a handler for POST."""
        return self.route(("POST",), source, name=name)

    def match(self, method: str, path: str) -> Match:
        """Find the route of a request; raise NotFound or MethodNotAllowed."""
        allowed: set[str] = set()
        for route in self._routes:
            values = route.pattern.match(path)
            if values is None:
                continue
            if method in route.methods:
                return Match(route, values)
            allowed |= route.methods
        if allowed:
            raise MethodNotAllowed(allowed)
        raise NotFound(f"nothing at {path}")

    def url_for(self, name: str, **values: Any) -> str:
        """Build the path of the route called *name*; raise BuildError if that fails."""
        if name not in self._by_name:
            raise BuildError(f"no route is called {name!r}")
        return self._by_name[name].pattern.build(values)

"""From a request to a response."""

from __future__ import annotations

from router.errors import HTTPError
from router.messages import Request, Response
from router.routing import Router


class App:
    """Answers requests with the handlers of a router."""

    def __init__(self, router: Router) -> None:
        self.router = router

    def handle(self, request: Request) -> Response:
        """Answer *request*; an HTTPError becomes its error response."""
        try:
            match = self.router.match(request.method, request.path)
            response = match.route.handler(request, **match.values)
        except HTTPError as error:
            response = self.error_response(error)
        if request.method == "HEAD":
            response.body = b""
        return response

    def error_response(self, error: HTTPError) -> Response:
        """What an HTTPError looks like on the wire. Override to change it."""
        response = Response.text(error.message or f"error {error.status}", error.status)
        response.headers.update(error.headers)
        return response

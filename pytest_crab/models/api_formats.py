"""The protocols that providers speak: their paths, credentials and errors, and how the gateway answers in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_crab.settings import Api

#: The path that answers with vectors, so that nothing is written there.
EMBEDDINGS = "/embeddings"

#: The kinds of errors, by status, as both protocols call them.
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiFormat:
    """One protocol."""

    api: Api
    #: The paths that may be asked for, without the version in front of them.
    posts: frozenset[str]

    def sign(self, key: str | None) -> dict[str, str]:
        """Return the headers that carry a key to the provider."""
        if key is None:
            return {}
        return {"x-api-key": key} if self.api is Api.ANTHROPIC else {"authorization": f"Bearer {key}"}

    def url(self, base: str, path: str) -> str:
        """Return the URL of a path at a provider: an OpenAI base ends with the version, an Anthropic base does not."""
        base = base.rstrip("/")
        return f"{base.removesuffix('/v1')}/v1{path}" if self.api is Api.ANTHROPIC else f"{base}{path}"

    def error(self, status: int, message: str) -> dict[str, Any]:
        """Return the body of an error in this protocol's own shape."""
        kind = KINDS.get(status, "api_error")
        if self.api is Api.ANTHROPIC:
            return {"type": "error", "error": {"type": kind, "message": message}}
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def models(self, names: Iterable[str]) -> dict[str, Any]:
        """Return a list of models, which clients ask for when they start."""
        if self.api is Api.ANTHROPIC:
            data = [{"type": "model", "id": name, "display_name": name, "created_at": _EPOCH} for name in names]
            return {"data": data, "has_more": False, "first_id": None, "last_id": None}
        return {
            "object": "list",
            "data": [{"id": name, "object": "model", "created": 0, "owned_by": "pytest-crab"} for name in names],
        }


_EPOCH = "1970-01-01T00:00:00Z"

API_FORMATS = {
    Api.ANTHROPIC: ApiFormat(api=Api.ANTHROPIC, posts=frozenset({"/messages", "/messages/count_tokens"})),
    Api.OPENAI: ApiFormat(
        api=Api.OPENAI, posts=frozenset({"/responses", "/chat/completions", "/completions", EMBEDDINGS})
    ),
}


def token_of(headers: Mapping[str, str]) -> str | None:
    """Return the credential of a request, wherever its client puts it."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    return headers.get("x-api-key") or (bearer.strip() if scheme.lower() == "bearer" else None) or None


#: What goes on to a provider beside the body; everything else stays here, credentials first of all.
_FORWARDED = ("anthropic-version", "anthropic-beta", "openai-beta", "user-agent", "accept")
#: What comes back from a provider beside the body.
_RETURNED = ("content-type", "retry-after", "retry-after-ms", "request-id", "x-request-id", "x-should-retry")


def sent_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers for the provider, but for the credentials."""
    kept = {name: headers[name] for name in _FORWARDED if name in headers}
    return {**kept, "content-type": "application/json", "accept-encoding": "identity"}


def returned_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of an answer that the client is shown."""
    return {name: headers[name] for name in _RETURNED if name in headers}

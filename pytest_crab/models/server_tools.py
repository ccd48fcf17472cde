"""Requests that have a provider look things up by itself: in the web, in its files, or by code that it runs.

Tools are known by the kinds that a client carries out, and everything else that is offered as a tool is the provider's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_crab.models.refusal import Refusal

#: The kinds of tools that a client carries out, and of wishes for one; a kind may end with a date.
_CLIENTS = re.compile(
    r"(?:function|custom|tool|auto|any|none|allowed_tools|namespace"
    r"|local_shell|shell|bash|apply_patch|text_editor|memory|computer|computer_use|computer_use_preview"
    r"|tool_search|tool_search_tool_(?:regex|bm25))(?:_\d{8})?"
)

#: Fields of a request by which a provider is asked to look things up.
_SERVER_FIELDS = (
    *("mcp_servers", "web_search", "web_search_options", "search_parameters", "search_settings", "enable_search"),
    *("plugins", "connectors", "data_sources", "prompt"),
)
#: And models that look things up by themselves, by what their names hold.
_SEARCHING = re.compile(r"search-(?:preview|api)|deep-research|:online\b|\bsonar\b|\bcompound\b", re.IGNORECASE)

#: Fields that hold schemas and the arguments of calls, where words like these are only data.
_DATA = frozenset({"parameters", "input_schema", "output_schema", "schema", "json_schema", "arguments"})

#: Fields for an address that a provider fetches, unless it holds the data itself.
_ADDRESSES = re.compile(r"(?:file|image|video|audio|document)_?ur[il]")

_LONGEST = 60


def require_no_lookups(document: Mapping[str, Any]) -> None:
    """Raise Refusal for a request that has the provider look things up."""
    found = _lookup(document)
    if found is not None:
        sentence = f"{found[:_LONGEST]} looks things up, the fix among them, or is not known as a tool of clients"
        raise Refusal(400, f"{sentence}: models.server_tools in crab.yaml would allow it")


def _lookup(document: Mapping[str, Any]) -> str | None:
    """Return in one word what has the provider look things up, such as an address; None if nothing does."""
    for field_name in _SERVER_FIELDS:
        given = document.get(field_name)
        # the prompt of /completions is the text itself
        if given and not (field_name == "prompt" and isinstance(given, (str, list))):
            return field_name
    models = document.get("models")
    named = (document.get("model", ""), *(models if isinstance(models, list) else ()))
    searching = next((str(name) for name in named if _SEARCHING.search(str(name))), None)
    if searching is not None:
        return searching
    found = (_fetched(name, inner, value) or _foreign(name, inner) for value, name, inner in _fields(document))
    return next(filter(None, found), None)


def _fields(document: Any) -> Iterator[tuple[Mapping[str, Any], str, Any]]:
    """Yield each object, its fields' names in small letters and what they hold, anywhere but in data."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(item for item in value if isinstance(item, (dict, list)))
            continue
        called = value.get("type") == "tool_use"
        for name, inner in value.items():
            folded = name.casefold()
            yield value, folded, inner
            if isinstance(inner, (dict, list)) and folded not in _DATA and not (called and folded == "input"):
                waiting.append(inner)


def _fetched(name: str, inner: Any, value: Mapping[str, Any]) -> str | None:
    """Return the name of a field whose address the provider fetches; None if it is none, or holds the data itself."""
    if _ADDRESSES.fullmatch(name) is None and not (name == "url" and value.get("type") == "url"):
        return None
    address = inner.get("url") if isinstance(inner, dict) else inner
    return None if not isinstance(address, str) or address.casefold().startswith("data:") else name


def _foreign(name: str, inner: Any) -> str | None:
    """Return the kind of a tool that a field offers or wishes for and a provider carries out; groups hold tools."""
    offered: Any = []
    if name == "tools" and inner:
        several = isinstance(inner, dict) and "type" not in inner
        offered = inner.values() if several else inner if isinstance(inner, list) else [inner]
    elif name == "tool_choice" and isinstance(inner, dict):
        offered = [inner]
    return next(filter(None, map(_foreign_kind, offered)), None)


def _foreign_kind(tool: Any) -> str | None:
    """Return the kind of a tool that its provider carries out; None: a client does.

    A shell in a container is the provider's, and then it is code that it runs. One without a kind is the client's if it
    says what its arguments are.
    """
    if not isinstance(tool, dict):
        return str(tool)
    kinds = [str(kind) for name, kind in tool.items() if name.casefold() == "type"]
    if not kinds:
        described = isinstance(tool.get("input_schema"), dict) or isinstance(tool.get("function"), dict)
        return None if described else " ".join(sorted(tool)) or "a tool without a type"
    place = tool.get("environment")
    if isinstance(place, dict) and str(place.get("type")) not in ("local", "None"):
        return "code_execution"
    return next((kind for kind in kinds if not _CLIENTS.fullmatch(kind)), None)

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

_LONGEST = 60


def require_no_lookups(document: Mapping[str, Any]) -> None:
    """Raise Refusal for a request that has the provider look things up."""
    found = _lookup(document)
    if found is not None:
        sentence = f"{found[:_LONGEST]} looks things up, the fix among them, or is not known as a tool of clients"
        raise Refusal(400, f"{sentence}: models.server_tools in crab.yaml would allow it")


def _lookup(document: Mapping[str, Any]) -> str | None:
    """Return in one word what has the provider look things up; None if nothing does."""
    for field_name in _SERVER_FIELDS:
        given = document.get(field_name)
        # the prompt of /completions is the text itself
        if given and not (field_name == "prompt" and isinstance(given, (str, list))):
            return field_name
    models = document.get("models")
    named = (document.get("model", ""), *(models if isinstance(models, list) else ()))
    searching = next((str(name) for name in named if _SEARCHING.search(str(name))), None)
    return searching or next(filter(None, map(_foreign_kind, _offered(document))), None)


def _offered(document: Any) -> Iterator[Any]:
    """Yield all that is offered as a tool or wished for, anywhere but in data: groups of tools hold tools."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(item for item in value if isinstance(item, (dict, list)))
            continue
        called = value.get("type") == "tool_use"
        for name, inner in value.items():
            folded = name.casefold()
            if folded == "tools" and inner:
                several = isinstance(inner, dict) and "type" not in inner
                yield from inner.values() if several else inner if isinstance(inner, list) else [inner]
            elif folded == "tool_choice" and isinstance(inner, dict):
                yield inner
            if isinstance(inner, (dict, list)) and folded not in _DATA and not (called and folded == "input"):
                waiting.append(inner)


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

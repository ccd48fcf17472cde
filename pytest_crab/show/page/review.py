"""The page on which a person rules on the comments of a curation, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_crab.show.live import ServedPage
from pytest_crab.show.page.rendering import packed_block, render_page, safe_json

#: The page's scripts.
SCRIPTS = ("elements.js", "markdown.js", "syntax.js", "diffs.js", "review.js")


def review_page(name: str, items: Sequence[Mapping[str, Any]], *, by: str, served: bool) -> ServedPage:
    """Return the page with everything that it shows; ``served``: each ruling goes to the server that it is from."""
    data = {"items": list(items), "by": by, "served": served}
    rendered = render_page("review.html", SCRIPTS, connects=served, name=name, count=len(items))
    head, tail = (text.encode("utf-8", "replace") for text in (rendered.head, rendered.tail))
    return ServedPage(body=head + packed_block(0, [safe_json(data)]) + tail, policy=rendered.policy)

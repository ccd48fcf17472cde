"""A page from its template: one file with its own style and script, that works from disk and fetches nothing."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from operator import attrgetter
from typing import Any, NamedTuple

from pytest_crab.formats import format_dollars, format_interval, format_number, format_percent, format_points
from pytest_crab.results.look_first import RULE
from pytest_crab.show.label_changes import label_table
from pytest_crab.show.mediator_text import ranks_text
from pytest_crab.show.page.charts import change_picture
from pytest_crab.show.page.tables import address_of, fit, is_words
from pytest_crab.show.page.words import MEANINGS
from pytest_crab.show.summary_tables import label, rate_cell
from pytest_crab.statistics.comparison import Interval
from pytest_crab.text import escape_controls

#: Stands in a template where the packed data of trials belong, which are too long to pass through it.
DETAILS = "<!-- details -->"

#: The same of the rows of the list of trials.
INDEX = "<!-- index -->"

#: Made once: ``json.dumps`` makes an encoder for each call that has options.
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode

_CONNECT = "connect-src 'self'; "


class Rendered(NamedTuple):
    """A page around its packed data."""

    #: The page before the data.
    head: str
    #: The page after the data.
    tail: str
    #: The content security policy that the page states.
    policy: str


@functools.cache
def templates() -> Any:
    """Return the templates of this folder as Jinja's Environment, with the filters that they use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from pytest_crab.show.page.compiled_templates import CompiledTemplates

    environment = Environment(
        loader=PackageLoader("pytest_crab.show.page", "."),
        bytecode_cache=CompiledTemplates(),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        dollars=format_dollars, percent=format_percent, number=format_number, points=format_points, range=_range
    )
    environment.filters.update(unit=attrgetter("basis"), is_words=is_words)
    environment.globals.update(rate_cell=rate_cell, label=label, label_table=label_table, change_picture=change_picture)
    environment.globals.update(address=address_of, fit=fit, meanings=MEANINGS, look_rule=RULE, ranks_text=ranks_text)
    return environment


def render_page(template: str, scripts: Sequence[str], *, connects: bool = False, **values: Any) -> Rendered:
    """Return a page from a template and scripts of this folder; ``connects``: it may ask the server that it is from."""
    script, style = _script(tuple(scripts)), _asset("page.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"{_CONNECT if connects else ''}base-uri 'none'; form-action 'none'"
    )
    text = templates().get_template(template).render(**values, script=script, style=style, policy=policy)
    head, _, tail = text.partition(DETAILS)
    return Rendered(head, tail, policy)


def render_template(template: str, **values: Any) -> str:
    """Return a template of this folder with these values: a part of a page, without scripts or style."""
    return str(templates().get_template(template).render(**values))


def packed_block(number: int, texts: Iterable[str]) -> bytes:
    """Return the element that holds these JSON texts as a packed list; the page's script unpacks one by its place."""
    packed = base64.b64encode(gzip.compress(f"[{','.join(texts)}]".encode(), 3, mtime=0)).decode()
    return f'<script type="application/json" id="d{number}">"{packed}"</script>\n'.encode()


def safe_json(data: Any) -> str:
    """Return JSON that cannot end the element that it lies in."""
    return _encode(data).replace("<", "\\u003c")


def _printable(value: object) -> object:
    """Return a template's value with the characters that are not printable escaped; markup stays as it is."""
    if type(value) is not str:
        return value
    return "\n".join(map(escape_controls, value.split("\n")))


def _range(interval: Interval | None) -> str:
    """An interval of rates in percent, or nothing."""
    return "" if interval is None else format_interval(interval, " to ")


@functools.cache
def _script(names: tuple[str, ...]) -> str:
    """Return the scripts as one, in a scope of their own, in this order."""
    parts = "\n\n".join(map(_asset, names))
    return f'"use strict";\n(() => {{\n{parts}\n}})();'


def _asset(name: str) -> str:
    return resources.files("pytest_crab.show.page").joinpath(name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    """Return a script's or style's digest, as the page's content security policy states it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

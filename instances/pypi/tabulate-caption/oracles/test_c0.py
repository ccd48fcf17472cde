"""A caption is text in the html format, and markup in unsafehtml only."""

import html
import re

import pytest

from tabulate import tabulate

EVIL = "<script>alert('a' & \"b\")</script>"


def caption_of(result):
    found = re.findall(r"<caption[^>]*>(.*?)</caption>", str(result), re.S)
    assert len(found) == 1, str(result)
    return found[0].strip()


@pytest.mark.parametrize("headers", [(), ["n"]], ids=["plain", "headers"])
def test_html_escapes_the_caption(headers):
    result = tabulate([[1]], headers, tablefmt="html", caption=EVIL)
    assert "<script" not in result
    assert html.unescape(caption_of(result)) == EVIL


@pytest.mark.parametrize("text", ["a < b", "R&D", "</caption></table><p>", "&lt;"])
def test_every_special_character_is_text(text):
    found = caption_of(tabulate([[1]], tablefmt="html", caption=text))
    assert "<" not in found and ">" not in found
    assert html.unescape(found) == text


def test_unsafehtml_leaves_it_alone():
    assert caption_of(tabulate([[1]], tablefmt="unsafehtml", caption="<b>R&D</b>")) == "<b>R&D</b>"


def test_plain_captions_and_other_formats():
    assert caption_of(tabulate([[1]], tablefmt="html", caption="One number")) == "One number"
    assert tabulate([[1]], tablefmt="plain", caption="a < b").splitlines()[0] == "a < b"
    assert "<td" in tabulate([["x"]], tablefmt="html", caption="c")


@pytest.mark.parametrize("headers", [(), ["<i>n</i>"]], ids=["plain", "headers"])
def test_cells_are_escaped_as_before_and_once(headers):
    for text in ("<i>1</i>", "R&D", "&lt;"):
        safe, raw = (str(tabulate([[text]], headers, tablefmt=fmt, caption="c & d")) for fmt in ("html", "unsafehtml"))
        without = [str(tabulate([[text]], headers, tablefmt=fmt)) for fmt in ("html", "unsafehtml")]
        assert [re.sub(r"<caption[^>]*>.*?</caption>\n?", "", text, flags=re.S) for text in (safe, raw)] == without


@pytest.mark.parametrize("fmt", ["plain", "grid"])
def test_plain_text_is_left_alone(fmt):
    assert "a < b & 'c'" in tabulate([[1]], tablefmt=fmt, caption="a < b & 'c'")

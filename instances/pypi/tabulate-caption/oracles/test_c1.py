"""With a caption, too, notebooks get a table that they can show."""

import pytest

from tabulate import tabulate


@pytest.mark.parametrize("headers", [(), ["n"]], ids=["plain", "headers"])
@pytest.mark.parametrize("fmt", ["html", "unsafehtml"])
def test_a_table_with_a_caption_is_displayed(fmt, headers):
    result = tabulate([[1]], headers, tablefmt=fmt, caption="One number")
    assert hasattr(result, "_repr_html_"), type(result).__name__
    shown = result._repr_html_()
    assert "One number" in shown and "</table>" in shown
    assert str(shown) == str(result)


@pytest.mark.parametrize("fmt", ["html", "unsafehtml"])
def test_the_raw_text_is_still_there(fmt):
    result = tabulate([[1]], tablefmt=fmt, caption="One number")
    assert isinstance(result, str)
    raw = getattr(result, "str", None)
    assert raw is not None and raw == result and "One number" in raw


def test_other_formats_are_plain_text():
    for fmt in ("plain", "mediawiki", "grid"):
        assert not hasattr(tabulate([[1]], tablefmt=fmt, caption="One number"), "_repr_html_")
    assert hasattr(tabulate([[1]], tablefmt="html"), "_repr_html_")


def test_only_the_table_itself_gets_the_caption():
    made = tabulate([["<table>"]], tablefmt="unsafehtml", caption="Totals")
    assert str(made).count("<caption>") == 1

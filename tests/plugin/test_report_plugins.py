"""Misses in the reports of pytest-html, pytest-json-report and Allure, as the real plugins write them."""

from __future__ import annotations

import html
import importlib.util
import json
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

PLUGINS = ("pytest_html", "pytest_jsonreport", "allure_pytest")
NAMES = ["outcome", "findings", "revision"]


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "xdist"])
def test_a_miss_is_a_failure_with_findings_and_revision(
    lab: Any, workers: tuple[str, ...], without: Callable[[str, str], NoReturn]
) -> None:
    for name in PLUGINS:
        if importlib.util.find_spec(name) is None:
            without("reports", f"{name} is not installed: see the extra reports")
    files = ("--json-report", "--json-report-file=all.json", "--alluredir=allure")
    files += ("--html=all.html", "--self-contained-html")
    result = lab.spawn("--reviewer=half", "instances/shop-1", *workers, *files)
    result.assert_outcomes(failed=1)

    (test,) = json.loads((lab.path / "all.json").read_text())["tests"]
    assert test["nodeid"] == "instances/shop-1/instance.yaml::half"
    assert (test["outcome"], test["call"]["outcome"]) == ("missed", "failed")
    texts = test["metadata"]["crab"]
    assert list(texts) == NAMES
    assert "c1 (shop.py:12-13" in test["call"]["longrepr"]
    assert "missed" in test["call"]["longrepr"]
    assert texts["findings"] == "shop.py:9\npercent"
    assert "\n+    return price - price * percent / 100" in texts["revision"]

    page = (lab.path / "all.html").read_text()
    blob = re.search(r'data-jsonblob="([^"]*)"', page)
    assert blob is not None
    ((row,),) = json.loads(html.unescape(blob[1]))["tests"].values()
    assert row["result"] == "Failed"
    assert row["testId"] == test["nodeid"]
    shown = {one["name"]: b64decode(one["content"].partition("base64,")[2]).decode() for one in row["extras"]}
    assert shown == texts

    (file,) = (lab.path / "allure").glob("*-result.json")
    told = json.loads(file.read_text())
    assert (told["name"], told["status"]) == ("half on shop-1", "failed")
    assert "missed: c1" in told["statusDetails"]["message"]
    kept = {one["name"]: (lab.path / "allure" / one["source"]).read_text() for one in told["attachments"]}
    assert kept == texts

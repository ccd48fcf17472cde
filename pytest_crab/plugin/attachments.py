"""A trial's outcome, findings and revision in the reports of pytest-html, pytest-json-report and Allure."""

from __future__ import annotations

import importlib
from collections.abc import Generator
from typing import Any

import pytest

from pytest_crab.plugin.items import TrialItem
from pytest_crab.results.explain import attachments

#: By plugin: its name in pytest, and the option that asks for its report.
_HTML, _ALLURE = ("html", "htmlpath"), ("allure_pytest", "allure_report_dir")


class Attachments:
    """Hands the texts of each trial to those report plugins that are at work, by their own means."""

    def __init__(self, config: pytest.Config) -> None:
        manager = config.pluginmanager
        self._works = {each for each in (_HTML, _ALLURE) if manager.has_plugin(each[0]) and config.getoption(each[1])}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the texts to the report of the phase that decides the outcome."""
        report = yield
        texts = _texts(item, call) if self._works else {}
        if texts:
            if _HTML in self._works:
                extras = importlib.import_module("pytest_html.extras")
                more = [extras.text(text, name=name) for name, text in texts.items()]
                report.extras = [*getattr(report, "extras", []), *more]  # type: ignore[attr-defined]
            if _ALLURE in self._works:
                allure = importlib.import_module("allure")
                allure.dynamic.title(item.reportinfo()[2])
                for name, text in texts.items():
                    allure.attach(text, name=name, attachment_type=allure.attachment_type.TEXT)
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_runtest_metadata(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> dict[str, Any]:
        """Return what pytest-json-report is to keep of a trial."""
        texts = _texts(item, call)
        return {"crab": texts} if texts else {}


def _texts(item: pytest.Item, call: pytest.CallInfo[Any]) -> dict[str, str]:
    """Return the texts of a measured trial in its last phase before the teardown; else none."""
    if not isinstance(item, TrialItem) or item.trial is None:
        return {}
    decides = call.when == "call" or (call.when == "setup" and call.excinfo is not None)
    return attachments(item.trial) if decides else {}

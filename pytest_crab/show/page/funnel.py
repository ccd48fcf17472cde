"""The page of a curation: its funnel as a picture and as a table, with the reasons of each stage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_crab.errors import BadInput
from pytest_crab.results.files import write_report_file
from pytest_crab.show.page.charts import funnel_plot
from pytest_crab.show.page.rendering import render_page

#: The page's scripts.
SCRIPTS = ("elements.js", "tables.js", "charts.js")


def write_funnel_page(page: Path, numbers: Path, source: str, stages: Sequence[Mapping[str, Any]]) -> None:
    """Write the page and the numbers of a funnel, as ``curation.funnel.funnel_data`` returns it. Raises BadInput."""
    rendered = render_page("funnel.html", SCRIPTS, source=source, stages=stages, picture=funnel_plot(stages))
    try:
        write_report_file(page, [rendered.head.encode("utf-8", "replace"), rendered.tail.encode("utf-8", "replace")])
        write_report_file(numbers, [f"{json.dumps(stages, indent=1)}\n".encode()])
    except OSError as error:
        raise BadInput(str(page), [f"it cannot be written ({error.strerror})"]) from None

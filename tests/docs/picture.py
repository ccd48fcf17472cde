"""Makes the picture of the landing page from the report of a run: python tests/docs/picture.py REPORT.

The run of docs/report.png is that of docs/index.md: pytest --reviewer=human --reviewer=ruff first.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[2] / "docs" / "report.png"


def main(report: Path) -> None:
    """Show the report's page in Chromium, 1,000 by 640 pixels, and keep what is seen."""
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 640}, color_scheme="light")
        page.goto((report / "index.html").resolve().as_uri())
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Screenshots of the built docs, and a failure where something lies outside a page: site_shots.py SITE SHOTS.

SITE is the folder that mkdocs built. Every page is looked at 1280 and 400 pixels wide; a few are kept, light and dark.
On the narrow one a table may scroll by itself.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDE = 1280
KEPT = ("index.html", "reference/options/index.html", "how-to/ci/index.html")
WIDEST = """() => [document.documentElement.scrollWidth - innerWidth, [...document.querySelectorAll('table')]
    .filter((table) => table.getBoundingClientRect().right > table.closest('article').getBoundingClientRect().right + 1)
    .length]"""


def main(site: Path, shots: Path) -> int:
    """Look at every page; return the number of those that are wider than their window."""
    shots.mkdir(parents=True, exist_ok=True)
    names = sorted(str(path.relative_to(site)) for path in site.rglob("index.html"))
    wide = 0
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for width in (WIDE, 400):
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
                for name in names if scheme == "light" else KEPT:
                    page.goto((site / name).resolve().as_uri())
                    beyond, tables = page.evaluate(WIDEST)
                    if beyond > 0 or (tables and width == WIDE):
                        wide += 1
                        print(f"{name} is wider than {width} pixels")  # noqa: T201 - a script prints its result
                    if name in KEPT:
                        page.screenshot(path=shots / f"docs-{name.replace('/', '-')}-{width}-{scheme}.png")
                page.close()
        browser.close()
    return wide


if __name__ == "__main__":
    sys.exit(min(1, main(Path(sys.argv[1]), Path(sys.argv[2]))))

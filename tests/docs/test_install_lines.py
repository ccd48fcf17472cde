"""No line of the docs, the examples or an error installs this package from an index by its bare name."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: An installation by name, as in pip install "pytest-crab[models]"; one from an address goes on with " @ ".
BARE = re.compile(r"""pip\d?["']? install\b[^\n]*?(?<![\w/.-])pytest-crab(?:\[[\w,-]+\])?(?=["'`\s]|$)(?! @ )""")


def files() -> Iterator[Path]:
    yield from (ROOT / "README.md", ROOT / "CONTRIBUTING.md")
    for folder, endings in (
        ("docs", (".md", ".yml", ".yaml", ".py")),
        ("pytest_crab", (".py",)),
        ("bench", (".py",)),
    ):
        yield from sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in endings)


def test_nothing_is_installed_from_an_index_by_bare_name() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files()
        if path.name != "install.md"
        for match in BARE.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_page_on_installing_says_why() -> None:
    text = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    assert "on no package index" in text
    assert "@ git+https://" in text


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ('pip install "pytest-crab[models]"', True),
        ("pip install pytest-crab", True),
        ("python -m pip install 'pytest-crab[cluster,models]' dask-jobqueue", True),
        ("run pip install pytest-crab[environments] first", True),
        ('pip install "pytest-crab[models] @ git+https://git.example/pytest-crab"', False),
        ('pip install ".[models]"', False),
        ("git clone https://git.example/pytest-crab", False),
    ],
)
def test_the_search_finds_them(line: str, *, bare: bool) -> None:
    assert (BARE.search(line) is not None) is bare


#: Shows pytest's options where some packages cannot be imported.
HELP = """
import sys
import pytest
class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name in ("httpcore2", "httpx2", "hypothesis"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Lacking())
sys.exit(pytest.main(["--help"]))
"""


def test_the_options_are_shown_in_a_clone_without_the_tests_own_packages() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--reviewer" in done.stdout

"""Published benchmarks, one folder each. A folder with items of its own has them in ``items``, a pytest plugin."""

from __future__ import annotations

from pathlib import Path

pytest_plugins = [
    f"{__name__}.{place.parent.name}.{place.stem}" for place in sorted(Path(__file__).parent.glob("*/items.py"))
]

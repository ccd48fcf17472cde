"""Settings of this repository's own test runs."""

from __future__ import annotations

pytest_plugins = ["pytester"]

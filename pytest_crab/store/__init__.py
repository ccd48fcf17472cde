"""The memory of finished steps."""

from __future__ import annotations

from pytest_crab.store.files import FileStore

__all__ = ["FileStore"]

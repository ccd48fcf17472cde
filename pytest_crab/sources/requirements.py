"""The programs that sources need."""

from __future__ import annotations

#: The oldest git that this was tried with.
OLDEST_GIT = "2.25"

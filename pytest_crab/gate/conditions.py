"""The conditions of a comparison, in a module that every start of pytest can afford to import."""

from __future__ import annotations

#: What has to be the same in both runs; each word can be allowed to differ, one at a time.
CONDITIONS = ("dataset", "agent", "agent-version", "harness", "runtime", "leaky")

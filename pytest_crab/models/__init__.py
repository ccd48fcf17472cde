"""The gateway to every model: a process that holds the keys, meters, keeps budgets, records and replays."""

from __future__ import annotations

from pytest_crab.models.gateway import Gateway

__all__ = ["Gateway"]

"""Instances as files: finding, reading, checking and locking them."""

from __future__ import annotations

from pytest_crab.instances.loading import FILE, find_instances, load_instance, load_instances

__all__ = ["FILE", "find_instances", "load_instance", "load_instances"]

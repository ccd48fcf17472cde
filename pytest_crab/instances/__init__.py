"""Instances as files: finding, reading, checking and locking them."""

from __future__ import annotations

from pytest_crab.instances.loading import FILE, find_instances, load_instance, load_instances
from pytest_crab.instances.yaml_reader import read_document

__all__ = ["FILE", "find_instances", "load_instance", "load_instances", "read_document"]

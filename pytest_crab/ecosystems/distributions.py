"""Distributions in an index: how their names and versions are written, and where this machine is set to look."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_crab.text import split_lines

#: The name of a distribution, and one version of it.
NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
VERSION = r"[A-Za-z0-9](?:[A-Za-z0-9.!+_-]*[A-Za-z0-9])?"


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """pip's settings."""

    #: Folders to search first.
    folders: tuple[str, ...]
    #: Indexes to search then, in order.
    indexes: tuple[str, ...]
    #: A file of trusted authorities.
    cert: str | None


def read_settings(usual: str) -> IndexSettings:
    """Return where pip looks, by its environment variables and its configuration files, or else at the usual index."""
    settings = dict(_pip_files())
    for name in ("index-url", "extra-index-url", "find-links", "cert", "no-index"):
        value = os.environ.get(f"PIP_{name.upper().replace('-', '_')}")
        if value is not None:
            settings[name] = value
    indexes = [settings.get("index-url") or usual, *settings.get("extra-index-url", "").split()]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        indexes = []
    return IndexSettings(
        folders=tuple(settings.get("find-links", "").split()),
        indexes=tuple(index for index in indexes if index.startswith(("https://", "http://"))),
        cert=settings.get("cert"),
    )


def _pip_files() -> Iterator[tuple[str, str]]:
    """Yield the settings in pip's configuration files, the command's own after the global ones; none without pip."""
    argv = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    pairs = [line.partition("=") for line in split_lines(done.stdout) if done.returncode == 0]
    for section in ("global", "download"):
        for key, _, value in pairs:
            if key.startswith(f"{section}."):
                yield key.removeprefix(f"{section}."), str(ast.literal_eval(value))

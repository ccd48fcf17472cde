"""The clients that are known here: one module each, which has the client as KIND, and nothing else names it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from pytest_crab.clients.client_kind import ClientKind

_FOUND: list[ClientKind] = [
    importlib.import_module(f"{__name__}.{module.name}").KIND for module in pkgutil.iter_modules(__path__)
]

#: The clients by name.
KINDS: Mapping[str, ClientKind] = {kind.name: kind for kind in _FOUND}

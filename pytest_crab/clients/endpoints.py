"""Who stands behind a provider's name, as far as it decides what is answered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_crab.settings import load_settings


def endpoint_of(provider: str, folder: Path) -> Mapping[str, str] | None:
    """Address and protocol of a provider by crab.yaml in ``folder``; None if nobody has that name. Raises BadInput.

    The same name may be another server tomorrow, and what the one said is not what the other would say.
    """
    found = load_settings(folder).models.providers.get(provider)
    return None if found is None else {"base_url": found.base_url, "api": str(found.api)}

"""From the name of a module to that of a distribution."""

from __future__ import annotations

import pytest

from pytest_crab.ecosystems.python.module_packages import distribution_of


@pytest.mark.parametrize(
    ("module", "wanted"),
    [
        ("yaml", "pyyaml"),
        ("yaml.loader", "pyyaml"),
        ("google.protobuf.message", "protobuf"),
        ("some_thing.inner", "some-thing"),
        ("json", None),
        ("os.path", None),
        ("_private", None),
        ("six.moves", None),
    ],
)
def test_names(module: str, wanted: str | None) -> None:
    assert distribution_of(module) == wanted

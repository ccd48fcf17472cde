"""Which package an installer failed for, read from real outputs of uv and pip."""

from __future__ import annotations

import pytest

from pytest_crab.curation.blame import blamed_pins

PINS = ("cchardet==2.1.7", "lxml==4.6.3", "pytest==6.2.5", "ruamel.yaml==0.17")


@pytest.mark.parametrize(
    ("log", "names"),
    [
        ("Resolved 3 packages in 46ms\nDownloading lxml (6.0MiB)\nerror: Failed to download `lxml==4.6.3`\n", ["lxml"]),
        ("   Building cchardet==2.1.7\n  x Failed to build `cchardet==2.1.7`\n  ├─▶ it broke\n", ["cchardet"]),
        ("error: Failed to install: ruamel_yaml-0.17-py3-none-any.whl (ruamel-yaml==0.17)\n", ["ruamel.yaml"]),
        ("error: Distribution `lxml==4.6.3 @ registry+x` can't be installed because there is no wheel\n", ["lxml"]),
        ("  ERROR: Failed building wheel for cchardet\nFailed to build cchardet lxml\n", ["cchardet", "lxml"]),
        ("ERROR: Could not build wheels for cchardet, which is required to install\n", ["cchardet"]),
        ("   Building cchardet==2.1.7\nDownloading lxml (6.0MiB)\n Downloaded lxml\nKilled\n", ["cchardet"]),
        ("  Building wheel for lxml (setup.py): started\n", ["lxml"]),
        ("  Building wheel for lxml (setup.py): started\n  Building wheel for lxml (setup.py): finished\n", []),
        ("   Building cchardet==2.1.7\nDownloading lxml (6.0MiB)\nKilled\n", []),
        ("error: Failed to build `another==1.0`\n", []),
        ("", []),
    ],
)
def test_named(log: str, names: list[str]) -> None:
    assert [pin.partition("==")[0] for pin in blamed_pins(log, PINS)] == names

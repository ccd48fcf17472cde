"""A tree whose links lead out of it is refused by the check; those that stay inside are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crab.sources import consistency, fetcher_for
from pytest_crab.sources.links import leads_out
from pytest_crab.types import GitSource, Instance, Source


@pytest.mark.parametrize(
    ("links", "out"),
    [
        ({"a": "b"}, False),
        ({"a": "nowhere/at/all"}, False),
        ({"a/b/c": "../../d"}, False),
        ({"a/b/c": "../../../d"}, True),
        ({"a": "/etc"}, True),
        ({"a": ".."}, True),
        ({"a": "."}, False),
        ({"dot": ".", "a": "dot/../x"}, True),
        ({"far": "b/c", "a": "far/../x"}, False),
        ({"far": "b/c", "a": "far/../../../x"}, True),
        ({"way": "/tmp", "a": "way/x"}, True),
        ({"one": "two", "two": "one", "a": "one"}, False),
        ({"a": "b/../../x", "b": "c"}, True),
    ],
)
def test_a_link_leads_out_however_many_lie_on_its_way(links: dict[str, str], *, out: bool) -> None:
    assert leads_out(next(name for name in links if name.startswith("a")), links) is out


def test_the_check_names_each_link_that_leads_out(instance: Instance, tmp_path: Path) -> None:
    tree = Path(instance.folder, "../project")
    (tree / "sub").mkdir()
    (tree / "sub/out").symlink_to("../../victim")
    (tree / "sub/in").symlink_to("../shop.py")
    (tree / "etc").symlink_to("/etc")
    snapshot = fetcher_for(instance).fetch(instance, tmp_path / "links")
    found = [fault for fault in consistency.faults(instance, snapshot) if "leads out of the tree" in fault]
    assert len(found) == 2
    assert "'etc' to '/etc'" in found[0]
    assert "'sub/out' to '../../victim'" in found[1]
    git = GitSource(url="https://git.invalid/owner/shop", base="1" * 40, head="2" * 40, merged="3" * 40)
    public = replace(instance, source=Source(git=git))  # its links are as they are, and no fault of the set's author
    assert not any("leads out" in fault for fault in consistency.faults(public, snapshot))
    assert sum("leads out" in warning for warning in consistency.warnings(public, snapshot)) == 2

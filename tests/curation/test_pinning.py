"""What uv is asked, and what is made of its answers."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pytest_crab.curation import pinning
from pytest_crab.curation.pinning import Requirements, Resolver, drop_version_tags
from pytest_crab.ecosystems import interpreters, uv_cli
from pytest_crab.errors import ImageError
from pytest_crab.runtimes.run_lock import RunFolder


def test_what_is_wanted_as_lines_of_requirements() -> None:
    wanted = Requirements(
        requirements=("pytest",), files=("a/req.txt",), projects=(".", "core"), extras=("test", "dev")
    )
    assert list(wanted.lines("/tree")) == [
        "pytest", "-r /tree/a/req.txt", "/tree[test,dev]", "/tree/core[test,dev]",
    ]  # fmt: skip


def test_pins_are_whole_and_sorted_and_leave_out_the_project() -> None:
    printed = "zope==1.0\nproject @ file:///opt/crab/project\nattrs==20.1.0 ; python_version < '3.9'\n# a comment\n"
    assert pinning._pins(printed) == ("attrs==20.1.0", "zope==1.0")


def test_an_address_is_refused() -> None:
    with pytest.raises(ImageError, match="depends on other at an address"):
        pinning._pins("other @ git+https://example.org/other\n")


def test_old_moments_take_builders_that_work() -> None:
    old, new = uv_cli.arguments("2019-01-01T00:00:00Z"), uv_cli.arguments("2022-08-01T00:00:00Z")
    assert old[:2] == ["--exclude-newer", "2019-01-01T00:00:00Z"]
    assert "setuptools=2020-02-01T00:00:00Z" in old
    assert "pytest=2017-08-02T00:00:00Z" not in old
    assert {f"{name}=2017-08-02T00:00:00Z" for name in ("pytest", "py")} <= set(
        uv_cli.arguments("2013-01-24T00:00:00Z")
    )
    assert new == ["--exclude-newer", "2022-08-01T00:00:00Z"]


def test_a_package_that_was_uploaded_again_is_there_before() -> None:
    moment = "2020-02-02T00:00:00Z"
    own = ["--exclude-newer-package", "atomicwrites=2022-07-10T00:00:00Z"]
    assert uv_cli.arguments(moment) == ["--exclude-newer", moment, *own]


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("needs_an_index")
def test_versions_for_an_interpreter_that_only_an_image_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = interpreters.find(interpreters.running_version())
    assert running is not None
    monkeypatch.setattr(interpreters, "find", lambda version: running if version == running.version else None)
    other = "3.9" if running.version != "3.9" else "3.10"
    wanted = Requirements(
        requirements=(f"iniconfig; python_version == '{other}'", f"toml; python_version != '{other}'")
    )
    (tmp_path / "tree").mkdir()
    resolver = Resolver(RunFolder(), tmp_path / "cache", threading.Event())
    assert resolver.pins(wanted, tmp_path / "tree", other, "2024-01-01T00:00:00Z") == ("iniconfig==2.0.0",)


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("needs_an_index")
def test_members_of_a_workspace_that_is_not_at_hand_come_from_the_index(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "pyproject.toml").write_text(
        '[project]\nname = "shop"\nversion = "1"\ndependencies = ["iniconfig"]\n'
        "[tool.uv.sources]\niniconfig = { workspace = true }\n"
    )
    resolver = Resolver(RunFolder(), tmp_path / "cache", threading.Event())
    wanted = Requirements(requirements=(), projects=(".",))
    pins = resolver.pins(wanted, tree, interpreters.running_version(), "2024-01-01T00:00:00Z")
    assert pins == ("iniconfig==2.0.0",)


def test_a_build_of_the_tree_has_an_untagged_version(tmp_path: Path) -> None:
    kept = "[metadata]\nname = shop\n\n[egg_info]\n"
    (tmp_path / "setup.cfg").write_text(f"{kept}tag_build = .dev\ntag-date=true\n\n[flake8]\nmax-line-length = 95\n")
    drop_version_tags(tmp_path, ".")
    assert (tmp_path / "setup.cfg").read_text() == f"{kept}\n[flake8]\nmax-line-length = 95\n"


def test_the_settings_of_a_tree_may_lie_elsewhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside.cfg"
    outside.write_text("[egg_info]\ntag_build = .dev\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    drop_version_tags(tree, ".")
    (tree / "setup.cfg").symlink_to(outside)
    drop_version_tags(tree, ".")
    assert outside.read_text() == "[egg_info]\ntag_build = .dev\n"


def test_a_link_to_a_folder_leads_nothing_out_of_the_tree(tmp_path: Path) -> None:
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    outside.mkdir()
    tree.mkdir()
    (outside / "setup.cfg").write_text("[egg_info]\ntag_build = .dev\n")
    (tree / "shop").symlink_to(outside)
    drop_version_tags(tree, "shop")
    assert (outside / "setup.cfg").read_text() == "[egg_info]\ntag_build = .dev\n"

"""Files on their way to workers: all that a trial reads, the same bytes for the same files, and nothing by the way."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.adapters import AdapterSpec
from pytest_crab.campaign.cluster import bundles
from pytest_crab.campaign.cluster.plan import fill_plan, key_in
from pytest_crab.campaign.trial_pool import TRIALS
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instance, lock
from pytest_crab.option_types import address
from pytest_crab.trial import CrewSpec
from tests.cluster.conftest import PLAN

QUICKSTART = Path(__file__).parents[2] / "instances" / "quickstart"


def test_an_instance_is_the_same_on_the_other_side(tmp_path: Path) -> None:
    for path in sorted(QUICKSTART.glob("*/instance.yaml"))[:5]:
        instance = load_instance(path)
        bundle = bundles.pack_instance(instance)
        assert bundle == bundles.pack_instance(instance)
        place = bundles.unpack(bundle, tmp_path)
        there = bundles.read_instance(place)
        assert lock.digest(there) == lock.digest(instance)
        assert there.comments == instance.comments
        assert place == bundles.unpack(bundle, tmp_path)


def test_modes_and_links_arrive_and_no_file_is_from_before_1980(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("#!/bin/sh\n")
    run.chmod(0o700)
    (tmp_path / "link").symlink_to("../nowhere")
    bundle = bundles.pack({"a/run": run, "a/link": tmp_path / "link", "b": b"1"}, "x")
    place = bundles.unpack(bundle, tmp_path / "there")
    assert (place / "a" / "run").stat().st_mode & 0o777 == 0o755
    assert (place / "b").stat().st_mode & 0o777 == 0o644
    assert (place / "a" / "link").readlink() == Path("../nowhere")
    assert (place / "b").stat().st_mtime > 315_532_800


def test_settings_take_their_files_along(tmp_path: Path) -> None:
    folder = tmp_path / "root"
    (folder / "reviews" / "deep").mkdir(parents=True)
    for name in ("say.py", "reviews/a.json", "reviews/deep/b.json"):
        (folder / name).write_text(name)
    (tmp_path / "outside").write_text("")
    settings: dict[str, Any] = {
        "files": ["say.py"],
        "reviews": str(folder / "reviews"),
        "model": "m",
        "python": "/bin/sh",
    }
    files: dict[str, Path | bytes] = {}
    spec = bundles.pack_spec(AdapterSpec(path="a:B", settings=settings, folder=str(folder)), "reviewer", files, "mine")
    assert spec.settings == {**settings, "reviews": "reviews"}
    assert sorted(files) == ["reviewer/reviews/a.json", "reviewer/reviews/deep/b.json", "reviewer/say.py"]
    outside = AdapterSpec(path="a:B", settings={"files": ["../outside"]}, folder=str(folder))
    with pytest.raises(BadInput, match=r"\.\./outside lies outside .*root, and workers have no copy"):
        bundles.pack_spec(outside, "reviewer", files, "mine")
    shutil.rmtree(folder)


def test_a_key_is_found_by_its_name_and_short_values_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("B_KEY", "no")
    monkeypatch.delenv("C_KEY", raising=False)
    assert key_in(b"x sk-0123456789abcdef y", ["B_KEY", "A_KEY", "C_KEY"]) == "A_KEY"
    assert key_in(b"there is no key", ["B_KEY", "A_KEY", "C_KEY"]) is None
    monkeypatch.setenv("D_KEY", 'pass"word\\of mine\n')
    assert key_in(b'{"note": "pass\\"word\\\\of mine"}', ["D_KEY"]) == "D_KEY"  # as JSON writes it


def test_a_plan_that_holds_a_key_is_refused_and_the_key_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-0123456789abcdef"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    own = {"command": ["./tell"], "env": {"TOKEN": key}}
    spec = CrewSpec(
        reviewer="tell",
        reviewer_spec=AdapterSpec(path="pytest_crab.reviewers.command:CommandReviewer", settings=own),
        agent="none",
        agent_spec=AdapterSpec(path="pytest_crab.agents.simulated:SimulatedAgent", settings={}),
    )
    with pytest.raises(BadInput, match="tell: the value of ANTHROPIC_API_KEY stands in it") as refused:
        fill_plan(PLAN, [(TRIALS, spec)], tmp_path)
    assert key not in str(refused.value)


@pytest.mark.parametrize("text", ["nowhere", "nowhere://", "tcp://host", "http://host:1", "tcp://a b:1"])
def test_what_is_no_address_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        address(text)
    assert address("tls://scheduler.example:8786") == "tls://scheduler.example:8786"

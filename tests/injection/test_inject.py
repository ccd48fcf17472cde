"""The command: a repository with fixes becomes a set, proved and resumable."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.cli.curation_run import finished
from pytest_crab.instances import load_instances
from pytest_crab.instances.lock import count_unaudited
from pytest_crab.instances.oracle_errors import read_errors
from pytest_crab.types import Provenance

from .conftest import git

URL = "https://git.example/owner/shop"


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("needs_an_index")
@pytest.mark.slow(reason="an environment is found, and tests of a project run in it again and again")
def test_fixes_become_proved_instances_that_tell_nothing(
    shop_history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(shop_history, "shop")
    words = ["set", "inject", "shop", "--url", URL, "--out", "set", "--runtime", "local", "--json"]
    words += ["--method", "introduced", "--method", "reversed", "--no-twins"]
    first = CliRunner().invoke(main, [*words, "--until", "2", "--jobs", "1"])
    assert first.exit_code == 0, first.output
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    rows = {row["stage"]: row["pull_requests"] for row in json.loads(done.stdout)}
    assert rows["tests"]["reasons"] == {"no test sees the fault": 1}
    assert rows["oracles"]["kept"] == rows["oracles"]["in"] == rows["publish"]["kept"]
    found = {one.pull_request.title: one for one in load_instances(tmp_path / "set")}
    assert set(found) == {"Discount prices", "Name the currency", "Tidy labels"}
    # the second call searched no environment
    assert [one.tags["environment_source"] == "shared" for one in found.values()].count(False) == 1
    introduced, reversed_ = found["Discount prices"], found["Name the currency"]
    assert {one.provenance for one in found.values()} == {Provenance.INJECTED}
    assert [one.tags["injected"] for one in (introduced, reversed_)] == ["introduced", "reversed"]
    assert [one.tags["oracle"] for one in (introduced, reversed_)] == ["alone", "in the tree"]
    assert introduced.comments[0].labels == {"fault": "introduced", "seen-by": "one", "seen-from": "near"}
    assert "flake bound" in introduced.tags["proof"]
    for one in found.values():
        folder = tmp_path / "set" / one.id
        shown = one.pull_request.title + one.pull_request.body + (folder / "head.diff").read_text()
        assert "Fix" not in shown
        assert not list(folder.glob("witnesses"))
    assert [one.tags.get("places") for one in (introduced, reversed_)] == [None, "1 of 2"]
    for name in ("head.diff", "reference.diff"):  # the place that no test sees is mended in the pull request
        assert "if not cart" in (told := (tmp_path / "set" / reversed_.id / name).read_text())
        assert "if not share" not in told
    (oracle,) = (tmp_path / "set" / reversed_.id / "oracles").iterdir()
    assert "def cart" in oracle.read_text()  # the fixture that its test asks for

    again = CliRunner().invoke(main, [*words, "--status"])
    assert json.loads(again.stdout) == json.loads(done.stdout)
    shutil.rmtree("set")
    assert CliRunner().invoke(main, words).exit_code == 0  # from the store alone
    assert len(load_instances(tmp_path / "set")) == len(found)


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("needs_an_index")
@pytest.mark.slow(reason="an environment is found, and tests of a project run in it again and again")
def test_a_seeded_fault_comes_with_its_clean_twin_and_is_audited_beside_a_later_change(
    send_history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(send_history, "shop")
    shop = Path("shop", "shop.py")
    shop.write_text(shop.read_text().replace('"""A shop."""', '"""A shop."""\n\nCURRENCY = "EUR"'))
    git(Path("shop"), "commit", "--quiet", "--all", "-m", "Name the currency")
    words = ["set", "inject", "shop", "--url", URL, "--out", "set", "--runtime", "local", "--method", "seeded"]
    done = CliRunner().invoke(main, [*words, "--until", "1", "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert "1 instance, and 1 clean twin" in done.output
    assert "--crab-runtime=local set" in done.output
    twin, fault = sorted(load_instances(tmp_path / "set"), key=lambda one: not one.clean)
    assert (twin.clean, twin.comments, twin.tags["twin"]) == (True, (), fault.id)
    assert {twin.provenance, fault.provenance} == {Provenance.INJECTED}
    assert (fault.tags["injected"], fault.tags["company"]) == ("seeded", "1")
    # It was judged by near misses, of which those that it refuses are its checks, and all of that is on record.
    refused, _, made = fault.tags["refused"].partition(" of ")
    assert len(fault.comments[0].rejects) == int(refused) >= 0.7 * int(made) > 0
    (measured,) = read_errors(Path("set"))[fault.id].values()
    found = measured.measurements["mutants"]
    assert (found.total, found.total - len(found.undecided), found.authors) == (int(made), int(refused), 0)
    assert not count_unaudited(load_instances(Path("set")))
    review = ["set", "curate", "review", "--out", "set", "--as", "ann"]
    assert CliRunner().invoke(main, [*review, "--page", "review.html"]).exit_code == 0
    assert "1 comment to rule on" in Path("review.html").read_text("utf-8")
    (kept,) = finished(Path("set"), Path(".crab"))
    assert len(kept.comments[0].changes) == int(made)
    again = CliRunner().invoke(main, ["set", "certify", "set", "--runtime", "local", "--audit"])
    assert again.exit_code == 0, again.output
    ruling = {"candidate": fault.id, "comment": "c0", "ruling": "reject", "by": "ann", "reason": "a change of taste"}
    Path("saved.json").write_text(json.dumps([ruling]))
    assert CliRunner().invoke(main, [*review, "--rulings", "saved.json"]).exit_code == 0
    assert not load_instances(Path("set"))  # the twin went with it


def test_a_set_that_nothing_made_names_both_commands_that_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("set").mkdir()
    done = CliRunner().invoke(main, ["set", "curate", "review", "--out", "set", "--as", "ann", "--page", "review.html"])
    assert done.exit_code != 0
    assert {"set curate SOURCE", "set inject SOURCE"} <= set(re.findall(r"set \w+ SOURCE", done.output))


def test_a_folder_that_is_no_repository_is_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["set", "inject", str(tmp_path), "--out", str(tmp_path / "set")])
    assert done.exit_code == 2
    assert "is no git repository" in done.output

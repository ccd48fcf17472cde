"""Rulings of people: taken from the served page and from a file, applied to the set, and kept by a later run."""

from __future__ import annotations

import dataclasses
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.cli.curate_review import open_review, review_items
from pytest_crab.cli.curation_run import finished
from pytest_crab.curation.rulings import Ruling, Word, read_rulings, ruled
from pytest_crab.instances import load_instance
from pytest_crab.show.ruling_server import RulingServer
from pytest_crab.types import CandidateComment, Comment, Kind, Oracle, PullCandidate, PullRequestFacts

pytestmark = pytest.mark.usefixtures("shop")

SET = Path("set")


def comments(number: int) -> dict[str, Any]:
    return {one.id: one for one in load_instance(SET / f"owner__shop-{number}").comments}


def ruling(number: int, comment: str, word: str, **more: str) -> dict[str, str]:
    return {"candidate": f"owner__shop-{number}", "comment": comment, "ruling": word, "by": "ann", **more}


@pytest.fixture
def served(curate: Callable[..., Result]) -> Iterator[RulingServer]:
    assert curate().exit_code == 0
    candidates = {one.id: one for one in finished(SET, Path(".crab"))}
    with open_review(SET, candidates, "ann", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def post(url: str, data: Any, kind: str = "application/json") -> int:
    asked = urllib.request.Request(url, json.dumps(data).encode(), {"Content-Type": kind})
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_ruling_is_in_the_set_at_once_and_stays_there(served: RulingServer, curate: Callable[..., Result]) -> None:
    first, second = comments(1)
    assert post(f"{served.url}rule", ruling(1, first, "edit", body="Say what is wrong with two.")) == 200
    assert post(f"{served.url}rule", ruling(1, second, "reject", reason="taste")) == 200
    for one in comments(2):
        assert post(f"{served.url}rule", ruling(2, one, "reject", reason="no test can say")) == 200
    (kept,) = comments(1).values()
    assert (kept.body, kept.labels["ruling"], kept.labels["ruled_by"]) == ("Say what is wrong with two.", "edit", "ann")
    assert not (SET / "owner__shop-2").exists()
    assert read_rulings(SET)["owner__shop-1", second].reason == "taste"
    again = curate()
    assert "2 instances" in again.output
    assert list(comments(1)) == [first]
    assert not (SET / "owner__shop-2").exists()
    assert post(f"{served.url}rule", ruling(1, second, "keep")) == 200
    assert list(comments(1)) == [first, second]


def test_a_person_hears_of_an_instance_that_was_edited_by_hand(served: RulingServer) -> None:
    first, _ = comments(1)
    file = SET / "owner__shop-1" / "instance.yaml"
    file.write_text(file.read_text() + "# mine\n")
    data = json.dumps(ruling(1, first, "reject", reason="taste")).encode()
    asked = urllib.request.Request(f"{served.url}rule", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        assert "owner__shop-1" in answer.read().decode()
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert first in comments(1)


def test_the_text_to_edit_is_the_whole_one() -> None:
    body = "no\u00a0break " + "long " * 400
    comment = Comment(id="c0", path="a.py", lines=None, body=body)
    facts = PullRequestFacts(number=1, title="t")
    one = PullCandidate(
        id="a", origin="git", repo="o/n", pull_request=facts, comments=(CandidateComment(comment=comment),)
    )
    edited = Ruling(candidate="a", comment="c0", ruling=Word.EDIT, by="ann", body=body + "more")
    (item,) = review_items(one, {("a", "c0"): edited})
    assert (item["raw"], item["ruling"]["body"]) == (body, body + "more")


def test_an_edited_oracle_is_in_the_set_and_has_to_be_proved() -> None:
    comment = Comment(
        id="c0", path="a.py", lines=None, body="Say it.", kind=Kind.BEHAVIORAL, oracle=Oracle(file="oracles/test_c0.py")
    )
    one = PullCandidate(
        id="a",
        origin="git",
        repo="o/n",
        pull_request=PullRequestFacts(number=1, title="t"),
        comments=(CandidateComment(comment=comment, audited=3),),
        files={"oracles/test_c0.py": "def test_a(): ...\n", "fix.diff": "d"},
    )
    mine = "def test_b(): ...\n"
    edited = Ruling(candidate="a", comment="c0", ruling=Word.EDIT, by="ann", body="Say it.", oracle=mine)
    after = ruled(one, {("a", "c0"): edited})
    assert (after.files, after.comments[0].audited) == ({"oracles/test_c0.py": mine, "fix.diff": "d"}, 0)
    assert ruled(one, {("a", "c0"): dataclasses.replace(edited, oracle="")}).comments[0].audited == 3
    (item,) = review_items(one, {("a", "c0"): edited})
    assert (item["raw_oracle"], item["ruling"]["oracle"]) == ("def test_a(): ...\n", mine)


def test_what_is_no_ruling_changes_nothing(served: RulingServer) -> None:
    first, _ = comments(1)
    wrong = (
        ruling(1, first, "reject"),
        ruling(1, first, "perhaps"),
        ruling(1, "c9", "keep"),
        ruling(9, first, "keep"),
        {**ruling(1, first, "keep"), "by": " "},
        [],
    )
    assert [post(f"{served.url}rule", one) for one in wrong] == [500] * len(wrong)
    assert post(f"{served.url}rule", ruling(1, first, "keep"), kind="text/plain") == 400
    assert post(f"http://127.0.0.1:{served.server_port}/guess/rule", ruling(1, first, "keep")) == 403
    assert read_rulings(SET) == {}


def test_the_page_as_one_file_and_the_rulings_that_it_saved(curate: Callable[..., Result]) -> None:
    assert curate().exit_code == 0
    ask = CliRunner().invoke
    done = ask(main, ["set", "curate", "--review", "--out", "set", "--as", "ann", "--page", "review.html"])
    assert done.exit_code == 0, done.output
    page = Path("review.html").read_text("utf-8")
    assert "connect-src" not in page
    assert "6 comments to rule on" in page
    first, _ = comments(1)
    Path("saved.json").write_text(json.dumps([ruling(1, first, "reject", reason="taste")]))
    done = ask(main, ["set", "curate", "review", "--out", "set", "--rulings", "saved.json"])
    assert done.exit_code == 0, done.output
    assert first not in comments(1)
    (one,) = read_rulings(SET).values()
    assert (one.ruling, one.by, bool(one.date)) == (Word.REJECT, "ann", True)


@pytest.mark.parametrize("more", [{"ruling": Word.REJECT}, {"ruling": Word.EDIT}, {"by": ""}])
def test_a_ruling_says_who_and_why(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="should"):
        Ruling(**{"candidate": "a", "comment": "c0", "ruling": Word.KEEP, "by": "ann", **more})


def test_who_has_no_name_on_the_machine_gives_one(
    curate: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert curate().exit_code == 0
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 987_654)  # as in a container that names only a number
    page = f"--page={tmp_path / 'page.html'}"
    nameless = CliRunner().invoke(main, ["set", "curate", "review", "--out=set", page])
    assert (nameless.exit_code, "give yours with --as" in nameless.output) == (2, True)
    named = CliRunner().invoke(main, ["set", "curate", "review", "--out=set", page, "--as=ann"])
    assert named.exit_code == 0, named.output

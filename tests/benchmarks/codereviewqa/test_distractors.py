"""Wrong lines for one's own rows, filters of comments, and the command that makes rows of them."""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

from pytest_crab.benchmarks.codereviewqa.choices.options import probes_in
from pytest_crab.benchmarks.codereviewqa.distractors import ReviewedCode, fault_of_comment, wrong_lines
from pytest_crab.benchmarks.codereviewqa.reader import import_codereviewqa
from pytest_crab.cli import main
from pytest_crab.instances import load_instances
from pytest_crab.testing.provider import Asked, Reply, ScriptedProvider, fail, say

DATA = Path(__file__).parents[4] / "shared" / "data" / "codereviewqa" / "codereviewqa_c_csharp_200.jsonl"
ROW = {
    "old": " def total(prices):\n-    x = 1\n-    return x\n \n \n ",
    "new": " def total(prices):\n+    return sum(prices)\n \n \n ",
    "review": "Why is this one?",
    "lang": "python",
}


def jaccard(one: Any, other: Any) -> float:
    return len({*one} & {*other}) / len({*one} | {*other})


@given(st.data())
def test_wrong_lines_are_as_many_others_and_as_near_or_as_far_as_can_be(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 15))
    correct = sorted(data.draw(st.sets(st.integers(1, count), min_size=1, max_size=6)))
    for hard in (True, False):
        found = wrong_lines(correct, range(1, count + 1), hard=hard, seed="s")
        if found is None:
            assert count - len(correct) < 3
            continue
        options = [correct, *found]
        assert len({tuple(each) for each in options}) == 4
        assert all(len(set(each)) == len(correct) and {*each} <= {*range(1, count + 1)} for each in found)
        shares = [jaccard(correct, each) for each in found]
        if hard:
            assert shares == [pytest.approx((len(correct) - 1) / (len(correct) + 1))] * 3
        elif count >= 4 * len(correct):
            assert all(not {*one} & {*other} for one, other in itertools.combinations(options, 2))
        assert found == wrong_lines(correct, range(1, count + 1), hard=hard, seed="s")


@pytest.mark.parametrize(
    ("review", "said"),
    [
        ("Why?", "short"),
        ("123 + 456 = 579", "no letters"),
        ("Rather ```x = 1``` here", "copied"),
        ("The Indentation is off", "formatting"),
        ("Please run the linter", "formatting"),
        ("Same here, ditto.", "something else"),
        ("I think reverting would do", "something else"),
        ("Rename this splinter please", None),
        ("Why is this public at all?", None),
    ],
)
def test_comments_that_say_too_little_are_left_out(review: str, said: str | None) -> None:
    found = fault_of_comment(review)
    assert (found is None) if said is None else (said in str(found))


def test_rows_become_questions_that_can_be_imported(tmp_path: Path) -> None:
    added = {**ROW, "old": " a\n b\n c\n d", "new": "+first\n a\n b\n+x\n+y\n c\n d", "kept": 1}
    same = {**ROW, "new": ROW["old"].replace("-", " "), "old": ROW["old"].replace("-", " ")}
    small = {**ROW, "old": "-a", "new": "+b"}
    rows = [ROW, added, {**ROW, "review": "Lint it, please."}, same, small]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = CliRunner().invoke(
        main,
        ["benchmark", "codereviewqa", "distractors", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "q.jsonl")],
    )
    assert done.exit_code == 0, done.output
    assert "2 rows with questions, 3 left out" in done.output
    reasons = {
        3: "the comment is on formatting",
        4: "no line is marked as changed",
        5: "the code has too few other lines",
    }
    for number, why in reasons.items():
        assert re.search(rf"  1: {why}.* \(line {number}\)", done.output)
    first, second = map(json.loads, (tmp_path / "q.jsonl").read_text().splitlines())
    assert (first["type_correct"], first["loc_correct"]) == ("modify", [2, 3])
    assert (second["type_correct"], second["loc_correct"], second["kept"]) == ("add_only", [0, 2], 1)
    assert import_codereviewqa(tmp_path / "q.jsonl", tmp_path / "set").instances == 2
    assert all((own := probes_in(each)) and own.solution is None for each in load_instances(tmp_path / "set"))
    again = CliRunner().invoke(
        main,
        ["benchmark", "codereviewqa", "distractors", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "q.jsonl")],
    )
    assert (again.exit_code, "there already" in again.output) == (1, True)


def test_a_line_that_is_no_row_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(ROW)}\n{{}}\n")
    done = CliRunner().invoke(
        main,
        ["benchmark", "codereviewqa", "distractors", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "q.jsonl")],
    )
    assert done.exit_code == 1
    assert "line 2" in done.output
    assert not (tmp_path / "q.jsonl").exists()


@pytest.mark.skipif(not DATA.is_file(), reason="../shared/data/codereviewqa is not beside this checkout")
def test_type_and_lines_are_those_of_the_release() -> None:
    for row in map(json.loads, DATA.read_text().splitlines()):
        code = ReviewedCode(**{name: row[name] for name in ("old", "new", "review", "lang")})
        assert code.change == row["type_correct"]
        assert sorted(code.lines) == sorted(row["loc_correct"])


ADDED = {**ROW, "old": " a = 1\n b = 2\n c = 3\n d = 4", "new": " a = 1\n b = 2\n+x = b\n c = 3\n d = 4"}
DELETED = {**ROW, "old": "-import x\n a = 1\n b = 2\n c = 3\n d = 4", "new": " a = 1\n b = 2\n c = 3\n d = 4"}
WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")


def surrogate(asked: Asked, *, late: bool = False) -> Reply:
    """A model that is most surprised by names, and writes another word at each draw.

    It never expects the next token, but for a server that is one place too ``late``: this one has seen it.
    """
    if asked.api == "embeddings":
        return say("", usage={"input": 30})
    if not asked.body.get("echo"):
        assert asked.body["suffix"]
        return say(WORDS[asked.body["seed"] % len(WORDS)], usage={"input": 20, "output": 1})
    tokens = re.findall(r"\s*\w+|\s*[^\w\s]|\s+", asked.body["prompt"])
    other = {} if late else {"?": -0.5}
    echoed = [(token, {token: -9.0 if token.strip() in ("sum", "b") else -1.0, **other}) for token in tokens]
    return say(" x", echoed=echoed, log_probabilities={" x": -0.5}, usage={"input": len(tokens), "output": 1})


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProvider]:
    """A provider behind crab.yaml of the current folder, beside rows.jsonl."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in (ROW, ADDED, DELETED)))
    with ScriptedProvider(surrogate) as found:
        settings = {
            "retries": 0,
            "providers": {"own": {"base_url": found.openai_url, "api": "openai"}},
            "prices": {"coder": {"input": 1, "output": 2}},
        }
        (tmp_path / "crab.yaml").write_text(json.dumps({"models": settings}))
        yield found


def ask_for(out: str, *options: str) -> Any:
    return CliRunner().invoke(
        main,
        ["benchmark", "codereviewqa", "distractors", "rows.jsonl", "--out", out, "--surrogate", "own:coder", *options],
    )


def test_questions_on_solutions_are_made_by_models_and_paid_for_once(
    tmp_path: Path, provider: ScriptedProvider
) -> None:
    planned = ask_for("q.jsonl", "--plan")
    assert planned.output.startswith("2 rows, 0 stored, 2 to ask, after two short texts")
    assert not provider.asked
    done = ask_for("q.jsonl", "--budget", "1")
    assert done.exit_code == 0, done.output
    assert "3 rows with questions, 0 left out" in done.output
    assert "16 answers asked and stored" in done.output
    assert Counter(asked.api for asked in provider.asked) == {
        "completions": 16,
        "embeddings": 2,
    }  # two of them the check
    assert import_codereviewqa(tmp_path / "q.jsonl", tmp_path / "set").instances == 3
    first, added, deleted = [own.solution for each in load_instances(tmp_path / "set") if (own := probes_in(each))]
    assert deleted is None
    assert added is not None
    assert first is not None
    assert added.correct == "3+x = b"
    assert {*added.easy, *added.hard} == {f"3+x = {word}" for word in WORDS[1:]}
    assert all("prices)" in option for option in (*first.easy, *first.hard))
    again = ask_for("again.jsonl")
    assert "no model was asked, every answer was stored" in again.output
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "q.jsonl").read_bytes()
    assert len(provider.asked) == 18
    assert ask_for("third.jsonl", "--plan").output.strip() == "2 rows, 2 stored, 0 to ask"


def test_a_server_that_is_one_place_too_late_is_refused_before_a_row_is_asked(provider: ScriptedProvider) -> None:
    provider.script = functools.partial(surrogate, late=True)
    done = ask_for("q.jsonl")
    assert (done.exit_code, "surprisal by own:coder: it gives each token" in done.output) == (1, True), done.output
    assert len(provider.asked) == 2


@pytest.mark.parametrize(
    ("bad", "said", "stored"),
    [
        (
            lambda asked: asked.body.get("echo"),
            "Error: surprisal by own:coder: its answer has no log-probabilities",
            set(),
        ),
        (
            lambda asked: "seed" in asked.body,
            "line 1: infill by own:coder: it answered 404: no; its comp",
            {"surprisal"},
        ),
        (lambda asked: asked.api == "embeddings", "line 1: cosines by own:coder: it answered 404: no; its", {"infill"}),
    ],
)
def test_a_provider_that_cannot_do_a_step_is_one_sentence_and_its_answer_is_not_stored(
    tmp_path: Path, provider: ScriptedProvider, bad: Any, said: str, stored: set[str]
) -> None:
    refusal = say("I see some code.") if "surprisal" in said else fail(404, "no")
    provider.script = lambda asked: refusal if bad(asked) else surrogate(asked)
    done = ask_for("q.jsonl")
    assert done.exit_code == 1
    assert said in done.output
    assert not (tmp_path / "q.jsonl").exists()
    kept = {path.name for path in (tmp_path / ".crab" / "steps").glob("*") if any(path.rglob("*.json"))}
    assert stored <= kept <= {"surprisal", "infill"}
    assert bool(kept) == bool(stored)


def test_a_row_whose_element_has_too_few_others_is_left_out_and_counted(provider: ScriptedProvider) -> None:
    provider.script = lambda asked: say("same") if "seed" in asked.body else surrogate(asked)
    done = ask_for("q.jsonl", "--draws", "7")
    assert (
        "1 row with questions, 2 left out\n  2: the model filled in fewer than 6 different texts (line 1, line 2)"
        in done.output
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--surrogate", "anthropic:m"), "with a provider of crab.yaml whose api is openai: own, openai"),
        (("--surrogate", "own"), "should be PROVIDER:MODEL"),
        (("--infill", "own:coder"), "name --surrogate"),
        (("--surrogate", "own:coder", "--template", "{before} alone"), "each once"),
    ],
)
def test_options_that_name_no_model_are_one_sentence(
    provider: ScriptedProvider, options: tuple[str, ...], said: str
) -> None:
    done = CliRunner().invoke(
        main, ["benchmark", "codereviewqa", "distractors", "rows.jsonl", "--out", "q.jsonl", *options]
    )
    assert done.exit_code != 0
    assert said in done.output
    assert not provider.asked


def test_a_template_has_the_text_behind_the_gap_where_the_model_wants_it(
    tmp_path: Path, provider: ScriptedProvider
) -> None:
    prompts = []

    def script(asked: Asked) -> Reply:
        if "seed" not in asked.body:
            return surrogate(asked)
        assert "suffix" not in asked.body
        prompts.append(asked.body["prompt"])
        return say(WORDS[asked.body["seed"] % len(WORDS)])

    provider.script = script
    (tmp_path / "rows.jsonl").write_text(json.dumps(ADDED))
    assert ask_for("q.jsonl", "--template", "<S>{after}<P>{before}<M>").exit_code == 0
    assert {*prompts} == {"<S>\nc = 3\nd = 4<P>a = 1\nb = 2\nx = <M>"}

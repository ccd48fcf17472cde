"""A revision is a series of commits, and each verdict is explained by it, with runs of oracles alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from pytest_crab.diffs import touched_paths
from pytest_crab.trial.plan import OPEN, STORED, plan_trial
from pytest_crab.types import Explain, ExplainedOutcome, Trial

VALUE, NAME = "def value():\n    return {}\n", 'def name():\n    return "{}"\n'
AT_VALUE = {"path": "value.py", "start": 2, "body": "The value should be three."}
AT_NAME = {"path": "name.py", "start": 2, "body": "The name should be c."}
#: An oracle with a guard: the name is none of its concern.
PINNING = (
    "import name\nimport value\n\n\ndef test_value():\n    assert value.value() == 3\n\n\n"
    'def test_name():\n    assert name.name() in "bc"\n'
)


def commits(*steps: tuple[Mapping[str, str], str]) -> str:
    """Shell that commits each step: files and the commit's message."""
    lines = []
    for files, message in steps:
        lines += [f"cat > {path} <<'CRAB_END'\n{text}CRAB_END" for path, text in files.items()]
        lines.append(f"git add -A && git commit -q -m '{message}' || exit 9")
    return "\n".join(lines)


def acted(*findings: int) -> str:
    return "Do as asked\n\n" + "".join(f"Finding: {number}\n" for number in findings)


VALUE_3, NAME_C, NAME_X = {"value.py": VALUE.format(3)}, {"name.py": NAME.format("c")}, {"name.py": NAME.format("x")}


@pytest.fixture(scope="module")
def explaining(make_lab: Callable[..., Any]) -> Any:
    """A lab whose first oracle has a guard on what the second is about."""
    lab = make_lab()
    lab.put("oracles/test_c0.py", PINNING)
    return lab


def explained(lab: Any, script: str, findings: Sequence[dict[str, Any]] = (AT_VALUE, AT_NAME)) -> Trial:
    lab.reviewing(list(findings))
    lab.acting({}, script)
    trial = lab.trial()
    assert isinstance(trial, Trial)
    assert trial.error is None
    return trial


@pytest.mark.bubblewrap
def test_of_very_many_commits_for_a_finding_none_is_tried_by_itself(explaining: Any) -> None:
    steps = [({"value.py": VALUE.format(100 + number)}, acted(1)) for number in range(24)]
    trial = explained(explaining, commits(*steps, (VALUE_3, acted(1)), (NAME_C, acted(2))))
    (verdict,) = [one for name, one in trial.explanations.items() if name == "c0"]
    assert verdict.outcome is ExplainedOutcome.UNCLEAR
    assert "too many" in (verdict.detail or "")


@pytest.mark.bubblewrap
def test_a_plan_counts_the_explanations_that_need_runs_once_the_verdicts_are_there(explaining: Any) -> None:
    def planned() -> str:
        found = plan_trial(explaining.instance(), explaining.crew(), explaining.run_context())
        return found.steps["explanation"]

    explaining.reviewing([AT_VALUE, AT_NAME])
    explaining.acting({}, commits((VALUE_3, acted(1)), (NAME_X, acted(2)), ({"new.py": "1\n"}, "No trailer")))
    assert planned() == OPEN
    explaining.changes["explain"] = Explain.NONE
    try:
        explaining.trial()
    finally:
        explaining.changes.pop("explain")
    assert planned() == "would run (2 of 2)"
    explaining.trial()
    assert planned() == STORED


def outcomes(trial: Trial) -> dict[str, tuple[ExplainedOutcome, tuple[int, ...]]]:
    return {name: (one.outcome, one.findings) for name, one in trial.explanations.items()}


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("script", "c0", "c1"),
    [
        (
            commits((VALUE_3, acted(1)), (NAME_C, acted(2))),
            ("green", ExplainedOutcome.BY_FINDING, (1,)),
            ("green", ExplainedOutcome.BY_FINDING, (2,)),
        ),
        (
            commits((VALUE_3, acted(1)), (NAME_X, acted(2))),
            ("guard broke", ExplainedOutcome.SPOILED, (2,)),
            ("test failed", ExplainedOutcome.NOT_RESOLVED, ()),
        ),
        (
            commits((VALUE_3, acted(1))),
            ("green", ExplainedOutcome.BY_FINDING, (1,)),
            ("test failed", ExplainedOutcome.LEFT, ()),
        ),
        (
            commits(({**VALUE_3, **NAME_C}, acted(2))),
            ("green", ExplainedOutcome.BY_NO_FINDING, ()),  # what a commit claims counts, not what it changes
            ("green", ExplainedOutcome.BY_FINDING, (2,)),
        ),
        (
            commits((VALUE_3, "No trailer")),
            ("green", ExplainedOutcome.UNCLEAR, ()),
            ("test failed", ExplainedOutcome.UNCLEAR, ()),
        ),
    ],
)
def test_each_verdict_has_its_outcome(
    explaining: Any,
    script: str,
    c0: tuple[str, ExplainedOutcome, tuple[int, ...]],
    c1: tuple[str, ExplainedOutcome, tuple[int, ...]],
) -> None:
    trial = explained(explaining, script)
    reasons = explaining.reasons(trial)
    assert outcomes(trial) == {"c0": c0[1:], "c1": c1[1:]}
    assert reasons == {"c0": c0[0], "c1": c1[0]}


def test_only_the_near_commits_decide_what_is_resolved_alone(explaining: Any) -> None:
    trial = explained(explaining, commits((VALUE_3, acted(1)), (NAME_X, acted(2))))
    assert trial.explanations["c0"].alone is True
    assert trial.explanations["c1"].alone is False
    assert all(one.found for one in trial.explanations.values())
    explaining.changes["explain"] = Explain.NONE
    try:
        assert explaining.trial().explanations == {}
    finally:
        explaining.changes.pop("explain")


#: Settings with which git would run something for whoever reads the history.
RUNS_SOMETHING = """\
mkdir -p .git/hooks; printf "#!/bin/sh\\ntouch $PWD/hooked" > .git/hooks/reference-transaction
chmod +x .git/hooks/reference-transaction; echo '* diff=x' > .git/info/attributes
git config core.pager "touch $PWD/paged"; git config diff.external "touch $PWD/external"
git config diff.x.textconv "touch $PWD/converted"; git config diff.x.command "touch $PWD/compared"
git config core.fsmonitor "touch $PWD/watched"
"""
ELSEWHERE = """\
mv .git/objects /tmp/objects; mkdir -p .git/objects/info; echo /tmp/objects > .git/objects/info/alternates
"""

#: What an agent may make of its history, and what is told of it: findings by commit, or why there is no series.
HISTORIES = {
    "left uncommitted": ("", [()]),
    "committed in part": (f"{commits((VALUE_3, acted(1)))}\n", [(1,), ()]),
    "several findings": (commits(({**VALUE_3, **NAME_C}, acted(1, 2))), [(1, 2)]),
    "a trailer that is no number": (commits((VALUE_3, "Do\n\nFinding: rm -rf /")), [()]),
    "head amended": (f"{commits((VALUE_3, acted(1)))}\ngit reset -q --soft HEAD~2 && git commit -qm new", "go on from"),
    "no repository": (f"{commits((VALUE_3, acted(1)))}\nrm -rf .git", "cannot read"),
    "very many commits": (
        f"{commits((VALUE_3, acted(1)))}\nfor n in $(seq 220); do git commit -q --allow-empty -m $n; done",
        "over 200 commits",
    ),
    "a hook, a pager and a filter": (f"{commits((VALUE_3, acted(1)))}\n{RUNS_SOMETHING}", [(1,)]),
    "an order in a pipe": (f"{commits((VALUE_3, acted(1)))}\nmkfifo .git/o; git config diff.orderFile .git/o", [(1,)]),
    "objects of another place": (f"{commits((VALUE_3, acted(1)))}\n{ELSEWHERE}", "cannot read"),
    "leftovers committed": (
        (
            "mkdir -p __pycache__ own; echo x | tee __pycache__/value.pyc own/pyvenv.cfg > own/lib.py\n"
            f"git add -f .\n{commits((VALUE_3, acted(1)))}\nrm -r __pycache__ own\n{commits((NAME_C, acted(2)))}"
        ),
        [(1,), (2,)],
    ),
    "replaced objects": (f"{commits((VALUE_3, acted(1)))}\ngit replace HEAD HEAD~1", [(1,)]),
}


@pytest.mark.bubblewrap
@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("place", ["clone", "workspace"])
def test_an_agents_history_is_a_claim_and_no_more(lab: Any, name: str, place: str) -> None:
    script, told = HISTORIES[name]
    lab.reviewing([AT_VALUE, AT_NAME])
    lab.acting({} if name not in ("left uncommitted", "committed in part") else {**VALUE_3, **NAME_C}, script)
    if place == "workspace":
        text = (lab.folder / "crew" / "act.sh").read_text().replace('echo revision >> "$LEDGER/ledger.txt"', "")
        lab.settings["agent"] = {"in": place, "command": ["sh", "-c", text], "files": [], "writable": [], "env": {}}
    trial = lab.trial()
    assert trial.error is None
    assert trial.revision is not None
    assert lab.reasons(trial)["c0"] == "green"  # the tree decides, whatever the history is
    found = trial.revision.commits
    if isinstance(told, str):
        (one,) = found
        assert (one.diff, one.findings) == (trial.revision.diff, ())
        assert told in one.message
    else:
        assert [commit.findings for commit in found] == told
        assert {path for commit in found for path in touched_paths(commit.diff)} <= {"value.py", "name.py"}
    ran = ("hooked", "paged", "watched", "external", "converted", "compared")
    assert not any(word in trial.revision.diff for word in ran)


#: Lines that stand side by side, so that no commit on one applies without the earlier ones on the others.
BESIDE = "def value():\n    return {}\n\n\nUNIT = {}\nSIGN = {}\n"


def beside(value: int, unit: int, sign: int) -> dict[str, str]:
    return {"value.py": BESIDE.format(value, unit, sign)}


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("script", "reason", "outcome", "findings"),
    [
        # The fix does not apply without the commit before it, which does nothing for the oracle.
        (
            commits((beside(2, 1, 1), acted(2)), (beside(3, 1, 1), acted(1)), (NAME_C, acted(2))),
            "green",
            "by finding",
            (1,),
        ),
        # The commit before it is what makes the oracle green.
        (
            commits((beside(3, 1, 1), acted(2)), (beside(3, 2, 1), acted(1)), (NAME_C, acted(2))),
            "green",
            "by no finding",
            (),
        ),
        # A later commit spoils what is green with the two of them.
        (
            commits((beside(2, 1, 1), acted(2)), (beside(3, 1, 1), acted(1)), (NAME_X, acted(2))),
            "guard broke",
            "spoiled",
            (2,),
        ),
        # All others would have to be taken along.
        (commits((beside(2, 1, 1), acted(2)), (beside(3, 1, 1), acted(1))), "green", "cannot be told apart", ()),
    ],
)
def test_an_earlier_commit_that_a_fix_does_not_apply_without_is_taken_along(
    explaining: Any, script: str, reason: str, outcome: str, findings: tuple[int, ...]
) -> None:
    trial = explained(explaining, script)
    assert explaining.reasons(trial)["c0"] == reason
    assert outcomes(trial)["c0"] == (ExplainedOutcome(outcome), findings)

"""What a user's own record says of the attacks: whole runs and commands, and what they wrote."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hostile import foreign, ledger, placement, record, second_hand, texts
from hostile.careless import filled
from hostile.catalogue import REFUSALS, REVISIONS

from pytest_crab.protocols import ORACLE_LIMITS
from pytest_crab.results.files import write_trials
from pytest_crab.testing.provider import ScriptedProvider, say, turns
from pytest_crab.types import Trial

if TYPE_CHECKING:
    from hostile.shape import Refusal, Revision

#: What the harness lets a run print (harness.Job), and what the instance of the attack on time gives an oracle.
OUTPUT, SECONDS = 16 << 20, 6


def planted(folder: Path, kind: type) -> dict[Refusal, Any]:
    """What refusals plant, where that is of this kind; each in a folder of its own."""
    found = {}
    for number, attack in enumerate(REFUSALS):
        place = folder / str(number)
        place.mkdir(parents=True)
        thing = attack.plant(place) if attack.plant else None
        if isinstance(thing, kind):
            found[attack] = thing
    return found


def crab(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", "from pytest_crab.cli import main; main()", *arguments]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, errors="surrogateescape")


def is_plain(text: str) -> bool:
    return text.replace("\n", "").isprintable()


def everything(folder: Path) -> str:
    """All that a run left in its folder, but for what made it."""
    made = ("plays.json", "oracles", "cache")
    files = (path for path in folder.rglob("*") if path.is_file() and not {*path.relative_to(folder).parts} & {*made})
    return "".join(path.read_bytes().decode(errors="replace") for path in files)


@pytest.fixture(scope="session")
def store(shared_folder: Path) -> Path:
    """A store for runs of all workers, so that what they have in common is made once."""
    return shared_folder / "attacks-store"


@pytest.fixture(scope="session")
def local(store: Path) -> list[str]:
    """What a run on the local runtime is started with."""
    return ["--crab-runtime=local", f"--crab-store={store}"]


# --- one run with a contestant for each attack -----------------------------------------------------------------------


whole = pytest.mark.slow(reason="a run has a contestant for each attack, with the time and the room that any run has")


@whole
@pytest.mark.docker
@pytest.mark.bubblewrap
def test_each_attack_on_a_sandbox_is_on_the_record_of_one_run(
    base_image: str, doors: Mapping[str, str], measured: Callable[..., None], tmp_path: Path
) -> None:
    hasty = {**ledger.document("hasty")["environment"], "timeout": SECONDS}
    ledger.write_instance(tmp_path / "set" / "ledger")
    ledger.write_instance(tmp_path / "set" / "hasty", environment=hasty)
    attacks = [attack for attack in REVISIONS if attack.confined or attack.install]
    late = f"r{[attack.name for attack in attacks].index('time'):03d}"
    chosen = ["--crab-runtime=docker", "-k", f"(hasty and {late}) or (ledger and not {late})"]
    seen = record.run(tmp_path, chosen, played(attacks, doors))
    assert seen.status == pytest.ExitCode.TESTS_FAILED
    assert missed(attacks, seen, measured) == {}


@whole
@pytest.mark.bubblewrap
def test_each_attack_in_a_process_and_each_refusal_are_on_the_record_of_one_run(
    store: Path, doors: Mapping[str, str], measured: Callable[..., None], tmp_path: Path
) -> None:
    root = tmp_path / "root"
    ledger.write_instance(root / "set" / "ledger")
    (root / ".crab").mkdir()  # a store of its own, since all that is left is looked at, with environments of all
    (store / "cache").mkdir(parents=True, exist_ok=True)
    (root / ".crab" / "cache").symlink_to(store / "cache")
    attacks = [attack for attack in REVISIONS if not (attack.confined or attack.install)]
    plays = planted(tmp_path / "planted", record.Play)
    refusals = {attack: play for attack, play in plays.items() if attack.becomes != "left out"}
    seen = record.run(root, ["--crab-runtime=local"], [*played(attacks, doors), *refusals.values()])
    assert seen.status == pytest.ExitCode.TESTS_FAILED
    wrong = missed(attacks, seen, measured)
    left = everything(root) + seen.printed
    for refusal in refusals:
        becomes = outcome(refusal, seen.trials[refusal.name], left)
        measured(refusal.name, recorded=becomes)
        if becomes != refusal.becomes:
            wrong[refusal.name] = (becomes, seen.trials[refusal.name].get("error"))
    assert wrong == {}


def played(attacks: Iterable[Revision], doors: Mapping[str, str]) -> list[record.Play]:
    """Each attack as a contestant of a run with the limits that any run has."""
    told = {**doors, **ledger.sizes(ORACLE_LIMITS, OUTPUT, SECONDS)}
    return [record.Play(name=attack.name, files=filled(attack.files, told)) for attack in attacks]


def missed(
    attacks: Iterable[Revision], seen: record.Record, measured: Callable[..., None]
) -> dict[str, tuple[str | None, Any]]:
    """What a run recorded of these attacks where that is not what it should be."""
    wrong: dict[str, tuple[str | None, Any]] = {}
    for attack in attacks:
        trial = seen.trials[attack.name]
        (result,) = trial["scores"]
        measured(attack.name, recorded=record.said(trial), refused=result.get("label") != "caught")
        detail = "" if attack.is_left else attack.detail
        if record.said(trial) != attack.recorded or detail not in result.get("detail", ""):
            wrong[attack.name] = (record.said(trial), result.get("detail"))
    return wrong


def outcome(attack: Refusal, trial: Mapping[str, Any], left: str) -> str:
    """What came of a hostile review or revision, in the words of the page, or else the verdict."""
    (result,) = trial["scores"]
    said = record.said(trial)
    if attack.becomes == "not on any record" and ledger.KEY not in left and said == "missed (test failed)":
        return attack.becomes
    told = json.dumps(trial["scores"])
    if attack.becomes == "cut to a name" and second_hand.SENTENCE not in told and said == "missed (test failed)":
        return attack.becomes
    if attack.becomes == "recorded as it is" and said == "caught (green)":
        return attack.becomes
    if attack.becomes == "left out" and attack.is_said(result["detail"]) and said == "missed (empty revision)":
        return attack.becomes
    if attack.is_said(trial.get("error", "") + result.get("detail", "")):
        return said
    return f"{said} for another reason"


# --- what other agents do --------------------------------------------------------------------------------------------


@pytest.mark.slow(reason="a run has a contestant for each attack, with the time and the room that any run has")
@pytest.mark.bubblewrap
def test_hostile_diffs_and_archives_are_on_the_record(
    store: Path, local: list[str], measured: Callable[..., None], tmp_path: Path
) -> None:
    root, archives = tmp_path / "root", store / "cache" / "sdists"
    archives.mkdir(parents=True, exist_ok=True)
    attacks: dict[str, Refusal] = {}
    for attack, diff in planted(tmp_path / "diffs", str).items():
        name = f"diff-{len(attacks)}"
        attacks[name] = attack
        ledger.write_instance(root / "set" / name)
        (root / "revisions").mkdir(exist_ok=True)
        (root / "revisions" / f"{name}.diff").write_text(diff)
    for attack, archive in planted(tmp_path / "archives", bytes).items():
        name = f"sdist-{len(attacks)}"
        attacks[name] = attack
        digest = hashlib.sha256(archive).hexdigest()
        source = {"name": "ledger", "version": "1.0", "sha256": digest}
        diffs = {"head": "head.diff", "reference": "reference.diff"}
        ledger.write_instance(root / "set" / name, source={"sdist": {**source, **diffs}})
        (archives / f"{digest}.tar.gz").write_bytes(archive)
    replay = {"use": "replay", "revisions": "revisions"}
    trials = record.run(root, local, [record.Play(name="any")], replay).by_instance
    wrong = {}
    for name, attack in attacks.items():
        said = record.said(trials[name])
        why = trials[name].get("error", "") + trials[name]["scores"][0].get("detail", "")
        measured(attack.name, recorded=said)
        if said != attack.becomes or not attack.is_said(why):
            wrong[attack.name] = (said, why)
    assert wrong == {}
    assert [path for path in tmp_path.rglob("out") if path.is_file() or any(path.iterdir())] == []


@pytest.mark.bubblewrap
def test_a_suggestion_to_git_is_left_out_on_the_record(
    local: list[str], measured: Callable[..., None], tmp_path: Path
) -> None:
    root = tmp_path / "root"
    ledger.write_instance(root / "set" / "ledger")
    (attack,) = (attack for attack in REFUSALS if attack.becomes == "left out")
    assert attack.plant is not None
    play = attack.plant(tmp_path)
    seen = record.run(root, local, [play], {"use": "suggestions"})
    becomes = outcome(attack, seen.trials[play.name], "")
    measured(attack.name, recorded=becomes)
    assert becomes == attack.becomes
    assert not (tmp_path / "mark").exists()


@pytest.mark.slow(reason="a run has a contestant for each attack, with the time and the room that any run has")
@pytest.mark.bubblewrap
def test_answers_below_the_systems_folders_are_not_found_on_the_record(
    measured: Callable[..., None], without: Callable[[str, str], NoReturn]
) -> None:
    if not os.access("/usr/share", os.W_OK):
        without("root", "nothing can be written below /usr/share")
    with tempfile.TemporaryDirectory(prefix="crab-test-", dir="/usr/share") as name:
        root = Path(name)
        root.chmod(0o755)
        placement.shown(root)
        arguments = ["--crab-runtime=local", f"--crab-store={root}/store", "-k", "ledger"]
        trials = record.run(root, arguments, placement.plays(root)).trials
    said = {name: record.said(trial) for name, trial in trials.items()}
    for name, becomes in said.items():
        measured(name, recorded=becomes)
    assert said == dict.fromkeys(placement.ANSWERS, "missed (test failed)")


@pytest.mark.bubblewrap
def test_an_environment_with_an_oracle_is_on_the_record(
    local: list[str], measured: Callable[..., None], tmp_path: Path
) -> None:
    environment = ledger.document("leaky")["environment"]
    place = ledger.write_instance(tmp_path / "set" / "leaky", environment={**environment, "install": ["sh leave.sh"]})
    (place / "tree" / "leave.sh").write_text("echo '# return a + b' > test_c0.py\n")
    trial = record.run(tmp_path, local, [record.Play(name="any")]).by_instance["leaky"]
    (attack,) = (attack for attack in REFUSALS if attack.name == "an oracle that was left")
    measured(attack.name, recorded=record.said(trial))
    assert record.said(trial) == attack.becomes
    assert attack.is_said(trial["error"])


# --- instances -------------------------------------------------------------------------------------------------------


def test_hostile_instances_are_refused_by_the_check(measured: Callable[..., None], tmp_path: Path) -> None:
    places = planted(tmp_path / "sets", Path)
    done = crab(tmp_path, "set", "check", "sets")
    assert done.returncode == 1
    assert is_plain(done.stdout + done.stderr)
    lines = (done.stdout + done.stderr).splitlines()
    wrong = {}
    for attack, place in places.items():
        said = [line for line in lines if f"{place.relative_to(tmp_path)}/" in line]
        refused = any(map(attack.is_said, said))
        measured(attack.name, recorded=attack.becomes if refused else "the instance is taken")
        if not refused:
            wrong[attack.name] = said
    assert wrong == {}
    assert not [path for place in places.values() for path in place.rglob("out")]


def test_foreign_sets_are_refused_before_anything_of_them_runs(measured: Callable[..., None], tmp_path: Path) -> None:
    for number, (attack, found) in enumerate(planted(tmp_path / "sets", foreign.Foreign).items()):
        told = foreign.refusal(found, tmp_path / f"called-{number}")
        measured(attack.name, recorded=attack.becomes if attack.is_said(told) else "the set is run")
        assert attack.is_said(told), told


# --- what a model is asked -------------------------------------------------------------------------------------------


@pytest.mark.slow(reason="a run has a contestant for each attack, with the time and the room that any run has")
@pytest.mark.bubblewrap
def test_orders_are_data_to_the_models_that_are_asked(
    local: list[str], measured: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    request = {"number": 1, "title": texts.FORGED, "body": texts.BREAKOUT}
    place = ledger.write_instance(tmp_path / "set" / "ledger", pull_request=request)
    paths = (*texts.MEMORY, *texts.HOOKS, *texts.QUOTED, "{}/notes.md")
    with (place / "head.diff").open("a") as file:
        file.writelines(map(texts.configured, paths))
    finding = {"file": "ledger.py", "line": 2, "comment": texts.BREAKOUT, "severity": "high"}
    script = turns(say(json.dumps([finding])))
    with ScriptedProvider(lambda asked: script(asked) if len(provider.asked) == 1 else say("LEFT: no.")) as provider:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-nobody")
        model = {"provider": "anthropic", "model": "scripted"}
        settings = {
            "reviewers": {"asked": {"use": "single-shot", **model}},
            "agents": {"asked": {"use": "tool-loop", "model": "scripted"}},
            "models": {"providers": {"anthropic": {"base_url": provider.anthropic_url}},
                       "prices": {"scripted": {"input": 1, "output": 1}}},
        }  # fmt: skip
        chosen = [*local, "--reviewer=asked", "--agent=asked"]
        _, (trial,) = record.start(tmp_path, chosen, settings)
    reviewing, revising = (text_of(asked.body) for asked in provider.asked)
    assert record.said(trial) == "missed (empty revision)"
    assert texts.marked(reviewing) != texts.marked(revising)
    assert "the diffs of 5 files" in reviewing
    assert all(path.format("b") not in reviewing for path in (*texts.MEMORY, *texts.HOOKS))
    for attack in texts.INJECTIONS:
        if attack.name != "a diff that ends the data":  # what git makes of a file's lines starts with a sign
            measured(attack.name, recorded=attack.becomes)


def text_of(body: Mapping[str, Any]) -> str:
    """What the user of a model's first message says."""
    content = body["messages"][0]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


# --- somebody else's record ------------------------------------------------------------------------------------------


def test_a_hostile_record_is_shown_as_text(measured: Callable[..., None], tmp_path: Path) -> None:
    trials = planted(tmp_path / "planted", Trial)
    report = tmp_path / "report"
    report.mkdir()
    numbered = (replace(trial, instance="i", repeat=number) for number, trial in enumerate(trials.values(), 1))
    write_trials(report / "trials.jsonl", list(numbered))
    told = crab(tmp_path, "report", "report"), crab(tmp_path, "show", "i", "--report", "report")
    printed = "".join(done.stdout + done.stderr for done in told)
    assert [done.returncode for done in told] == [0, 0], printed
    assert "\\x1b[2J" in printed
    pages = "".join(page.read_text("utf-8") for page in report.rglob("*.html"))
    summary = (report / "summary.md").read_text("utf-8").replace("\\<", "")
    assert is_plain(printed)
    assert second_hand.obeyed(printed.splitlines()) == []
    assert not any(words in pages for words in (texts.MARKUP, second_hand.SCRIPT))
    assert "<img" not in summary
    for attack in trials:
        measured(attack.name, recorded=attack.becomes)

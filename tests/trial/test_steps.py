"""Which steps run again when one input changes: exactly those that it decides."""

from __future__ import annotations

import copy
import dataclasses
import importlib.metadata
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_crab import harness
from pytest_crab.protocols import Limits
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.store import FileStore
from pytest_crab.trial import run_trial
from pytest_crab.verdict import flake_bound

Change = Callable[[Any, pytest.MonkeyPatch], None]

ONE_ORACLE = {"proof": 1, "verdict": 1}
BOTH_ORACLES = {"proof": 2, "verdict": 2}
EVERYTHING = {"image": 0, "proof": 2, "review": 1, "revision": 1, "verdict": 2}


def edited(file: str, before: str, after: str) -> Change:
    """Change a file of the lab."""

    def change(lab: Any, _: pytest.MonkeyPatch) -> None:
        path = lab.folder / file.format(set=f"set/{lab.name}")
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))

    return change


def said(*keys: str | int, value: Any) -> Change:
    """Change what instance.yaml says."""

    def change(lab: Any, _: pytest.MonkeyPatch) -> None:
        place = lab.document
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


def run_context(**changes: Any) -> Change:
    return lambda lab, _: lab.changes.update(changes)


def setting(who: str, **changes: Any) -> Change:
    return lambda lab, _: lab.settings.update({who: changes})


def harness_changes(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "_SHARED", "another")


PINS = [f"{name}=={importlib.metadata.version(name)}" for name in ("pytest", "iniconfig")]
NEW_FILE = (
    "diff --git a/notes.txt b/notes.txt\nnew file mode 100644\n--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+new\n"
)

CHANGES: dict[str, tuple[Change, dict[str, int]]] = {
    "nothing": (lambda _lab, _patch: None, {}),
    "oracle": (edited("{set}/oracles/test_c0.py", "== 3", "== 3.0"), ONE_ORACLE),
    "reference": (edited("{set}/reference.diff", "return 3", "return 6 // 2"), BOTH_ORACLES),
    "accepts": (edited("{set}/checks/other.diff", "1 + 2", "2 + 1"), {}),
    "rejects": (edited("{set}/checks/near.diff", "return 4", "return 5"), {}),
    "timeout": (said("environment", "timeout", value="11"), BOTH_ORACLES),
    "pass to pass": (said("pass_to_pass", value=["python", "-c", "pass"]), {"proof": 2, "verdict": 3}),
    "pins": (said("environment", "packages", value=PINS), {"image": 0, **BOTH_ORACLES}),
    "variables": (said("environment", "env", value={"DEMO": "1"}), {"image": 0, **BOTH_ORACLES}),
    "limits": (
        run_context(settings=RuntimeSettings(oracle_limits=Limits(memory=257, processes=48, disk=32, file=16))),
        BOTH_ORACLES,
    ),
    "proof runs": (run_context(proof_runs=2), BOTH_ORACLES),
    "certified": (run_context(certified_runs=lambda _instance, _contents: 6), BOTH_ORACLES),
    "harness": (harness_changes, BOTH_ORACLES),
    "comment's words": (said("comments", 0, "body", value="Otherwise."), {}),
    "comment's place": (said("comments", 0, "lines", value=["1", "2"]), {}),
    "category": (said("comments", 0, "category", value="security"), {}),
    "number": (said("pull_request", "number", value="7"), {}),
    "title": (said("pull_request", "title", value="Other words"), {"review": 1, "revision": 1}),
    "description": (said("pull_request", "body", value="More words"), {"review": 1, "revision": 1}),
    "head": (edited("{set}/head.diff", "diff --git a/name.py", NEW_FILE + "diff --git a/name.py"), EVERYTHING),
    "base": (edited("{set}/tree/test_project.py", '"d"', '"e"'), EVERYTHING),
    "prompt": (edited("crew/prompt.md", "closely", "askance"), {"review": 1}),
    "reviewer's program": (edited("crew/review.sh", "cat > /dev/null", "cat >/dev/null"), {"review": 1}),
    "reviewer's setting": (setting("reviewer", timeout="601"), {"review": 1}),
    "findings": (edited("crew/review.sh", "should be three", "should not be two"), {"review": 1, "revision": 1}),
    "agent's program": (edited("crew/act.sh", "cat > /dev/null", "cat >/dev/null"), {"revision": 1}),
    "agent's work": (edited("crew/act.sh", "return 3", "return 9 // 3"), {"revision": 1, "verdict": 2}),
    "resume token": (run_context(resume="two"), {}),
}


def objects(lab: Any) -> Counter[str]:
    return Counter(step for step, _ in FileStore(lab.folder / "store").objects())


@pytest.fixture(scope="module")
def finished(make_lab: Callable[..., Any]) -> Any:
    """A lab in which everything has run once."""
    lab = make_lab()
    lab.changes["proof_runs"] = 1
    trial = lab.trial()
    assert lab.reasons(trial) == {"c0": "green", "c1": "test failed"}
    assert objects(lab) == {"proof": 2, "review": 1, "revision": 1, "verdict": 2}
    return lab


@pytest.fixture
def restored(finished: Any) -> Iterator[Any]:
    """The finished lab, whose inputs are afterwards as they were before."""
    kept = {
        path: path.read_bytes() for path in finished.folder.rglob("*") if path.parts[-3] != "steps" and path.is_file()
    }
    document = copy.deepcopy(finished.document)
    yield finished
    for folder in ("set", "crew"):
        for path in (path for path in kept if path.is_relative_to(finished.folder / folder)):
            path.write_bytes(kept[path])
    finished.document = document
    finished.settings.clear()
    finished.changes = {"proof_runs": 1}


@pytest.mark.bubblewrap
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_runs_again_what_it_decides(
    what: str, restored: Any, ran: Callable[[Any], set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    change, expected = CHANGES[what]
    before, told = objects(restored), len(restored.ledger)
    change(restored, monkeypatch)
    trial = restored.trial()
    assert trial.error is None
    assert restored.reasons(trial) == {"c0": "green", "c1": "test failed"}
    assert ran(trial) == set(expected)
    assert objects(restored) - before == Counter({step: number for step, number in expected.items() if number})
    assert restored.ledger[told:] == [step for step in ("review", "revision") if step in expected]
    assert ran(restored.trial()) == set()
    assert len(restored.ledger) == told + len({"review", "revision"} & set(expected))


@pytest.mark.bubblewrap
def test_a_repeat_asks_contestants_again_and_judges_a_tree_once(restored: Any, ran: Callable[[Any], set[str]]) -> None:
    assert ran(restored.trial(repeat=2)) == {"review", "revision"}
    assert ran(restored.trial(repeat=2)) == set()


@pytest.mark.bubblewrap
def test_a_program_that_no_entry_of_files_names_still_counts(restored: Any, ran: Callable[[Any], set[str]]) -> None:
    restored.settings["reviewer"] = {"files": ["crew/prompt.md"]}
    assert ran(restored.trial()) == {"review"}
    edited("crew/review.sh", "cat > /dev/null", "cat  > /dev/null")(restored, pytest.MonkeyPatch())
    assert ran(restored.trial()) == {"review"}


@pytest.mark.bubblewrap
def test_fresh_runs_a_step_again_and_replaces_what_is_stored(restored: Any, ran: Callable[[Any], set[str]]) -> None:
    before = objects(restored)
    assert ran(restored.trial(restored.run_context(fresh=("review",)))) == {"review"}
    assert ran(restored.trial(restored.run_context(fresh=("revision",)))) == {"revision"}
    assert ran(restored.trial()) == set()
    assert objects(restored) == before


@pytest.mark.bubblewrap
def test_a_step_without_identity_is_reused_under_its_resume_token_only(
    make_lab: Callable[..., Any], ran: Callable[[Any], set[str]]
) -> None:
    lab = make_lab()
    lab.settings["reviewer"] = {"files": [], "readable": ["crew/prompt.md"]}
    assert ran(lab.trial()) >= {"review", "revision"}
    assert ran(lab.trial()) == set()
    assert ran(lab.trial(lab.run_context(resume="two"))) == {"review"}
    assert lab.ledger == ["review", "revision", "review"]


@pytest.mark.slow(reason="images are built, and each state is run in a container")
@pytest.mark.docker
def test_a_dockerfile_decides_image_proofs_and_verdicts(
    make_lab: Callable[..., Any], ran: Callable[[Any], set[str]]
) -> None:
    from pytest_crab.runtimes.docker import DockerRuntime
    from pytest_crab.runtimes.images import find_dockerfile

    lab = make_lab("docker")
    lab.changes["proof_runs"] = 1
    shipped = find_dockerfile("python", lab.folder)
    made: list[str] = []
    for number in (1, 2):
        lab.write("dockerfiles/python.Dockerfile", f'{shipped}\nLABEL pytest-crab.test="{uuid.uuid4().hex}"\n')
        lab.runtime = DockerRuntime(RuntimeSettings(), rootdir=lab.folder, slots=8)
        try:
            trial = lab.trial()
            made.append(trial.versions["image"])
            assert ran(trial) == {"image", "proof", "verdict"} | ({"review", "revision"} if number == 1 else set())
            assert ran(lab.trial()) == set()
        finally:
            lab.runtime.close()
            remove(lab, made)
    assert made[0] != made[1]
    assert lab.ledger == ["review", "revision"]


def remove(lab: Any, keys: list[str]) -> None:
    import docker

    client = docker.from_env().api
    for key in keys:
        name = f"pytest-crab/{lab.name}:{key[:32]}"
        if client.images(name=name):
            client.remove_image(name)
    client.close()


@pytest.mark.bubblewrap
def test_two_comments_may_share_an_oracle(make_lab: Callable[..., Any]) -> None:
    lab = make_lab()
    instance = lab.instance()
    twin = dataclasses.replace(instance.comments[0], id="c2")
    instance = dataclasses.replace(instance, comments=(*instance.comments, twin))
    trial = run_trial(instance, lab.crew(), lab.run_context())
    assert lab.reasons(trial) == {"c0": "green", "c1": "test failed", "c2": "green"}


@pytest.mark.bubblewrap
def test_a_certified_oracle_is_proved_by_one_run_of_head_and_of_the_reference(make_lab: Callable[..., Any]) -> None:
    lab = make_lab()
    lab.changes["certified_runs"] = lambda _instance, _contents: 6
    lab.document["pass_to_pass"] = ["python", "-c", "import sys; sys.exit(1)"]
    trial = lab.trial()
    assert lab.reasons(trial) == {"c0": "green", "c1": "test failed"}
    assert {score.evidence["flake_bound"] for score in trial.scores if score.evidence} == {flake_bound(6 + 2)}
    assert trial.regressions is None  # head does not pass either
    lab.changes["certified_runs"] = lambda _instance, _contents: 0
    assert "pass_to_pass does not pass at head" in str(lab.trial().error)

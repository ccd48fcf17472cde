"""What the world, a curator or a contestant breaks: unknown with one sentence, the rest unaffected, nothing left."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import selectors
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.trial import run_trial
from pytest_crab.trial.retries import RETRIES
from pytest_crab.types import GitSource, Reason, Source, Trial, Verdict

UNSTEADY = """\
import os
import pytest
import value

@pytest.mark.parametrize("n", range(24))
def test_value(n):
    assert value.value() == 3 and os.urandom(1)[0] < 128
"""


def sentence(trial: Trial) -> str:
    """The one sentence that says what broke."""
    assert trial.error is not None
    assert "\n" not in trial.error
    assert "Traceback" not in trial.error
    return trial.error


@pytest.mark.bubblewrap
def test_a_description_that_tells_of_the_review_breaks_the_instance(lab: Any) -> None:
    lab.document["pull_request"]["body"] = "Two and b.\n\nApply suggestions from code review"
    trial = lab.trial()
    assert {one.verdict for one in trial.results} == {Verdict.UNKNOWN}
    assert all("tells of the review ('suggestions from code review')" in str(one.detail) for one in trial.results)


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        (
            "oracles/test_c0.py",
            "import value\n\n\ndef test_value():\n    assert value.value() > 0\n",
            "not red on head",
        ),
        (
            "oracles/test_c0.py",
            "import value\n\n\ndef test_value():\n    assert value.value() == 5\n",
            "not green on the ref",
        ),
        ("oracles/test_c0.py", "import nothing_here\n", "not green on the reference"),
        ("oracles/test_c0.py", UNSTEADY, "flaky"),
    ],
)
def test_an_oracle_that_cannot_be_proved_is_broken_and_no_other(file: str, text: str, words: str, lab: Any) -> None:
    lab.put(file, text)
    lab.changes["proof_runs"] = 2 if words == "flaky" else 1
    trial = lab.trial()
    assert words in sentence(trial)
    assert lab.name in sentence(trial)
    assert "c0" in sentence(trial)
    assert lab.reasons(trial) == {"c0": "broken", "c1": "test failed"}
    assert [result.verdict for result in trial.results] == [Verdict.UNKNOWN, Verdict.MISSED]
    assert lab.left() == []


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("file", "content"), [("other", "near"), ("near", "other"), ("near", None)])
def test_what_only_an_audit_would_refuse_breaks_no_trial(file: str, content: str | None, lab: Any) -> None:
    checks = lab.folder / "set" / lab.name / "checks"
    no_diff_of_it = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n"
    lab.put(f"checks/{file}.diff", no_diff_of_it if content is None else (checks / f"{content}.diff").read_text())
    trial = lab.trial()
    assert trial.error is None
    assert "broken" not in lab.reasons(trial).values()


@pytest.mark.bubblewrap
def test_a_reference_that_does_not_apply_breaks_the_trial(lab: Any) -> None:
    lab.put("reference.diff", "diff --git a/value.py b/value.py\n--- a/value.py\n+++ b/value.py\n@@ -1 +1 @@\n-x\n+y\n")
    trial = lab.trial()
    assert "reference" in sentence(trial)
    assert set(lab.reasons(trial).values()) == {"broken"}
    assert lab.ledger == []
    assert lab.left() == []


@pytest.mark.bubblewrap
def test_an_own_reference_that_does_not_apply_breaks_its_comment(lab: Any) -> None:
    lab.put("reference/c0.diff", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n")
    lab.document["comments"][0]["reference"] = "reference/c0.diff"
    trial = lab.trial()
    assert "reference/c0.diff does not apply" in sentence(trial)
    assert lab.reasons(trial) == {"c0": "broken", "c1": "test failed"}


@pytest.mark.bubblewrap
def test_contestants_that_fail_are_unknown_and_are_asked_again(lab: Any, ran: Callable[[Trial], set[str]]) -> None:
    for said, before, words in (
        ("no JSON", "", "no answer"),
        ('{"schema": 1}', "exit 3", "exit code 3"),
        ("", "sleep 61.25", "1 seconds"),
    ):
        lab.reviewing(said, before)
        lab.settings["reviewer"] = {"timeout": "1"} if "sleep" in before else {}
        trial = lab.trial()
        assert words in sentence(trial)
        assert sentence(trial).startswith("reviewer sharp")
        assert {result.reason for result in trial.results} == {Reason.REVIEWER_ERROR}
        assert "review" not in {step.step for step in trial.steps}
        assert lab.left() == []
    lab.settings.clear()
    lab.reviewing([{"body": "Three.", "path": "value.py"}])
    lab.acting({}, "exit 3")
    trial = lab.trial()
    assert sentence(trial).startswith("agent handy")
    assert {result.reason for result in trial.results} == {Reason.AGENT_ERROR}
    lab.acting({"value.py": "def value():\n    return 3\n"})
    assert ran(lab.trial()) == {"revision", "verdict"}
    assert lab.ledger == [*["review"] * 4, *["revision"] * 2]
    assert lab.left() == []


@pytest.mark.bubblewrap
def test_an_empty_review_is_a_review_and_an_idle_agent_a_revision(lab: Any) -> None:
    lab.reviewing([])
    trial = lab.trial()
    assert {result.reason for result in trial.results} == {Reason.NO_FINDINGS}
    assert trial.error is None
    assert lab.ledger == ["review"]
    lab.reviewing([{"body": "Three."}])
    lab.acting({})
    assert {result.reason for result in lab.trial().results} == {Reason.EMPTY_REVISION}


@pytest.mark.bubblewrap
def test_what_an_agent_leaves_is_its_own_doing_even_where_it_cannot_be_recorded(lab: Any) -> None:
    lab.acting({"value.py": "VALUE = 3\n"}, 'mkdir -p "$(printf "d/%.0s" $(seq 1200))"')
    trial = lab.trial()
    assert lab.reasons(trial) == {"c0": "does not apply", "c1": "does not apply"}
    assert trial.results[0].detail.startswith("what the agent left is no revision: the folders lie over 100 deep")
    assert trial.error is None
    assert trial.revision is None
    again = lab.trial()
    assert again.results == trial.results
    assert lab.ledger == ["review", "revision"]


def test_a_source_that_cannot_be_reached_skips_the_trial(lab: Any) -> None:
    sha = "0" * 40
    source = Source(git=GitSource(url=str(lab.folder / "closed"), base=sha, head=sha, merged=sha))
    trial = run_trial(dataclasses.replace(lab.instance(), source=source), lab.crew(), lab.run_context())
    assert trial.skipped is not None
    assert "cannot be reached" in trial.skipped
    assert trial.error is None
    assert {result.reason for result in trial.results} == {Reason.NOT_RUN}
    assert lab.left() == []


@pytest.mark.bubblewrap
def test_trees_that_are_damaged_on_this_machine_are_fetched_once_more(lab: Any) -> None:
    lab.changes["retries"] = RETRIES
    first = lab.trial()
    for pack in lab.run_context().cache.glob("snapshots/*/public.git/objects/pack/*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(pack.read_bytes()[:-30])
    heard: list[str] = []
    lab.changes["fresh"] = ["review"]  # its reviewer gets a clone
    mended = lab.trial(notice=heard.append)
    assert mended.error is None
    assert mended.results == first.results
    assert {step.step: step.retried for step in mended.steps if step.retried} == {"review": ("snapshot",)}
    assert "review (again after snapshot)" in heard
    del lab.changes["fresh"]
    assert not [step for step in lab.trial().steps if step.retried]
    assert lab.ledger == ["review", "revision", "review"]
    assert lab.left() == []


@pytest.mark.docker
def test_a_dockerfile_that_fails_breaks_the_trial(make_lab: Callable[..., Any]) -> None:
    from pytest_crab.runtimes.docker import DockerRuntime

    lab = make_lab("docker")
    lab.write(
        "dockerfiles/python.Dockerfile", "ARG BASE\nFROM ${BASE}\nRUN : fetch the moon; echo too far >&2; exit 3\n"
    )
    lab.runtime = DockerRuntime(RuntimeSettings(), rootdir=lab.folder, slots=8)
    try:
        trial = lab.trial()
        assert "fetch the moon" in sentence(trial)
        assert "too far" in sentence(trial)
        assert {result.reason for result in trial.results} == {Reason.BROKEN}
        assert lab.ledger == []
        assert lab.left() == []
    finally:
        lab.runtime.close()


class Wire:
    """A way to the engine's socket that can be cut and mended."""

    def __init__(self, path: Path, target: str) -> None:
        self.path, self.target = path, target
        self._threads: list[threading.Thread] = []
        self.mend()

    def mend(self) -> None:
        self.path.unlink(missing_ok=True)
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(self.path))
        self._door.listen(64)
        self._stop, self._cut = socket.socketpair()
        self._start(self._accept)

    def cut(self) -> None:
        """Close the door and every connection; who knocks is refused."""
        self._cut.close()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        self._stop.close()
        self._door.close()

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._door, selectors.EVENT_READ)
            selector.register(self._stop, selectors.EVENT_READ)
            while not any(key.fileobj is self._stop for key, _ in selector.select()):
                near, _ = self._door.accept()
                self._start(self._carry, near)

    def _carry(self, near: socket.socket) -> None:
        far = socket.socket(socket.AF_UNIX)
        with near, far, selectors.DefaultSelector() as selector, contextlib.suppress(OSError):
            far.connect(self.target)
            other = {near: far, far: near}
            for end in (*other, self._stop):
                selector.register(end, selectors.EVENT_READ)
            while len(selector.get_map()) > 1:
                for key, _ in selector.select():
                    if key.fileobj is self._stop:
                        return
                    end = key.fileobj
                    data = end.recv(1 << 16)  # type: ignore[union-attr]
                    if data:
                        other[end].sendall(data)  # type: ignore[index]
                    else:
                        selector.unregister(end)
                        other[end].shutdown(socket.SHUT_WR)  # type: ignore[index]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK drops connections unclosed
@pytest.mark.docker
def test_an_engine_that_dies_breaks_trials_and_leaves_nothing_for_long(
    make_lab: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_crab.runtimes.docker import DockerRuntime

    real = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    wire = Wire(tmp_path / "engine.sock", real)
    lab = make_lab("docker")
    kept = lab.runtime
    lab.put(
        "oracles/test_c0.py",
        "import time\nimport value\n\n\ndef test_value():\n    time.sleep(0.5)\n    assert value.value() == 3\n",
    )
    monkeypatch.setenv("DOCKER_HOST", f"unix://{wire.path}")
    lab.runtime = DockerRuntime(RuntimeSettings(), rootdir=lab.folder, slots=8)
    run = lab.runtime.run.id
    snapshots: list[int] = []
    ended = threading.Event()

    def watch() -> None:
        while not (seen := lab.started()) and not ended.wait(0.05):
            continue
        wire.cut()
        snapshots.append(len(seen))

    monkeypatch.setattr(type(lab), "started", lambda self: containers(real, run), raising=False)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    trial = lab.trial()
    ended.set()
    watcher.join()
    assert snapshots == [1], trial.error
    assert "the Docker engine failed" in sentence(trial)
    assert {result.reason for result in trial.results} == {Reason.BROKEN}
    assert len(containers(real, run)) == 1
    later = lab.trial()
    assert "the Docker engine failed" in sentence(later)
    assert {result.reason for result in later.results} == {Reason.BROKEN}
    assert lab.ledger == []
    wire.mend()
    lab.runtime.close()
    new = DockerRuntime(RuntimeSettings(), rootdir=lab.folder, slots=8)
    new.sweep()  # or a run beside this one has: whoever comes first sweeps what a dead run left
    assert containers(real, run) == []
    lab.runtime = new
    assert lab.reasons(lab.trial()) == {"c0": "green", "c1": "test failed"}
    new.close()
    wire.cut()
    lab.runtime = kept


def containers(socket_path: str, run: str) -> list[str]:
    import docker

    client = docker.APIClient(base_url=f"unix://{socket_path}", version="auto")
    try:
        found = client.containers(filters={"label": f"pytest-crab.run={run}", "status": "running"})
        return [entry["Id"] for entry in found if entry["Command"].find("-I -S") >= 0]
    finally:
        client.close()

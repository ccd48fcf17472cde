"""What a contestant can see, where its secrets go, and that nothing that it started outlives its step."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab import serialization
from pytest_crab.errors import AgentError, Cancelled, ReviewerError
from pytest_crab.results.files import write_trials
from pytest_crab.results.summary import summarise
from pytest_crab.show.junit import write_junit
from pytest_crab.trial.context import TrialContext
from pytest_crab.trial.run import TrialRun
from pytest_crab.types import Reason

SECRET = "sesame-4a7f1c-open"


@pytest.fixture
def stage(lab: Any) -> Any:
    return TrialContext(lab.instance(), lab.crew(), lab.run_context(), lambda _step: None)


@pytest.mark.bubblewrap
@pytest.mark.parametrize("failure", [ReviewerError, AgentError])
def test_a_clone_shows_no_place_that_holds_answers(failure: type[Exception], lab: Any, stage: Any) -> None:
    folder = Path(stage.instance.folder)
    other = lab.write("set/other-2/instance.yaml", "schema: 1\n").parent
    link = lab.folder / "link"
    link.symlink_to(folder / "oracles")
    allowed = lab.write("beside/tool.txt", "fine\n").parent
    store = lab.folder / "store"
    lab.write("set/recorded/sharp/values-1.json", "{}\n")
    checkout = stage.checkout(failure)
    hidden = [
        folder,
        folder.parent,
        folder / "oracles",
        folder / "reference.diff",
        lab.folder,
        other,
        other / "x",
        link,
    ]
    hidden += [store, store / "cache", store / "steps" / "proof", Path("/run"), Path("/run/docker.sock"), Path("/")]
    hidden += [lab.write("data/other/deep/instance.yaml", "schema: 1\n").parents[2], lab.folder / "set" / "recorded"]
    hidden += [stage.run_context.run.folder, stage.run_context.run.folder.parent, Path("/var/run")]
    for path in hidden:
        for way in ("readable", "writable"):
            with pytest.raises(failure, match="cannot be shown to it") as caught, checkout.clone(**{way: [path]}):
                pytest.fail(f"{path} was shown")
            assert str(path) in str(caught.value)
            assert "\n" not in str(caught.value)
    with checkout.clone(readable=[allowed]) as workspace:
        done = workspace.run(["ls", str(allowed), str(folder), "/run/docker.sock"], seconds=10)
    assert b"tool.txt" in done.stdout
    assert done.stderr.count(b"No such file") == 2


@pytest.mark.bubblewrap
def test_libraries_are_seen_but_for_the_answers_that_lie_in_them(lab: Any, stage: Any) -> None:
    folder = Path(stage.instance.folder)
    tool = lab.write("set/tool.txt", "fine\n")
    unloaded = lab.write("lib/data/deep/instance.yaml", "schema: 1\n")
    beside = lab.write("lib/tool.txt", "fine\n")
    checkout = stage.checkout(ReviewerError)
    files = [tool, beside, folder / "instance.yaml", folder / "oracles/test_c0.py", unloaded]
    with checkout.clone(libraries=[folder.parent, beside.parent]) as workspace:
        done = workspace.run(["cat", *map(str, files)], seconds=10)
    assert done.stdout == b"fine\nfine\n"
    assert done.stderr.count(b"No such file") == 3
    for inside in (folder, folder / "oracles", lab.folder / "store" / "cache", Path("/run/docker.sock"), Path("/run")):
        with pytest.raises(ReviewerError, match="cannot be shown to it"), checkout.clone(libraries=[inside]):
            pytest.fail(f"{inside} was shown")


@pytest.mark.bubblewrap
def test_settings_that_name_such_a_place_are_an_error_of_the_reviewer(lab: Any) -> None:
    lab.settings["reviewer"] = {"readable": [f"set/{lab.name}/oracles"]}
    trial = lab.trial()
    assert {result.reason for result in trial.results} == {Reason.REVIEWER_ERROR}
    assert "cannot be shown" in trial.error
    assert lab.ledger == []


@pytest.mark.bubblewrap
def test_a_secret_is_seen_by_the_command_and_by_nobody_else(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAB_TEST_KEY", SECRET)
    before = 'printf %s "$CRAB_TEST_KEY" | sha256sum > "$LEDGER/seen.txt"; sleep 0.5; echo "$CRAB_TEST_KEY" >&2'
    said = json.dumps({"schema": 1, "findings": [{"body": "It says SECRET."}], "version": "SECRET"})
    lab.reviewing("XX", before)
    script = lab.folder / "crew" / "review.sh"
    text = script.read_text().replace("<<'END'", "<<END").replace("XX", said.replace("SECRET", "$CRAB_TEST_KEY"))
    script.write_text(text)
    lab.settings["reviewer"] = {"pass_env": ["CRAB_TEST_KEY"]}
    seen: list[str] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            seen.extend(text for text in lab.command_lines() if str(script) in text)
            time.sleep(0.02)

    watcher = threading.Thread(target=look)
    watcher.start()
    trial = lab.trial()
    over.set()
    watcher.join()
    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    assert (lab.folder / "ledger" / "seen.txt").read_text().split()[0] == digest
    assert trial.review.findings[0].body == "It says [CRAB_TEST_KEY]."
    assert any("bwrap" in text for text in seen)
    assert not any(SECRET in text for text in seen)
    write_trials(lab.folder / "trials.jsonl", [trial])
    write_junit(lab.folder / "junit.xml", [trial], summarise([trial]))
    assert "CRAB_TEST_KEY" in (lab.folder / "trials.jsonl").read_text()
    files = [path for path in lab.folder.rglob("*") if path.is_file()]
    assert any(path.parts[-3] == "review" for path in files)
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.bubblewrap
def test_a_secret_is_not_told_when_the_command_fails(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAB_TEST_KEY", SECRET)
    lab.settings["reviewer"] = {"pass_env": ["CRAB_TEST_KEY"]}
    lab.reviewing([], 'echo "bad key $CRAB_TEST_KEY" >&2; exit 1')
    trial = lab.trial()
    assert "bad key [CRAB_TEST_KEY]" in trial.error
    assert SECRET not in json.dumps(serialization.dump(trial))


def test_a_command_may_run_in_the_workspace(each_lab: Any) -> None:
    lab = each_lab
    said = json.dumps({"schema": 1, "findings": [{"body": "XX"}]}).replace('"', '\\"')
    script = (
        "cat > /dev/null; test -f value.py || exit 4; test -e /sys/class/net/eth0 && exit 5; "
        "git log --format=%s > /dev/null || exit 6; "
        f'echo "{said}" | sed "s|XX|$(git rev-list --all --count) commits in $PWD|"'
    )
    inside = {"in": "workspace", "files": [], "writable": []}
    lab.settings["reviewer"] = {"command": ["sh", "-c", script], **inside}
    lab.settings["agent"] = {"command": ["sh", "-c", "cat > /dev/null; sed -i s/2/3/ value.py"], **inside}
    trial = lab.trial()
    assert trial.error is None
    assert [finding.body for finding in trial.review.findings] == ["2 commits in /workspace"]
    assert lab.reasons(trial) == {"c0": "green", "c1": "test failed"}
    assert lab.left() == []


@pytest.mark.parametrize("place", ["clone", "workspace"])
def test_a_bot_finds_the_pull_request_by_the_name_of_its_base(place: str, each_lab: Any) -> None:
    lab = each_lab
    said = json.dumps({"schema": 1, "findings": [{"body": "XX"}]}).replace('"', '\\"')
    script = (
        """base=$(sed 's/.*"base_branch": "//; s/".*//'); """
        "for name in $base origin/$base main origin/master origin/HEAD; "
        'do all="$all $(git diff --name-only $name...HEAD)"; '
        f'done; echo "{said}" | sed "s|XX|$base: $(echo $all | xargs -n1 | sort | uniq -c | xargs)|"'
    )
    lab.settings["reviewer"] = {
        "command": ["sh", "-c", script],
        "in": place,
        "files": [],
        "writable": [],
        "version": ["echo", "1"],
    }
    for name in ("main", "release/3.x"):
        lab.document["pull_request"]["base_branch"] = name
        trial = lab.trial()
        assert trial.error is None
        assert [finding.body for finding in trial.review.findings] == [f"{name}: 5 name.py 5 value.py"]


@pytest.mark.parametrize("step", ["proof", "review"])
def test_a_stopped_world_leaves_nothing_and_measures_nothing(
    step: str, each_lab: Any, until: Callable[[Callable[[], object]], None]
) -> None:
    lab = each_lab
    mark = f"61{os.getpid()}.{time.monotonic_ns()}"
    if step == "review":
        lab.reviewing([], f"sleep {mark}")
    else:
        lab.put("oracles/test_c0.py", f"import time\n\n\ndef test_value():\n    time.sleep({mark})\n")
    lab.document["environment"]["timeout"] = "100"
    kept, lab.runtime = lab.runtime, lab.another()
    run_context = lab.run_context()

    def stop() -> None:
        if step == "review":
            until(lambda: any(mark in text for text in lab.command_lines()))
        run_context.stop()

    timer = threading.Timer(0.5, stop)
    course = TrialRun(
        TrialContext(
            lab.instance(),
            lab.crew(),
            run_context,
            lambda now: timer.start() if now == step and not timer.ident else None,
        ),
        1,
    )
    with pytest.raises(Cancelled):
        course.run()
    timer.join()
    assert lab.ledger == (["review"] if step == "review" else [])
    assert {result.reason for result in course.trial().results} == {Reason.NOT_RUN}
    assert lab.left() == []
    assert not any(mark in text for text in lab.command_lines())
    with pytest.raises(Cancelled):
        lab.trial(run_context)
    lab.runtime.close()
    lab.runtime = kept
    lab.reviewing([])
    assert [path for kind, path in run_context.store.objects() if kind == "review"] == []

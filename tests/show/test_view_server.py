"""The server of reports: who is answered, with what, and that a page follows its records."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from pytest_crab.campaign.progress import Progress, RunningTrial
from pytest_crab.cli import main
from pytest_crab.results.files import write_trials
from pytest_crab.results.kept_runs import show_run
from pytest_crab.results.run_progress import PlannedRun, write_plan, write_progress
from pytest_crab.show.live import LiveReport, find_reports
from pytest_crab.show.view_server import ViewServer
from pytest_crab.show.write_report import remake
from pytest_crab.types import Reason, Trial
from tests.show.report_reading import append

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def report(tmp_path: Path, make_trial: Callable[..., Trial]) -> Path:
    folder = tmp_path / "store" / "report"
    write_trials(folder / "trials.jsonl", [make_trial("mine", "one", Reason.GREEN, error=HOSTILE)])
    return folder


@contextmanager
def serving(place: Path) -> Iterator[ViewServer]:
    with ViewServer(place) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def get(server: ViewServer, path: str, method: str = "GET", host: str | None = None) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{server.server_port}"})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def test_only_the_address_with_the_token_is_answered(report: Path) -> None:
    with serving(report.parent) as server:
        assert server.server_address[0] == "127.0.0.1"
        path = urlsplit(server.url).path
        assert get(server, path)[0] == 200
        for wrong in ("/", "//", "/state", f"/{'x' * 32}/", path[:-2] + "/", path.rstrip("/"), f"/x{path}"):
            status, _, body = get(server, wrong)
            assert (status, "mine" in body) == (403, False), wrong
        assert get(server, path, host="evil.example")[0] == 403, "a name that was made to point here"
        assert get(server, path, "POST")[0] == 501
        for absent in ("nothing", "state/x", "trials.jsonl", "../trials.jsonl", "..%2f..", "0/"):
            assert get(server, path + absent)[0] == 404, absent


def test_a_page_has_a_strict_policy_and_its_records_as_text(report: Path) -> None:
    with serving(report) as server:
        _, headers, body = get(server, urlsplit(server.url).path)
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert policy["script-src"].startswith("'sha256-")
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert (headers["Referrer-Policy"], headers["Cache-Control"]) == ("no-referrer", "no-store")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert HOSTILE not in body
    assert not (report / "index.html").exists(), "looking writes nothing"


def test_a_page_follows_its_records(report: Path, make_trial: Callable[..., Trial]) -> None:
    with serving(report) as server:
        path = urlsplit(server.url).path
        before = json.loads(get(server, path + "state")[2])
        assert before["words"] == "The run is under way or was ended early: 1 trial on record so far."
        assert '"i":"two"' not in get(server, path)[2]
        append(report / "trials.jsonl", make_trial("mine", "two", Reason.FAILED))
        after = json.loads(get(server, path + "state")[2])
        assert after["state"] != before["state"]
        assert '"i":"two"' in get(server, path)[2]
        remake(report, errors_as_misses=False)
        assert json.loads(get(server, path + "state")[2])["words"] == "The run is complete: 2 trials on record."
        (report / "summary.json").write_text('{"schema": 1}')
        assert json.loads(get(server, path + "state")[2])["words"] == "The run is complete: 2 trials on record."
        assert '"i":"two"' in get(server, path)[2], "what another version wrote is summed up anew"


def test_a_trial_is_read_once_it_is_opened(report: Path, make_trial: Callable[..., Trial]) -> None:
    append(report / "trials.jsonl", make_trial("mine", "t/w o", Reason.FAILED))
    with serving(report) as server:
        path = urlsplit(server.url).path
        first, second = re.findall(r'"d":"([^"]+)"', get(server, path)[2])
        assert json.loads(get(server, path + first)[2])["error"] == HOSTILE
        assert json.loads(get(server, path + second)[2])["results"][0]["verdict"] == "missed"
        place, name = second.split("/")[1:]
        for wrong, status in ((f"trial/0/{name}", 404), (f"trial/{int(place) + 1}/{name}", 500), ("subject/none", 404)):
            assert get(server, path + wrong)[0] == status, wrong
        write_trials(report / "trials.jsonl", [make_trial("mine", "three", Reason.GREEN)])
        assert re.findall(r'"i":"([^"]+)"', get(server, path)[2]) == ["three"]
        assert get(server, path + first)[0] == 404, "another record is there now"


def test_a_run_is_shown_from_its_start(tmp_path: Path, make_trial: Callable[..., Trial]) -> None:
    report = tmp_path / "report"
    names = ("one::mine", "two::mine", "one::mine[2]")
    write_plan(report, PlannedRun(trials=names, budget_usd=2.0))
    running = (RunningTrial(trial="one::mine", step="review", seconds=7.2),)
    write_progress(report, Progress(elapsed=9.0, done=0, running=running, cost_usd=0.25))
    with serving(tmp_path) as server:
        path = urlsplit(server.url).path
        page = get(server, path)[2]
        assert "No trial is on record yet" in page
        assert '<h2 id="h-rates">' not in page, "no rate before the first record"
        news = json.loads(get(server, path + "state")[2])
        counts = "0 of 3 trials done, 1 running, 2 to come; 9 s so far; 0.25 of 2.00 USD spent"
        assert news["words"] == f"The run is under way: {counts}."
        assert news["progress"] == {"done": 0, "total": 3, "running": [["one::mine", "review", 7]]}
        plan = json.loads(get(server, path + "plan")[2])
        assert plan == [["one", "mine", 1], ["two", "mine", 1], ["one", "mine", 2]]
        write_trials(report / "trials.jsonl", [make_trial("mine", "one", Reason.GREEN)])
        found = json.loads(get(server, path + "rows/0/0")[2])
        assert [(row["i"], row["r"], row["n"]) for row in found["rows"]] == [("one", "mine", 1)]
        assert found["end"] == (report / "trials.jsonl").stat().st_size
        assert json.loads(get(server, path + f"rows/0/{found['end']}")[2])["rows"] == []
        assert "100.0%" in get(server, path + "part/headline")[2]
        assert [get(server, path + f"part/{wrong}")[0] for wrong in ("page", "..", "x")] == [404] * 3


def test_a_run_that_was_killed_is_not_under_way(report: Path) -> None:
    write_plan(report, PlannedRun(trials=("one::mine", "two::mine")))
    long_ago = time.time() - 600
    for name in ("plan.json", "progress.json"):
        os.utime(report / name, (long_ago, long_ago))
    live = LiveReport(report)
    assert live.words() == "The run was ended early: 1 trial of 2 on record."
    assert (live.news()["progress"], live.plan()) == (None, [])
    remake(report, errors_as_misses=False)
    assert LiveReport(report).words() == "The run is complete: 1 trial on record.", "somebody made its report"


def test_records_of_the_run_before_are_not_taken_for_those_of_this_run(
    report: Path, make_trial: Callable[..., Trial]
) -> None:
    os.utime(report / "trials.jsonl", (1, 1))
    live = LiveReport(report)
    assert b'"i":"one"' in live.page(several=False).body
    end = live.rows("0", "0")["end"]
    write_plan(report, PlannedRun(trials=("two::mine",)))
    assert b'"i":"one"' not in live.page(several=False).body
    assert live.rows("0", str(end))["rows"] is None, "an open page has to be loaded again"
    write_trials(report / "trials.jsonl", [make_trial("mine", "two", Reason.GREEN)])
    assert [row["i"] for row in live.rows("1", "0")["rows"]] == ["two"]


def test_a_half_written_record_is_left_out(report: Path) -> None:
    with (report / "trials.jsonl").open("ab") as file:
        file.write(b'{"schema": 2, "inst')
    assert b'"i":"one"' in LiveReport(report).page(several=False).body


def test_several_reports_are_listed(report: Path, make_trial: Callable[..., Trial]) -> None:
    place = report.parent.parent
    write_trials(place / "other" / "trials.jsonl", [make_trial("ours", "one", Reason.FAILED)])
    assert find_reports(place) == [place / "other", report]
    with serving(place) as server:
        path = urlsplit(server.url).path
        body = get(server, path)[2]
        assert '<a href="other/">other</a>' in body
        assert '<a href="store%2Freport/">store/report</a>' in body
        assert "ours 0.0" in body
        assert '<a href="../">All runs</a>' in get(server, path + "store%2Freport/")[2]
        assert [get(server, path + wrong)[0] for wrong in ("2/", "-1/", "x/", "1")] == [404] * 4


def test_a_store_opens_on_its_runs_with_the_rates_of_those_that_are_alike(
    tmp_path: Path, make_trial: Callable[..., Trial]
) -> None:
    def run(name: str, *trials: Trial) -> Path:
        write_trials(tmp_path / "runs" / name / "trials.jsonl", trials)
        return tmp_path / "runs" / name

    one, two = (make_trial("mine", name, Reason.GREEN) for name in ("one", "two"))
    show_run(tmp_path, run("1-mine", one, two))
    with serving(tmp_path) as server:
        path = urlsplit(server.url).path
        assert '"i":"two"' in get(server, path)[2], "a single run is shown at once"
        run("2-mine", one)
        run("3-mine", make_trial("mine", "one", Reason.FAILED), two)
        run("4-mine", two)
        body = get(server, path)[2]
        assert re.findall(r'<a href="([^"]+)/">', body) == ["4-mine", "3-mine", "2-mine", "1-mine"]
        assert "2 runs of the same 2 oracles" in body
        points = re.findall(r'"(\d-mine), mine: ', body)
        assert points == ["1-mine", "3-mine"], "a part of the pull requests is no point beside the whole"
        assert get(server, path + "2-mine/state")[0] == 200
        assert json.loads(get(server, path + "state")[2])["words"].endswith("2 trials on record so far.")


@pytest.mark.parametrize("place", [".", "not-there-yet"])
def test_a_page_waits_for_the_first_run(tmp_path: Path, make_trial: Callable[..., Trial], place: str) -> None:
    with serving(tmp_path / place) as server:
        path = urlsplit(server.url).path
        assert '<meta http-equiv="refresh"' in get(server, path)[2]
        assert get(server, path + "state")[0] == 404
        write_trials(tmp_path / place / "report" / "trials.jsonl", [make_trial("mine", "one", Reason.GREEN)])
        assert '"i":"one"' in get(server, path)[2]


def test_the_command_waits_for_a_store_that_is_not_there(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "from pytest_crab.cli import main; main()", "view"]
    with subprocess.Popen(
        argv,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - only exec comes after
    ) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
    assert told[0].startswith("http://127.0.0.1:")
    assert "No run has begun in .crab yet" in told[2]
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_one_sentence(report: Path) -> None:
    with ViewServer(report) as server:
        done = CliRunner().invoke(main, ["view", str(report), "--port", str(server.server_port)])
    assert done.exit_code == 1
    assert done.output.startswith(f"Error: port {server.server_port} cannot be listened on: ")


def test_a_browser_that_went_away_is_no_error(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ViewServer(report) as server:
        for error, words in ((BrokenPipeError(), ""), (ValueError("a real one"), "a real one")):
            try:
                raise error
            except (OSError, ValueError):
                server.handle_error(None, ("127.0.0.1", 1))
            printed = capsys.readouterr().err
            assert words in printed
            assert bool(words) == bool(printed)

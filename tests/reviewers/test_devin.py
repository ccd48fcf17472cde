"""The devin reviewer against a scripted service and a scripted forge on one real HTTP server."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fake_checkout import FakeCheckout
from pytest_crab import serialization
from pytest_crab.adapters import leaky, privileged
from pytest_crab.agents import AGENTS
from pytest_crab.errors import BadInput, Cancelled, ReviewerError
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.trial import Crew, CrewSpec, unmeasured_trial
from pytest_crab.types import Finding, GitSource, Instance, Reason, Review, Side, Source

KEY, TOKEN = "cog_planted_5d1e0c", "ghp_planted_77aa31"
BOT = "devin-ai-integration[bot]"
HEAD, OTHER = "a" * 40, "b" * 40
PULL = "https://github.com/example/calc/pull/7"
PATH = "/repos/example/calc/pulls/7"

#: An answer: status, JSON or raw text, and headers.
Reply = tuple[int, Any, dict[str, str]]


def reply(data: Any = None, status: int = 200, **headers: str) -> Reply:
    return status, data, {name.replace("_", "-"): value for name, value in headers.items()}


def state(word: str, **more: Any) -> Reply:
    whole = {"commit_sha": HEAD, "created_at": "2026-11-20T10:00:00Z", "pr_number": 7, "repo_path": "example/calc"}
    return reply({**whole, "status": word, **more})


def comment(body: str = "Shared between calls.", **changed: Any) -> dict[str, Any]:
    """A review comment as the forge tells it, on the last line of a range."""
    return {
        "id": 1,
        "user": {"login": BOT, "type": "Bot"},
        "path": "calc.py",
        "commit_id": HEAD,
        "original_commit_id": HEAD,
        "line": 5,
        "original_line": 5,
        "start_line": 4,
        "original_start_line": 4,
        "start_side": "RIGHT",
        "side": "RIGHT",
        "subject_type": "line",
        "body": body,
        **changed,
    }


NONE = reply({"detail": "Not found"}, 404)
DONE = state("completed")


@dataclass
class Asked:
    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    key: str


@dataclass
class Hosts:
    """What Devin and the forge answer: the last of the states for ever, the pages by number."""

    url: str = ""
    states: list[Any] = field(default_factory=lambda: [DONE])
    posted: Any = field(default_factory=lambda: reply({}, 201))
    pull: Any = field(default_factory=lambda: reply({"head": {"sha": HEAD}}))
    pages: list[Any] = field(default_factory=lambda: [reply([])])
    asked: list[Asked] = field(default_factory=list)

    @property
    def posts(self) -> list[Asked]:
        return [one for one in self.asked if one.method == "POST"]

    def answer(self, request: web.Request) -> Any:
        if request.path.endswith("/pr-reviews"):
            if request.method == "POST":
                return self.posted
            return self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if request.path == PATH:
            return self.pull
        if request.path == f"{PATH}/comments":
            page = int(request.query["page"])
            status, data, headers = self.pages[page - 1]
            more = f'<http://192.0.2.1/elsewhere?page={page + 1}>; rel="next"'
            return status, data, {**headers, "link": more} if page < len(self.pages) else headers
        return reply({"message": "no such place"}, 404)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else None
        key = request.headers.get("authorization", "")
        self.asked.append(Asked(request.method, request.path, dict(request.query), body, key))
        told = self.answer(request)
        if told == "hang":
            await asyncio.sleep(30)
        if told == "cut":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        status, data, headers = told
        text = data if isinstance(data, str) else json.dumps(data)
        return web.Response(status=status, text=text, headers=headers, content_type="application/json")


@pytest.fixture(scope="module")
def server() -> Iterator[Callable[[Hosts], None]]:
    """One server for all tests of the file; who it asks what to say changes."""
    loop = asyncio.new_event_loop()
    present: list[Hosts] = []
    ports: list[int] = []
    ready, over = threading.Event(), asyncio.Event()

    async def serve(request: web.Request) -> web.StreamResponse:
        return await present[-1].serve(request)

    async def main() -> None:
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", serve)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        ports.append(runner.addresses[0][1])
        ready.set()
        await over.wait()
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    assert ready.wait(60)

    def take(hosts: Hosts) -> None:
        hosts.url = f"http://127.0.0.1:{ports[0]}"
        present.append(hosts)

    yield take
    loop.call_soon_threadsafe(over.set)
    thread.join(10)
    loop.close()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> FakeCheckout:
    """A pull request that changes a line of a file and gives it another name."""
    text = b"".join(b"line %d\n" % number for number in range(20))
    before = {"calc.py": b"def half(x):\n    return x\n", "old.py": text}
    after = {"calc.py": b"def half(x):\n    return x / 2\n", "new.py": text.replace(b"line 3\n", b"line three\n")}
    return FakeCheckout(tmp_path_factory.mktemp("shown") / "checkout", head=after, base=before)


@dataclass
class Desk:
    hosts: Hosts
    instance: Instance
    checkout: FakeCheckout

    def review(self, **settings: Any) -> Review:
        near = {"url": f"{self.hosts.url}/v3", "forge_url": self.hosts.url, "organization": "org-1"}
        paces = {"poll": 0.01, "settle": 0.0, "timeout": 20}
        adapter: Any = REVIEWERS.make("devin", {**near, **paces, **settings}, Path())
        bound = adapter.bind(self.instance)
        review: Review = bound.review(self.checkout.pull_request(), self.checkout)
        return review

    def fails(self, status: str, telling: str, **settings: Any) -> str:
        with pytest.raises(ReviewerError, match=telling) as caught:
            self.review(**settings)
        assert caught.value.status == status
        assert "\n" not in str(caught.value)
        assert KEY not in str(caught.value)
        assert TOKEN not in str(caught.value)
        return str(caught.value)


@pytest.fixture
def desk(
    server: Callable[[Hosts], None], instance: Instance, shown: FakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> Desk:
    monkeypatch.setenv("DEVIN_API_KEY", KEY)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    hosts = Hosts()
    server(hosts)
    git = GitSource(url="https://github.com/example/calc", base="c" * 40, head=HEAD, merged="d" * 40)
    facts = dataclasses.replace(instance.pull_request, url=PULL, number=7)
    return Desk(hosts, dataclasses.replace(instance, source=Source(git=git), pull_request=facts), shown)


def test_a_review_is_asked_for_awaited_and_read(desk: Desk) -> None:
    desk.hosts.states = [NONE, NONE, state("pending"), state("running"), DONE]
    desk.hosts.pages = [reply([comment()])]
    review = desk.review()
    assert review.findings == (Finding(path="calc.py", start=4, end=5, body="Shared between calls."),)
    assert (review.version, review.usage) == ("v3", None)
    (post,) = desk.hosts.posts
    assert (post.path, post.body) == ("/v3/organizations/org-1/pr-reviews", {"pr_url": PULL})
    states = [one for one in desk.hosts.asked if one.method == "GET" and one.path == post.path]
    assert [one.query for one in states] == [{"pr_url": PULL, "commit_sha": HEAD}] * 5
    assert {one.key for one in desk.hosts.asked if "/pr-reviews" in one.path} == {f"Bearer {KEY}"}
    assert {one.key for one in desk.hosts.asked if "/repos/" in one.path} == {f"token {TOKEN}"}


def test_a_review_that_is_there_is_not_asked_for_again(desk: Desk) -> None:
    assert desk.review().findings == ()
    assert desk.hosts.posts == []


@pytest.mark.parametrize("word", ["pending", "running"])
def test_a_review_under_way_is_awaited(desk: Desk, word: str) -> None:
    desk.hosts.states = [state(word), DONE]
    assert desk.review().findings == ()
    assert desk.hosts.posts == []


def test_without_an_organization_the_enterprise_is_asked(desk: Desk) -> None:
    desk.hosts.states = [NONE, DONE]
    desk.review(organization=None)
    assert desk.hosts.posts[0].path == "/v3/enterprise/pr-reviews"


def test_an_errored_review_is_an_error_and_an_earlier_one_is_tried_once_more(desk: Desk) -> None:
    early, late = state("errored"), state("errored", created_at="2026-11-21T10:00:00Z")
    desk.hosts.states = [early, early, state("running"), DONE]
    assert desk.review().findings == ()
    assert len(desk.hosts.posts) == 1
    desk.hosts.states = [early, early, late]
    desk.fails("client_error", f"its review of {PULL} errored")
    desk.hosts.states = [NONE, early]
    desk.fails("client_error", "errored")


@pytest.mark.parametrize("last", [NONE, state("pending"), state("running")], ids=["none", "pending", "running"])
def test_what_never_completes_is_a_time_out(desk: Desk, last: Reply) -> None:
    desk.hosts.states = [NONE, last]
    desk.fails("timeout", "no review was begun|the review is (pending|running)", timeout=0.8)


def test_only_what_the_bot_wrote_on_this_commit_is_a_finding(desk: Desk) -> None:
    desk.hosts.pages = [
        reply(
            [
                comment("a person's", user={"login": "alice"}),
                comment("somebody who is gone", user=None),
                comment("on another commit", original_commit_id=OTHER),
                comment("an answer", in_reply_to_id=5),
                comment("mine", user={"login": BOT.upper()}),
            ]
        )
    ]
    review = desk.review()
    assert [finding.body for finding in review.findings] == ["mine"]
    kept = desk.checkout.kept[str(review.transcript)]
    assert "mine" in kept
    assert "a person's" not in kept


def test_the_bot_can_have_another_name(desk: Desk) -> None:
    desk.hosts.pages = [reply([comment("bot"), comment("own", user={"login": "our-devin"})])]
    assert [finding.body for finding in desk.review(bot="our-devin").findings] == ["own"]


def test_every_page_is_read_where_it_was_asked_for(desk: Desk) -> None:
    desk.hosts.pages = [reply([comment(f"page {number}")]) for number in (1, 2, 3)]
    assert [finding.body for finding in desk.review().findings] == ["page 1", "page 2", "page 3"]
    pages = [one for one in desk.hosts.asked if one.path == f"{PATH}/comments"]
    assert [one.query for one in pages] == [{"per_page": "100", "page": str(number)} for number in (1, 2, 3)]


LINES = {
    "a range": ({}, (4, 5, Side.RIGHT)),
    "one line": ({"start_line": None, "original_start_line": None, "start_side": None}, (5, 5, Side.RIGHT)),
    "outdated": ({"line": None, "start_line": None}, (4, 5, Side.RIGHT)),
    "moved by a later commit": ({"commit_id": OTHER, "line": 95, "start_line": 94}, (4, 5, Side.RIGHT)),
    "the left side": ({"side": "LEFT", "start_side": "LEFT"}, (4, 5, Side.LEFT)),
    "from left to right": ({"start_side": "LEFT"}, (5, 5, Side.RIGHT)),
    "the whole file": ({"subject_type": "file", "line": 1, "original_line": 1}, (None, None, Side.RIGHT)),
    "no line": ({"line": None, "original_line": None}, (None, None, Side.RIGHT)),
    "a start behind the end": ({"start_line": 9}, (5, 5, Side.RIGHT)),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_are_those_of_the_commit(desk: Desk, name: str) -> None:
    changed, expected = LINES[name]
    desk.hosts.pages = [reply([comment(**changed)])]
    (finding,) = desk.review().findings
    assert (finding.start, finding.end, finding.side) == expected


@pytest.mark.parametrize("path", ["old.py", "new.py"])
def test_a_renamed_file_goes_by_the_name_that_it_has(desk: Desk, path: str) -> None:
    desk.hosts.pages = [reply([comment(path=path)])]
    assert desk.review().findings[0].path == "new.py"


REFUSALS = [
    (400, "bad pr_url", "client_error"),
    (401, f"the key {KEY} is unknown", "auth"),
    (403, "needs UseReviewManual", "auth"),
    (404, "no such organization", "client_error"),
    (422, "not reachable", "client_error"),
    (429, "slow down", "rate_limited"),
    (500, "oops", "overloaded"),
    (503, "busy", "overloaded"),
]


@pytest.mark.parametrize(("code", "said", "status"), REFUSALS, ids=[str(row[0]) for row in REFUSALS])
def test_a_request_that_is_refused_has_its_status_and_is_made_once(
    desk: Desk, code: int, said: str, status: str
) -> None:
    desk.hosts.states = [NONE]
    desk.hosts.posted = reply({"detail": said}, code)
    desk.fails(status, f"Devin answered {code} to POST /organizations/org-1/pr-reviews")
    assert len(desk.hosts.posts) == 1


@pytest.mark.parametrize(("code", "said", "status"), [row for row in REFUSALS if row[0] != 404])
def test_a_question_that_is_refused_has_its_status(desk: Desk, code: int, said: str, status: str) -> None:
    desk.hosts.states = [reply({"detail": said}, code)]
    desk.fails(status, f"Devin answered {code} to GET")
    assert len(desk.hosts.asked) == (4 if status in ("rate_limited", "overloaded") else 1)


FORGE = [
    (reply({"message": f"Bad credentials {TOKEN}"}, 401), "auth"),
    (reply({"message": "API rate limit exceeded for 1.2.3.4"}, 403), "rate_limited"),
    (reply({"message": "Resource not accessible"}, 403), "auth"),
    (reply({"message": "secondary"}, 429), "rate_limited"),
    (reply("<html>", 502), "overloaded"),
    (reply({"message": "Not Found"}, 404), "client_error"),
    (reply("<html>"), "bad_output"),
    (reply({"message": "?"}), "bad_output"),
    (reply([{"id": 1}]), "bad_output"),
    (reply([comment(line="5")]), "bad_output"),
    (reply([comment(original_line=-5)]), "bad_output"),
    ("cut", "client_error"),
]


@pytest.mark.parametrize(("told", "status"), FORGE, ids=[f"{at}-{row[1]}" for at, row in enumerate(FORGE)])
def test_what_the_forge_refuses_is_no_empty_review(desk: Desk, told: Any, status: str) -> None:
    desk.hosts.pages = [reply([comment()]), told] if told != "cut" else [reply([])]
    if told == "cut":
        desk.hosts.states, desk.hosts.pull = [NONE], told
    desk.fails(status, "the forge")


def test_what_passes_is_waited_for(desk: Desk) -> None:
    desk.hosts.states = [reply("busy", 503), reply("slow", 429, retry_after="0"), "cut", DONE]
    assert desk.review().findings == ()


def test_who_asks_for_more_patience_than_there_is_ends_it(desk: Desk) -> None:
    desk.hosts.states = [reply("slow", 429, retry_after="3600")]
    desk.fails("rate_limited", "429")
    assert len(desk.hosts.asked) == 1


def test_an_answer_that_does_not_come_is_a_time_out(desk: Desk) -> None:
    desk.hosts.states = ["hang"]
    desk.fails("timeout", "Devin did not answer within 1 s", timeout=1)


@pytest.mark.parametrize(
    "told", [reply("<html>"), reply([]), state("paused"), state("completed", commit_sha=OTHER)], ids=str
)
def test_an_answer_that_is_not_documented_is_bad_output(desk: Desk, told: Reply) -> None:
    desk.hosts.states = [told]
    desk.fails("bad_output", "Devin|its answer")


def test_a_pull_request_that_went_on_is_not_reviewed(desk: Desk) -> None:
    desk.hosts.states = [NONE]
    desk.hosts.pull = reply({"head": {"sha": OTHER}})
    desk.fails("client_error", f"is {OTHER[:12]}, which is what would be reviewed, and {HEAD[:12]} is measured")
    assert desk.hosts.posts == []
    desk.hosts.pull = NONE
    desk.fails("client_error", f"the forge has no pull request of {PULL}")
    desk.hosts.pull = reply({})
    desk.fails("bad_output", "pull request of .* cannot be read")


def test_an_instance_that_is_not_public_is_said_before_anybody_is_asked(desk: Desk, instance: Instance) -> None:
    desk.instance = instance
    desk.fails("client_error", "names no commit of a public pull request")
    assert desk.hosts.asked == []


def test_the_key_is_needed_and_the_forges_is_not(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    desk.review()
    assert {one.key for one in desk.hosts.asked if "/repos/" in one.path} == {""}
    desk.fails("auth", "OUR_KEY is not set", key_env="OUR_KEY")
    for wrong in ("cog_\u00e4", "cog_1\n"):
        monkeypatch.setenv("OUR_KEY", wrong)
        assert wrong.strip() not in desk.fails("auth", "OUR_KEY holds something that is no key", key_env="OUR_KEY")
        desk.fails("auth", "OUR_KEY holds something that is no key", forge_key_env="OUR_KEY")
    monkeypatch.setenv("OUR_KEY", "another")
    desk.review(key_env="OUR_KEY")
    assert desk.hosts.asked[-2].key == "Bearer another"


def test_no_key_is_kept(desk: Desk) -> None:
    desk.hosts.pages = [reply([comment(f"I saw {KEY} and {TOKEN}")])]
    review = desk.review()
    kept = desk.checkout.kept[str(review.transcript)]
    assert "[DEVIN_API_KEY] and [GITHUB_TOKEN]" in kept
    assert KEY not in kept + serialization.canonical(review)
    assert TOKEN not in kept + serialization.canonical(review)


def test_a_stopped_run_does_not_wait(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(seconds: float) -> None:
        raise Cancelled("stopped")

    monkeypatch.setattr(desk.checkout.services, "wait", stopped)
    desk.hosts.states = [state("running")]
    with pytest.raises(Cancelled):
        desk.review()


def test_it_is_leaky_and_not_privileged_and_learns_address_and_commit_only(desk: Desk) -> None:
    adapter: Any = REVIEWERS.make("devin", {}, Path())
    assert (leaky(adapter), privileged(adapter)) == (True, False)
    bound = adapter.bind(desk.instance)
    assert dataclasses.asdict(bound) == {
        "settings": dataclasses.asdict(adapter),
        "pull_request": PULL,
        "commit": HEAD,
    }
    identity = serialization.canonical(bound.identity())
    assert PULL in identity
    assert "timeout" not in identity


def test_crew_and_record_say_that_it_is_leaky(instance: Instance) -> None:
    spec = CrewSpec(
        reviewer="ours",
        reviewer_spec=REVIEWERS.spec("devin", {}, Path()),
        agent="suggestions",
        agent_spec=AGENTS.spec("suggestions", {}, Path()),
    )
    crew = Crew.build(spec)
    assert (crew.leaky, crew.privileged, crew.reviewer_label) == (("ours",), (), "leaky")
    assert unmeasured_trial(instance, crew, Reason.NOT_RUN, "not now").leaky == ("ours",)


@pytest.mark.parametrize(
    "wrong", [{"timeout": 0}, {"poll": 0}, {"settle": -1}, {"organization": "../x"}, {"url": "http://["}]
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        REVIEWERS.make("devin", wrong, Path())

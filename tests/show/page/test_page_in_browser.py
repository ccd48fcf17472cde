"""The page as people meet it: in a browser, from disk."""

from __future__ import annotations

import csv
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from pytest_crab.campaign.progress import Progress, RunningTrial
from pytest_crab.results.files import write_trials
from pytest_crab.results.run_progress import PlannedRun, write_plan, write_progress
from pytest_crab.show.view_server import ViewServer
from pytest_crab.show.write_report import remake
from pytest_crab.types import Reason, Trial
from tests.show.report_reading import append

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


class Watched:
    """A page and everything that it asked for or complained of."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.said, self.asked = page, [], []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(url)
        page.wait_for_selector("#list tr")

    def open_trial(self, at: int = 0) -> None:
        self.page.locator("#list a").nth(at).click()
        self.page.wait_for_selector("#trial:not([hidden]) .oracle")


@pytest.fixture(scope="module")
def url(make_report: Callable[[Path, int], Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_report(tmp_path_factory.mktemp("report"), 120).as_uri()


@pytest.fixture
def watched(browser: Browser, url: str) -> Watched:
    return Watched(browser.new_page(), url)


def test_hostile_records_are_text_and_nothing_is_fetched(watched: Watched, url: str) -> None:
    for at in (0, 2):
        watched.open_trial(at)
        text = watched.page.inner_text("#trial")
        assert "<script>document.title='owned'</script>" in text
        assert "{{ 7*7 }}" in text
        assert "\\x1b[31m" in text
        assert "\\u202etxt.exe" in text
        assert not watched.page.query_selector_all("#trial script, #trial img, #trial a[href^='javascript']")
        watched.page.go_back()
    assert watched.page.title().startswith("pytest-crab")
    assert watched.said == []
    assert {asked.partition("#")[0] for asked in watched.asked} == {url}


def test_links_to_sections_have_their_order_and_stay_in_view(watched: Watched) -> None:
    page = watched.page
    names = [str(link.get_attribute("href")) for link in page.locator("#sections a").all()]
    tops = page.evaluate("names => names.map((name) => document.querySelector(name).offsetTop)", names)
    assert tops == sorted(tops)
    page.click("#sections a[href='#details']")
    page.wait_for_selector("#sections a[href='#details'][aria-current]")
    assert page.evaluate("document.querySelector('#sections').getBoundingClientRect().top") == 0


def test_links_to_sections_are_named_as_their_headings(watched: Watched) -> None:
    links = watched.page.locator("#sections a").all()
    headings = "to => { const one = document.querySelector(to); return (one.querySelector('h2') || one).textContent; }"
    names = {str(link.text_content()): watched.page.evaluate(headings, link.get_attribute("href")) for link in links}
    assert list(names) == list(names.values())


@pytest.mark.parametrize("width", [400, 850, 1280])
def test_no_word_or_number_in_a_table_is_broken(watched: Watched, width: int) -> None:
    """Only what is longer than any cell is; names of rows have places to be broken at."""
    broken = """[...document.querySelectorAll(".wide > table:not(.matrix) :is(td, thead th)")].flatMap((cell) => {
      const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
      for (let node; (node = walker.nextNode());) for (const word of node.data.matchAll(/[^\\s-]+/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map((one) => Math.round(one.top)));
        if (word[0].length <= 24 && lines.size > 1) found.push(word[0]);
      }
      return found;
    })"""
    watched.page.set_viewport_size({"width": width, "height": 900})
    assert watched.page.locator("table[data-table=rates] td").count() > 10
    assert watched.page.evaluate(broken) == []


@pytest.mark.parametrize("width", [400, 850, 1280])
def test_nothing_on_the_page_scrolls_but_the_page(watched: Watched, width: int) -> None:
    boxes = """[...document.querySelectorAll("body, body *")].filter((one) => one.checkVisibility() &&
      (one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible"
       || one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY))).length"""
    page = watched.page
    page.set_viewport_size({"width": width, "height": 900})
    for at in (None, 2):
        if at is not None:
            watched.open_trial(at)
        assert page.evaluate(boxes) == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_to_look_at_first_and_the_trials_come_first(watched: Watched) -> None:
    page = watched.page
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.evaluate("document.getElementById('trials').getBoundingClientRect().top") < 900
    first = page.locator("#look a").first
    name, _, comment = str(first.get_attribute("href")).removeprefix("#t=").partition("&c=")
    first.click()
    page.wait_for_selector("#trial:not([hidden]) .oracle")
    assert page.inner_text("#trial-name") == unquote(name)
    focus = """() => {
      const one = document.activeElement, {top, bottom} = one.getBoundingClientRect();
      return [one.className, one.dataset.comment, top > 0 && bottom < innerHeight];
    }"""
    page.wait_for_function("document.activeElement.className === 'oracle'")
    assert page.evaluate(focus) == ["oracle", comment, True], "the diff of its pull request does not have it"
    page.evaluate(f"location.hash = '#t={name}&c=c0'")
    page.wait_for_function("document.activeElement.className === 'human'")
    assert page.evaluate(focus) == ["human", "c0", True], "the reader lands on the comment itself"


def test_a_matrix_has_as_many_columns_as_there_is_room_for(
    browser: Browser, make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    write_trials(tmp_path / "trials.jsonl", [make_trial(f"bot-{at}", "one", Reason.GREEN) for at in range(30)])
    remake(tmp_path, errors_as_misses=False)
    watched = Watched(browser.new_page(), (tmp_path / "index.html").as_uri())
    page = watched.page
    page.wait_for_selector("#columns:not([hidden])")
    assert 3 <= page.locator("#cells a").count() < 30
    page.select_option("#f-r", "bot-29")
    page.wait_for_selector("#columns", state="hidden")
    assert page.locator("#matrix-head th").all_inner_texts()[1:] == ["bot-29"]


def test_descriptions_are_rendered_and_lead_only_where_they_say(watched: Watched) -> None:
    watched.open_trial(2)
    description = watched.page.locator("#trial .description")
    assert description.locator("li").all_inner_texts() == ["one", "two <b>"]
    assert description.locator("code").all_inner_texts() == ["<img src=x>"]
    assert description.locator("b").all_inner_texts() == ["bold"]
    assert [code.text_content() for code in description.locator("pre").all()] == [
        "f()  <i>\n",
        "indented()\n\n    more()\n",
    ]
    (link,) = description.locator("a").all()
    assert (link.inner_text(), link.get_attribute("href")) == ("docs", "https://example.org/a")
    assert "[bad](javascript:alert(2))" in description.inner_text()
    assert watched.page.locator("#trial .finding a").count() == 0, "reviewers place no links"


def test_a_trial_is_a_pull_request_under_review(watched: Watched) -> None:
    watched.open_trial(2)
    page = watched.page
    assert page.inner_text("#h-trial").startswith("<script>"), "the pull request's title"
    assert page.is_hidden("#top"), "the overview's head gives way"
    verdict = page.locator("#trial .oracle").first.locator(".badge").inner_text()
    assert page.locator("#trial .human").first.locator(".badge").inner_text() == verdict
    parts = page.locator("#trial .oracle").first.locator("li").all_inner_texts()
    assert [part.partition(":")[0] for part in parts] == ["resolved", "not resolved"]
    assert parts[1].endswith(": Say two.")
    pair = page.locator("#trial section.pair").first
    assert pair.locator(".code").count() == 2, "the revision lies beside the file that it changes"
    untouched = page.locator("#trial details.file", has_text="docs/far.md")
    assert untouched.get_attribute("open") is None, "nobody commented on it and the revision leaves it alone"
    page.locator("#trial .tree button", has_text="far.md").click()
    assert untouched.get_attribute("open") is not None
    steps = page.locator("[aria-label='Steps of the trial'] tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in steps] == ["review", "revision"]
    assert "0.02" in steps[0]
    commands = page.locator("#trial .commands code").all_inner_texts()
    assert commands[0] == (
        "pytest --reviewer=codex --agent=claude-code --crab-runtime=local SET/owner__name-1@abc/instance.yaml"
    )
    assert commands[1] == "pytest-crab show owner__name-1@abc::codex"
    page.locator("#trial .others a").click()
    page.wait_for_selector("#trial-name:text('pr-agent')")
    assert page.inner_text("#trial-name") == "owner__name-1@abc::pr-agent"
    for words, name in (("Next", "owner__name-2@abc::codex"), ("Previous", "owner__name-1@abc::pr-agent")):
        page.locator("#trial .sections a", has_text=words).click()
        page.wait_for_selector(f"#trial-name:text('{name}')")


def test_a_transcript_is_unfolded_and_is_text(watched: Watched) -> None:
    watched.open_trial(2)
    first = watched.page.locator("#trial details.transcript").first
    assert not first.locator("pre").is_visible()
    first.locator("summary").click()
    assert first.locator("pre").is_visible()
    assert "said: <script>document.title='owned'</script>" in first.locator("pre").inner_text()
    assert "\\x1b[31m" in first.locator("pre").inner_text()
    assert not watched.page.query_selector_all("#trial script, #trial img")
    assert watched.said == []


def test_its_policy_stops_what_would_run(watched: Watched) -> None:
    """The proof that the policy is alive: a script that is put into the page does not run, and is complained of."""
    watched.page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'ran = 1'}))")
    assert watched.page.evaluate("typeof ran") == "undefined"
    assert any("Content Security Policy" in text for text in watched.said)


def test_findings_and_comments_stand_below_their_lines(watched: Watched) -> None:
    watched.open_trial(2)
    rows = watched.page.locator("#trial .code").first.locator("tr").all_inner_texts()
    at = next(i for i, row in enumerate(rows) if "three = two" in row)
    assert rows[at + 1].startswith("Finding")
    assert any(row.startswith("Human c0") for row in rows[:at])
    numbers = [row.split("\t")[:2] for row in rows if "\t" in row]
    assert numbers == [["", ""], ["1", "1"], ["", "2"], ["", "3"], ["2", ""], ["3", "4"]]  # of the old and the new side
    assert "the whole pull request" in watched.page.inner_text("#trial")


def test_a_trial_has_an_address_of_its_own(browser: Browser, url: str, watched: Watched) -> None:
    watched.open_trial(3)
    heading = watched.page.inner_text("#trial-name")
    again = browser.new_page()
    again.goto(watched.page.url)
    again.wait_for_selector("#h-trial")
    assert again.inner_text("#trial-name") == heading == "owner__name-1@abc::pr-agent"


@pytest.mark.parametrize("address", ["#%E0%A4%A", "#t=%", "#t=nobody::knows", "#no-such-section", "#"])
def test_an_address_that_names_nothing_shows_the_overview(watched: Watched, address: str) -> None:
    watched.open_trial(3)
    watched.page.evaluate("to => { location.hash = to; }", address)
    watched.page.wait_for_selector("#overview:not([hidden])")
    assert watched.page.is_hidden("#trial")
    watched.page.reload()
    watched.page.wait_for_selector("#list tr")
    assert watched.page.is_visible("#overview")
    assert watched.said == []


def test_the_list_is_filtered_by_words_and_choices(watched: Watched) -> None:
    page = watched.page
    assert page.inner_text("#count") == "240 of 240 trials, the first 100 are shown"
    page.press("#more", "Enter")  # a click can miss while the page still lays out what is below
    page.wait_for_selector("#list tr:nth-child(200)")
    assert page.locator("#list tr").count() == 200
    page.fill("#f-text", "name-11 owner2/name")
    assert page.inner_text("#count").startswith("10 of 240")
    page.select_option("#f-r", "codex")
    assert page.inner_text("#count").startswith("5 of 240")
    page.select_option("#f-v", "2")
    unknown = page.locator("#list tr td:nth-child(5)").all_text_contents()
    assert unknown
    assert all(int(count) > 0 for count in unknown)
    page.fill("#f-text", "nothing like it")
    assert page.locator("#list tr").count() == 0


def test_a_keystroke_that_changes_nothing_leaves_the_rows_alone(watched: Watched) -> None:
    page = watched.page
    first = page.locator("#list tr").first
    row = first.element_handle()
    page.evaluate("new MutationObserver(() => { document.title = 'rows moved' }).observe(list, { childList: true })")
    page.fill("#f-text", "owner")
    assert page.title() != "rows moved"
    page.fill("#f-text", "owner__name-1")
    assert page.title() == "rows moved"
    page.fill("#f-text", "")
    assert first.evaluate("(node, row) => node === row", row)


def test_the_keyboard_is_enough(watched: Watched) -> None:
    page = watched.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#list a")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trial:not([hidden]) .oracle")
    assert page.evaluate("document.activeElement.id") == "trial"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#overview:not([hidden])")


def test_marks_say_their_numbers_and_arrow_keys_move_between_them(watched: Watched) -> None:
    page = watched.page
    marks = page.locator("#labels svg.chart .mark")
    assert [mark.get_attribute("tabindex") for mark in marks.all()].count("0") == 1, "one stop for Tab in a picture"
    marks.nth(0).focus()
    first = marks.nth(0).get_attribute("aria-label")
    assert page.inner_text(".tip") == first
    assert re.search(r", codex: [\d.]+%, 95% interval [\d.]+ to [\d.]+%, \d+ of \d+ caught", first or "")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == marks.nth(3).get_attribute(
        "aria-label"
    )
    page.keyboard.press("Escape")
    assert page.is_hidden(".tip")
    assert watched.said == []


def test_the_matrix_and_the_timeline_lead_to_trials(watched: Watched) -> None:
    page = watched.page
    page.fill("#f-text", "name-7@")
    page.wait_for_selector("#cells tr:only-child")
    page.locator("#cells a").nth(1).click()
    page.wait_for_selector("#trial:not([hidden]) .oracle")
    assert page.inner_text("#trial-name") == "owner__name-7@abc::pr-agent"
    page.go_back()
    page.wait_for_selector("#overview:not([hidden])")
    page.locator("#timeline a.mark").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#trial:not([hidden]) .oracle")
    assert page.inner_text("#trial-name") == "owner__name-0@abc::codex"


def test_tables_are_sorted_filtered_and_saved(watched: Watched) -> None:
    page = watched.page
    names = page.locator("table[data-table=rates] tbody th")
    head = page.locator("table[data-table=rates] thead th", has_text="USD")
    first = names.all_inner_texts()
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    column = page.locator("table[data-table=rates] thead th").all_inner_texts().index("USD") + 1
    costs = [
        float(cell) for cell in page.locator(f"table[data-table=rates] tbody td:nth-child({column})").all_inner_texts()
    ]
    assert costs == sorted(costs, reverse=True)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert sorted(names.all_inner_texts()) == sorted(first)
    page.fill("#f-text", "name-11@")
    with page.expect_download() as waiting:
        page.locator("button[aria-label='Save as CSV: trials']").click()
    lines = list(csv.reader(waiting.value.path().read_text().splitlines()))
    assert lines[0] == ["instance", "reviewer", "repeat", "caught", "missed", "unknown", "findings", "seconds"]
    assert [line[:3] for line in lines[1:]] == [["owner__name-11@abc", name, "1"] for name in ("codex", "pr-agent")]
    assert watched.said == []


@pytest.mark.slow(reason="each kind of page is looked through by axe, in two sizes and two schemes")
def test_nothing_is_in_the_way_of_anyone(
    browser: Browser, make_report: Callable[[Path, int], Path], look: Callable[[Page, str], None], tmp_path: Path
) -> None:
    url = make_report(tmp_path, 20).as_uri()  # axe compares all elements of a page with each other
    watched = Watched(browser.new_context(bypass_csp=True).new_page(), url)
    look(watched.page, "report-overview")
    watched.open_trial(3)
    look(watched.page, "report-trial")


def test_the_numbers_are_there_without_scripts(browser: Browser, url: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(url)
    assert page.locator("[data-table=rates] tbody tr").count() == 2
    assert "needs a browser that runs scripts" in page.inner_text("noscript")


def test_a_served_page_offers_new_records(
    browser: Browser,
    make_report: Callable[[Path, int], Path],
    make_trial: Callable[..., Trial],
    look: Callable[[Page, str], None],
    tmp_path: Path,
) -> None:
    for name in ("first", "second"):
        make_report(tmp_path / name, 2)
    with ViewServer(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_context(bypass_csp=True).new_page()
        page.goto(server.url)
        look(page, "view-reports")
        address = str(page.locator("tbody a:text-is('first')").get_attribute("href"))
        watched = Watched(browser.new_page(), server.url + address)
        watched.page.fill("#f-text", "name-")
        watched.open_trial(2)
        append(tmp_path / "first" / "trials.jsonl", make_trial("codex", "name-new", Reason.GREEN))
        watched.page.wait_for_selector("#live:has-text('5 trials')")
        assert watched.page.is_visible("#trial .oracle"), "the reader stays on the trial"
        watched.page.evaluate("location.hash = '#trials'")
        watched.page.wait_for_selector("#list tr:has-text('name-new')")
        assert watched.page.input_value("#f-text") == "name-", "filters are kept"
        assert watched.said == []
        server.shutdown()


@pytest.mark.slow(reason="a browser waits for a run")
def test_a_served_page_follows_its_run(
    browser: Browser, make_trial: Callable[..., Trial], look: Callable[[Page, str], None], tmp_path: Path
) -> None:
    write_plan(tmp_path, PlannedRun(trials=("one::codex", "one::ruff", "two::codex", "two::ruff")))
    running = (RunningTrial(trial="one::codex", step="review", seconds=3.0),)
    write_progress(tmp_path, Progress(elapsed=5.0, done=0, running=running))
    with ViewServer(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_context(bypass_csp=True).new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(f"{message.text} {message.location['url']}"))
        page.goto(server.url)
        page.wait_for_selector("#cells .cell-running[aria-label='one::codex: review']")
        assert page.locator("#cells .cell-planned").count() == 3
        look(page, "view-start")
        page.set_viewport_size({"width": 1280, "height": 900})
        append(
            tmp_path / "trials.jsonl",
            make_trial("codex", "one", Reason.GREEN),
            make_trial("ruff", "one", Reason.FAILED),
        )
        page.wait_for_selector("#rates tbody tr:nth-child(2)")
        assert page.locator("#cells .cell-planned").count() == 2
        page.click("#rates thead th:has-text('Rate %') button")
        page.click("#rates thead th:has-text('Rate %') button")
        rates = page.locator("#rates tbody td:nth-child(2)")
        order = rates.all_inner_texts()
        page.evaluate("document.activeElement.blur()")
        append(tmp_path / "trials.jsonl", make_trial("codex", "two", Reason.FAILED))
        page.wait_for_selector("#rates td:nth-child(2):has-text('50.0')")
        assert [order, rates.all_inner_texts()] == [["0.0", "100.0"], ["0.0", "50.0"]], "its order is kept"
        assert page.locator("#rates .tools").count() == 1
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_selector("#headline .rate:has-text('50.0%')")
        assert said == []
        server.shutdown()

"""Every row of the table of statuses is reached by its own facts, and the page explains every status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_crab.clients.known import KINDS
from pytest_crab.clients.status_table import Status, StatusRow, read_status
from pytest_crab.reviewers import devin

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "reviewers-and-agents.md"
TABLE = {**{name: kind.rows for name, kind in KINDS.items()}, "devin": devin.ROWS}
ROWS = [row for rows in TABLE.values() for row in rows]

#: What a client that is well leaves, so that each row's own facts are all that is wrong.
WELL = {
    "claude-code": {"ending": "exit 0", "error": "no", "structured": "yes", "denials": 0},
    "codex": {"ending": "exit 0", "completed": "yes", "message": "yes", "review": "yes"},
    "pr-agent": {"ending": "exit 0", "json": "yes"},
    "mini": {"ending": "exit 0", "exit_status": "Submitted"},
    "devin": {"state": "completed"},
}
#: Facts of a run, by client and row, as the real clients were seen to leave them.
SEEN: dict[tuple[str, str], dict[str, object]] = {
    ("claude-code", "refusal"): {"error": "yes", "stop_reason": "refusal", "text": "API Error: unable to respond"},
    ("claude-code", "turns"): {"error": "yes", "subtype": "error_max_turns"},
    ("claude-code", "budget"): {"error": "yes", "subtype": "error_max_budget_usd"},
    ("claude-code", "max-tokens"): {"error": "yes", "text": "response exceeded the 32000 output token maximum"},
    ("claude-code", "401"): {"error": "yes", "code": 401, "text": "API Error: 401"},
    ("claude-code", "429"): {"error": "yes", "code": 429, "text": "API Error: Request rejected (429)"},
    ("claude-code", "400"): {"error": "yes", "code": 400, "text": "API Error: 400 at most 500 of these"},
    ("claude-code", "500"): {"error": "yes", "code": 529, "text": "API Error: 529 Overloaded"},
    ("claude-code", "no-key"): {"error": "yes", "text": "Not logged in · Please run /login"},
    ("claude-code", "429-text"): {"error": "yes", "text": "API Error: rate limit reached"},
    ("claude-code", "529"): {"error": "yes", "text": "API Error: Repeated 529 Overloaded errors"},
    ("claude-code", "hang"): {"error": "yes", "text": "Request timed out"},
    ("claude-code", "garbage"): {"error": "yes", "text": "API Error: Failed to parse JSON"},
    ("claude-code", "error"): {"error": "yes", "text": "Something else"},
    ("claude-code", "no-result"): {"error": "", "ending": "exit 1"},
    ("claude-code", "denied"): {"denials": 1},
    ("claude-code", "idle"): {"error": "no", "idle": "yes"},
    ("claude-code", "prose"): {"structured": "no", "text": "Looks fine."},
    ("codex", "401"): {"failed": "unexpected status 401 Unauthorized: no key", "completed": "no"},
    ("codex", "429"): {"failed": "exceeded retry limit, last status: 429 Too Many Requests", "completed": "no"},
    ("codex", "529"): {"failed": "We are currently experiencing high demand", "completed": "no"},
    ("codex", "hang"): {"failed": "stream disconnected before completion: idle timeout", "completed": "no"},
    ("codex", "garbage"): {"failed": "stream disconnected before completion", "completed": "no"},
    ("codex", "max-tokens"): {"failed": "Incomplete response returned, reason: max_output_tokens", "completed": "no"},
    ("codex", "400"): {"failed": '{"error": {"message": "bad request"}}', "completed": "no"},
    ("codex", "no-turn"): {"completed": "no", "ending": "exit 1"},
    ("codex", "idle"): {"idle": "yes"},
    ("codex", "unread"): {"records": "no", "review": "no"},
    ("codex", "refusal"): {"message": "no", "review": "no"},
    ("codex", "prose"): {"review": "prose"},
    ("codex", "no-review"): {"review": "no"},
    ("codex", "edit"): {"review": "no"},
    ("pr-agent", "refusal"): {"json": "no", "log": "APIError: Empty content (finish_reason: content_filter)"},
    ("pr-agent", "unreadable"): {"json": "bad"},
    ("pr-agent", "401"): {"json": "no", "log": "litellm.AuthenticationError: OpenAIException - no key"},
    ("pr-agent", "429"): {"json": "no", "log": "Rate limit error during LLM inference"},
    ("pr-agent", "529"): {"json": "no", "log": "litellm.InternalServerError: Overloaded"},
    ("pr-agent", "hang"): {"json": "no", "log": "litellm.Timeout: Request timed out"},
    ("pr-agent", "prose"): {"json": "no", "log": "Failed to parse AI prediction"},
    ("pr-agent", "no-file"): {"json": "no"},
    ("mini", "limits"): {"exit_status": "LimitsExceeded"},
    ("mini", "prose"): {"exit_status": "RepeatedFormatError"},
    ("mini", "429"): {"exit_status": "RateLimitError"},
    ("mini", "401"): {"exit_status": "AuthenticationError"},
    ("mini", "hang"): {"exit_status": "Timeout"},
    ("mini", "garbage"): {"exit_status": "InternalServerError", "words": "Empty or invalid response from LLM endpoint"},
    ("mini", "529"): {"exit_status": "InternalServerError", "words": "litellm.InternalServerError: broken"},
    ("mini", "other"): {"exit_status": "", "ending": "exit 1"},
    ("devin", "deadline"): {"ending": "timeout"},
    ("devin", "no-key"): {"state": "no key"},
    ("devin", "429"): {"state": "", "code": 429},
    ("devin", "403-rate"): {"state": "", "code": 403, "text": "API rate limit exceeded"},
    ("devin", "401"): {"state": "", "code": 403, "text": "Resource not accessible"},
    ("devin", "500"): {"state": "", "code": 502},
    ("devin", "400"): {"state": "", "code": 422},
    ("devin", "hang"): {"state": "hang"},
    ("devin", "cut"): {"state": "cut"},
    ("devin", "garbage"): {"state": "garbage"},
    ("devin", "not-public"): {"state": "not public"},
    ("devin", "moved"): {"state": "moved"},
    ("devin", "errored"): {"state": "errored"},
}
ENDINGS = {"deadline": "timeout", "memory": "memory", "output": "output", "disk": "disk", "killed": "killed"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.client}-{row.name}")
def test_every_row_is_reached_by_its_own_facts(row: StatusRow) -> None:
    own = SEEN.get((row.client, row.name), {"ending": ENDINGS[row.name]} if row.name in ENDINGS else {})
    role = row.role or ("agent" if row.name == "edit" or row.client == "mini" else "reviewer")
    role = "agent" if (row.client, row.name) == ("codex", "refusal") else role
    assert read_status(TABLE[row.client], row.client, role, {**WELL[row.client], **own}) == row


def test_no_facts_are_listed_for_a_row_that_is_gone() -> None:
    assert set(SEEN) <= {(row.client, row.name) for row in ROWS}


@pytest.mark.parametrize("client", TABLE)
def test_what_no_row_knows_is_never_well(client: str) -> None:
    facts = {"ending": "exit 0", "error": "maybe", "completed": "yes", "message": "?", "review": "?", "json": "?"}
    for role in ("reviewer", "agent"):
        assert read_status(TABLE[client], client, role, facts).status is not Status.OK


def test_what_a_client_says_about_numbers_does_not_change_its_status() -> None:
    facts = {**WELL["claude-code"], "text": "The limit of 429 is timed out, overloaded and unauthorized."}
    assert read_status(TABLE["claude-code"], "claude-code", "reviewer", facts).status is Status.OK
    assert read_status(TABLE["claude-code"], "claude-code", "agent", facts).status is Status.OK


def test_every_status_is_explained() -> None:
    body = re.split(r"^## What a client ended as$", PAGE.read_text(), flags=re.MULTILINE)[1]
    body = re.split(r"^## ", body, flags=re.MULTILINE)[0]
    explained = re.findall(r"^\| `(\w+)` \|", body, re.MULTILINE)
    assert [word for word in explained if word in {str(status) for status in Status}] == [str(s) for s in Status]

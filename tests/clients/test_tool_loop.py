"""The coding agent that asks a model itself, in either protocol: a real gateway, a scripted provider behind it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crab import agents
from pytest_crab.errors import AgentError, BadInput
from pytest_crab.protocols import CLIENT_LIMITS
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import call, fail, refuse, say, turns

if TYPE_CHECKING:
    from pathlib import Path

both_protocols = pytest.mark.parametrize("provider", ["anthropic", "openai"])

#: The end of the path that each provider is asked at.
PATHS = {"anthropic": "/messages", "openai": "/chat/completions"}


def edit(path: str, old: str, new: str) -> Any:
    return call("edit", {"path": path, "old": old, "new": new})


def stopped(reason: str) -> Reply:
    """An answer that stopped for this reason, in a form that both protocols find theirs in."""
    anthropic = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": reason}
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": "So"}}
    content = [{"type": "text", "text": "So"}]
    return Reply(raw=json.dumps({**anthropic, "content": content, "choices": [choice]}).encode())


def results_shown(desk: Any) -> list[str]:
    """Every result of a tool that the model was shown, in order, as JSON."""
    messages = desk.provider.asked[-1].body["messages"]
    return [json.dumps(message) for message in messages[1:] if message["role"] in ("user", "tool")]


@both_protocols
def test_the_agents_tools_act_inside_the_workspace(desk: Any, provider: str) -> None:
    script = turns(
        call("shell", {"command": "cat calc.py"}),
        edit("calc.py", "return a / b", "return a / b if b else None"),
        edit("docs/new.md", "", "Zero gives None.\n"),
        say("Guarded."),
    )
    revision = desk.revise("tool-loop", script, provider=provider)
    assert "+    return a / b if b else None" in revision.diff
    assert "+Zero gives None." in revision.diff
    assert revision.notes == "Guarded."
    assert (revision.usage.requests, revision.usage.output_tokens) == (4, 80)
    assert {asked.path.endswith(PATHS[provider]) for asked in desk.provider.asked} == {True}
    assert "def divide" in results_shown(desk)[0]
    assert "Guard against zero." in desk.bodies
    (transcript,) = [text for text in desk.transcripts if revision.transcript and "Zero gives None." in text][-1:]
    assert "def divide" in transcript


def test_each_turn_is_streamed_and_marks_what_the_next_one_begins_with(desk: Any) -> None:
    script = turns(call("shell", {"command": "cat calc.py"}), edit("calc.py", "a / b", "a // b"), say("Done."))
    desk.revise("tool-loop", script, provider="anthropic", options={"temperature": 0})
    bodies = [asked.body for asked in desk.provider.asked]
    assert [(body["stream"], body["temperature"]) for body in bodies] == [(True, 0)] * 3
    for body in bodies:
        *before, last = body["messages"]
        assert "cache_control" in last["content"][-1]
        assert "cache_control" not in json.dumps(before)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb\n", "d\ne\nf\n", "d\r\ne\r\nf\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "a\r\nb\r\n", "d\r\n", "d\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "d\ne", "a\r\nd\r\ne\r\n"),
        ("a\nb\n", "a\r\nb", "d", "d\n"),
        ("a\r\nb\nc\n", "a\nb\n", "d\n", "d\r\nc\n"),
        ("a\nb\na\r\nb\r\n", "a\r\nb", "d", "a\nb\nd\r\n"),
        ("a\nb\n", "a\nb", "d\r\ne", "d\r\ne\n"),
    ],
)
def test_an_edit_does_not_ask_what_the_lines_of_a_file_end_with(
    desk: Any, before: str, old: str, new: str, after: str
) -> None:
    script = turns(edit("new.txt", "", before), edit("new.txt", old, new), say("Done."))
    revision = desk.revise("tool-loop", script, provider="anthropic")
    added = revision.diff.partition("+++ b/new.txt\n@@")[2].partition("\n")[2]
    assert added.replace("\n+", "\n").removeprefix("+") == after


@both_protocols
def test_tools_say_what_bounds_them(desk: Any, provider: str) -> None:
    desk.revise("tool-loop", turns(call("shell", {"command": "pwd"}), say("Done.")), provider=provider, timeout=41)
    shell, edit = (json.dumps(tool) for tool in desk.provider.asked[-1].body["tools"])
    assert "41 seconds" in shell
    assert "20000 characters" in shell
    (root,) = re.findall(r"/[\w/.-]+", results_shown(desk)[0].replace("\\n", " "))
    assert root in shell
    assert root in edit


@both_protocols
def test_what_a_tool_cannot_do_is_told_to_the_model(desk: Any, provider: str) -> None:
    script = turns(
        edit("calc.py", "a", ""),
        edit("calc.py", "not there", "x"),
        edit("calc.py", "", "overwritten"),
        call("shell", {"command": "exit 3"}),
        call("shell", {"command": "wget -q -T 2 http://192.0.2.1/ || cat /etc/shadow"}),
        call("fly", {}),
        say("I give up."),
    )
    revision = desk.revise("tool-loop", script, provider=provider)
    assert revision.diff == ""
    results = results_shown(desk)
    assert len(results) == 6
    failed = {"anthropic": '"is_error": true', "openai": "This failed: "}[provider]
    assert all(failed in result for result in results)
    assert "occurs 0 times" in results[1]
    assert "exit code 3" in results[3]


@both_protocols
@pytest.mark.parametrize(
    ("script", "settings", "status"),
    [
        (call("shell", {"command": "true"}), {"max_turns": 3}, "limit"),
        (call("shell", {"command": "true"}), {"total_tokens": 200}, "limit"),
        (call("shell", {"command": "true"}), {"max_usd": 0.001}, "limit"),
        (stopped("pause_turn"), {}, "bad_output"),
        (stopped("model_context_window_exceeded"), {}, "limit"),
        (Reply(text="The", stop="length"), {}, "limit"),
        (refuse(), {}, "refused"),
        (fail(429), {}, "rate_limited"),
        (fail(401), {}, "auth"),
        (fail(529), {}, "overloaded"),
        (Reply(raw=b"{"), {}, "bad_output"),
        (Reply(raw=b"[]"), {}, "bad_output"),
        (Reply(text="late", delay=5.0), {"timeout": 1.5}, "timeout"),
    ],
)
def test_an_agent_that_does_not_come_to_its_end_made_no_revision(
    desk: Any, script: Any, settings: dict[str, Any], status: str, provider: str
) -> None:
    with pytest.raises(AgentError) as caught:
        desk.revise("tool-loop", turns(script), provider=provider, **settings)
    assert caught.value.status == status
    assert "\n" not in str(caught.value)
    assert len(desk.provider.asked) <= 4


@both_protocols
def test_a_providers_own_words_are_in_the_error(desk: Any, provider: str) -> None:
    words = "This model does not support tools."
    with pytest.raises(AgentError, match=f"it answered 400: {words}"):
        desk.revise("tool-loop", turns(fail(400, words)), provider=provider)


@pytest.mark.parametrize(("provider", "api"), [("openai", "anthropic"), ("anthropic", "openai")])
def test_the_gateways_own_words_are_in_the_error(desk: Any, provider: str, api: str) -> None:
    with pytest.raises(AgentError, match=r"it answered 404: pytest-crab: POST .* is not forwarded"):
        desk.revise("tool-loop", turns(say("Done.")), provider=provider, api=api)
    assert desk.provider.asked == []


def chat(message: dict[str, Any], stop: str = "tool_calls") -> Reply:
    """An answer in chat/completions, as some servers word theirs."""
    message = {"role": "assistant", "content": None, **message}
    return Reply(raw=json.dumps({"choices": [{"index": 0, "finish_reason": stop, "message": message}]}).encode())


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        ({"name": "shell", "arguments": '{"command": "cat calc.py"}'}, "def divide"),
        ({"name": "shell", "arguments": {"command": "cat calc.py"}}, "def divide"),
        ({"name": "shell", "arguments": '{"command": "cat calc.py", "description": "Look"}'}, "def divide"),
        ({"name": "shell", "arguments": "1" * 5000}, "This failed: its arguments are"),
        (
            {"name": "shell", "arguments": '{"command": "cat calc'},
            "This failed: its arguments are not JSON",
        ),
        ({"name": "shell", "arguments": "[" * 9999}, "This failed: its arguments are"),
        ({"name": "shell", "arguments": '["cat calc.py"]'}, "This failed: its arguments are no JSON object"),
        ({"name": "shell", "arguments": "{}"}, "This failed: shell takes `command`, and `command` is missing"),
        ({"name": "shell", "arguments": '{"command": 3}'}, "and `command` is no text"),
        (
            {"name": "edit", "arguments": '{"path": "a", "new": "b", "text": ""}'},
            "`old` is missing; `text` is",
        ),
        ({"name": "bash", "arguments": '{"command": "ls"}'}, "there is no tool 'bash'; there are shell and edit"),
    ],
)
@pytest.mark.parametrize("own_id", [{"id": "call_7"}, {}])
def test_calls_are_read_as_servers_word_them(
    desk: Any, function: dict[str, Any], shown: str, own_id: dict[str, str]
) -> None:
    script = turns(chat({"tool_calls": [{**own_id, "type": "function", "function": function}]}, "stop"), say("Done."))
    assert desk.revise("tool-loop", script, provider="openai").notes == "Done."
    _, answer, result = desk.provider.asked[-1].body["messages"]
    assert shown in result["content"]
    assert answer["tool_calls"][0]["id"] == result["tool_call_id"] == own_id.get("id", result["tool_call_id"])
    assert isinstance(json.loads(answer["tool_calls"][0]["function"]["arguments"]), dict)


def test_an_answer_may_come_in_parts(desk: Any) -> None:
    parts = [{"type": "text", "text": "LEFT: "}, {"type": "text", "text": "done."}]
    assert desk.revise("tool-loop", turns(chat({"content": parts}, "stop")), provider="openai").notes == "LEFT: done."


@pytest.mark.parametrize(
    "message", [{"tool_calls": [{"function": None}]}, {"tool_calls": "shell"}, {"tool_calls": 7}, {"content": 7}]
)
def test_calls_that_are_none_are_no_answer(desk: Any, message: dict[str, Any]) -> None:
    with pytest.raises(AgentError, match="bad_output: its answer is not in its provider's protocol"):
        desk.revise("tool-loop", turns(chat(message)), provider="openai")


def test_an_agent_that_fills_the_disk_made_no_revision(desk: Any) -> None:
    desk.settings = RuntimeSettings(client_limits=replace(CLIENT_LIMITS, disk=16))
    fill = call("shell", {"command": "head -c 10000000 /dev/zero > part$(ls | wc -l); sleep 1"})
    with pytest.raises(AgentError, match="its commands wrote more to the disk than they may") as caught:
        desk.revise("tool-loop", turns(fill, fill, fill, say("Done.")))
    assert caught.value.status == "limit"
    assert len(desk.provider.asked) <= 3


def uncounted(asked: Any) -> Reply:
    """A call of the shell by a provider that tells no usage."""
    name, given = "shell", {"command": "true"}
    if asked.api == "chat":
        function = {"name": name, "arguments": json.dumps(given)}
        return chat({"tool_calls": [{"id": f"call_{asked.turn}", "type": "function", "function": function}]})
    use = {"type": "tool_use", "id": f"toolu_{asked.turn}", "name": name, "input": given}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use"}
    return Reply(raw=json.dumps({**head, "content": [use]}).encode())


@both_protocols
@pytest.mark.parametrize(
    ("settings", "status", "said"),
    [
        ({"total_tokens": 3000}, "limit", "total_tokens is 3000"),
        ({"max_usd": 5.0}, "client_error", "max_usd cannot be kept"),
    ],
)
def test_limits_are_kept_where_the_provider_counts_nothing(
    desk: Any, settings: dict[str, Any], status: str, said: str, provider: str
) -> None:
    with pytest.raises(AgentError, match=said) as caught:
        desk.revise("tool-loop", turns(uncounted), provider=provider, **settings)
    assert caught.value.status == status
    assert 1 <= len(desk.provider.asked) < 20


@both_protocols
def test_a_token_that_gets_into_the_code_is_left_out(desk: Any, monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    tokens: list[str] = []
    opening = desk.gateway.open

    @contextmanager
    def noting(**step: Any) -> Iterator[Any]:
        with opening(**step) as access:
            tokens.append(access.token)
            yield access

    monkeypatch.setattr(desk.gateway, "open", noting)
    steps = turns(lambda _: edit("key.txt", "", f"key = {tokens[0]}\n"), lambda _: say(f"It is {tokens[0]}."))
    revision = desk.revise("tool-loop", steps, provider=provider)
    assert "+key = [token]" in revision.diff
    assert revision.notes == "It is [token]."
    assert tokens[0] not in "".join(desk.transcripts)


def test_the_gateway_says_while_a_model_is_asked_so_that_slots_are_lent(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks: list[Path] = []
    seen: list[bool] = []
    opening = desk.gateway.open

    @contextmanager
    def noting(**step: Any) -> Iterator[Any]:
        with opening(**step) as access:
            marks.append(access.asking)
            yield access

    def answering(answer: Any) -> Any:
        def answered(_asked: Any) -> Any:
            seen.append(marks[0].exists())
            return answer

        return answered

    monkeypatch.setattr(desk.gateway, "open", noting)
    look = call("shell", {"command": "sleep 0.2"})
    desk.revise("tool-loop", turns(answering(look), answering(say("Done."))))
    assert seen == [True, True]
    assert not marks[0].exists()


@pytest.mark.parametrize("limit", ["max_turns", "total_tokens", "max_usd", "seconds"])
def test_a_limit_of_nothing_is_no_setting(tmp_path: Path, limit: str) -> None:
    with pytest.raises(BadInput, match=f"{limit} should be above 0"):
        agents.AGENTS.make("tool-loop", {"model": "m", limit: "0"}, tmp_path)


@pytest.mark.parametrize(
    ("settings", "protocol"),
    [
        ({}, "anthropic"),
        ({"provider": "openai"}, "openai"),
        ({"provider": "local"}, "openai"),
        ({"provider": "proxy"}, "anthropic"),
        ({"provider": "local", "api": "openai"}, "openai"),
    ],
)
def test_the_protocol_is_the_providers_in_crab_yaml(tmp_path: Path, settings: dict[str, str], protocol: str) -> None:
    (tmp_path / "crab.yaml").write_text(
        "models:\n"
        "  providers:\n"
        "    local: {base_url: 'http://127.0.0.1:1/v1', api: openai}\n"
        "    proxy: {base_url: 'http://127.0.0.1:2', api: anthropic}\n"
    )
    agent: Any = agents.AGENTS.make("tool-loop", {"model": "m", **settings}, tmp_path)
    assert agent.protocol() == protocol


TEXT_CALL = 'I look.\n<tool_call>\n{"name": "shell", "arguments": {"command": "cat calc.py"}}\n</tool_call>'


@both_protocols
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (TEXT_CALL, "came as text"),
        ('{"name": "shell", "parameters": {"command": "ls"}}', "came as text"),
        ("", "is empty"),
        ("I will start with the guard. Shall I go on?", "offered to begin"),
        ("Let me look at calc.py, and I'll leave the rest as it is.", "offered to begin"),
        ("The guard is in place now.", "it said 'The guard is in place now.'"),
    ],
)
def test_an_agent_that_uses_no_tool_is_reminded_once_and_then_an_error(
    desk: Any, provider: str, answer: str, reason: str
) -> None:
    with pytest.raises(AgentError, match="it used no tool, though it was reminded") as caught:
        desk.revise("tool-loop", turns(say(answer), say(answer)), provider=provider)
    assert caught.value.status == "bad_output"
    assert reason in str(caught.value)
    first, second = (asked.body["messages"] for asked in desk.provider.asked)
    assert len(first) == 1
    assert "LEFT:" in json.dumps(second[-1])
    assert all(message["content"] for message in second)


@both_protocols
def test_a_reminder_is_enough_for_an_agent_that_then_works_or_says_that_it_leaves_the_findings(
    desk: Any, provider: str
) -> None:
    script = turns(say(TEXT_CALL), edit("calc.py", "return a / b", "return a / b if b else None"), say("Done."))
    assert "if b else None" in desk.revise("tool-loop", script, provider=provider).diff
    script = turns(say("Shall I begin?"), say("LEFT: the guard would hide a fault of the caller."))
    assert desk.revise("tool-loop", script, provider=provider).diff == ""


@pytest.mark.parametrize(
    "answer",
    [
        "I leave the code as it is, since the caller checks for zero.",
        "No changes are needed: the finding is wrong.",
        "The findings are wrong, so I did not change anything.",
        "LEFT: b is never zero.",
    ],
)
def test_an_agent_that_says_that_it_leaves_the_findings_is_asked_once(desk: Any, answer: str) -> None:
    revision = desk.revise("tool-loop", turns(say(answer)), provider="openai")
    assert (revision.diff, revision.notes) == ("", answer)


def test_a_prompt_that_was_cut_is_on_record(make_desk: Callable[..., Any]) -> None:
    desk = make_desk(extra={"lib/long.py": "value = 1\n" * 12_000})
    script = turns(call("shell", {"command": "true"}), say("Done."))
    (cut,) = desk.revise("tool-loop", script).cut
    assert re.fullmatch(r"the diff was cut to \d\d,\d{3} of 13\d,\d{3} characters", cut)

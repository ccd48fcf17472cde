"""The scripted provider itself, asked over HTTP."""

from __future__ import annotations

import pytest
import requests

from pytest_crab.testing.provider import Asked, Reply, Script, ScriptedProvider, run, say, turns
from pytest_crab.testing.request_body import shell_call


@pytest.mark.parametrize("schema", ["input_schema", "parameters"])
@pytest.mark.parametrize(("kind", "given"), [("string", "true"), ("array", ["bash", "-lc", "true"])])
def test_a_command_has_the_type_that_the_clients_shell_tool_asks_for(schema: str, kind: str, given: object) -> None:
    tool = {"name": "shell", schema: {"type": "object", "properties": {"command": {"type": kind}}}}
    assert shell_call({"tools": [tool]}, "true") == ("shell", {"command": given})
    assert shell_call({"tools": [{"type": "function", "function": tool}]}, "true") == ("shell", {"command": given})


def test_a_script_may_choose_another_script() -> None:
    def choose(asked: Asked) -> Reply | Script:
        return run("true") if asked.turn else turns(run("false"), say("done"))

    shell = {"name": "bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}
    asking = {"role": "user", "content": "act"}
    with ScriptedProvider(choose) as provider:

        def command(*messages: dict[str, str]) -> str:
            body = {"model": "any", "max_tokens": 9, "tools": [shell], "messages": messages}
            answer = requests.post(f"{provider.anthropic_url}/v1/messages", json=body, timeout=30).json()
            (block,) = [one for one in answer["content"] if one["type"] == "tool_use"]
            return str(block["input"]["command"])

        assert command(asking) == "false"
        assert command(asking, {"role": "assistant", "content": "?"}, asking) == "true"

"""What marks for a prompt cache save in a tool loop: run with the Python that has pytest-crab[models] installed.

    python bench/prompt_cache.py [--turns 10] [--output 6000]

The loop of the built-in agent is asked through the gateway. The provider is scripted and plays a cache: what stands up
to a mark is kept, written at 1.25 and read at 0.1 of the price of input; four characters are a token. The same
conversation without marks is priced beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from pytest_crab.agents.tool_loop import ToolLoopAgent
from pytest_crab.clients.conversation import ToolResult, open_conversation
from pytest_crab.clients.tool_loop import tools
from pytest_crab.models import Gateway
from pytest_crab.settings import Api, ModelSettings, Price, Provider
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, call

MODEL = "scripted-model"
PRICE = Price(input=3.0, output=15.0, cached=0.3, cache_write=3.75)


class Cache:
    """A provider's cache; ``whole`` are the input tokens of all requests as they would be without it."""

    def __init__(self) -> None:
        self.kept: set[str] = set()
        self.whole = 0
        self.output = 0

    def __call__(self, asked: Asked) -> Reply:
        """Answer with a call of a tool, and say what of the request was read from the cache and written to it."""
        parts = [json.dumps(asked.body.get("tools"))]
        marked = 0
        for message in asked.body["messages"]:
            content = message["content"]
            for part in [{"text": content}] if isinstance(content, str) else content:
                plain = {name: value for name, value in part.items() if name != "cache_control"}
                parts.append(json.dumps(plain))
                if "cache_control" in part:
                    marked = len(parts)
        prefixes = ["".join(parts[:count]) for count in range(1, len(parts) + 1)]
        sizes = [len(prefix) // 4 for prefix in prefixes]
        read = max((size for prefix, size in zip(prefixes, sizes, strict=True) if prefix in self.kept), default=0)
        written = max(0, sizes[marked - 1] - read) if marked else 0
        self.kept |= {prefixes[marked - 1]} if marked else set()
        self.whole += sizes[-1]
        self.output += 60
        usage = {"input": sizes[-1] - read - written, "cached": read, "cache_write": written, "output": 60}
        return call("shell", {"command": f"sed -n 1,80p file_{len(parts)}.py"}, usage=usage)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10, help="turns of the loop (default: 10)")
    parser.add_argument("--output", type=int, default=6000, help="characters that a tool prints (default: 6000)")
    options = parser.parse_args()
    os.environ["ANTHROPIC_API_KEY"] = "none"
    cache = Cache()
    with tempfile.TemporaryDirectory() as name, ScriptedProvider() as provider:
        provider.script = cache
        known = Provider(base_url=provider.anthropic_url, api=Api.ANTHROPIC, key_env="ANTHROPIC_API_KEY")
        settings = ModelSettings(providers={"anthropic": known}, prices={MODEL: PRICE}, record=False)
        folder = Path(name)
        gateway = Gateway(lambda: folder / "g", settings, cassettes=folder / "c", ledgers=folder / "l")
        agent = ToolLoopAgent(model=MODEL, api=Api.ANTHROPIC)
        with gateway.open(trial="cache", step="revision", attempt=1) as access:
            with open_conversation(agent, access, tools(60, "/work")) as conversation:
                conversation.messages.append({"role": "user", "content": "Findings. " * 1600})
                for turn in range(options.turns):
                    answer = conversation.next_turn(60)
                    text = f"{turn} {'line of code; ' * (options.output // 14)}"
                    conversation.add_results([ToolResult(id=one.id, text=text, failed=False) for one in answer.calls])
            time.sleep(0.2)
            usage: Any = gateway.usage(access)
        gateway.close()
    without = (cache.whole * PRICE.input + cache.output * PRICE.output) / 1e6
    print(f"{options.turns} turns, {cache.whole:,} tokens of input")
    print(f"without marks  {without:.4f} USD")
    print(f"with marks     {usage.cost_usd:.4f} USD, {100 * usage.cost_usd / without:.0f}% of it")


if __name__ == "__main__":
    main()

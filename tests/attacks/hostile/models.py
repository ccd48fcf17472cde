"""Requests to models that mean one thing to the gateway and another to a provider, and keys on their way onto a record.

Each is played against a real gateway with a scripted provider behind it; the twin is a gateway that decides on its
own reading of a body and passes the bytes on, or that looks for a key in each piece by itself.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hostile.shape import Kind, Refusal

from pytest_crab.models import Gateway
from pytest_crab.redaction import Redactor
from pytest_crab.settings import Api, ModelSettings, Price, Provider
from pytest_crab.testing.provider import ScriptedProvider, say
from pytest_crab.types import Finding, Review, Usage

KEY = "sk-upstream-0123456789"
PATH = "/openai/v1/chat/completions"
TOOL = {"type": "web_search"}
ASK: Mapping[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Review this."}]}
#: US dollars: ten answers of ten tokens each spend it.
BUDGET = 1e-3


def through(body: bytes, script: Any = None, budget: float | None = None) -> tuple[str, int]:
    """What the gateway answers to a body, and how often its provider was asked."""
    settings = {"prices": {"m": Price(input=0.0, output=10.0)}, "retries": 0, "record": True}
    with (
        ScriptedProvider(script or say("ok")) as provider,
        tempfile.TemporaryDirectory() as place,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("HOSTILE_KEY", KEY)
        known = Provider(base_url=provider.openai_url, api=Api.OPENAI, key_env="HOSTILE_KEY")
        folder = Path(place)
        gateway = Gateway(
            lambda: folder / "g",
            ModelSettings(providers={"openai": known}, **settings),
            cassettes=folder / "cassettes",
            ledgers=folder / "ledger",
            budget=budget,
        )
        try:
            with gateway.open(trial="i::r", step="review", attempt=1) as access:
                transport = httpx2.HTTPTransport(uds=str(access.socket), verify=False)
                headers = {"authorization": f"Bearer {access.token}"}
                with httpx2.Client(transport=transport, base_url="http://gateway", headers=headers, timeout=60) as http:
                    said = http.post(PATH, content=body).text
        finally:
            gateway.close()
        kept = b"".join(file.read_bytes() for file in (folder / "cassettes").rglob("*.json"))
        return said + kept.decode(), len(provider.asked)


def refused(body: bytes, budget: float | None = None) -> Callable[[Path], str]:
    """The body is refused, and no provider sees it."""

    def attempt(_folder: Path) -> str:
        said, asked = through(body, budget=budget)
        assert asked == 0
        return said

    return attempt


def first_of_two(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def in_small_letters(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name.casefold(): value for name, value in pairs}


def offers(document: Any) -> bool:
    """True if there is the tool anywhere in what a provider reads."""
    return json.dumps(TOOL) in json.dumps(document).casefold()


def passes(body: bytes, reading: Callable[..., Any] | None = None) -> Callable[[Path], bool]:
    """The naive way: a filter looks at the kinds of the tools that it reads, and the bytes are passed on."""

    def twin(_folder: Path) -> bool:
        document = json.loads(body)
        kinds = [tool["type"] for tool in document.get("tools") or [] if isinstance(tool, dict)]
        return "web_search" not in kinds and offers(json.loads(body, object_pairs_hook=reading))

    return twin


def unseen(body: bytes) -> Callable[[Path], bool]:
    """The naive way: a filter that looks for a word in the bytes."""
    return lambda _folder: b"web_search" not in body and offers(json.loads(body))


def cheap(document: Mapping[str, Any], tokens: int) -> Callable[[Path], bool]:
    """The naive way: the bound is that of one answer at the first limit; what may come is so many tokens."""
    return lambda _folder: document["max_tokens"] * 1e-5 <= BUDGET < tokens * 1e-5


def echoed(pieces: int, spelled: str = KEY) -> Callable[[Path], str]:
    def attempt(_folder: Path) -> str:
        body = json.dumps({**ASK, "stream": True}).encode()
        said, asked = through(body, say(f"your key is {spelled}, keep it", pieces=pieces))
        assert asked == 1
        assert KEY not in told(said)
        assert KEY not in said
        return told(said)

    return attempt


def told(said: str) -> str:
    """The text that a client puts together of a stream."""
    events = [json.loads(line[6:]) for line in said.splitlines() if line.startswith("data: {")]
    return "".join(choice.get("delta", {}).get("content") or "" for event in events for choice in event["choices"])


def unchanged(_folder: Path) -> bool:
    """The naive way: a stream is passed on as it comes."""
    with ScriptedProvider(say(f"your key is {KEY}")) as provider:
        body = {**ASK, "stream": True}
        answer = httpx2.post(f"{provider.openai_url}/chat/completions", json=body, verify=False)
    return KEY in told(answer.text)


def each_by_itself(pieces: list[str]) -> Callable[[Path], bool]:
    """The naive way: the key is looked for in each piece."""
    return lambda _folder: KEY in "".join(piece.replace(KEY, "<key>") for piece in pieces)


FOUND = Review(
    findings=(Finding(path=f"{KEY}.py", body=f"it is {KEY}", title=KEY),),
    usage=Usage(models=(KEY,)),
    version="".join(f"\\u{ord(letter):04x}" for letter in KEY),
)


def record_of_a_review(_folder: Path) -> str:
    record = repr(Redactor({KEY: "[KEY]"}).record(FOUND))
    assert KEY not in record
    assert "\\u" not in record
    return record


def field_by_field(_folder: Path) -> bool:
    """The naive way: the texts of findings are cleaned, by name."""
    cleaned = [(finding.path, finding.body.replace(KEY, "")) for finding in FOUND.findings]
    return KEY in repr(cleaned)


def dumped(**fields: Any) -> bytes:
    return json.dumps({**ASK, **fields}).encode()


TWICE = b'{"model":"m","messages":[],"tools":[{"type":"web_search"}],"tools":[]}'
GROUP = dumped(tools=[{"type": "namespace", "name": "n", "tools": [TOOL]}])
WISH = dumped(tools=[], tool_choice=TOOL)
CASED = dumped(Tools=[TOOL])
WIDE = json.dumps({**ASK, "tools": [TOOL]}).encode("utf-16")
SEVERAL = {**ASK, "max_tokens": 10, "n": 128}
KIND, SENTENCE, NOWHERE = Kind.MODELS, "an error in one sentence", "not on any record"

REFUSALS = [
    Refusal(kind=KIND, name="a provider's tool under a name that stands twice", attempt=refused(TWICE),
            twin=passes(TWICE, first_of_two), said="'tools' stands twice", becomes=SENTENCE),
    Refusal(kind=KIND, name="a provider's tool in a group of tools", attempt=refused(GROUP),
            twin=passes(GROUP), said="web_search looks things up", becomes=SENTENCE),
    Refusal(kind=KIND, name="a wish for a provider's tool that is not offered", attempt=refused(WISH),
            twin=passes(WISH), said="web_search looks things up", becomes=SENTENCE),
    Refusal(kind=KIND, name="a provider's tool in a field with a capital", attempt=refused(CASED),
            twin=passes(CASED, in_small_letters), said="names in small letters", becomes=SENTENCE),
    Refusal(kind=KIND, name="a provider's tool in two bytes for each letter", attempt=refused(WIDE),
            twin=unseen(WIDE), said="one JSON object in UTF-8", becomes=SENTENCE),
    Refusal(kind=KIND, name="more answers to one request than the budget pays",
            attempt=refused(json.dumps(SEVERAL).encode(), BUDGET), twin=cheap(SEVERAL, 1280),
            said="asks for 128 answers", becomes=SENTENCE),
    Refusal(kind=KIND, name="a provider repeats the key in a stream", attempt=echoed(1),
            twin=unchanged, said="your key is <key>", becomes=NOWHERE),
    Refusal(kind=KIND, name="a provider repeats the key in pieces", attempt=echoed(9),
            twin=each_by_itself([KEY[:9], KEY[9:]]), said="<key>", becomes=NOWHERE),
    Refusal(kind=KIND, name="a passed key as a path, a model's name and an escape", attempt=record_of_a_review,
            twin=field_by_field, said=r"\[KEY\]\.py", becomes=NOWHERE),
]  # fmt: skip

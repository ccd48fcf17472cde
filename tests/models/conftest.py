"""A real gateway before a real scripted provider, and the three protocols as clients speak them."""

from __future__ import annotations

import json
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pytest_crab.model_access import ModelAccess
from pytest_crab.models import Gateway
from pytest_crab.settings import Api, ModelSettings, Price, Provider
from pytest_crab.testing.provider import ScriptedProvider

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-planted-0123456789", "OPENAI_API_KEY": "sk-planted-9876543210"}


@dataclass(frozen=True)
class Protocol:
    """One protocol: where it is spoken, and how a question of one line looks in it."""

    name: str
    path: str
    key: str
    question: Callable[[str], dict[str, Any]]

    def body(
        self, text: str = "hello", *, stream: bool = False, model: str = "scripted", **more: Any
    ) -> dict[str, Any]:
        return {"model": model, "stream": stream, **self.question(text), **more}


def _messages(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


MESSAGES = Protocol(
    "messages", "/anthropic/v1/messages", "ANTHROPIC_API_KEY", lambda text: {"max_tokens": 100, **_messages(text)}
)
RESPONSES = Protocol("responses", "/openai/v1/responses", "OPENAI_API_KEY", lambda text: {"input": text})
CHAT = Protocol("chat", "/openai/v1/chat/completions", "OPENAI_API_KEY", _messages)


@pytest.fixture(params=[MESSAGES, RESPONSES, CHAT], ids=lambda protocol: protocol.name)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    return request.param


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def stream(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture
def messages() -> Protocol:
    return MESSAGES


@pytest.fixture
def responses() -> Protocol:
    return RESPONSES


@pytest.fixture
def chat() -> Protocol:
    return CHAT


@pytest.fixture
def keys() -> dict[str, str]:
    return KEYS


@pytest.fixture
def client() -> Any:
    """Makes clients; see ``_client``."""
    return _client


@contextmanager
def _client(access: ModelAccess, token: str | None = None) -> Iterator[httpx2.Client]:
    """A client as it is inside a sandbox: the socket and a token are all that it has."""
    transport = httpx2.HTTPTransport(uds=str(access.socket), verify=False)
    headers = {"x-api-key": access.token if token is None else token}
    with httpx2.Client(transport=transport, base_url="http://gateway", headers=headers, timeout=20) as found:
        yield found


@pytest.fixture
def leave() -> Any:
    """Asks a question and leaves once its provider has been asked; see ``_leave``."""
    return _leave


def _leave(access: ModelAccess, protocol: Protocol, provider: ScriptedProvider) -> None:
    """Time-outs would be too short for a busy machine, or long."""
    body = json.dumps(protocol.body()).encode()
    head = f"POST {protocol.path} HTTP/1.1\r\nhost: x\r\nx-api-key: {access.token}\r\n"
    before, deadline = len(provider.asked), time.monotonic() + 300
    with socket.socket(socket.AF_UNIX) as leaving:
        leaving.connect(str(access.socket))
        leaving.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        while len(provider.asked) == before:
            assert time.monotonic() < deadline
            time.sleep(0.01)


class Makers:
    """Makes gateways, each in a folder of its own unless told otherwise, and ends them."""

    def __init__(self, provider: ScriptedProvider, folder: Path) -> None:
        self.provider = provider
        self.folder = folder
        self.cassettes = folder / "cassettes"
        self.ledgers = folder / "ledger"
        self._made: list[Gateway] = []

    def settings(self, **changes: Any) -> ModelSettings:
        anthropic = Provider(base_url=self.provider.anthropic_url, api=Api.ANTHROPIC, key_env="ANTHROPIC_API_KEY")
        openai = Provider(base_url=self.provider.openai_url, api=Api.OPENAI, key_env="OPENAI_API_KEY")
        said = {
            "providers": {"anthropic": anthropic, "openai": openai},
            "prices": {"scripted*": Price(input=1.0, output=10.0, cached=0.1, cache_write=2.0)},
            "retries": 2,
            "retry_wait": 0.01,
        }
        return ModelSettings(**{**said, **changes})

    def __call__(self, run: str = "", *, budget: float | None = None, replay: bool = False, **changes: Any) -> Gateway:
        place = self.folder / (run or f"run{len(self._made)}")
        gateway = Gateway(
            lambda: place / "gateway",
            self.settings(**changes),
            cassettes=self.cassettes,
            ledgers=self.ledgers,
            budget=budget,
            replay=replay,
        )
        self._made.append(gateway)
        return gateway

    def close(self) -> None:
        for gateway in self._made:
            gateway.close()


@contextmanager
def _making() -> Iterator[Makers]:
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, key in KEYS.items():
            patch.setenv(name, key)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))  # tmp_path is too long for sockets
        make = Makers(stack.enter_context(ScriptedProvider()), folder)
        stack.callback(make.close)
        yield make


@pytest.fixture
def make() -> Iterator[Makers]:
    """Makes gateways before a provider of its own."""
    with _making() as making:
        yield making


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Makers, Gateway]]:
    """One gateway for the tests of a module that need no other."""
    with _making() as making:
        yield making, making()


@pytest.fixture
def provider(shared: tuple[Makers, Gateway]) -> ScriptedProvider:
    """The provider behind the shared gateway, with nothing asked yet."""
    found = shared[0].provider
    found.asked.clear()
    return found


@pytest.fixture
def gateway(shared: tuple[Makers, Gateway]) -> Gateway:
    return shared[1]

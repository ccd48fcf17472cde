"""The gateway's process: it starts late, ends with those who use it, and its death is never a miss."""

# ruff: noqa: SIM117 - the outer block says what is expected of the inner one

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pytest_crab.errors import AgentError, GatewayError
from pytest_crab.model_access import ModelAccess
from pytest_crab.models import client as client_module, gateway as module
from pytest_crab.settings import Api, Provider
from pytest_crab.testing.provider import in_order, say

STEP = {"trial": "i::r", "step": "revision", "attempt": 1}

USER = """
import sys, time
from pathlib import Path
from pytest_crab.models import Gateway
from pytest_crab.settings import ModelSettings
place = Path(sys.argv[1])
gateway = Gateway(lambda: place / "gateway", ModelSettings(), cassettes=place / "c", ledgers=place / "l")
with gateway.open(trial="t", step="s", attempt=1) as access:
    print(gateway.process_id, flush=True)
    time.sleep(60)
"""


def gone(process: int) -> bool:
    """Whether a process ends within some minutes."""
    for _ in range(6000):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_nothing_starts_before_the_first_access(make: Any) -> None:
    gateway = make("run")
    gateway.close()
    assert not (make.folder / "run").exists()


def test_the_sandboxes_socket_lies_alone_and_the_administration_is_elsewhere(make: Any) -> None:
    with make("run").open(**STEP) as access:
        folder = access.socket.parent
        assert [file.name for file in folder.iterdir()] == [access.socket.name]
        assert stat.S_IMODE(access.socket.stat().st_mode) == 0o666
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


def test_no_key_is_in_arguments_and_no_sandbox_reaches_the_administration(
    make: Any, client: Any, keys: Any, messages: Any
) -> None:
    gateway = make()
    with gateway.open(**STEP) as access, client(access) as http:
        assert http.post("/open", json={"trial": "t", "step": "s", "attempt": 1}).status_code == 404
        arguments = Path(f"/proc/{gateway.process_id}/cmdline").read_bytes()
    assert not any(key.encode() in arguments for key in keys.values())
    assert access.token.encode() not in arguments


def test_a_gateway_that_hangs_is_ended_and_says_so(make: Any, client: Any, messages: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "_PULSE", 0.1)
    kill = os.kill

    def kill_and_pause(process: int, number: int) -> None:
        kill(process, number)
        time.sleep(0.5)  # so that the step finds it gone before this goes on

    gateway = make()
    with pytest.raises(GatewayError, match="it did nothing for 1 s and was ended") as caught:  # noqa: PT012
        with gateway.open(**STEP) as access, client(access) as http:
            stopped = gateway.process_id
            os.kill(stopped, signal.SIGSTOP)
            monkeypatch.setattr(client_module, "ANSWER", 1.0)
            monkeypatch.setattr(client_module.os, "kill", kill_and_pause)
            with pytest.raises(httpx2.HTTPError):  # long before its own deadline of 20 s
                http.post(messages.path, json=messages.body())
            raise AgentError("the connection broke")
    assert caught.value.passing
    assert gone(stopped)
    monkeypatch.setattr(client_module, "ANSWER", 30.0)
    with gateway.open(**STEP) as access, client(access) as http:
        assert http.post(messages.path, json=messages.body()).status_code == 200


def test_a_killed_gateway_breaks_the_step_whatever_the_client_made_of_it(make: Any) -> None:
    gateway = make()
    for error in (None, AgentError("the client saw a closed connection")):
        with pytest.raises(GatewayError, match=r"the gateway died or does not answer .*: run again"):  # noqa: PT012
            with gateway.open(**STEP):
                os.kill(gateway.process_id, signal.SIGKILL)
                if error is not None:
                    raise error
    with pytest.raises(GatewayError, match=r"the gateway died again \(without a word\)"), gateway.open(**STEP):
        pytest.fail("it is started anew once and no more")


@pytest.mark.parametrize("package", ["aiohttp", "httptools"])
def test_a_missing_package_is_no_death_however_often_it_is_asked(make: Any, monkeypatch: Any, package: str) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None if name == package else name)
    gateway = make()
    for _ in range(3):
        with pytest.raises(GatewayError, match=rf"needs {package}: install pytest-crab with its extra \[models\]"):
            with gateway.open(**STEP):
                pytest.fail("nothing could start")


def test_after_its_death_it_is_started_once_more(make: Any, client: Any, messages: Any) -> None:
    gateway = make()
    with pytest.raises(GatewayError), gateway.open(**STEP) as old:
        os.kill(gateway.process_id, signal.SIGKILL)
    with gateway.open(**STEP) as access, client(access) as http:
        assert http.post(messages.path, json=messages.body()).status_code == 200
        with client(access, token=old.token) as stranger:
            assert stranger.post(messages.path, json=messages.body()).status_code == 401


def test_it_dies_with_its_killed_parent(make: Any) -> None:
    argv = [sys.executable, "-c", USER, str(make.folder / "run")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as user:
        assert user.stdout is not None
        gateway = int(user.stdout.readline())
        assert Path(f"/proc/{gateway}").exists()
        user.kill()
    assert gone(gateway)


def test_processes_of_one_run_share_it_and_the_last_one_ends_it(make: Any, client: Any, messages: Any) -> None:
    argv = [sys.executable, "-c", USER, str(make.folder / "run")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as user:
        assert user.stdout is not None
        process = int(user.stdout.readline())
        gateway = make("run")
        with gateway.open(**STEP) as access, client(access) as http:
            assert gateway.process_id is None  # it is not this process's child
            user.kill()
            user.wait()
            assert http.head("/anthropic").status_code == 200
            assert Path(f"/proc/{process}").exists()
    gateway.close()
    assert gone(process)


def test_a_missing_key_is_one_sentence_and_breaks_the_step(
    make: Any, client: Any, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(GatewayError) as caught:
        with make().open(**STEP) as access, client(access) as http:
            assert http.post(chat.path, json=chat.body()).status_code == 401
    assert str(caught.value).startswith("there is no key for openai: set OPENAI_API_KEY")
    assert not make.provider.asked


def test_a_provider_that_cannot_be_reached_is_said(make: Any, client: Any, messages: Any) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        providers = {"anthropic": Provider(base_url=url, api=Api.ANTHROPIC)}
        with pytest.raises(GatewayError, match=f"anthropic at {url} gave no answer .*: check the network and models"):
            with make(providers=providers).open(**STEP) as access, client(access) as http:
                assert http.post(messages.path, json=messages.body()).status_code == 502


@pytest.mark.parametrize("what", ["no key", "down"])
def test_a_fault_after_an_answer_does_not_break_a_step_that_ends_well(
    make: Any, client: Any, messages: Any, chat: Any, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    anthropic = Provider(base_url=make.provider.anthropic_url, api=Api.ANTHROPIC)
    other = Provider(
        base_url="http://127.0.0.1:9", api=Api.OPENAI, key_env="OPENAI_API_KEY" if what == "no key" else None
    )
    gateway = make(providers={"anthropic": anthropic, "openai": other}, retries=0)
    with gateway.open(**STEP) as access, client(access) as http:
        assert http.post(messages.path, json=messages.body()).status_code == 200
        assert http.post(chat.path, json=chat.body()).status_code in (401, 502)
    with pytest.raises(GatewayError):  # noqa: PT012 - the answers are looked at too
        with gateway.open(**STEP) as access, client(access) as http:
            assert http.post(messages.path, json=messages.body()).status_code == 200
            assert http.post(chat.path, json=chat.body()).status_code in (401, 502)
            raise AgentError("it cannot go on")


def test_a_fault_that_passed_is_forgotten(make: Any, client: Any, messages: Any, chat: Any) -> None:
    providers = {
        "anthropic": Provider(base_url="http://127.0.0.1:9", api=Api.ANTHROPIC),
        "openai": Provider(base_url=make.provider.openai_url, api=Api.OPENAI),
    }
    with make(providers=providers, retries=0).open(**STEP) as access, client(access) as http:
        assert http.post(messages.path, json=messages.body()).status_code == 502
        assert http.post(chat.path, json=chat.body()).status_code == 200


def test_a_server_of_the_users_own_is_a_provider_like_any_other(make: Any, client: Any, chat: Any) -> None:
    providers = {"local": Provider(base_url=make.provider.openai_url, api=Api.OPENAI)}
    with make(providers=providers).open(**STEP) as access, client(access) as http:
        assert http.post("/local/v1/chat/completions", json=chat.body()).status_code == 200
        assert http.post(chat.path, json=chat.body()).status_code == 404
    (asked,) = make.provider.asked
    assert not {"authorization", "Authorization", "x-api-key"} & asked.headers.keys()


def test_a_gateway_that_cannot_start_says_why(make: Any) -> None:
    make.ledgers.mkdir()
    (make.ledgers / "run.jsonl").mkdir()
    with (
        pytest.raises(GatewayError, match=r"the gateway did not start \(IsADirectoryError: "),
        make("run").open(**STEP),
    ):
        pytest.fail("there is no gateway")


def test_a_gateway_that_is_slow_to_start_is_none_that_ended(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_crab.models.gateway._START", 0.0)
    with pytest.raises(GatewayError, match="did not start within 0 s"), make("run").open(**STEP):
        pytest.fail("there is no gateway")


def test_what_nobody_knows_about_is_no_usage(make: Any) -> None:
    gateway = make()
    with pytest.raises(GatewayError, match="the gateway is not running"):
        gateway.usage(ModelAccess(socket=Path("/nowhere"), token="x"))
    with gateway.open(**STEP), pytest.raises(GatewayError, match="restarted since"):
        gateway.usage(ModelAccess(socket=Path("/nowhere"), token="x"))


def test_a_fault_is_not_forgotten_since_a_client_waits_no_longer(
    make: Any, client: Any, messages: Any, leave: Any
) -> None:
    """Who left before there was an answer has had none, and it is the provider that kept the step from going on."""
    make.provider.script = in_order(say("x", cut=0), say("late", delay=60))
    with pytest.raises(GatewayError, match="gave no answer") as caught:  # noqa: PT012
        with make(retries=0).open(**STEP) as access, client(access) as http:
            assert http.post(messages.path, json=messages.body("another")).status_code == 502
            leave(access, messages, make.provider)
            raise AgentError("it cannot go on")
    assert not caught.value.passing  # the gateway has tried as often as may be

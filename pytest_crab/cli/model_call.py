"""One cheap call of a model for the doctor: through a gateway of its own, which holds the key and counts the tokens."""

from __future__ import annotations

import time

import requests

from pytest_crab.errors import BadInput, CrabError
from pytest_crab.formats import format_dollars
from pytest_crab.models import Gateway
from pytest_crab.runtimes.gateway_relay import relay_here
from pytest_crab.scratch import scratch
from pytest_crab.settings import Api, ModelSettings

_SECONDS = 60
_PATHS = {Api.ANTHROPIC: "v1/messages", Api.OPENAI: "v1/chat/completions"}


def call(asked: str, settings: ModelSettings) -> str:
    """Ask ``PROVIDER:MODEL`` for one short answer; return a sentence on the outcome. Raises BadInput."""
    provider, _, model = asked.partition(":")
    known = settings.providers.get(provider)
    if known is None or not model:
        names = ", ".join(sorted(settings.providers))
        raise BadInput("--call", [f"{asked!r} should be PROVIDER:MODEL, with a provider of {names}"])
    with scratch("call") as folder:
        gateway = Gateway(lambda: folder, settings, cassettes=folder / "cassettes", ledgers=folder / "ledgers")
        try:
            return _call(gateway, provider, model, known.api)
        except (CrabError, requests.RequestException) as error:
            return f"no: {' '.join(str(error).split())[:300]}"
        finally:
            gateway.close()


def _call(gateway: Gateway, provider: str, model: str, api: Api) -> str:
    body = {"model": model, "messages": [{"role": "user", "content": "Say yes."}]}
    limit = {"max_tokens": 16} if api is Api.ANTHROPIC else {}
    start = time.monotonic()
    with gateway.open(trial="doctor", step="call", attempt=1) as access, relay_here(access) as url:
        answer = requests.post(
            f"{url}/{provider}/{_PATHS[api]}",
            json={**body, **limit},
            headers={"authorization": f"Bearer {access.token}", "anthropic-version": "2023-06-01"},
            timeout=_SECONDS,
        )
        usage = gateway.usage(access)
    if answer.status_code != requests.codes.ok:
        return f"no: HTTP {answer.status_code}: {' '.join(answer.text.split())[:200]}"
    cost = "cost not known" if usage.cost_usd is None else f"{format_dollars(usage.cost_usd, 6)} USD"
    tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    return f"yes: answered in {time.monotonic() - start:.1f} s, {tokens}, {cost}"

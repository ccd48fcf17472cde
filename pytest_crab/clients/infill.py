"""Has a model write the piece of text that is missing between two others, by a provider's completions endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_crab.clients.chat import ChatSettings
from pytest_crab.errors import MalformedAnswer
from pytest_crab.model_access import Services
from pytest_crab.types import Usage

#: What stands for the two texts in a template of a model's own.
BEFORE, AFTER = "{before}", "{after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A gap in a text, for one line or less of at most ``tokens`` tokens if ``one_line``."""

    before: str
    after: str
    tokens: int
    one_line: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """The text that a model wrote into a gap."""

    text: str
    usage: Usage | None = None


def fill(
    settings: ChatSettings, services: Services, gap: Gap, *, temperature: float, seed: int, template: str | None = None
) -> Filling:
    """Return one filling of a gap, drawn at this temperature; its instructions are not sent.

    The provider gets the text behind the gap as ``suffix``, or both texts as one prompt by ``template``, in which
    {before} and {after} stand for them. Raises ModelError, also for an answer that has no text, and GatewayError.
    """
    fields = {
        **_texts(gap, template),
        "max_tokens": gap.tokens,
        "temperature": temperature,
        "seed": seed,
        **({"stop": ["\n"]} if gap.one_line else {}),
    }
    text, usage = settings.request(services, "completions", fields, _read_text)
    return Filling(text=text, usage=usage)


def _texts(gap: Gap, template: str | None) -> dict[str, str]:
    if template is None:
        return {"prompt": gap.before, "suffix": gap.after}
    before, _, rest = template.partition(BEFORE)
    if AFTER in before:  # some models read what follows first
        first, _, second = before.partition(AFTER)
        return {"prompt": f"{first}{gap.after}{second}{gap.before}{rest}"}
    first, _, second = rest.partition(AFTER)
    return {"prompt": f"{before}{gap.before}{first}{gap.after}{second}"}


def _read_text(document: Any) -> str:
    try:
        text = document["choices"][0]["text"]
    except (LookupError, TypeError) as error:
        raise MalformedAnswer("its answer is not that of a completions endpoint", "bad_output") from error
    if not isinstance(text, str):
        raise MalformedAnswer("its answer has no text", "bad_output")
    return text

"""The log-probabilities that a model gives the tokens of a text, by one request to a provider that echoes the text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pytest_crab.clients.chat import ChatSettings
from pytest_crab.errors import MalformedAnswer
from pytest_crab.model_access import Services
from pytest_crab.types import Usage, total_usage

#: What a provider that cannot do this should have, for errors.
NEEDED = "its completions endpoint should take echo and logprobs, as vLLM's server does"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextToken:
    """One token of a text; ``log_probability`` is that of the token after all tokens before it.

    It is None for the first token, before which there is nothing. ``likeliest``: no other token is more likely there,
    so a model that decodes greedily would write this one. ``best`` is the likeliest token in its place.
    """

    text: str
    log_probability: float | None
    likeliest: bool = False
    best: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredText:
    """The tokens of a text in their order, by the tokenizer of the model, which may put a start token before them."""

    tokens: tuple[TextToken, ...]
    usage: Usage | None = None


def score_text(settings: ChatSettings, services: Services, text: str) -> ScoredText:
    """Return the log-probabilities of a text's tokens by the model of these settings; its instructions are not sent.

    Raises ModelError, also for a provider that does not echo the text with its log-probabilities, and GatewayError.
    """
    fields = {
        "prompt": text,
        "max_tokens": 1,  # some servers take 0 for no limit
        "echo": True,
        "logprobs": 1,
    }
    tokens, usage = settings.request(services, "completions", fields, lambda answer: read_tokens(answer, text))
    return ScoredText(tokens=tokens, usage=usage)


def require_own_places(settings: ChatSettings, services: Services) -> Usage | None:
    """Raise MalformedAnswer for a server that gives each token the log-probability of its place too late.

    Where two texts first differ they have the same likeliest token, since it follows from the tokens before it. Returns
    what the two requests used. Raises what score_text raises.
    """
    texts = [score_text(settings, services, f"{_SHARED}{end}") for end in _ENDS]
    pairs = zip(*(text.tokens for text in texts), strict=False)
    best = next(({token.best for token in pair} for pair in pairs if len({token.text for token in pair}) > 1), {""})
    if len(best) > 1:
        raise MalformedAnswer(
            "it gives each token of a text the log-probabilities of the place behind it, as llama_cpp.server does; "
            "use another server",
            "bad_output",
        )
    return total_usage(text.usage for text in texts)


#: What ``require_own_places`` asks, for plans.
CHECK = "after two short texts that check the server"

#: Texts that differ in their ends.
_SHARED, _ENDS = "one two three four five six seven", (" eight", " (")


def read_tokens(document: Any, text: str) -> tuple[TextToken, ...]:
    """Return the tokens of an echoed text out of an answer, without those that the model wrote behind it.

    Raises MalformedAnswer for an answer without the text, or without a log-probability of one of its tokens.
    """
    try:
        choice = document["choices"][0]
        echoed = str(choice["text"]).strip().startswith(text.strip())
        found = choice["logprobs"]
        columns = found["tokens"], found["token_logprobs"], found["top_logprobs"]
        tokens = [_token(*each) for each in zip(*columns, strict=True)]
        written = int(document["usage"]["completion_tokens"])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise MalformedAnswer(f"its answer has no log-probabilities of the text: {NEEDED}", "bad_output") from error
    own = tuple(tokens[: max(len(tokens) - written, 0)])
    if not echoed or len(own) < 2:
        raise MalformedAnswer(f"its answer does not repeat the text: {NEEDED}", "bad_output")
    if any(token.log_probability is None for token in own[1:]):
        raise MalformedAnswer("a token of the text has no log-probability in its answer", "bad_output")
    return own


def _token(text: Any, value: Any, likely: Any) -> TextToken:
    """Return one token. Raises ValueError, TypeError, AttributeError for what is none."""
    if value is None:
        return TextToken(text=str(text), log_probability=None)
    own = float(value)
    if not math.isfinite(own) or own > _ROUNDING:
        raise ValueError(f"{own} is no log-probability")
    known = {str(token): float(each) for token, each in (likely or {}).items()}
    best = max(known, key=lambda token: known[token], default="")
    return TextToken(
        text=str(text), log_probability=min(own, 0.0), likeliest=own >= known.get(best, math.inf), best=best
    )


#: How far above 0 a server may round the log-probability of a sure token.
_ROUNDING = 1e-3

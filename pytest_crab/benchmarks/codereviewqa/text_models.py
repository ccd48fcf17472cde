"""Models of plain texts: log-probabilities of a text's tokens, fillings of a gap, and embeddings; one request each."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    """One token of a text."""

    text: str
    #: That of the token after all tokens before it; None for the first token, before which there is nothing.
    log_probability: float | None
    #: Whether no other token is more likely there, so that a model that decodes greedily would write this one.
    likeliest: bool = False
    #: The likeliest token in its place.
    best: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredText:
    """The tokens of a text."""

    #: In their order, by the tokenizer of the model, which may put a start token before them.
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


#: What stands for the two texts in a template of a model's own.
BEFORE, AFTER = "{before}", "{after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A gap in a text."""

    before: str
    after: str
    #: The most tokens that may fill it.
    tokens: int
    #: Whether it is for one line or less.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosines:
    """The cosine of a text's embedding with that of each of some others, in their order."""

    values: tuple[float, ...]
    usage: Usage | None = None


def compare_embeddings(settings: ChatSettings, services: Services, text: str, others: Sequence[str]) -> Cosines:
    """Return how similar the embeddings of other texts are to that of a text, by one request.

    Raises ModelError, also for an answer without a vector for each text, and GatewayError.
    """
    texts = [text, *others]
    (first, *rest), usage = settings.request(
        services, "embeddings", {"input": texts}, lambda answer: read_vectors(answer, len(texts))
    )
    return Cosines(values=tuple(_cosine(first, each) for each in rest), usage=usage)


def read_vectors(document: Any, count: int) -> list[list[float]]:
    """Return the vectors of an answer in the order of their texts. Raises MalformedAnswer unless there are so many."""
    try:
        found = {int(each["index"]): [float(number) for number in each["embedding"]] for each in document["data"]}
        vectors = [found[at] for at in range(count)]
    except (LookupError, TypeError, ValueError) as error:
        raise MalformedAnswer("its answer has no embedding for each text", "bad_output") from error
    if len({len(vector) for vector in vectors}) != 1:
        raise MalformedAnswer("the embeddings of its answer are of different lengths", "bad_output")
    if not all(math.isfinite(number) for vector in vectors for number in vector) or not all(map(any, vectors)):
        raise MalformedAnswer("an embedding of its answer has no direction", "bad_output")
    return vectors


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors that are not zero."""
    product = math.fsum(left * right for left, right in zip(one, other, strict=True))
    return max(-1.0, min(1.0, product / (math.hypot(*one) * math.hypot(*other))))

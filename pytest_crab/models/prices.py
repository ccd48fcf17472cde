"""Prices of models: crab.yaml's first, else those that genai-prices has for the provider; neither is unknown."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from pytest_crab.models.usage import Tokens
from pytest_crab.settings import Price

#: For estimates: no text has more tokens than one for so many bytes, no model writes more of them in a second, and
#: where a request does not limit its answer, what it may have come to before anything of it was seen.
_BYTES_PER_TOKEN, _TOKENS_PER_SECOND, _UNSEEN = 2, 200, 4096
#: The longest answer of any model, for requests that do not limit theirs, and the longest request.
LONGEST_ANSWER, LONGEST_REQUEST = 131072, 1 << 20
#: Fields that limit an answer, of which a provider may heed any, and those that ask for several answers.
_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens", "max_new_tokens", "n_predict")
_ANSWERS = ("n", "best_of", "num_return_sequences", "candidate_count")
#: Fields of a body by which a provider reads what lies elsewhere; a text in JSON cannot look like one.
_ELSEWHERE = re.compile(
    rb'"(?:previous_response_id|conversation|file_id|(?:(?:image|file)_)?url)":"(?!data:)'
    rb'|"conversation":\{"id"|"item_reference"'
)
#: More than any request may ask for; a number above it is taken for this one.
_MOST = 10**9

#: Fields of a request that change its price in a way that is not known here, with the values that do not.
_TERMS: Mapping[str, tuple[Any, ...]] = {
    "service_tier": (None, "auto", "default", "standard_only"),
    "speed": (None, "standard"),
}


class Prices:
    """The prices of a run; ``own`` are crab.yaml's, by model or pattern."""

    def __init__(self, own: Mapping[str, Price]) -> None:
        self.own = own

    def find(
        self, document: Mapping[str, Any], base_url: str, tokens: Tokens | None = None, *, writes: bool = True
    ) -> Price | None:
        """Return the price of a request to a provider; None: unknown.

        A model may cost more for long requests: without ``tokens`` it is its highest price. ``writes``: the answer has
        tokens, which need a price too.
        """
        if document.get("models"):  # of which the provider chooses one
            return None
        model = str(document.get("model", ""))
        own = own_price(model, self.own)
        if own is not None or any(document.get(name) not in usual for name, usual in _TERMS.items()):
            return own
        return published_price(model, base_url, None if tokens is None else tokens.input, writes=writes)

    def possible(self, model: str | None, base_url: str) -> tuple[Price, ...]:
        """Return the highest price of a model at a provider; if it is unknown, those of all models published there.

        ``model`` None: requests name one of their own. Own prices replace published ones here too.
        """
        named = self.find({"model": model or ""}, base_url)
        if named is not None:
            return (named,)
        found = (self.find({"model": each}, base_url) for each in _published_models(base_url))
        return tuple(price for price in found if price is not None)


def own_price(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model: its own entry, else the longest pattern (``claude-sonnet-*``) that fits its name."""
    if model in prices:
        return prices[model]
    fitting = [pattern for pattern in prices if fnmatchcase(model, pattern)]
    return prices[max(fitting, key=len)] if fitting else None


def published_price(model: str, base_url: str, read: int | None, *, writes: bool = True) -> Price | None:
    """Return the price in genai-prices of a model of the provider at this address, for so many tokens read.

    A model for embeddings has no price of what it ``writes``. Servers of one's own and proxies have no price: what they
    charge is not published.
    """
    found = _model_price(model, base_url)
    if found is None:
        return None
    names = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok")
    reading, writing, cached, cache_write, cache_write_1h = (_rate(getattr(found, name), read) for name in names)
    if reading is None or (writing is None and writes):
        return None
    return Price(
        input=reading, output=writing or 0.0, cached=cached, cache_write=cache_write, cache_write_1h=cache_write_1h
    )


def read_published() -> None:
    """Read the published prices now: the first look at them takes as long as hundreds of requests."""
    _model_price("", "")


@functools.lru_cache(maxsize=256)
def _model_price(model: str, base_url: str) -> Any | None:
    try:
        import genai_prices

        return genai_prices.calc_price(genai_prices.Usage(), model, provider_api_url=base_url).model_price
    except (ImportError, LookupError):
        return None


@functools.lru_cache(maxsize=16)
def _published_models(base_url: str) -> tuple[str, ...]:
    """Return the names of the models in genai-prices of the provider at this address."""
    try:
        from genai_prices.data_snapshot import get_snapshot

        return tuple(model.id for model in get_snapshot().find_provider(None, None, base_url).models)
    except (ImportError, LookupError):
        return ()


def _rate(price: Any, read: int | None) -> float | None:
    """Return one kind of token's price; above the start of a tier, the tier's price is that of all tokens."""
    if price is None or not hasattr(price, "tiers"):
        return None if price is None else float(price)
    fitting = [price.base, *(tier.price for tier in price.tiers if read is None or read > tier.start)]
    return float(max(fitting) if read is None else fitting[-1])


def cost_of(tokens: Tokens | None, price: Price | None) -> float | None:
    """Return US dollars; None if anything that was used has no known price."""
    if tokens is None or price is None:
        return None
    long = price.cache_write if price.cache_write_1h is None else price.cache_write_1h
    parts = (
        (max(tokens.input - tokens.cached - tokens.cache_write, 0), price.input),
        (tokens.output, price.output),
        (tokens.cached, price.cached),
        (tokens.cache_write - tokens.cache_write_1h, price.cache_write),
        (tokens.cache_write_1h, long),
    )
    if any(used and each is None for used, each in parts):
        return None
    return sum(used * (each or 0.0) for used, each in parts) / 1_000_000


def estimate(
    document: Mapping[str, Any],
    size: int,
    price: Price,
    *,
    seconds: float,
    tokens: Tokens | None = None,
    seen: int = 0,
    writes: bool = True,
) -> float:
    """Return the US dollars that an answer without its end may have cost, rather too much than too little.

    ``size`` is the request's in bytes; ``tokens`` is what the answer has told so far, ``seen`` are its bytes;
    ``writes``: it has tokens.
    """
    limit = longest_answer(document)
    each = max(int(seconds * _TOKENS_PER_SECOND), _UNSEEN) if limit is None else limit
    told = 0 if limit is not None else seen // _BYTES_PER_TOKEN
    written = max(each * answers(document), told) if writes else 0
    read = size // _BYTES_PER_TOKEN
    return dearest_cost(max(read, tokens.input if tokens else 0), max(written, tokens.output if tokens else 0), price)


def dearest_cost(read: int, written: int, price: Price) -> float:
    """Return the US dollars that so many tokens cost at most, since all that is read may be written to a cache."""
    dearest = max(price.input, price.cache_write or 0.0, price.cache_write_1h or 0.0)
    return (read * dearest + written * price.output) / 1_000_000


def bound_cost(document: Mapping[str, Any], body: bytes, price: Price, *, writes: bool = True) -> float:
    """Return the US dollars that a request can cost at most, before it is made; ``writes``: its answer has tokens.

    ``body`` is the document as the provider is sent it. What lies elsewhere may be as long as any request.
    """
    read = len(body) // _BYTES_PER_TOKEN + (LONGEST_REQUEST if _ELSEWHERE.search(body) else 0)
    limit = longest_answer(document)
    each = LONGEST_ANSWER if limit is None else limit
    return dearest_cost(read, each * answers(document) if writes else 0, price)


def longest_answer(document: Mapping[str, Any]) -> int | None:
    """Return the most tokens of one answer to a request, by the largest of its limits.

    None: it has no limit, or one that is no number above 0, which some providers take for none.
    """
    limits = [_number(document[name]) for name in _LIMITS if document.get(name) is not None]
    return max(limits) if limits and all(limits) else None


def answers(document: Mapping[str, Any]) -> int:
    """Return how many answers a request asks for: so many for each of its prompts."""
    prompts = document.get("prompt")
    several = len(prompts) if isinstance(prompts, list) and not all(isinstance(each, int) for each in prompts) else 1
    return max(1, *(_number(document.get(name)) for name in _ANSWERS)) * several


def _number(value: Any) -> int:
    """Return a number of a request, as lenient providers read it; 0 for what is none above 0."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) else 0.0
    except (ValueError, OverflowError):
        number = _MOST if isinstance(value, int) and value > 0 else 0.0
    return min(math.ceil(number), _MOST) if 0 < number < math.inf else _MOST if number == math.inf else 0

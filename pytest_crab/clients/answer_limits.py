"""The longest answers of models, as their makers publish them: what is asked for where no setting says otherwise."""

from __future__ import annotations

from fnmatch import fnmatchcase

#: The limit for a model that is not known here.
UNKNOWN = 8192

#: The most tokens of one answer by pattern of a model's name; the first one that fits counts.
_MOST = {
    "claude-3-5-*": 8192,
    "claude-3-7-*": 64_000,
    "claude-3-*": 4096,
    "claude-*-4-[678]*": 128_000,
    "claude-opus-4-[01]*": 32_000,
    "claude-opus-4-20*": 32_000,
    "claude-*-4-*": 64_000,
    "claude-*-5": 128_000,
    "claude-*-5-*": 128_000,
    "gpt-5*-chat*": 16_384,
    "gpt-5*": 128_000,
    "gpt-4-1*": 32_768,
    "gpt-4o*": 16_384,
    "o[34]*": 100_000,
}


def most_tokens(model: str) -> int:
    """Return the most tokens that one answer of a model is asked to have, by its name, whoever serves it."""
    name = model.rpartition("/")[2].lower().replace(".", "-")
    return next((most for pattern, most in _MOST.items() if fnmatchcase(name, pattern)), UNKNOWN)

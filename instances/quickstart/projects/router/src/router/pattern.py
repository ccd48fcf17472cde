"""Path patterns such as ``/users/<int:id>/posts/<slug:title>``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from router.converters import CONVERTERS, Converter
from router.errors import BuildError, PatternError

_PLACEHOLDER = re.compile(r"<(?:(?P<kind>[a-z]+):)?(?P<name>[a-z_][a-z0-9_]*)>")


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern: matches a path, and builds one from values."""

    source: str
    regex: re.Pattern[str]
    converters: dict[str, Converter]

    @classmethod
    def compile(cls, source: str) -> Pattern:
        """Compile *source*; raise PatternError if it makes no sense."""
        if not source.startswith("/"):
            raise PatternError(f"{source!r}: a pattern starts with a slash")
        parts: list[str] = []
        converters: dict[str, Converter] = {}
        end = 0
        for placeholder in _PLACEHOLDER.finditer(source):
            kind, name = placeholder["kind"] or "str", placeholder["name"]
            if kind not in CONVERTERS:
                raise PatternError(f"{source!r}: no converter is called {kind!r}")
            if name in converters:
                raise PatternError(f"{source!r}: {name!r} is used twice")
            converters[name] = CONVERTERS[kind]
            parts.append(re.escape(source[end : placeholder.start()]))
            parts.append(f"(?P<{name}>{CONVERTERS[kind].regex})")
            end = placeholder.end()
        parts.append(re.escape(source[end:]))
        return cls(source, re.compile("".join(parts)), converters)

    def match(self, path: str) -> dict[str, Any] | None:
        """Return the converted values if the whole *path* matches, else None."""
        found = self.regex.fullmatch(path)
        if found is None:
            return None
        return {name: self.converters[name].parse(text) for name, text in found.groupdict().items()}

    def build(self, values: dict[str, Any]) -> str:
        """Fill the placeholders; raise BuildError if values are missing or left over."""
        if set(values) != set(self.converters):
            wanted = ", ".join(self.converters) or "no values"
            raise BuildError(f"{self.source!r} takes {wanted}")
        return _PLACEHOLDER.sub(lambda m: self.converters[m["name"]].format(values[m["name"]]), self.source)

"""Detect the licence of a project from its own files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pytest_crab.ecosystems import installed

#: Licences that let texts of a project be passed on with a notice.
PERMISSIVE = (
    *("MIT", "ISC", "0BSD", "Unlicense", "Zlib", "PSF-2.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause"),
    *("CC0-1.0", "CC-BY-4.0"),
)

#: SPDX's word for an unknown licence.
UNKNOWN = "NOASSERTION"

_FILES = (
    *("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENSE.rst", "LICENCE", "LICENCE.txt", "COPYING", "COPYING.txt"),
    *("LICENSE-MIT", "LICENSE-APACHE", "MIT-LICENSE", "MIT-LICENSE.txt"),
)
_SPDX = re.compile(r"(?:MIT|ISC|Unlicense|PSF-2\.0|MPL-2\.0|Zlib|0BSD|Apache-2\.0|BSD-[23]-Clause|A?L?GPL-[23][^\s]*)")

#: Words that only one licence has, the more special licence first.
_WORDS = (
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("AGPL-3.0", ("gnu affero general public license", "version 3")),
    ("LGPL-3.0", ("gnu lesser general public license", "version 3")),
    ("LGPL-2.1", ("gnu lesser general public license", "version 2.1")),
    ("GPL-3.0", ("gnu general public license", "version 3")),
    ("GPL-2.0", ("gnu general public license", "version 2")),
    ("MPL-2.0", ("mozilla public license", "2.0")),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "neither the name")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    ("MIT", ("permission is hereby granted, free of charge", "the above copyright notice and this permission notice")),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software for any purpose",)),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",)),
)


def detect_licence(read: Callable[[str], bytes | None]) -> str:
    """Return the SPDX name of a tree's licence, or NOASSERTION; ``read`` returns a file's content or None."""
    return next(_candidates(read), UNKNOWN)


def _candidates(read: Callable[[str], bytes | None]) -> Iterator[str]:
    declared = (name for one in installed() for name in one.licences(lambda name: _text(read(name))))
    yield from (name for said in declared for name in _choices(said) if _SPDX.fullmatch(name))
    known = (*_WORDS, *(pair for one in installed() for pair in one.licence_words().items()))
    for name in _FILES:
        text = " ".join(_text(read(name)).lower().split())[:4000]
        yield from (licence for licence, words in known if text and all(word in text for word in words))


def _choices(expression: str) -> list[str]:
    """Return the licences of which an expression lets anybody choose, permissive ones first; none of a mixed one."""
    if re.search(r"\s(?:AND|WITH)\s", expression):
        return []
    names = re.split(r"\s+OR\s+|\s*/\s*", expression.strip("() "))
    return sorted(names, key=lambda name: name not in PERMISSIVE)


def _text(content: bytes | None) -> str:
    return "" if content is None else content[:100_000].decode("utf-8", "replace")

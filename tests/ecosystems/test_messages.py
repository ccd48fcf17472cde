"""What programs of any language say of what went wrong."""

from __future__ import annotations

import pytest

from pytest_crab.ecosystems.messages import telling_line


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "/x.js:2\nconsole.log(f\n     ^\n\nTypeError: f is no function\n    at x.js:2\n\nNode.js v20.20.2\n",
            "TypeError: f is no function",
        ),
        (
            "Error: Cannot find module 'a'\n    at b.js {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.1.0\n",
            "Error: Cannot find module 'a'",
        ),
        ("panic: no key\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:3 +0x1d\nexit status 2\n", "panic: no key"),
        ("Traceback (most recent call last):\n  File \"x\"\nKeyError: 'findings'\n", "KeyError: 'findings'"),
        ("Exception: early\nretrying\nno model answers\n", "no model answers"),
        (
            "thread 'main' panicked at x.rs:2: no\nnote: run with `RUST_BACKTRACE=1`\n",
            "thread 'main' panicked at x.rs:2: no",
        ),
        ("Node.js v20.20.2\n", "Node.js v20.20.2"),
        ("\n", ""),
    ],
)
def test_the_telling_line_is_no_banner_of_a_runtime(said: str, line: str) -> None:
    assert telling_line(said) == telling_line(said.encode()) == line

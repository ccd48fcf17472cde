"""What the author of an oracle is told of a build that fails on the reference, whose code is that of the fix."""

from __future__ import annotations

import pytest

from pytest_crab.curation.unproved import _telling_line

RUSTC = """\
error[E0061]: this function takes 2 arguments but 1 argument was supplied
 --> tests/oracle.rs:4:16
  |
4 |     assert_eq!(total(1), Ok(1));
  |                ^^^^^--- argument #2 is missing
note: function defined here
 --> src/fix.rs:9:8
  |
9 | pub fn total(a: i32, cap: Option<u8>) -> Result<i32, SecretError> {
"""
TSC = """\
shop.test.ts(3,8): error TS2554: Expected 2 arguments, but got 1.

9     if (order.failed) throw new SecretError(order);
      ~~
"""
JAVAC = """\
Oracle.java:7: error: method total in class Cart cannot be applied to given types;
        assertEquals(3, Cart.total(1)); // SecretError
                            ^
"""


@pytest.mark.parametrize(
    ("told", "line"),
    [(RUSTC, "error[E0061]: this function takes 2"), (TSC, "shop.test.ts(3,8)"), (JAVAC, "Oracle.java:7")],
)
def test_no_line_of_code_is_told(told: str, line: str) -> None:
    assert _telling_line(told).startswith(line)
    assert "SecretError" not in _telling_line(told)

"""Attacks by somebody who has not read the harness, in the order in which they were written.

How to add one: append a ``Revision`` (files that make a wrong project look right; ``reason`` is that for which it is
missed, ``command`` the careless command that takes it for right) or a ``Refusal`` (an attempt on the host and its naive
twin) to ``SECOND_PAIR``; see shape.py for the fields, revisions.py and paths.py for examples. The project under attack
is ``ledger.py`` at the tree's root, whose ``add(a, b)`` returns ``a - b``; its oracle wants ``add(0, 0) == 0`` and
``add(2, 2) == 4``. Then run table.py, which writes the page's tables; every test of this folder takes them in.

``FIRST_RUN`` keeps what their first run said, as it was: the attack's name, and "refused" or "succeeded". An attack
that succeeded then stays in the list once it is refused, or goes to residual.py if it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hostile.shape import Attack

SECOND_PAIR: list[Attack] = []

FIRST_RUN: dict[str, str] = {}

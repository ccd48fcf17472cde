"""Both lists as a whole: what is refused, and what is left."""

from __future__ import annotations

from hostile import bombs
from hostile import channel
from hostile import confined
from hostile import foreign
from hostile import host
from hostile import judges
from hostile import paths
from hostile import patterns
from hostile import placement
from hostile import residual
from hostile import revisions
from hostile import texts
from hostile import traces
from hostile.second_pair import FIRST_RUN
from hostile.second_pair import READ
from hostile.second_pair import SECOND_PAIR
from hostile.shape import Attack
from hostile.shape import Refusal
from hostile.shape import Revision

_FIRST: list[Attack] = [*revisions.REVISIONS, *channel.REVISIONS, *confined.CONFINED, *traces.REFUSALS, *paths.REFUSALS]
_MORE: list[Attack] = [*bombs.REFUSALS, *texts.REFUSALS, *foreign.REFUSALS, *host.REFUSALS, *patterns.REFUSALS]
_MORE += [*judges.REFUSALS, *placement.REFUSALS]
ATTACKS: list[Attack] = [*_FIRST, *_MORE, *SECOND_PAIR, *READ]
REVISIONS = [attack for attack in ATTACKS if isinstance(attack, Revision)]
REFUSALS = [attack for attack in ATTACKS if isinstance(attack, Refusal)]
RESIDUAL = residual.RESIDUAL
__all__ = ["ATTACKS", "FIRST_RUN", "REFUSALS", "RESIDUAL", "REVISIONS"]

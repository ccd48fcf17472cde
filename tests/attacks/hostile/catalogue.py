"""Both lists as a whole: what is refused, and what is left."""

from __future__ import annotations

from hostile import (
    bombs,
    channel,
    children,
    confined,
    foreign,
    host,
    judges,
    models,
    paths,
    patterns,
    placement,
    residual,
    revisions,
    texts,
    traces,
)
from hostile.second_pair import READ, SECOND_PAIR
from hostile.shape import Attack, Refusal, Revision

_FIRST: list[Attack] = [*revisions.REVISIONS, *channel.REVISIONS, *confined.CONFINED, *traces.REFUSALS, *paths.REFUSALS]
_MORE: list[Attack] = [*bombs.REFUSALS, *texts.REFUSALS, *foreign.REFUSALS, *host.REFUSALS, *patterns.REFUSALS]
_MORE += [*judges.REFUSALS, *placement.REFUSALS, *children.REVISIONS, *models.REFUSALS]
ATTACKS: list[Attack] = [*_FIRST, *_MORE, *SECOND_PAIR, *READ]
REVISIONS = [attack for attack in ATTACKS if isinstance(attack, Revision)]
REFUSALS = [attack for attack in ATTACKS if isinstance(attack, Refusal)]
RESIDUAL = residual.RESIDUAL
__all__ = ["ATTACKS", "REFUSALS", "RESIDUAL", "REVISIONS"]

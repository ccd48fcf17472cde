"""The door for contestants of another kind than reviewers: what a run has for them, and what they have for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_crab.campaign.trial_pool import Contestant, WorkKind
from pytest_crab.option_table import Options
from pytest_crab.plugin.resources import Resources
from pytest_crab.settings import Settings


class Run(NamedTuple):
    """A run that begins."""

    options: Options
    #: The settings of crab.yaml.
    settings: Settings
    #: The services that all items share.
    resources: Resources
    #: The names of the run's reviewers.
    reviewers: Collection[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The contestants of one kind in a run."""

    #: They and their names, for the header.
    description: str
    #: Whether one of them runs code, for which the run then has a runtime.
    run_code: bool
    #: The pytest plugins to register, by name. They make, run, record and show the items of this kind.
    plugins: Mapping[str, object] = field(default_factory=dict)
    #: The work that a cluster does for them, which the runner's ``cluster`` is given; None: a cluster does none.
    work: WorkKind | None = None
    contestants: Sequence[Contestant] = ()

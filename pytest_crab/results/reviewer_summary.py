"""The numbers of one reviewer in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_crab.results.comparisons import Lift
from pytest_crab.results.explained import ExplainedRates
from pytest_crab.results.labelled_findings import LabelledFindings
from pytest_crab.results.model_usage import ModelUsage
from pytest_crab.results.outcomes import OracleRecord
from pytest_crab.results.rates import Rate
from pytest_crab.results.review_cost import Burden, CleanReviews
from pytest_crab.results.ruler_means import RulerMean
from pytest_crab.results.stability import Stability
from pytest_crab.types.reviews import SuggestionCounts

#: The dimension that tables show as columns of their own.
KIND = "kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Regressions:
    """Of ``measured`` trials, how many revisions broke a test of pass_to_pass."""

    broken: int
    measured: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerSummary:
    """The results of one reviewer.

    ``outcomes`` are shares of oracles under every word of OUTCOMES, adding up to ``overall.oracles``: with n repeats,
    one repeat's outcome is 1/n of an oracle. ``comments`` adds up the mean number of findings over instances.
    ``cost_usd`` adds up what is known, failed attempts included, which ``failed_usd`` has alone (None: none is known);
    ``unpriced`` counts the reviews, revisions and failures whose cost is not known.
    ``cost_per_run`` and ``seconds_per_run`` are those of one run of all instances (repeats are averaged): the first is
    None where any cost is unknown, the second has reviews, revisions and verdicts only and is None where any was kept
    from before. ``variant`` is None for a
    contestant. ``curve`` has the micro rate with only the first k findings by k, in the reviewer's own order,
    where such variants ran, and ``all``. ``versions`` are what was seen of each part that a comparison depends on.
    ``by_label`` has the rates by dimension (category, kind, severity) and label, ``findings_by_label`` the findings
    in all repeats by dimension (severity, confidence, and each scorer of findings) and label. ``seconds_per_review`` is
    the mean over reviews that were made in this run; None: all were kept from before.
    ``decided_by`` counts the verdicts of each scorer in these rates; empty where none is by a ruler that runs nothing.
    ``by_ruler`` has the means by each scorer, where one of them is such a ruler.
    ``counted`` is the word for one of what the rates count: oracle, or comment where something else than oracles
    decides. ``resolvable`` is the rate over those oracles that the agent was seen to resolve from the
    human comment; None: no oracle is marked so. ``unknown_causes`` counts unknown verdicts, over all repeats, by their
    cause in words.
    ``suggestions`` adds up what became of suggestion blocks; None: there were none, or another agent.
    ``explained`` has the rates by the explanations of verdicts; None: none is on record.
    ``unmeasured`` says why the rate measured nothing, without the reviewer's name; None: it measured.
    ``clean`` has the false alarms on pull requests without an issue; None where the set has none.
    """

    reviewer: str
    agents: tuple[str, ...]
    runtimes: tuple[str, ...]
    privileged: tuple[str, ...] = ()
    leaky: tuple[str, ...] = ()
    simulated: bool = False
    notes: tuple[str, ...] = ()
    trials: int
    instances: int
    authored: int
    github: int
    injected: int = 0
    repeats: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    comments: float | None = None
    comments_per_pull_request: float | None = None
    overall: Rate
    resolvable: Rate | None = None
    by_label: Mapping[str, Mapping[str, Rate]] = field(default_factory=dict)
    outcomes: Mapping[str, float]
    regressions: Regressions
    suggestions: SuggestionCounts | None = None
    cost_usd: float | None = None
    failed_usd: float | None = None
    unpriced: int
    seconds: float
    cost_per_run: float | None = None
    seconds_per_run: float | None = None
    variant: str | None = None
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    burden: Burden = field(default_factory=Burden)
    clean: CleanReviews | None = None
    lift: Lift | None = None
    stability: Stability | None = None
    curve: Mapping[str, float] = field(default_factory=dict)
    findings_by_label: Mapping[str, Mapping[str, LabelledFindings]] = field(default_factory=dict)
    seconds_per_review: float | None = None
    usage: tuple[ModelUsage, ...] = ()
    unknown_causes: Mapping[str, int] = field(default_factory=dict)
    counted: str = "oracle"
    oracles: tuple[OracleRecord, ...] = ()
    explained: ExplainedRates | None = None
    review_by: str | None = None
    decided_by: Mapping[str, int] = field(default_factory=dict)
    by_ruler: Mapping[str, RulerMean] = field(default_factory=dict)
    unmeasured: str | None = None

    @property
    def by_kind(self) -> Mapping[str, Rate]:
        """The rates by the label ``kind``."""
        return self.by_label.get(KIND, {})

    @property
    def by_category(self) -> Mapping[str, Rate]:
        """The rates by the label ``category``."""
        return self.by_label.get("category", {})

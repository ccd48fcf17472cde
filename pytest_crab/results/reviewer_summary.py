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
    """The number of revisions that broke a test of pass_to_pass."""

    #: Trials whose revision broke one.
    broken: int
    #: Trials in which that was looked at.
    measured: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerSummary:
    """The results of one reviewer in one run."""

    reviewer: str
    #: The agents that acted on its findings, by name.
    agents: tuple[str, ...]
    runtimes: tuple[str, ...]
    #: Those, reviewer or agent, that were shown the answer.
    privileged: tuple[str, ...] = ()
    #: Those, reviewer or agent, that could read the public discussion.
    leaky: tuple[str, ...] = ()
    #: Whether its agent understands no finding and only looks where findings lie.
    simulated: bool = False
    #: Sentences on what changes the meaning of the rate.
    notes: tuple[str, ...] = ()
    trials: int
    instances: int
    #: Instances that were written for their set.
    authored: int
    #: Instances from review comments of real pull requests.
    github: int
    #: Instances whose fault was put in.
    injected: int = 0
    repeats: int
    #: Trials that were skipped, by reason.
    skipped: Mapping[str, int] = field(default_factory=dict)
    #: The mean number of findings over repeats, added up over instances.
    comments: float | None = None
    comments_per_pull_request: float | None = None
    #: The rate over all oracles.
    overall: Rate
    #: The rate over those oracles that the agent was seen to resolve from the human comment; None: no oracle is marked
    #: so.
    resolvable: Rate | None = None
    #: Rates by dimension (category, kind, severity) and label.
    by_label: Mapping[str, Mapping[str, Rate]] = field(default_factory=dict)
    #: Shares of oracles under every word of OUTCOMES, adding up to ``overall.oracles``: with n repeats, one repeat's
    #: outcome is 1/n of an oracle.
    outcomes: Mapping[str, float]
    regressions: Regressions
    #: The fate of suggestion blocks, added up; None: there were none, or another agent.
    suggestions: SuggestionCounts | None = None
    #: All known costs, those of failed attempts too; None: none is known.
    cost_usd: float | None = None
    #: The known costs of failed attempts alone; None: none is known.
    failed_usd: float | None = None
    #: Reviews, revisions and failures whose cost is not known.
    unpriced: int
    #: The time of all its trials, added up.
    seconds: float
    #: The cost of one run of all instances (repeats are averaged); None where any cost is unknown.
    cost_per_run: float | None = None
    #: The time of reviews, revisions and verdicts in one run of all instances (repeats are averaged); None where any
    #: was kept from before.
    seconds_per_run: float | None = None
    #: The variant of a contestant that this is; None for the contestant itself.
    variant: str | None = None
    #: The versions that were seen of each part that a comparison depends on.
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    burden: Burden = field(default_factory=Burden)
    #: False alarms on pull requests without an issue; None where the set has none.
    clean: CleanReviews | None = None
    lift: Lift | None = None
    stability: Stability | None = None
    #: The micro rate with only the first k findings, in the reviewer's own order, by k where such variants ran, and by
    #: ``all``.
    curve: Mapping[str, float] = field(default_factory=dict)
    #: Findings in all repeats by dimension (severity, confidence, and each scorer of findings) and label.
    findings_by_label: Mapping[str, Mapping[str, LabelledFindings]] = field(default_factory=dict)
    #: The mean over reviews that were made in this run; None: all were kept from before.
    seconds_per_review: float | None = None
    usage: tuple[ModelUsage, ...] = ()
    #: Unknown verdicts over all repeats, by their cause in words.
    unknown_causes: Mapping[str, int] = field(default_factory=dict)
    #: The word for one of what the rates count: oracle, or comment where something else than oracles decides.
    counted: str = "oracle"
    oracles: tuple[OracleRecord, ...] = ()
    #: Rates by the explanations of verdicts; None: none is on record.
    explained: ExplainedRates | None = None
    #: The reviewer's own name where several agents act on its reviews; None: one does.
    review_by: str | None = None
    #: Verdicts in these rates by the scorer that gave them; empty where none is by a ruler that runs nothing.
    decided_by: Mapping[str, int] = field(default_factory=dict)
    #: Means by scorer, where one of them is a ruler that runs nothing.
    by_ruler: Mapping[str, RulerMean] = field(default_factory=dict)
    #: The reason why the rate measured nothing, without the reviewer's name; None: it measured.
    unmeasured: str | None = None

    @property
    def by_kind(self) -> Mapping[str, Rate]:
        """The rates by the label ``kind``."""
        return self.by_label.get(KIND, {})

    @property
    def by_category(self) -> Mapping[str, Rate]:
        """The rates by the label ``category``."""
        return self.by_label.get("category", {})

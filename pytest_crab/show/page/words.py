"""The meanings of the page's words: a sentence for each, shown where the word stands as the head of a column."""

from __future__ import annotations

from collections.abc import Mapping

#: By the head or the row's name that has the word.
MEANINGS: Mapping[str, str] = {
    "Rate %": "caught / known, in percent",
    "95%, pull requests like these": "95% confidence interval for other pull requests of these repositories",
    "95%, other repositories too": "95% confidence interval for other repositories",
    "Unknown": "without a verdict, because something broke: no rate counts these",
    "Idle findings %": "the share of findings in reviews after which nothing was caught",
    "Net lift, points": "the rate above that of the control: the same agent with no review",
    "Of resolvable": "the rate over those oracles that the agent resolves from the human's own comment",
    "Behavioral %": "the rate over oracles that run the code",
    "Structural %": "the rate over oracles that inspect the code",
    "Mean over PRs %": "the mean over pull requests of each one's own rate",
    "Bounds %": "the rate if all that is unknown were missed, and if it were caught",
    "Broke tests": "revisions after which tests failed that passed before",
    "found": "a finding lies near the human comment",
    "resolved alone": "the commits of the findings near the comment resolve it, with no other",
    "spoiled": "resolved by the fix of its own finding, and turned red again by the fix of another",
    "kappa": "agreement beyond chance: 1 is full agreement, 0 is chance",
    "p (Holm)": "the chance of such a difference between equal reviewers, adjusted for the number of pairs",
    "both": "oracles that both caught",
}

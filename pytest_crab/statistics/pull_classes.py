"""Classes of pull requests: AACR-Bench's sizes and domains, SWE-PRBench's difficulties."""

from __future__ import annotations

from collections.abc import Mapping

#: AACR-Bench's sizes (arXiv 2601.19494, table 6): the most changed lines of each; the largest has no limit.
SIZES: Mapping[str, int | None] = {"XS": 9, "S": 29, "M": 99, "L": 499, "XL": 999, "XXL": None}

#: AACR-Bench's problem domains (table 5).
DOMAINS: Mapping[str, str] = {
    "BF": "Bug Fixes",
    "NFA": "New Feature Additions",
    "CA": "Code Refactoring",
    "DU": "Documentation Update",
    "TC": "Test Suite / CI Enhancements",
    "PO": "Performance Optimizations",
    "SV": "Security Patches",
    "DE": "Dependency Updates",
    "CLF": "Code Style, Linting",
}

#: SWE-PRBench's difficulties (arXiv 2603.26130, section 3.4), from what a diff shows to what only other files show. The
#: paper calls the last one Type3_Latent, its data as here.
DIFFICULTIES = DIRECT, CONTEXTUAL, LATENT = ("Type1_Direct", "Type2_Contextual", "Type3_Latent_Candidate")


def size_class(changed: int) -> str:
    """Return the size of a pull request that adds and removes so many lines together."""
    return next(name for name, most in SIZES.items() if most is None or changed <= most)

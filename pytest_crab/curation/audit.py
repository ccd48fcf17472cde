"""Audit oracles: strictness, sharpness and flake bound of each, and the faults for which it should not ship."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_crab.curation.assessment import StateAssessment
from pytest_crab.curation.certify import Certificate
from pytest_crab.formats import NOTHING, format_count, format_decimal, format_table
from pytest_crab.instances.files import oracle_text
from pytest_crab.scoring.oracles.states import Role
from pytest_crab.statistics.shares import Share
from pytest_crab.text import split_lines
from pytest_crab.types import Comment

_HEADINGS = ("oracle", "strictness", "in company", "sharpness", "flake bound", "lines", "kind", "isolation")


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleAudit:
    """The audit of one oracle; a share is None where it could not be measured."""

    instance: str
    comment: str
    #: The share of other right fixes that pass.
    strictness: Share | None
    #: The share of right fixes that pass beside another right change of the same pull request.
    company: Share | None
    #: The share of near misses that are refused.
    sharpness: Share | None
    flake_bound: float | None
    #: Counts those of the oracle's file that hold something and are no comment.
    lines: int
    kind: str
    isolation: str
    #: Whether the whole proof holds.
    proved: bool

    @property
    def faults(self) -> tuple[str, ...]:
        """The reasons for which it should not ship."""
        if self.strictness is None or self.company is None or self.sharpness is None:
            return ("could not be measured",)
        found = []
        if self.strictness.part < self.strictness.known:
            refused = self.strictness.known - self.strictness.part
            found.append(f"over-fitted: it refuses {refused} of {self.strictness.known} other right fixes")
        if self.company.part < self.company.known:
            refused = self.company.known - self.company.part
            found.append(f"it refuses right fixes in company: {refused} of {self.company.known}")
        if self.sharpness.part < self.sharpness.known:
            passing = self.sharpness.known - self.sharpness.part
            found.append(f"loose: it passes {passing} of {self.sharpness.known} near misses")
        return tuple(found) if found or self.proved else ("not proved",)

    def lacks(self, least: int) -> str | None:
        """Return a sentence if it is checked against fewer than ``least`` accepts or rejects, else None."""
        counts = {"accept": self.strictness, "reject": self.sharpness}
        few = [
            format_count(share.known, name)
            for name, share in counts.items()
            if share is not None and share.known < least
        ]
        return f"has {' and '.join(few)}; at least {least} of each are needed to trust it" if few else None


def rows(certificates: Iterable[Certificate]) -> tuple[OracleAudit, ...]:
    """Return the audit of each oracle that was certified, in order; skipped instances have none."""
    return tuple(
        _row(certificate, comment)
        for certificate in certificates
        if certificate.skipped is None
        for comment in certificate.instance.with_oracles
    )


def table(found: Sequence[OracleAudit]) -> Iterator[str]:
    """Return the lines of the table, the totals last."""
    return format_table([_HEADINGS, *(_cells(row) for row in found), _totals(found)], right=False, widest=200)


def _row(certificate: Certificate, comment: Comment) -> OracleAudit:
    instance = certificate.instance
    one = next((one for one in certificate.proven if one.comment.id == comment.id), None)
    proof = one.proof if one is not None else None
    seen = certificate.seen.get(comment.id)
    if proof is not None:
        counts = (len(comment.accepts), one.company if one is not None else 0, len(comment.rejects))
        shares: list[Share | None] = [Share(part=count, known=count) for count in counts]
    elif seen is not None:
        shares = [_share(seen, role) for role in (Role.ACCEPT, Role.COMPANY, Role.REJECT)]
    else:
        shares = [None, None, None]
    return OracleAudit(
        instance=instance.id,
        comment=comment.id,
        strictness=shares[0],
        company=shares[1],
        sharpness=shares[2],
        flake_bound=proof.flake_bound if proof is not None else None,
        lines=code_lines(oracle_text(instance, comment)),
        kind=str(comment.kind),
        isolation=str(comment.required_oracle.isolation),
        proved=proof is not None and comment.id not in certificate.problems,
    )


def _share(seen: Sequence[StateAssessment], role: Role) -> Share | None:
    """Return the share of right states of a role; None if a run was never started."""
    states = [state for state in seen if state.role is role]
    if not all(state.is_known for state in states):
        return None
    return Share.of(state.right for state in states)


def code_lines(text: str) -> int:
    """Return the number of lines that are neither blank nor a comment."""
    stripped = (line.strip() for line in split_lines(text))
    return sum(bool(line) and not line.startswith(("#", "//")) for line in stripped)


def _cells(row: OracleAudit) -> tuple[str, ...]:
    return (
        f"{row.instance} {row.comment}",
        *("?" if share is None else _fraction(share) for share in (row.strictness, row.company, row.sharpness)),
        format_decimal(row.flake_bound),
        str(row.lines),
        row.kind,
        row.isolation,
    )


def _fraction(share: Share) -> str:
    return NOTHING if share.rate is None else f"{share.rate:.2f} ({share.part}/{share.known})"


def _totals(found: Sequence[OracleAudit]) -> tuple[str, ...]:
    def pool(shares: Iterable[Share | None]) -> str:
        known = [share for share in shares if share is not None]
        return _fraction(Share(part=sum(share.part for share in known), known=sum(share.known for share in known)))

    bounds = [row.flake_bound for row in found if row.flake_bound is not None]
    behavioral = sum(row.kind == "behavioral" for row in found)
    isolated = sum(row.isolation == "process" for row in found)
    return (
        f"all {len(found)}",
        pool(row.strictness for row in found),
        pool(row.company for row in found),
        pool(row.sharpness for row in found),
        format_decimal(max(bounds, default=None)),
        str(sum(row.lines for row in found)),
        f"{behavioral} behavioral",
        f"{isolated} process",
    )

"""The last stages of injection: an oracle of the tests that see the fault, its proof, and the instance."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab.curation.certify import Certificate, certify
from pytest_crab.curation.publish import to_instance
from pytest_crab.curation.stages import CurationContext, Rejection, Stage
from pytest_crab.errors import EngineError, SourceUnreachable
from pytest_crab.formats import format_percent
from pytest_crab.injection import excerpts, witnesses
from pytest_crab.injection.deciding import write_files
from pytest_crab.injection.proposals import FIXED_ON, WITNESSES, witnesses_of
from pytest_crab.types import PullCandidate

#: The tags of an instance with where its oracle runs, how often it was proved, and beside how many changes it held.
ORACLE, PROOF, COMPANY = "oracle", "proof", "company"
ALONE, IN_TREE = "alone", "in the tree"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proving(Stage):
    """Proves the oracle, ``runs`` times of each state: as one file that stands alone where it can, else in the tree.

    ``company`` gives changes by their names that it is audited with: it has to be green on the fix beside each of them,
    and red on each alone. One that refuses a fix so is refused itself.
    """

    runs: int = 3
    company: Callable[[PullCandidate], Mapping[str, str]] = lambda _candidate: {}
    name: str = "oracles"

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"version": 2, "runs": self.runs}

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        fault = "no form of it could be run"
        beside = self.company(candidate)
        candidate = dataclasses.replace(candidate, files={**candidate.files, **beside}, company=tuple(beside))
        for where, form in self._forms(candidate):
            certificate = self._certify(form, context)
            if certificate.proved:
                (one,) = candidate.comments
                comment = dataclasses.replace(one, comment=certificate.proven[0].comment)
                proof = certificate.proven[0].proof
                assert proof is not None
                told = f"{proof.runs} runs, flake bound {format_percent(proof.flake_bound)}%"
                tags = {**form.tags, ORACLE: where, PROOF: told, COMPANY: f"{certificate.proven[0].company}"}
                return dataclasses.replace(form, comments=(comment,), tags=tags)
            fault = "; ".join(certificate.problems.values()) or fault
        return Rejection(reason="its oracle is not proved", detail=fault)

    def _forms(self, candidate: PullCandidate) -> Iterator[tuple[str, PullCandidate]]:
        texts = {path: text for path, text in witnesses_of(candidate).items() if not witnesses.is_conftest(path)}
        (one,) = candidate.comments
        if len(texts) == 1 and excerpts.stands_alone(text := next(iter(texts.values()))):
            files = {**candidate.files, one.comment.required_oracle.file: text}
            yield ALONE, dataclasses.replace(candidate, files=files)
        yield IN_TREE, candidate

    def _certify(self, candidate: PullCandidate, context: CurationContext) -> Certificate:
        crew, run_context = context.proving()
        with tempfile.TemporaryDirectory(prefix="crab-inject-") as scratch:
            folder = Path(scratch, candidate.id)
            write_files(folder, candidate.files)
            repeated = dataclasses.replace(run_context, proof_runs=self.runs)
            certificate = certify(to_instance(candidate, folder), crew, repeated, context.notice)
        if certificate.skipped is not None:
            raise SourceUnreachable(certificate.skipped)
        if certificate.of_machine is not None:
            raise EngineError(certificate.of_machine)
        return certificate


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing(Stage):
    """Leaves what is the instance's own of a candidate: its title and its code are the repository's own.

    It is as old as what it came of: a model may know a fix that is older than the change which it is taken back in.
    """

    name: str = "publish"

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"version": 2}

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        days = [day for day in (candidate.pull_request.merged_at, candidate.tags.get(FIXED_ON)) if day]
        facts = dataclasses.replace(candidate.pull_request, merged_at=min(days, default=None))
        files = {name: text for name, text in candidate.files.items() if not name.startswith(WITNESSES)}
        return dataclasses.replace(candidate, pull_request=facts, files=files)

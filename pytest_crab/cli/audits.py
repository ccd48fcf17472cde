"""Audits of a set's oracles for the check command: what crab.lock does not record yet is run and recorded."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pytest_crab.cli.progress import as_they_end
from pytest_crab.cli.run_contexts import proving_context, refuse_foreign
from pytest_crab.cli.shared_options import choose_runtime
from pytest_crab.curation.certify import Certificate, certify, interpreters_of, is_given
from pytest_crab.instances import lock
from pytest_crab.side_by_side import side_by_side
from pytest_crab.types import Instance


def audit(
    instances: Sequence[Instance], runtime: str, store: Path, jobs: int, skip: Callable[[Instance, str], None]
) -> Iterator[tuple[Certificate, int]]:
    """Prove and audit instances; yield each result and how many audits it records.

    ``skip`` gets each instance that cannot be audited here, with the reason. Raises CrabError where the runtime
    cannot be had, or a lock cannot be read or written, and ClickException where code of a foreign set would run
    without a sandbox.
    """
    pending = []
    for instance in instances:
        if instance.source.repository is not None and not is_given(instance.required_environment):
            skip(instance, "its oracles are not audited: it has no environment; pytest-crab set certify finds one")
        else:
            pending.append(instance)
    if not pending:
        return
    place = choose_runtime(runtime, interpreters_of(pending))
    with proving_context(place, store) as (crew, run_context), side_by_side(jobs, run_context.stop) as pool:
        refuse_foreign(run_context, pending)
        work = {each.id: functools.partial(certify, each, crew, run_context) for each in pending}
        with as_they_end(pool, work) as ended:
            for _, certificate in ended:
                if certificate.skipped is not None:
                    skip(certificate.instance, f"its oracles are not audited: {certificate.skipped}")
                    continue
                folder, outcomes = Path(certificate.instance.folder).parent, certificate.outcomes
                yield certificate, lock.record_audits(folder, certificate.instance, outcomes, certificate.runs)

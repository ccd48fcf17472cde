"""The files of instances on their way: packed when first needed, and sent to each worker once."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_crab.campaign.cluster.bundles import Bundle
from pytest_crab.campaign.cluster.bundles import instance_bundle
from pytest_crab.campaign.cluster.connection import Connection
from pytest_crab.campaign.executor import TrialWork
from pytest_crab.errors import BadInput
from pytest_crab.instances import lock

if TYPE_CHECKING:
    from distributed import Future

#: How many packed instances are kept for the next reviewer or repeat.
_PACKED = 64


class Parcels:
    """What was packed, and which worker has been sent what; ``check`` raises BadInput for what must not be sent."""

    def __init__(self, connection: Connection, check: Callable[[str, bytes], None]) -> None:
        self._connection = connection
        self._check = check
        self._packed: dict[str, tuple[Bundle, str]] = {}
        self._sent: dict[tuple[str, str], Future | None] = {}

    def of(self, work: TrialWork) -> tuple[Bundle, str]:
        """The files of a trial's instance, and its digest as an instance. Raises BadInput."""
        instance = work.instance
        if instance.id not in self._packed:
            try:
                bundle, digest = instance_bundle(instance), lock.digest(instance)
            except OSError as error:
                problem = f"{error.filename} cannot be read ({error.strerror}): mend it and run again"
                raise BadInput(instance.id, [problem]) from error
            self._check(instance.id, bundle.content)
            self._packed[instance.id] = bundle, digest
            if len(self._packed) > _PACKED:
                del self._packed[next(iter(self._packed))]
        return self._packed[instance.id]

    def send(self, bundle: Bundle, address: str) -> Sequence[Future]:
        """Send files to a worker unless it has them; what a trial has to wait for there."""
        needed = (address, bundle.digest)
        if needed not in self._sent:
            self._sent[needed] = self._connection.send(bundle, address)
        arriving = self._sent[needed]
        return [] if arriving is None else [arriving]

    def arrived(self, address: str) -> None:
        """A trial has ended there, so that what it needed has come, and the scheduler need not keep it."""
        for needed, arriving in self._sent.items():
            if needed[0] == address and arriving is not None and arriving.done():
                self._sent[needed] = None

    def forget(self, address: str) -> None:
        """A worker has nothing any more."""
        for needed in [needed for needed in self._sent if needed[0] == address]:
            del self._sent[needed]

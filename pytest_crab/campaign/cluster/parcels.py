"""The files of instances on their way: packed when first needed, and sent to each worker once."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING

from pytest_crab.campaign.cluster.bundles import MOST_BYTES
from pytest_crab.campaign.cluster.bundles import Bundle
from pytest_crab.campaign.cluster.bundles import instance_bundle
from pytest_crab.campaign.cluster.connection import Connection
from pytest_crab.errors import BadInput
from pytest_crab.instances import lock
from pytest_crab.types import Instance

if TYPE_CHECKING:
    from distributed import Future


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """An instance's files as a worker has them or will: digests of bundle and instance, and what to await."""

    bundle: str
    instance: str
    arriving: Sequence[Future]


@dataclass(slots=True)
class _Sent:
    """What one worker has been sent: what is still under way, by digest, and what has come."""

    arriving: dict[str, Future] = field(default_factory=dict)
    there: set[str] = field(default_factory=set)

    def __contains__(self, digest: str) -> bool:
        return digest in self.there or digest in self.arriving


class Parcels:
    """What was packed, and which worker has been sent what; ``check`` raises BadInput for what must not be sent.

    Packed files are kept for the next worker, at most ``room`` bytes or those of one instance.
    """

    def __init__(self, connection: Connection, check: Callable[[str, bytes], None], *, room: int = MOST_BYTES) -> None:
        self._connection = connection
        self._check = check
        self._room = room
        self._digests: dict[str, tuple[str, str]] = {}
        self._packed: dict[str, Bundle] = {}
        self._size = 0
        self._sent: dict[str, _Sent] = {}

    def send(self, instance: Instance, address: str) -> Parcel:
        """Send an instance's files to a worker unless it has them. Raises BadInput, and what LOST lists."""
        sent = self._sent.setdefault(address, _Sent())
        if instance.id not in self._digests or self._digests[instance.id][0] not in sent:
            bundle = self._bundle(instance)
            if bundle.digest not in sent:
                sent.arriving[bundle.digest] = self._connection.send(bundle, address)
        digest, as_instance = self._digests[instance.id]
        arriving = [sent.arriving[digest]] if digest in sent.arriving else []
        return Parcel(bundle=digest, instance=as_instance, arriving=arriving)

    def arrived(self, address: str) -> None:
        """A trial has ended there, so that what it needed has come, and the scheduler need not keep it."""
        sent = self._sent.get(address, _Sent())
        for digest in [digest for digest, arriving in sent.arriving.items() if arriving.done()]:
            del sent.arriving[digest]
            sent.there.add(digest)

    def forget(self, address: str) -> None:
        """A worker has nothing any more."""
        self._sent.pop(address, None)

    def _bundle(self, instance: Instance) -> Bundle:
        """The packed files, kept from before or not."""
        bundle = self._packed.pop(instance.id, None)
        if bundle is None:
            bundle = self._pack(instance)
            self._size += len(bundle.content)
        self._packed[instance.id] = bundle  # the last one to go
        while self._size > self._room and len(self._packed) > 1:
            self._size -= len(self._packed.pop(next(iter(self._packed))).content)
        return bundle

    def _pack(self, instance: Instance) -> Bundle:
        try:
            bundle, digest = instance_bundle(instance), lock.digest(instance)
        except OSError as error:
            problem = f"{error.filename} cannot be read ({error.strerror}): mend it and run again"
            raise BadInput(instance.id, [problem]) from error
        except RuntimeError as error:  # what pathlib says of links in a circle
            raise BadInput(instance.id, [f"its files cannot be packed ({error}): mend them and run again"]) from error
        self._check(instance.id, bundle.content)
        self._digests[instance.id] = bundle.digest, digest
        return bundle

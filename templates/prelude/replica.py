"""Replicas that run one program together.

A device is one partition of one replica, ``replica_id * partitions + partition_id``, as
in XLA. Everything that devices exchange goes through one method,
:meth:`Replica.exchange`, or its two halves; the network below has them, too: ``post`` a
message, which never waits for who takes it, and ``take`` one, which waits for who posts
it. What is posted may be written again when the network is ``settle``d. Source: the
operation-semantics seed; XLA's CollectiveOpGroupMode.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


class ReplicaError(RuntimeError):
    """The replicas cannot go on together."""


class ReplicaMismatch(ReplicaError):
    """The replicas have taken different ways: another collective, another shape, or an
    end too early.
    """


class ReplicaLost(ReplicaError):
    """A replica that others wait for has gone."""


class ReplicaStopped(ReplicaError):
    """A replica has stopped because another one failed."""


class ReplicaTimeout(ReplicaError):
    """A replica has waited for another for longer than it may."""


class Replica:
    """One device among those that run a program together; the collectives are methods
    of its subclasses.
    """

    def __init__(
        self, device: int, replicas: int, partitions: int, network: Any
    ) -> None:
        self.device = device
        self.count = replicas * partitions
        self.replica_id = np.uint32(device // partitions)
        self.partition_id = np.uint32(device % partitions)
        self.network = network
        self.sent: Counter[Any] = Counter()
        self.received: Counter[Any] = Counter()
        self.last: dict[int, str] = {}  # what was sent to each device last
        self.tags: dict[Any, str] = {}

    def exchange(
        self,
        send: Mapping[int, Any],
        receive: Iterable[int],
        tag: str,
        channel: int | None = None,
    ) -> dict[int, Any]:
        """Send an array to each device that ``send`` names; what those in ``receive``
        have sent, by device.

        Messages between two devices are numbered, on each channel by itself; ``tag``
        has to be the same on both sides. Raises ReplicaMismatch where it is not,
        ReplicaLost and ReplicaTimeout where nothing comes.
        """
        kept = {id(array): self.unchanging(array) for array in send.values()}
        for peer, array in send.items():
            self.post(peer, kept[id(array)], tag, channel)
        arrays = {peer: self.take(peer, tag, channel) for peer in receive}
        self.network.settle(send.keys() & arrays.keys(), tag)
        return arrays

    def unchanging(self, array: Any) -> Any:
        """Return an array as it is now, to be posted: a copy where those who take it
        see the same memory, as this device may write into its own.
        """
        return array.copy() if self.network.shares_memory else array

    def post(self, peer: int, array: Any, tag: str, channel: int | None = None) -> None:
        """Send an array without waiting; it stays as it is until the network is
        settled.
        """
        key = channel, self.sent[peer, channel]
        self.network.post(self.device, peer, key, tag, array)
        self.sent[peer, channel] += 1
        self.last[peer] = tag

    def expect(self, peer: int, ahead: int, array: Any) -> None:
        """Offer memory for what a device sends, the next message or one further
        ``ahead``. It is used where that comes later and fits, until the network is
        settled.
        """
        self.network.expect(peer, (None, self.received[peer, None] + ahead), array)

    def take(self, peer: int, tag: str, channel: int | None = None) -> Any:
        """Return the next array that a device has sent. Raises what ``exchange``
        does.
        """
        key = channel, self.received[peer, channel]
        self.received[peer, channel] += 1
        theirs, array = self.network.take(self.device, peer, key, tag)
        if theirs != tag:
            message = f"replica {self.device} does {tag}, "
            message += f"but replica {peer} does {theirs}"
            raise ReplicaMismatch(message)
        return array

    def members(self, groups: Sequence[Sequence[int]] | None) -> Sequence[int]:
        """The devices of the group that this one is in, in order; none where it is in
        none.
        """
        if groups is None:
            return range(self.count)
        return next((group for group in groups if self.device in group), ())

    def swapped(
        self, parts: Sequence[Any], members: Sequence[int], tag: str
    ) -> list[Any]:
        """Part ``i`` goes to member ``i``; what members have sent, in their order."""
        arrays = self.exchange(dict(zip(members, parts, strict=True)), members, tag)
        return [arrays[member] for member in members]

    def tag(self, collective: str, x: Any, channel: int | str | None) -> str:
        """Return the tag that both sides of an exchange agree on; without a channel,
        that is the line of the call.
        """
        place = f"channel {channel}"
        if channel is None:
            place = f"line {sys._getframe(2).f_lineno}"
        kind = collective, x.dtype, x.shape, place
        if kind not in self.tags:
            self.tags[kind] = f"{collective} of {x.dtype}{list(x.shape)} ({place})"
        return self.tags[kind]

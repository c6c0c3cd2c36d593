"""Replicas as processes, each with a GPU of its own, that talk over NCCL."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import cupy as cp

from ...prelude.replica import Replica


class OverNccl(Replica):
    """A replica whose network is an ``NCCLBackend`` of cupyx.distributed.

    NCCL matches what two devices send each other by its order and has no names or sizes
    for it: what comes has the shape and the dtype of what this replica has. Replicas
    that take different ways wait for each other for ever.
    """

    def __init__(
        self, device: int, replicas: int, partitions: int, network: Any
    ) -> None:
        super().__init__(device, replicas, partitions, network)
        self.like: Any = None  # what the next exchange brings
        self.outgoing: list[tuple[int, Any]] = []
        # By channel: what this replica has sent to itself.
        self.kept: dict[int | None, list[Any]] = {}

    def tag(self, collective: str, x: Any, channel: int | str | None) -> str:
        """The collective's name; what it brings is like ``x``."""
        self.like = x
        return collective

    def exchange(
        self,
        send: Mapping[int, Any],
        receive: Iterable[int],
        tag: str,
        channel: int | None = None,
    ) -> dict[int, Any]:
        """Exchange as other replicas do. What is sent without receiving goes with the
        next exchange: alone, it might wait for a replica that waits for this one.
        """
        like = next(iter(send.values()), self.like)
        for peer, array in send.items():
            copy = cp.asarray(array).copy()  # the sender may write into its own
            if peer == self.device:
                self.kept.setdefault(channel, []).append(copy)
            else:
                self.outgoing.append((peer, copy))
        sources = list(receive)
        incoming = {
            peer: cp.empty(like.shape, dtype=like.dtype)
            for peer in sources
            if peer != self.device
        }
        if sources:
            self.hand_over(incoming)
        return {
            peer: incoming[peer] if peer in incoming else self.kept[channel].pop(0)
            for peer in sources
        }

    def expect(self, peer: int, ahead: int, array: Any) -> None:
        """NCCL receives into memory of the exchange."""

    def hand_over(self, incoming: Mapping[int, Any]) -> None:
        """Send what is waiting, and receive, all at once; nothing for empty arrays. The
        host does not wait.
        """
        from cupy.cuda import nccl

        nccl.groupStart()
        for peer, array in self.outgoing:
            if array.size:
                self.network.send(octets(array), peer)
        for peer, array in incoming.items():
            if array.size:
                self.network.recv(octets(array), peer)
        nccl.groupEnd()
        self.outgoing.clear()

    def reduced_in_slices(
        self,
        x: Any,
        combine: Callable[[Any, Any], Any],
        members: Sequence[int],
        tag: str,
    ) -> Any:
        """Combine in slices of one size, as all that replicas exchange has."""
        padding = cp.zeros(-x.size % len(members), dtype=x.dtype)
        slices = cp.split(cp.concatenate([x, padding]), len(members))
        combined = reduce(combine, self.swapped(slices, members, tag))
        parts = self.swapped([combined] * len(members), members, tag)
        return cp.concatenate(parts)[: x.size]


def octets(array: Any) -> Any:
    """The bytes of an array, which are of a type that NCCL knows; they share its memory
    where it is contiguous.
    """
    return cp.ascontiguousarray(array).reshape(-1).view(cp.uint8)


def over_nccl(
    replica: Callable[..., Any],
    group: Any,
    replicas: int,
    partitions: int,
    comm: Any,
    arguments: Sequence[Any],
    feeds: Mapping[str, Any],
) -> Any:
    """Run the replica that is this process's; its results."""
    own: Any = type("Group", (OverNccl, group), {})
    g = own(comm.rank, replicas, partitions, comm)
    results = replica(g, *arguments, **feeds)
    g.hand_over({})
    return results

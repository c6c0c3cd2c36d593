"""Replicas as processes, each with a GPU of its own, that communicate over NCCL."""

import threading
from collections.abc import Sequence
from typing import Any

import cupy as cp

from ...prelude.replica import Arrays, Channel, Mailbox, Program


class Nccl(Mailbox):
    """The network of an ``NCCLBackend`` of cupyx.distributed. A device leaves what it
    sends to itself in its mailbox.

    NCCL matches the messages between two devices by their order only, not by names or
    sizes. Replicas that diverge wait for each other for ever.
    """

    def __init__(self, device: int, backend: Any) -> None:
        super().__init__(device, threading.Condition())
        self.backend, self.outgoing = backend, list[tuple[int, Any]]()

    def exchange(self, send: Arrays, into: Arrays, tag: str) -> None:
        """Exchange arrays as other networks do. Arrays that are sent without receiving
        any go with the next exchange: alone, they might wait for a replica that waits
        for this one.
        """
        for peer, array in send.items():
            self.post(peer, array, tag)
        rooms = {peer: cp.empty(x.shape, dtype=x.dtype) for peer, x in into.items()}
        if rooms:
            self.hand_over(rooms)
        for peer, array in into.items():
            array[...] = rooms[peer]

    def post(self, peer: int, array: Any, tag: str, channel: Channel = None) -> None:
        """Keep a copy of an array to be sent: the caller may change its own."""
        copy = cp.asarray(array).copy()
        if peer == self.device:
            self.deliver(peer, copy, tag, channel)
        else:
            self.outgoing.append((peer, copy))

    def take(
        self, source: int, tag: str, channel: Channel = None, like: Any = None
    ) -> Any:
        if source == self.device:
            return super().take(source, tag, channel)
        array = cp.empty(like.shape, dtype=like.dtype)
        self.hand_over({source: array})
        return array

    def hand_over(self, incoming: Arrays) -> None:
        """Send all arrays that were posted, and receive others, at once and as bytes.
        Empty arrays are skipped. The host does not wait.
        """
        from cupy.cuda import nccl

        nccl.groupStart()
        for peer, array in self.outgoing:
            if array.size:
                self.backend.send(array.reshape(-1).view(cp.uint8), peer)
        for peer, array in incoming.items():
            if array.size:
                self.backend.recv(array.reshape(-1).view(cp.uint8), peer)
        nccl.groupEnd()
        self.outgoing.clear()


class OverNccl(Program):
    def run_nccl(self, comm: Any, args: Sequence[Any], **feeds: Any) -> Any:
        """Run the replica of this process, which has a GPU of its own, and return its
        results.

        ``comm`` connects it with the others:
        ``cupyx.distributed.init_process_group(count, rank)``.
        """
        network = Nccl(comm.rank, comm)
        results = self.body(self.group(comm.rank, *self.sizes, network), *args, **feeds)
        network.hand_over({})
        return results

"""Replicas that run one program together.

A device is one partition of one replica, ``replica_id * partitions + partition_id``, as
in XLA. A replica communicates with the others through its network, which has three
methods: ``exchange``, and ``post`` and ``take`` for channels. Source: the
operation-semantics seed; XLA's CollectiveOpGroupMode.
"""

import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

Groups = Sequence[Sequence[int]] | None  # of devices, in order; None: one of all
Channel = int | str | None
KEPT_BYTES = 1 << 15  # at most, of an array whose exchange has memory of its own
# The folder of snapshots, the number of iterations between them, and by loop the
# snapshot that it resumes from: see Resumable.
NO_SNAPSHOTS: tuple[Any, int, dict[int, str]] = None, 1, {}


class ReplicaError(RuntimeError):
    """The replicas cannot continue together."""


class ReplicaMismatch(ReplicaError):
    """Replicas have diverged: another collective, another shape, or an early end."""


class ReplicaLost(ReplicaError):
    """A replica for which others wait is gone."""


class ReplicaStopped(ReplicaError):
    """A replica has stopped because another one failed."""


class ReplicaTimeout(ReplicaError):
    """A replica has waited for another one for too long."""


class Replica:
    """One device among those that run a program together; its subclasses have the
    collectives as methods.
    """

    def __init__(
        self, device: int, replicas: int, partitions: int, network: Any
    ) -> None:
        self.device, self.count = device, replicas * partitions
        self.replica_id = np.uint32(device // partitions)
        self.partition_id = np.uint32(device % partitions)
        self.network = network
        self.kept: dict[Any, Any] = {}  # exchanges of short arrays, by call

    def members(self, groups: Groups) -> Sequence[int]:
        """Return the devices of this one's group, or none if it is in no group."""
        if groups is None:
            return range(self.count)
        return next((group for group in groups if self.device in group), ())

    def exchanged(
        self,
        layout: Callable[..., Any],
        x: Any,
        axis: int = 0,
        groups: Any = None,
        channel: Channel = None,
    ) -> Any:
        """Exchange arrays with other devices, and return what arrives: an array of the
        caller's own, or a list of views.

        A ``layout`` returns, of an array, the part for each device, the place of what
        each device sends, and the array or list of these places. Short arrays have
        memory that the next call at the same line uses again.
        """
        call = sys._getframe(2)
        key = layout, call.f_lasti, id(call.f_code), axis, channel, x.dtype, x.shape
        kept = self.kept.get(key)
        if kept is None or kept[0] != groups:
            is_kept = kept is None and x.nbytes <= KEPT_BYTES
            given = np.empty_like(x, order="C") if is_kept else x
            send, places, arrived = layout(self, given[...], axis, groups)
            own = places.pop(self.device, None), send.pop(self.device, None)
            name = sys._getframe(1).f_code.co_name
            tag = tag_of(name, x.dtype, x.shape, channel, call.f_lineno)
            if is_kept:
                exchange = self.network.prepared(send, places, tag)
            else:
                exchange = partial(self.network.exchange, send, places, tag)
            kept = groups, given, own, exchange, arrived, call.f_code
            if is_kept:
                self.kept[key] = kept
        _, given, (place, part), exchange, arrived, _ = kept
        if given is not x:
            given[...] = x
        if place is not part:
            place[...] = part
        exchange()
        if type(arrived) is list:
            return arrived
        return (arrived if given is x else arrived.copy())[()]


@cache
def tag_of(
    collective: str, dtype: Any, shape: Sequence[int], channel: Channel, line: int = 0
) -> str:
    """Return the tag on which both sides of an exchange agree: without a channel, the
    line of the call is in it.
    """
    at = f"line {line}" if channel is None else f"channel {channel}"
    return f"{collective} of {dtype}{list(shape)} ({at})"


class Mailbox:
    """The network of one device, with the messages that others have sent to it and that
    are not yet taken.
    """

    def __init__(self, device: int, changed: threading.Condition) -> None:
        self.device, self.changed, self.snapshots = device, changed, NO_SNAPSHOTS
        # The tags and arrays that have arrived, by sender and channel.
        self.messages: dict[Any, deque[tuple[str, Any]]] = defaultdict(deque)
        # While this device waits for a message: the sender, the tag, and a function
        # that tells whether the message has arrived.
        self.waiting_for: tuple[int, str, Callable[[], Any]] | None = None

    def prepared(
        self, send: Mapping[int, Any], into: Mapping[int, Any], tag: str
    ) -> Callable[[], None]:
        """Return a function that repeats an exchange."""
        return partial(self.exchange, send, into, tag)

    def exchange(
        self, send: Mapping[int, Any], into: Mapping[int, Any], tag: str
    ) -> None:
        """Send an array to each device, and fill one with what each device sends."""
        for peer, array in send.items():
            self.post(peer, array, tag)
        for peer, place in into.items():
            if (array := self.take(peer, tag)) is not place:
                place[...] = array

    def post(self, peer: int, array: Any, tag: str, channel: Channel = None) -> None:
        """Send an array, which the caller may change afterwards, without waiting."""
        raise NotImplementedError

    def deliver(self, source: int, array: Any, tag: str, channel: Channel) -> None:
        """Keep an array that has arrived."""
        with self.changed:
            self.messages[source, channel].append((tag, array))
            self.changed.notify_all()

    def take(
        self, source: int, tag: str, channel: Channel = None, like: Any = None
    ) -> Any:
        """Wait for the next array that a device sends, and return it. The array has the
        shape and dtype of ``like``.

        Raises ReplicaMismatch if the array has another tag, and ReplicaError if none
        comes.
        """
        with self.changed:
            arrived = self.messages[source, channel]
            self.wait(lambda: arrived, source, tag)
            theirs, array = arrived.popleft()
        if theirs != tag:
            raise ReplicaMismatch(
                f"replica {self.device} does {tag}, but replica {source} does {theirs}"
            )
        return array

    def wait(self, is_there: Callable[[], Any], peer: int, tag: str) -> None:
        """Wait for a message from a peer, until ``is_there()`` is true."""
        begun = time.monotonic()
        with self.changed:
            self.waiting_for = peer, tag, is_there
            while not is_there():
                self.require_reachable(peer, tag, begun)
                self.changed.wait(0.2)
            self.waiting_for = None

    def require_reachable(self, peer: int, tag: str, begun: float) -> None:
        """Raise ReplicaError if a message cannot arrive any more, or not in time."""
        raise NotImplementedError

    def require_all_taken(self) -> None:
        """Raise ReplicaMismatch if a message was never taken."""
        for (source, _), arrived in self.messages.items():
            for tag, _ in arrived:
                raise ReplicaMismatch(
                    f"replica {source} does {tag}, but replica {self.device} has ended"
                )


class Program:
    """The program that all replicas of a module run; its subclasses start them."""

    def __init__(
        self, body: Callable[..., Any], group: Any, replicas: int, partitions: int
    ) -> None:
        self.body, self.group, self.sizes = body, group, (replicas, partitions)
        self.count = replicas * partitions

    def require_one_each(self, **given: Sequence[Any]) -> None:
        """Raise ValueError unless each argument has an item for every replica."""
        for name, each in given.items():
            if len(each) != self.count:
                raise ValueError(
                    f"{name}: the program has {self.count} replicas, got {len(each)}"
                )

    def require_loops(self, snapshot: Any) -> None:
        """Raise ValueError if a program is to write snapshots and has no loop that can
        resume.
        """
        if snapshot is not None and not hasattr(self.group, "resume"):
            raise ValueError("no loop of this program can go on from a snapshot")

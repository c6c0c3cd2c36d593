"""Replicas that run one program together.

A device is one partition of one replica, ``replica_id * partitions + partition_id``, as
in XLA. A replica talks to the others through its network, which has three methods:
``exchange``, and ``post`` and ``take`` for channels. Source: the operation-semantics
seed; XLA's CollectiveOpGroupMode.
"""

import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Groups = Sequence[Sequence[int]] | None  # of devices, in order; None is one of all
Channel = int | str | None
# The folder of snapshots, how often, and what each loop begins from: see Resumable.
NO_SNAPSHOTS: tuple[Any, int, dict[int, str]] = None, 1, {}


class ReplicaError(RuntimeError):
    """The replicas cannot go on together."""


class ReplicaMismatch(ReplicaError):
    """Replicas have taken different ways: another collective, shape, or early end."""


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
        self.device, self.count = device, replicas * partitions
        self.replica_id = np.uint32(device // partitions)
        self.partition_id = np.uint32(device % partitions)
        self.network = network
        self.tags: dict[Any, str] = {}

    def members(self, groups: Groups) -> Sequence[int]:
        """The devices of the group that this one is in; none where it is in none."""
        if groups is None:
            return range(self.count)
        return next((group for group in groups if self.device in group), ())

    def tag(self, collective: str, x: Any, channel: Channel) -> str:
        """Return the tag that both sides of an exchange agree on; without a channel,
        that is the line of the call.
        """
        frame = sys._getframe(2)
        call = frame.f_lasti, id(frame.f_code), channel, x.shape
        tag = self.tags.get(call)
        if tag is None:
            at = f"line {frame.f_lineno}" if channel is None else f"channel {channel}"
            tag = f"{collective} of {x.dtype}{list(x.shape)} ({at})"
            self.tags[call] = tag
        return tag

    def exchange(self, send: dict[int, Any], into: dict[int, Any], tag: str) -> None:
        """Send an array to each device, this one too, and put what devices send into
        its place: what all collectives are made of.
        """
        if self.device in into:
            into.pop(self.device)[...] = send.pop(self.device)
        if send or into:
            self.network.exchange(send, into, tag)


class Mailbox:
    """The network of one device: what others send to it, until that is taken."""

    def __init__(self, device: int, changed: threading.Condition) -> None:
        self.device, self.changed, self.snapshots = device, changed, NO_SNAPSHOTS
        # By sender and channel: tags and arrays.
        self.messages: dict[Any, deque[tuple[str, Any]]] = defaultdict(deque)
        # What it waits for: the device, the collective, whether it is there.
        self.waits: tuple[int, str, Callable[[], Any]] | None = None

    def exchange(
        self, send: Mapping[int, Any], into: Mapping[int, Any], tag: str
    ) -> None:
        """Send an array to each device, and put what devices send into its place."""
        for peer, array in send.items():
            self.post(peer, array, tag)
        for peer, place in into.items():
            if (array := self.take(peer, tag)) is not place:
                place[...] = array

    def post(self, peer: int, array: Any, tag: str, channel: Channel = None) -> None:
        """Send an array, which the caller may write into afterwards, and go on."""
        raise NotImplementedError

    def deliver(self, source: int, array: Any, tag: str, channel: Channel) -> None:
        """Keep an array that has come."""
        with self.changed:
            self.messages[source, channel].append((tag, array))
            self.changed.notify_all()

    def take(
        self, source: int, tag: str, channel: Channel = None, like: Any = None
    ) -> Any:
        """Wait for the next array that a device sends; it is ``like`` another one.

        Raises ReplicaMismatch where its tag is another one, and ReplicaError where
        nothing comes.
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
        """Wait for something that comes from a peer."""
        begun = time.monotonic()
        with self.changed:
            self.waits = peer, tag, is_there
            while not is_there():
                self.require_hope(peer, tag, begun)
                self.changed.wait(0.2)
            self.waits = None

    def require_hope(self, peer: int, tag: str, begun: float) -> None:
        """Raise ReplicaError where something cannot come, or not in time."""
        raise NotImplementedError

    def require_all_taken(self) -> None:
        """Raise ReplicaMismatch if a message was never taken."""
        for (source, _), arrived in self.messages.items():
            for tag, _ in arrived:
                raise ReplicaMismatch(
                    f"replica {source} does {tag}, but replica {self.device} has ended"
                )


class Program:
    """What every replica of a module computes; its subclasses run it."""

    def __init__(
        self, body: Callable[..., Any], group: Any, replicas: int, partitions: int
    ) -> None:
        self.body, self.group, self.sizes = body, group, (replicas, partitions)
        self.count = replicas * partitions

    def require_one_each(self, **given: Sequence[Any]) -> None:
        """Raise ValueError unless there is something for every replica."""
        for name, each in given.items():
            if len(each) != self.count:
                raise ValueError(
                    f"{name}: the program has {self.count} replicas, got {len(each)}"
                )

    def require_loops(self, snapshot: Any) -> None:
        """Raise ValueError where a program is to leave snapshots and cannot."""
        if snapshot is not None and not hasattr(self.group, "resume"):
            raise ValueError("no loop of this program can go on from a snapshot")

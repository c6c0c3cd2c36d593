"""Replicas that run one program together.

A device is one partition of one replica, ``replica_id * partitions + partition_id``, as
in XLA. A replica talks to the others through its network, which has three methods:
``exchange``, and ``post`` and ``take`` for channels. Source: the operation-semantics
seed; XLA's CollectiveOpGroupMode.
"""

import sys
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Groups = Sequence[Sequence[int]] | None  # of devices, in order; None is one of all
Channel = int | str | None
# The folder of snapshots, how often, and what each loop begins from: see Resumable.
NO_SNAPSHOTS: tuple[Any, int, dict[int, str]] = None, 1, {}


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


class Mailbox:
    """What arrives at one device, by sender and channel, until it is taken."""

    def __init__(self, device: int) -> None:
        self.device, self.snapshots = device, NO_SNAPSHOTS
        self.messages: dict[Any, deque[tuple[str, Any]]] = defaultdict(deque)

    def deliver(self, source: int, array: Any, tag: str, channel: Channel) -> None:
        """Keep an array that has come."""
        self.messages[source, channel].append((tag, array))

    def take(
        self, source: int, tag: str, channel: Channel = None, like: Any = None
    ) -> Any:
        """Wait for the next array that a device has sent; it is ``like`` another one.

        Raises ReplicaMismatch where its tag is another one, ReplicaLost and
        ReplicaTimeout where nothing comes.
        """
        arrived = self.messages[source, channel]
        self.wait(lambda: arrived, source, tag)
        theirs, array = arrived.popleft()
        if theirs != tag:
            raise ReplicaMismatch(
                f"replica {self.device} does {tag}, but replica {source} does {theirs}"
            )
        return array

    def wait(self, is_there: Callable[[], Any], peer: int, tag: str) -> None:
        """Wait for something that comes from a peer. Raises ReplicaError where it will
        not.
        """
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

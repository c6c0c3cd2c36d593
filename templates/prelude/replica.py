"""Replicas that run one program together.

A device is one partition of one replica, ``replica_id * partitions + partition_id``, as
in XLA. Source: the operation-semantics seed; XLA's CollectiveOpGroupMode.
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
Arrays = Mapping[int, Any]  # by the device that they go to, or come from
KEPT_BYTES = 1 << 15  # at most, of an array whose exchange has memory of its own
COMBINED_BYTES = 1 << 23  # at most, of memory where arrays to combine arrive


class ReplicaError(RuntimeError):
    """The replicas cannot continue together."""


class ReplicaMismatch(ReplicaError):
    """Replicas have diverged: another collective, another shape, or an early end."""


class ReplicaStopped(ReplicaError):
    """A replica has stopped because another one failed."""


class ReplicaTimeout(ReplicaError):
    """A replica has waited for another one for too long."""


class Replica:
    """A device that runs a program; its subclasses have the collectives as methods."""

    def __init__(self, device: int, replicas: int, partitions: int, network: Any):
        self.device, self.count = device, replicas * partitions
        self.replica_id, self.partition_id = map(np.uint32, divmod(device, partitions))
        self.network = network
        self.memory: Any = None  # where arrays to combine arrive
        self.kept: dict[Any, Any] = {}  # exchanges of short arrays, by call

    def members(self, groups: Groups) -> Sequence[int]:
        """Return the devices of this one's group, or none if it is in no group."""
        if groups is None:
            return range(self.count)
        return next((group for group in groups if self.device in group), ())

    def rooms(self, like: Any, count: int) -> Any:
        """Return memory for arrays like another one, which a later call gives again."""
        size = count * like.nbytes
        if not KEPT_BYTES < like.nbytes <= size <= COMBINED_BYTES:
            return np.empty_like(like, shape=(count, *like.shape), order="C")
        if self.memory is None or self.memory.size < size:
            self.memory = np.empty_like(like, np.uint8, shape=size)
        return self.memory[:size].view(like.dtype).reshape(count, *like.shape)

    def exchanged(
        self, layout: Any, x: Any, axis: int, groups: Any, channel: Channel
    ) -> Any:
        """Exchange arrays; return what arrives, as a new array or a list of views. Of
        an array, ``layout`` returns the part for each device, the place of what each
        sends, and all places. Short arrays keep their memory for calls at this line.
        """
        call = sys._getframe(2)
        key = layout, call.f_lasti, id(call.f_code), axis, channel, x.dtype, x.shape
        kept = self.kept.get(key)
        if kept is None or kept[0] != groups:
            is_kept = kept is None and x.nbytes <= KEPT_BYTES
            operand = np.empty_like(x, order="C") if is_kept else x
            send, places, arrived = layout(self, operand[...], axis, groups)
            part, place = send.pop(self.device, None), places.pop(self.device, None)
            name = sys._getframe(1).f_code.co_name
            tag = tag_of(name, x.dtype, x.shape, channel, call.f_lineno)
            exchange = self.network.prepared(send, places, tag, is_kept)
            kept = groups, operand, part, place, exchange, arrived, call.f_code
            if is_kept:
                self.kept[key] = kept
        _, operand, part, place, exchange, arrived, _ = kept
        if operand is not x:
            operand[...] = x
        if place is not part:
            place[...] = part
        exchange()
        if type(arrived) is list:
            return arrived
        return (arrived if operand is x else arrived.copy())[()]


@cache
def tag_of(name: str, dtype: Any, shape: Any, channel: Channel, line: int = 0) -> str:
    """Return the name of an exchange, by which both sides know it."""
    at = f"line {line}" if channel is None else f"channel {channel}"
    return f"{name} of {dtype}{list(shape)} ({at})"


def on_host(x: Any) -> Any:
    """Return a number or array in the host's memory."""
    return x.get() if hasattr(x, "__cuda_array_interface__") else x


class Mailbox:
    """The network of one device, with what others have sent and it has not taken."""

    post: Callable[..., None]  # sends an array that may change afterwards
    require_reachable: Callable[..., None]  # raises ReplicaError if nothing can arrive

    def __init__(self, device: int, changed: threading.Condition) -> None:
        self.device, self.changed = device, changed
        # By sender and channel, the tags and arrays that have arrived.
        self.messages: dict[Any, deque[tuple[str, Any]]] = defaultdict(deque)
        self.waiting_for: Any = None  # the peer, the tag, and a function: is it there?

    def prepared(self, send: Arrays, into: Arrays, tag: str, is_kept: bool) -> Any:
        """Return a function that does an exchange; it repeats one that ``is_kept``."""
        return partial(self.exchange, send, into, tag)

    def exchange(self, send: Arrays, into: Arrays, tag: str) -> None:
        """Send an array to each device, and fill one with what each device sends."""
        for peer, array in send.items():
            self.post(peer, array, tag)
        for peer, place in into.items():
            if (array := self.take(peer, tag)) is not place:
                place[...] = array

    def deliver(self, source: int, array: Any, tag: str, channel: Channel) -> None:
        """Leave an array from another device."""
        with self.changed:
            self.messages[source, channel].append((tag, array))
            self.changed.notify_all()

    def take(self, source: int, tag: str, channel: Any = None, like: Any = None) -> Any:
        """Return the next array of a device. Raises ReplicaError if none comes."""
        with self.changed:
            arrived = self.messages[source, channel]
            self.wait(lambda: arrived, source, tag)
            theirs, array = arrived.popleft()
        if theirs != tag:
            other = f"replica {source} does {theirs}"
            raise ReplicaMismatch(f"replica {self.device} does {tag}, but {other}")
        return array

    def wait(self, is_there: Callable[[], Any], peer: int, tag: str) -> None:
        """Wait until ``is_there()``, as long as the peer can still make it true."""
        begun = time.monotonic()
        with self.changed:
            self.waiting_for = peer, tag, is_there
            while not is_there():
                self.require_reachable(peer, tag, begun)
                self.changed.wait(0.2)
            self.waiting_for = None

    def require_all_taken(self) -> None:
        """Raise ReplicaMismatch if a message was never taken."""
        for (source, _), arrived in self.messages.items():
            for tag, _ in arrived:
                here = f"replica {self.device} has ended"
                raise ReplicaMismatch(f"replica {source} does {tag}, but {here}")


class Program:
    """The program that all replicas of a module run; its subclasses start them."""

    def __init__(self, body: Any, group: Any, replicas: int, partitions: int) -> None:
        self.body, self.group, self.sizes = body, group, (replicas, partitions)
        self.count = replicas * partitions

    def require_one_each(self, **arguments: Sequence[Any]) -> None:
        """Raise ValueError unless each argument has an item for every replica."""
        for name, each in arguments.items():
            if len(each) != self.count:
                told = f"the program has {self.count} replicas, got {len(each)}"
                raise ValueError(f"{name}: {told}")

    def require_loops(self, snapshot: Any) -> None:
        """Raise ValueError if there shall be snapshots, and no loop can have any."""
        if snapshot is not None and not hasattr(self.group, "resume"):
            raise ValueError("no loop of this program can go on from a snapshot")

"""The place of a replica on a worker of a dask.distributed cluster.

The replicas communicate over the cluster's own connections, hence with its addresses
and its security: a replica connects to the workers of the others at the addresses where
they listen anyway, and sends over the sockets of these connections. Short messages over
distributed's own comms take seven times as long.
"""

import asyncio
import io
import json
import selectors
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakValueDictionary, finalize

import numpy as np
from distributed import get_worker
from distributed.comm import connect
from distributed.core import Status

from .replica import (
    Arrays,
    Channel,
    Mailbox,
    Program,
    ReplicaError,
    ReplicaMismatch,
    ReplicaStopped,
    ReplicaTimeout,
)

LONGEST_HEAD = 1 << 13  # bytes
LENGTH = 4  # bytes of the length of a head
RECEIVED_AT_ONCE = 1 << 16  # bytes, at most, that are copied to where they belong
SENT_AT_ONCE = 1 << 15  # bytes, at most, of an array that is copied behind its head
# Linux's limit on how long sent data may stay unreceived. Dask gives up a connection
# after half a minute, but a worker receives nothing while a library holds the GIL.
TCP_USER_TIMEOUT = 18
NOT_NOW = BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError
ENDED = "has ended"  # the last message of a replica that has not failed


class ReplicaLost(ReplicaError):
    """A replica for which others wait is gone."""


class Incoming(io.RawIOBase):
    """What arrives on a socket that does not block."""

    def __init__(self, end: Any) -> None:
        self.end = end

    def readable(self) -> bool:
        return True

    def readinto(self, memory: Any) -> int | None:
        """Receive what is there: 0 bytes at the end, None if nothing is."""
        try:
            count: int = self.end.recv_into(memory)
        except NOT_NOW:
            return None
        return count


class WorkerEndpoint(Mailbox):
    """The place of one replica on its worker. It has a connection to each other replica
    for sending, and one from each. The replica's thread receives while it waits.

    A message is the length of a head, the head in JSON, and the bytes of an array;
    nothing is unpickled.
    """

    def __init__(self, token: str, device: int, count: int, timeout: float) -> None:
        super().__init__(device, threading.Condition())
        self.token, self.timeout, self.has_ended = token, timeout, False
        self.others = [(device + k) % count for k in range(1, count)]
        self.worker: Any = get_worker()
        self.task: Any = None  # of the scheduler, which runs this replica
        self.loop, self.over = self.worker.loop.asyncio_loop, asyncio.Event()
        # A replica that never runs closes its connections, too.
        finalize(self, set_soon, self.loop, self.over).atexit = False
        self.outgoing: dict[int, Any] = {}  # sockets, by device
        self.incoming: dict[int, Any] = {}
        self.selector = selectors.DefaultSelector()
        self.receivers: dict[int, Iterator[bool]] = {}
        # Heads that were sent and received: programs repeat them.
        self.heads: dict[Any, bytes] = {}
        self.said: dict[bytes, Any] = {}
        # Memory for the next array of a device; devices of which one is arriving.
        self.places: dict[int, Any] = {}
        self.arriving: set[int] = set()
        self.moved: dict[int, float] = {}  # when bytes of a device last arrived
        self.gone: dict[int, tuple[type[ReplicaError], str]] = {}
        endpoints = self.worker.__dict__.setdefault(
            "replica_endpoints", WeakValueDictionary()
        )
        endpoints[token, device] = self

        async def join(
            comm: Any, token: str, device: int, source: int, end: Any = None
        ) -> Any:
            """Accept the connection of a peer that knows the run's token."""
            endpoint = endpoints.get((token, device))
            if endpoint is not None and endpoint.expects(source):
                await comm.write("welcome")
                over, end = endpoint.over, end or taken_over(comm)
                endpoint.add(endpoint.incoming, source, end)
                del endpoint  # which would stay alive
                await over.wait()
                end.close()
            comm.abort()
            return Status.dont_reply

        self.worker.handlers["join_replica"] = join

    def __reduce__(self) -> Any:
        return type(None), ()  # an endpoint stays on its worker

    # -- on the worker's event loop

    async def open(self, peer: int, address: str) -> None:
        """Connect to a device, and keep the connection until this replica has ended."""
        options = self.worker.security.get_connection_args("worker")
        options |= {"timeout": self.timeout, "deserialize": False}
        names = {"token": self.token, "device": peer, "source": self.device}
        try:
            comm = await connect(address, **options)
            end = None
            if not hasattr(comm, "stream"):  # within a process, hence without a socket
                end, names["end"] = socket.socketpair()
            await comm.write({"op": "join_replica", "reply": False, **names})
            await comm.read()  # "welcome": before, nothing else may be sent
            end = end or taken_over(comm)
        except Exception as error:
            self.lose(peer, f"cannot be reached at {address} ({error})")
            return
        self.add(self.outgoing, peer, end)
        await self.over.wait()
        end.close()
        comm.abort()

    def expects(self, source: Any) -> bool:
        """Return whether a device may connect to this replica and has not yet."""
        is_other = source in self.others and source not in self.incoming
        return is_other and not self.over.is_set()

    def add(self, ends: dict[int, Any], peer: int, end: Any) -> None:
        """Let the replica's thread have a connection."""
        end.setblocking(False)
        with self.changed:
            ends[peer] = end
            self.changed.notify_all()

    def lose(self, peer: int, why: str, kind: type[ReplicaError] = ReplicaLost) -> None:
        """Record that a peer sends no more; the first reason stands."""
        with self.changed:
            self.gone.setdefault(peer, (kind, why))
            self.changed.notify_all()

    # -- on the replica's thread

    def receiver(self, peer: int) -> Iterator[bool]:
        """Deliver the messages of a peer, until it has ended. Yields True after each,
        and False if nothing more has arrived.
        """
        kind: type[ReplicaError] = ReplicaLost
        reason = "was lost"
        stream = io.BufferedReader(Incoming(self.incoming[peer]), RECEIVED_AT_ONCE)
        size = bytearray(LENGTH)
        try:
            while True:
                yield from self.filled(size, peer, stream)
                if (length := int.from_bytes(size)) > LONGEST_HEAD:
                    raise ValueError(f"a head of {length} bytes")
                head = bytearray(length)
                yield from self.filled(head, peer, stream)
                said = self.parsed(bytes(head))
                if isinstance(said, str):
                    kind = ReplicaMismatch if said == ENDED else ReplicaStopped
                    reason = said
                    break
                tag, channel, dtype, shape = said
                place = self.places.pop(peer, None) if channel is None else None
                if place is None or (place.dtype, place.shape) != (dtype, shape):
                    place = np.empty(shape, dtype)
                self.arriving.add(peer)
                yield from self.filled(octets_of(place), peer, stream)
                self.arriving.remove(peer)
                self.deliver(peer, place if place.ndim else place[()], tag, channel)
                yield True
        except OSError:
            pass
        except Exception as error:  # a message can be anything
            reason = f"sent what is no array ({error!r})"
        self.lose(peer, reason, kind)

    def parsed(self, head: bytes) -> Any:
        """Return what a head says: how the peer has ended, or the tag, channel, dtype
        and shape of an array.
        """
        if head not in self.said:
            said = json.loads(head)
            if not isinstance(said, str):
                tag, channel, dtype, shape = said
                said = tag, channel, np.dtype(dtype), tuple(shape)
            self.said[head] = said
        return self.said[head]

    def filled(self, memory: Any, peer: int, stream: Any) -> Iterator[bool]:
        """Fill memory with what a peer sends; yields False if nothing has arrived."""
        rest = memoryview(memory)
        while rest:
            count = stream.readinto1(rest)
            if count:
                rest, self.moved[peer] = rest[count:], time.monotonic()
            elif count is None:
                yield False
            else:
                raise ConnectionResetError

    def receive(self, peer: int) -> bool:
        """Receive from a peer; return whether a message was delivered."""
        delivered = next(self.receivers[peer], None)
        if delivered is None:
            del self.receivers[peer]
            self.selector.unregister(self.incoming[peer])
        return bool(delivered)

    def wait(self, is_there: Callable[[], Any], peer: int, tag: str) -> None:
        begun = time.monotonic()
        if not self.receivers:  # connections are made
            super().wait(is_there, peer, tag)
        while not is_there():
            self.require_reachable(peer, tag, begun)
            if peer not in self.receivers or not self.receive(peer):
                self.receive_from_any()

    def receive_from_any(self) -> None:
        """Wait until something has arrived, or can be sent, and receive it."""
        for key, _ in self.selector.select(0.2):
            if key.data in self.receivers:
                self.receive(key.data)

    def exchange(self, send: Arrays, into: Arrays, tag: str) -> None:
        """Exchange arrays; those that have not begun to arrive are received in their
        places.
        """
        for peer, place in into.items():
            is_next = peer not in self.arriving and not self.messages[peer, None]
            if is_next and place.flags.c_contiguous:
                self.places[peer] = place
        # Each replica begins with the next one, so that not all send to the same.
        order = [peer for peer in (*self.others, self.device) if peer in send]
        super().exchange({peer: send[peer] for peer in order}, into, tag)

    def post(self, peer: int, array: Any, tag: str, channel: Channel = None) -> None:
        if peer == self.device:
            self.deliver(peer, array.copy(), tag, channel)
            return
        says = tag, channel, array.dtype, array.shape
        if says not in self.heads:
            self.heads[says] = message((tag, channel, str(array.dtype), array.shape))
        head = self.heads[says]
        octets = octets_of(np.ascontiguousarray(array))
        is_long = len(octets) > SENT_AT_ONCE
        for part in (head, octets) if is_long else (head + octets,):
            self.send(peer, part, tag)

    def send(self, peer: int, octets: Any, tag: str) -> None:
        """Send bytes to a peer, and receive from others while it takes them."""
        rest, begun, end = memoryview(octets), time.monotonic(), self.outgoing[peer]
        while rest:
            try:
                rest = rest[end.send(rest) :]
                begun = time.monotonic()
            except NOT_NOW:
                self.require_reachable(peer, tag, begun)
                self.selector.register(end, selectors.EVENT_WRITE)
                self.receive_from_any()
                self.selector.unregister(end)
            except OSError:
                return  # the last message of the peer tells why

    def require_reachable(self, peer: int, tag: str, begun: float) -> None:
        """Raise ReplicaError if a peer has gone, the client has given up the run, or
        nothing has moved for too long. A replica waits for the end of others as long as
        they compute.
        """
        here = f"replica {self.device}"
        for other, (kind, reason) in list(self.gone.items()):
            is_met = other == peer and peer in self.outgoing
            is_needed = is_met or kind is not ReplicaMismatch
            if is_needed and not self.has_ended:
                raise kind(f"replica {other} {reason}, and {here} needs it in {tag}")
        task = self.worker.state.tasks.get(self.task)
        if task is None or task.state in ("cancelled", "resumed"):
            raise ReplicaStopped(f"{here} was given up in {tag}")
        waited = time.monotonic() - max(begun, self.moved.get(peer, begun))
        if waited > self.timeout and not self.has_ended:
            limit = f"{self.timeout:g} s for replica {peer}"
            raise ReplicaTimeout(f"{here} waited {limit} in {tag}")

    def run(
        self,
        addresses: Sequence[str],
        snapshots: Any,
        keeper: str | None,
        arguments: Sequence[Any],
        feeds: Mapping[str, Any],
        *,
        program: Program,
    ) -> Any:
        """Run the replica, and return its results when all others have ended, too. With
        a client as ``keeper``, return keys, shapes and dtypes of results that stay on
        the worker.
        """
        self.task = self.worker.get_current_task()
        for peer in self.others:
            opening = self.open(peer, addresses[peer])
            asyncio.run_coroutine_threadsafe(opening, self.loop)
        try:
            for peer in self.others:
                for links in (self.outgoing, self.incoming):
                    self.wait(partial(links.get, peer), peer, "its beginning")
            for peer, end in self.incoming.items():
                self.receivers[peer] = self.receiver(peer)
                self.selector.register(end, selectors.EVENT_READ, peer)
            g = program.group(self.device, *program.sizes, self)
            g.snapshots = snapshots
            results = program.body(g, *arguments, **feeds)
            self.has_ended = True
            for peer in self.others:
                self.send(peer, message(ENDED), "its end")
            for peer in self.others:
                self.wait(partial(self.gone.get, peer), peer, "its end")
                kind, reason = self.gone[peer]
                if kind is not ReplicaMismatch:
                    raise kind(f"replica {peer} {reason} before its end")
            self.require_all_taken()
        except BaseException:
            self.has_ended = True
            for end in list(self.outgoing.values()):  # the event loop may add others
                end.settimeout(0.1)  # a peer that receives nothing may be the cause
                with suppress(OSError):
                    end.send(message("failed"))
            raise
        finally:
            self.selector.close()
            self.receivers.clear()
            set_soon(self.loop, self.over)
        return results if keeper is None else left_here(self.worker, results, keeper)


def set_soon(loop: Any, event: asyncio.Event) -> None:
    """Set an event of a worker's loop, from another thread."""
    with suppress(RuntimeError):  # the worker has gone
        loop.call_soon_threadsafe(event.set)


def taken_over(comm: Any) -> Any:
    """Return the socket of a connection, which the event loop no longer uses."""
    end, loop = comm.stream.socket, comm.stream.io_loop
    loop.remove_handler(end.fileno())
    with suppress(OSError):  # no such option here, so no such limit either
        end.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, 0)
    return end


def message(head: Any) -> bytes:
    """Return the beginning of a message: the length of the head, and the head."""
    text = json.dumps(head).encode()
    return len(text).to_bytes(LENGTH) + text


def octets_of(array: Any) -> Any:
    """Return the memory of a contiguous array."""
    return memoryview(array.reshape(-1).view(np.uint8)) if array.size else b""


def left_here(worker: Any, results: Any, client: str) -> Any:
    """Leave results on a worker for a client; return key, shape and dtype of each."""
    arrays = results if isinstance(results, tuple) else [results]
    data = {f"replica-result-{uuid.uuid4().hex}": array for array in arrays}
    who_has = {key: [worker.address] for key in data}
    sizes = {key: array.nbytes for key, array in data.items()}

    async def hand_over() -> None:
        worker.update_data(data=data)
        telling = {"who_has": who_has, "nbytes": sizes, "client": client}
        await worker.scheduler.update_data(**telling)

    asyncio.run_coroutine_threadsafe(hand_over(), worker.loop.asyncio_loop).result()
    return type(arrays)((key, x.shape, x.dtype) for key, x in data.items())

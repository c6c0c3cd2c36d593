"""A replica's place on a worker of a dask.distributed cluster.

The replicas talk to each other over the cluster's own connections, hence with its
addresses and its security: a peer connects to a worker where that listens anyway, and
one message makes a lasting link of the connection.
"""

import asyncio
import json
import socket
import struct
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from distributed import get_worker
from distributed.comm import connect
from distributed.core import Status
from tornado.iostream import IOStream

from .replica import (
    Channel,
    Mailbox,
    ReplicaError,
    ReplicaLost,
    ReplicaMismatch,
    ReplicaStopped,
    ReplicaTimeout,
)

FRONT = "!IQ"  # how a message begins: bytes of its head and of its array
FRONT_SIZE = struct.calcsize(FRONT)
LONGEST_HEAD = 1 << 13
SHORT = 1 << 15  # bytes of an array that is copied behind its head
READY = b"\1"  # says that who has asked has taken its socket over
# How long data may wait to be received, on Linux. Dask gives a connection up after half
# a minute, but a worker receives nothing while a library holds the interpreter's lock.
TCP_USER_TIMEOUT = 18


class Seat(Mailbox):
    """The place of one replica on its worker, with a link to each other one. A thread
    for each link receives; the replica's own thread sends.

    A message is the sizes of its two parts, a head in JSON, and the bytes of an array;
    nothing of it is unpickled.
    """

    def __init__(self, token: str, device: int, count: int, timeout: float) -> None:
        super().__init__(device, threading.Condition())
        self.token, self.count, self.timeout = token, count, timeout
        self.worker: Any = get_worker()
        self.task: Any = None  # that runs here
        self.loop = self.worker.loop.asyncio_loop
        self.links: dict[int, socket.socket] = {}
        self.moved: dict[int, float] = {}  # when something has come from each
        # Memory for what a device sends next, and of whom something is arriving.
        self.offered: dict[int, Any] = {}
        self.arriving: set[int] = set()
        # Who sends no more: what that means to who waits.
        self.gone: dict[int, tuple[type[ReplicaError], str]] = {}
        # Programs say the same again and again.
        self.written_head, self.read_head = cache(written_head), cache(read_head)
        self.end: str | None = None  # how the replica has ended
        seats = self.worker.__dict__.setdefault("replica_seats", WeakValueDictionary())
        seats[token, device] = self

        async def join(comm: Any, token: str, device: int, source: int) -> Any:
            """Only who knows the run's token finds a replica of this worker."""
            seat = seats.get((token, device))
            if seat is None or source not in range(device + 1, seat.count):
                comm.abort()
            else:
                await seat.hold(source, comm, True)
            return Status.dont_reply

        self.worker.handlers["join_replica"] = join

    def __reduce__(self) -> Any:
        return type(None), ()  # it stays where it is

    # -- on the worker's event loop

    async def open(self, peer: int, address: str) -> None:
        """Connect to a device before this one; those behind it connect to here."""
        arguments = self.worker.security.get_connection_args("worker")
        names = {"token": self.token, "device": peer, "source": self.device}
        try:
            comm = await connect(
                address, timeout=self.timeout, deserialize=False, **arguments
            )
            await comm.write({"op": "join_replica", "reply": False, **names})
            await comm.read()
        except OSError:
            self.lose(peer, ReplicaLost, f"cannot be reached at {address}")
        else:
            await self.hold(peer, comm, False)

    async def hold(self, peer: int, comm: Any, is_asked: bool) -> None:
        """Hold a connection until both ends have ended.

        Who is asked answers, and who has asked says when its event loop no longer
        reads: until then nothing else is sent.
        """
        comm.deserialize, stream = False, getattr(comm, "stream", None)
        if peer in self.moved:
            comm.abort()
            return
        self.moved[peer] = time.monotonic()
        if is_asked:
            await comm.write("welcome")
        carrying = None
        if type(stream) is IOStream:
            stream.io_loop.remove_handler(stream.fileno())
            link = stream.socket
            with suppress(OSError):  # no such option here, so no such limit either
                link.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, 0)
        else:  # encrypted, or within a process
            link, there = socket.socketpair()
            carrying = self.loop.create_task(carried(comm, there))
        link.settimeout(0.5)
        over = asyncio.Event()
        arguments = peer, link, over
        threading.Thread(target=self.listen, args=arguments, daemon=True).start()
        try:
            await over.wait()
        finally:
            link.close()
            if carrying is not None:
                await carrying
            comm.abort()

    # -- on the thread of a link

    def listen(self, peer: int, link: socket.socket, over: asyncio.Event) -> None:
        """Deliver what a peer sends, until it closes its end."""
        try:
            if peer < self.device:
                link.sendall(READY)
            elif self.received(peer, link, len(READY)) != READY:
                raise ValueError("not ready")
            with self.changed:
                self.links[peer] = link
                self.changed.notify_all()
                is_late = self.end is not None
            if is_late:
                self.say_end_to(peer)
            while True:
                self.receive(peer, link)
        except OSError:
            self.lose(peer, ReplicaLost, "was lost")
        except Exception as error:  # a message can be anything
            self.lose(peer, ReplicaLost, f"sent what is no array ({error!r})")
            with suppress(OSError):
                while True:
                    self.received(peer, link, 1)
        with suppress(RuntimeError):  # the loop has been closed
            self.loop.call_soon_threadsafe(over.set)

    def receive(self, peer: int, link: socket.socket) -> None:
        """Receive one message."""
        head_size, size = struct.unpack(FRONT, self.received(peer, link, FRONT_SIZE))
        if head_size > LONGEST_HEAD:
            raise ValueError(f"a head of {head_size} bytes")
        head = self.read_head(bytes(self.received(peer, link, head_size)))
        if isinstance(head, str):
            ended = ReplicaMismatch, "has ended"
            self.lose(peer, *(ended if head == "well" else (ReplicaStopped, "failed")))
            return
        tag, channel, dtype, shape = head
        with self.changed:
            array = self.offered.pop(peer, None) if channel is None else None
            self.arriving.add(peer)
        if array is None or (array.shape, array.dtype) != (shape, dtype):
            array = np.empty(shape, dtype)
        if array.nbytes != size:
            raise ValueError(f"{size} bytes for {head}")
        self.fill(peer, link, octets_of(array))
        with self.changed:
            self.arriving.remove(peer)
            self.deliver(peer, array if array.ndim else array[()], tag, channel)

    def received(self, peer: int, link: socket.socket, size: int) -> bytearray:
        octets = bytearray(size)
        self.fill(peer, link, memoryview(octets))
        return octets

    def fill(self, peer: int, link: socket.socket, rest: memoryview) -> None:
        """Receive until memory is full. Raises OSError where the link is lost."""
        while rest:
            with suppress(TimeoutError):
                count = link.recv_into(rest)
                if count == 0:
                    raise ConnectionResetError("the other side has closed it")
                self.moved[peer], rest = time.monotonic(), rest[count:]

    # -- on the replica's thread

    def exchange(self, send: Any, into: Any, tag: str) -> None:
        """What comes later than this is received in the memory where it belongs."""
        with self.changed:
            for peer, array in into.items():
                is_next = (
                    not self.messages.get((peer, None)) and peer not in self.arriving
                )
                if is_next and array.flags.c_contiguous:
                    self.offered[peer] = array
        for peer, array in send.items():
            self.post(peer, array, tag)
        for peer, array in into.items():
            theirs = self.take(peer, tag)
            if theirs is not array:
                array[...] = theirs

    def post(self, peer: int, array: Any, tag: str, channel: Channel = None) -> None:
        """Send an array; all of it is under way when this returns."""
        if peer == self.device:
            self.deliver(peer, array.copy(), tag, channel)
            return
        if peer not in self.links:
            self.wait(lambda: peer in self.links, peer, tag)
        head = self.written_head(tag, channel, str(array.dtype), array.shape)
        front = struct.pack(FRONT, len(head), array.nbytes) + head
        octets = octets_of(np.ascontiguousarray(array))
        with suppress(OSError):  # what the peer sent before it went tells why
            if len(octets) > SHORT:
                self.send(peer, front, tag)
                self.send(peer, octets, tag)
            else:
                self.send(peer, front + octets, tag)

    def send(self, peer: int, octets: Any, tag: str) -> None:
        """Send bytes. Raises what ``require_hope`` does where nothing moves."""
        rest, begun = memoryview(octets), time.monotonic()
        while rest:
            try:
                rest, begun = rest[self.links[peer].send(rest) :], time.monotonic()
            except TimeoutError:
                self.require_hope(peer, tag, begun)

    def require_hope(self, peer: int, tag: str, begun: float) -> None:
        """Raise where a peer has gone, the client has given the run up, or nothing has
        moved for too long. For the end of others a replica waits as long as they
        compute.
        """
        if peer in self.gone:
            kind, reason = self.gone[peer]
            raise kind(
                f"replica {peer} {reason}, and replica {self.device} needs it in {tag}"
            )
        task = self.worker.state.tasks.get(self.task)
        if task is None or task.state in ("cancelled", "resumed"):
            raise ReplicaStopped(f"replica {self.device} was given up in {tag}")
        waited = time.monotonic() - max(begun, self.moved.get(peer, 0.0))
        if waited > self.timeout and self.end is None:
            raise ReplicaTimeout(
                f"replica {self.device} waited {self.timeout:g} s "
                f"for replica {peer} in {tag}"
            )

    def lose(self, peer: int, kind: type[ReplicaError], reason: str) -> None:
        """A peer sends no more; the first reason stands."""
        with self.changed:
            self.gone.setdefault(peer, (kind, reason))
            self.changed.notify_all()

    def run(
        self,
        addresses: Sequence[str],
        snapshots: Any,
        keeper: str | None,
        arguments: Sequence[Any],
        feeds: Mapping[str, Any],
        body: Callable[..., Any],
        group: Any,
        sizes: tuple[int, int],
    ) -> Any:
        """Run the replica: its results, when all others have ended, too; with a
        ``keeper``, what ``left`` returns.
        """
        self.task, self.snapshots = self.worker.get_current_task(), snapshots
        for peer, address in enumerate(addresses[: self.device]):
            asyncio.run_coroutine_threadsafe(self.open(peer, address), self.loop)
        try:
            results = body(group(self.device, *sizes, self), *arguments, **feeds)
            self.say_end("well")
            self.wait_for_ends()
            self.require_all_taken()
        except BaseException:
            self.say_end("badly")
            raise
        finally:
            for link in list(self.links.values()):
                with suppress(OSError):
                    link.shutdown(socket.SHUT_WR)
        return results if keeper is None else self.left(results, keeper)

    def left(self, results: Any, client: str) -> Any:
        """Hand results over to the cluster, which keeps them on this worker for a
        client: their keys, shapes and dtypes, and whether they are a tuple.
        """
        arrays = results if isinstance(results, tuple) else (results,)
        data = {f"replica-result-{uuid.uuid4().hex}": array for array in arrays}
        who_has = {key: [self.worker.address] for key in data}
        sizes = {key: array.nbytes for key, array in data.items()}

        async def hand_over() -> None:
            self.worker.update_data(data=data)
            await self.worker.scheduler.update_data(
                who_has=who_has, nbytes=sizes, client=client
            )

        asyncio.run_coroutine_threadsafe(hand_over(), self.loop).result()
        told = [(key, array.shape, array.dtype) for key, array in data.items()]
        return told, isinstance(results, tuple)

    def wait_for_ends(self) -> None:
        """Wait for the others."""
        for peer in range(self.count):
            if peer != self.device:
                self.wait(partial(self.gone.get, peer), peer, "its end")
                kind, reason = self.gone[peer]
                if kind is not ReplicaMismatch:
                    raise kind(f"replica {peer} {reason} before its end")

    def say_end(self, end: str) -> None:
        """Tell the others how this replica has ended, behind all it has sent."""
        with self.changed:
            peers = [] if self.end else list(self.links)
            self.end = self.end or end
        for peer in peers:
            self.say_end_to(peer)

    def say_end_to(self, peer: int) -> None:
        """Tell a peer how this replica has ended, if it is there. A failure hardly
        waits: a peer that receives nothing may be its cause.
        """
        head = json.dumps(self.end).encode()
        message = struct.pack(FRONT, len(head), 0) + head
        with suppress(OSError, ReplicaError):
            if self.end == "well":
                self.send(peer, message, "its end")
            else:
                self.links[peer].settimeout(0.1)
                self.links[peer].sendall(message)
                self.links[peer].shutdown(socket.SHUT_WR)


def written_head(tag: str, channel: Channel, dtype: str, shape: Sequence[int]) -> bytes:
    """Return the head of a message with an array."""
    return json.dumps([tag, channel, dtype, shape]).encode()


def read_head(text: bytes) -> Any:
    """Return what a head says: how the other side has ended, or the tag, channel, dtype
    and shape of an array.
    """
    head = json.loads(text)
    if isinstance(head, str):
        return head
    tag, channel, dtype, shape = head
    return tag, channel, np.dtype(dtype), tuple(shape)


def octets_of(array: Any) -> memoryview:
    """The memory of a contiguous array."""
    return (
        memoryview(array.reshape(-1).view(np.uint8)) if array.size else memoryview(b"")
    )


async def carried(comm: Any, there: socket.socket) -> None:
    """Carry bytes between a connection without a socket of its own and the far end of a
    pair, until both ways are closed: by no bytes.
    """
    reader, writer = await asyncio.open_connection(sock=there)

    async def outward() -> None:
        while data := await reader.read(1 << 20):
            await comm.write(data)
        await comm.write(b"")

    async def inward() -> None:
        while data := await comm.read():
            writer.write(data)
            await writer.drain()
        writer.write_eof()

    ways = [asyncio.ensure_future(way()) for way in (outward, inward)]
    await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
    for way in ways:
        way.cancel()
    await asyncio.gather(*ways, return_exceptions=True)
    writer.close()

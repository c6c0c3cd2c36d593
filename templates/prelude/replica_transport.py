"""A replica's place on a worker of a dask.distributed cluster.

The replicas talk to each other over the cluster's own connections, hence with its
addresses and its security: a peer connects to a worker where that listens anyway, and
one message makes a lasting link of the connection.
"""

import asyncio
import json
import socket
import ssl
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import Any
from weakref import WeakValueDictionary, finalize

import numpy as np
from distributed import get_worker
from distributed.comm import connect
from distributed.core import Status

from .replica import (
    Channel,
    Mailbox,
    ReplicaError,
    ReplicaLost,
    ReplicaMismatch,
    ReplicaStopped,
    ReplicaTimeout,
)

LONGEST_HEAD = 1 << 13
SHORT = 1 << 15  # bytes of an array that is copied behind its head
# How long data may wait to be received, on Linux. Dask gives a connection up after half
# a minute, but a worker receives nothing while a library holds the interpreter's lock.
TCP_USER_TIMEOUT = 18
FULL = BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError  # or empty

READY = b"\1"  # says that who was asked has taken its socket over
ENDED = "has ended"  # what a replica says at its end, if it has not failed


class Link:
    """A connection to another replica, with memory for what comes next and what has
    yet to be sent.
    """

    def __init__(self, peer: int, connection: Any, rooms: Iterator[Any]) -> None:
        self.peer, self.socket, self.rooms = peer, connection, rooms
        self.room = memoryview(b"")
        self.sending = deque[Any]()
        self.moved = time.monotonic()  # when something has come or gone


class Seat(Mailbox):
    """The place of one replica on its worker, with a link to each other one.

    A message is the size of its head, the head in JSON, and the bytes of an array;
    nothing of it is unpickled. While a replica waits, whatever comes is received.
    """

    def __init__(self, token: str, device: int, count: int, timeout: float) -> None:
        super().__init__(device)
        self.token, self.count, self.timeout = token, count, timeout
        self.worker: Any = get_worker()
        self.task: Any = None  # that runs here
        self.loop, self.over = self.worker.loop.asyncio_loop, asyncio.Event()
        self.selector = DefaultSelector()
        # Links end with the replica, or with its place where it never begins.
        ending = partial(end_links, self.over, self.selector)
        self.close = finalize(self, self.loop.call_soon_threadsafe, ending)
        self.close.atexit = False
        self.links: dict[int, Link] = {}
        self.ready: set[int] = set()  # to be sent to
        # Memory for what a device sends next, and of whom something is arriving.
        self.offered: dict[int, Any] = {}
        self.arriving: set[int] = set()
        self.gone: dict[int, tuple[type[ReplicaError], str]] = {}
        self.has_ended = False
        seats = self.worker.__dict__.setdefault("replica_seats", WeakValueDictionary())
        seats[token, device] = self

        async def join(
            comm: Any, token: str, device: int, source: int, end: Any = None
        ) -> Any:
            """Only who knows the run's token finds a replica of this worker."""
            seat = seats.get((token, device))
            if (
                seat is not None
                and not seat.over.is_set()
                and source in range(device + 1, seat.count)
                and source not in seat.links
            ):
                keeping = seat.hold(source, comm, end)
                del seat  # which may go
                await keeping
            comm.abort()
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
            here = None
            if not hasattr(comm, "stream"):  # within a process, hence without a socket
                here, names["end"] = socket.socketpair()
            await comm.write({"op": "join_replica", "reply": False, **names})
            keeping = self.hold(peer, comm, here)
        except Exception as error:
            self.lose(peer, f"cannot be reached at {address} ({error})")
        else:
            await keeping

    def hold(self, peer: int, comm: Any, end: Any) -> Awaitable[None]:
        """Take a connection from the event loop; what is returned keeps it. Who was
        asked says when that has happened: until then nothing else is sent.
        """
        if end is None:
            end, loop = comm.stream.socket, comm.stream.io_loop
            loop.remove_handler(end.fileno())
            with suppress(OSError):  # no such option here, so no such limit either
                end.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, 0)
        end.setblocking(False)
        self.links[peer] = link = Link(peer, end, self.messages_of(peer))
        if peer > self.device:
            end.send(READY)
            self.ready.add(peer)
        # The replica's thread may send, not be listed yet, and write when it is.
        self.selector.register(end, EVENT_READ | EVENT_WRITE, link)
        return kept(comm, end, self.over)

    # -- on the replica's thread

    def messages_of(self, peer: int) -> Iterator[Any]:
        """Deliver what a peer sends: yields memory for each part that comes next."""
        if peer < self.device:
            yield bytearray(READY)
            self.ready.add(peer)
        while True:
            yield (front := bytearray(4))
            if (size := int.from_bytes(front, "big")) > LONGEST_HEAD:
                raise ValueError(f"a head of {size} bytes")
            yield (text := bytearray(size))
            head = json.loads(text)
            if isinstance(head, str):
                self.lose(
                    peer, head, ReplicaMismatch if head == ENDED else ReplicaStopped
                )
                continue
            tag, channel, dtype, shape = head
            array = self.offered.pop(peer, None) if channel is None else None
            if array is None or (list(array.shape), str(array.dtype)) != (shape, dtype):
                array = np.empty(shape, dtype)
            self.arriving.add(peer)
            yield octets_of(array)
            self.arriving.remove(peer)
            self.deliver(peer, array if array.ndim else array[()], tag, channel)

    def receive(self, link: Link) -> None:
        """Receive what has come from a peer."""
        try:
            while True:
                while not link.room:
                    link.room = memoryview(next(link.rooms))
                count = link.socket.recv_into(link.room)
                if count == 0:
                    raise ConnectionResetError
                link.room, link.moved = link.room[count:], time.monotonic()
        except FULL:
            pass
        except OSError:
            self.lose(link.peer, "was lost")
            self.selector.unregister(link.socket)
            link.socket.close()
            link.sending.clear()
        except Exception as error:  # a message can be anything
            self.lose(link.peer, f"sent what is no array ({error!r})")
            link.rooms = repeat(bytearray(4096))  # and what follows is nothing

    def lose(
        self, peer: int, reason: str, kind: type[ReplicaError] = ReplicaLost
    ) -> None:
        """A peer sends no more; the first reason stands."""
        self.gone.setdefault(peer, (kind, reason))

    def send(self, link: Link) -> None:
        """Send what a peer takes now."""
        try:
            while link.sending:
                count = link.socket.send(link.sending[0])
                link.moved, rest = time.monotonic(), link.sending.popleft()[count:]
                if rest:
                    link.sending.appendleft(rest)
        except FULL:
            pass
        except OSError:  # what the peer sent before it went tells why
            link.sending.clear()
        with suppress(KeyError, ValueError, FileNotFoundError):  # not listed, closed
            events = EVENT_READ | EVENT_WRITE if link.sending else EVENT_READ
            self.selector.modify(link.socket, events, link)

    def start(self, peer: int, head: Any, octets: Any = b"") -> None:
        """Begin to send a message; its memory stays as it is until all is sent."""
        link, text = self.links[peer], json.dumps(head).encode()
        front = len(text).to_bytes(4, "big") + text
        is_long = len(octets) > SHORT
        link.sending += [front, octets] if is_long else [front + octets]
        self.send(link)

    def start_array(self, peer: int, array: Any, tag: str, channel: Channel) -> None:
        head = tag, channel, str(array.dtype), array.shape
        self.start(peer, head, octets_of(np.ascontiguousarray(array)))

    def exchange(self, send: Any, into: Any, tag: str) -> None:
        """What comes later than this is received in the memory where it belongs."""
        for peer, array in into.items():
            is_next = not self.messages[peer, None] and peer not in self.arriving
            if is_next and array.flags.c_contiguous:
                self.offered[peer] = array
        for peer, array in send.items():
            self.start_array(peer, array, tag, None)
        for peer, array in into.items():
            theirs = self.take(peer, tag)
            if theirs is not array:
                array[...] = theirs
        for peer in send:
            self.wait(partial(self.has_sent_to, peer), peer, tag)

    def has_sent_to(self, peer: int) -> bool:
        """Tell whether a peer has taken all that was sent to it."""
        return not self.links[peer].sending

    def post(self, peer: int, array: Any, tag: str, channel: Channel = None) -> None:
        """Begin to send a copy of an array: nobody knows when it will be taken."""
        if peer == self.device:
            self.deliver(peer, array.copy(), tag, channel)
        else:
            self.start_array(peer, array.copy(), tag, channel)

    def wait(self, is_there: Callable[[], Any], peer: int, tag: str) -> None:
        begun = time.monotonic()
        while not is_there():
            self.require_hope(peer, tag, begun)
            self.turn(0.2 if peer in self.ready else 0.002)

    def turn(self, seconds: float) -> None:
        """Receive what comes, and send what is taken, within some seconds."""
        for key, events in self.selector.select(seconds):
            if events & EVENT_READ:
                self.receive(key.data)
            if events & EVENT_WRITE:
                self.send(key.data)

    def require_hope(self, peer: int, tag: str, begun: float) -> None:
        """Raise where a peer has gone, the client has given the run up, or nothing has
        moved for too long. For the end of others a replica waits as long as they
        compute.
        """
        for other, (kind, reason) in list(self.gone.items()):
            is_needed = other == peer or kind is not ReplicaMismatch
            if is_needed and not self.has_ended:
                needs = f"replica {self.device} needs it in {tag}"
                raise kind(f"replica {other} {reason}, and {needs}")
        task = self.worker.state.tasks.get(self.task)
        if task is None or task.state in ("cancelled", "resumed"):
            raise ReplicaStopped(f"replica {self.device} was given up in {tag}")
        link = self.links.get(peer)
        waited = time.monotonic() - max(begun, link.moved if link else begun)
        if waited > self.timeout and not (self.has_ended and self.has_sent_to(peer)):
            raise ReplicaTimeout(
                f"replica {self.device} waited {self.timeout:g} s "
                f"for replica {peer} in {tag}"
            )

    def run(
        self,
        addresses: Sequence[str],
        snapshots: Any,
        keeper: str | None,
        arguments: Sequence[Any],
        feeds: Mapping[str, Any],
        *,
        body: Callable[..., Any],
        group: Any,
        sizes: tuple[int, int],
    ) -> Any:
        """Run the replica: its results, when all others have ended, too; with a client
        as ``keeper``, what stands for them.
        """
        self.task, self.snapshots = self.worker.get_current_task(), snapshots
        others = [peer for peer in range(self.count) if peer != self.device]
        for peer in others[: self.device]:
            opening = self.open(peer, addresses[peer])
            asyncio.run_coroutine_threadsafe(opening, self.loop)
        try:
            for peer in others:
                self.wait(partial(self.ready.__contains__, peer), peer, "its beginning")
            results = body(group(self.device, *sizes, self), *arguments, **feeds)
            self.say_end(ENDED)
            for peer in others:
                self.wait(partial(self.is_over, peer), peer, "its end")
                kind, reason = self.gone[peer]
                if kind is not ReplicaMismatch:
                    raise kind(f"replica {peer} {reason} before its end")
            self.require_all_taken()
        except BaseException:
            self.say_end("failed")
            deadline = time.monotonic() + 0.1  # who receives nothing may be the cause
            while not all(map(self.has_sent_to, list(self.links))):
                self.turn(0.02)
                if time.monotonic() > deadline:
                    break
            raise
        finally:
            self.close()
            for link in list(self.links.values()):
                link.rooms = iter(())  # they knew this place, which goes at once now
        return results if keeper is None else left_here(self.worker, results, keeper)

    def is_over(self, peer: int) -> bool:
        """Tell whether a peer has ended, and has taken all that was sent to it."""
        return peer in self.gone and self.has_sent_to(peer)

    def say_end(self, end: str) -> None:
        """Tell the others how this replica has ended, behind all it has sent."""
        if not self.has_ended:
            self.has_ended = True
            for peer in list(self.ready):  # to which the worker's event loop may add
                self.start(peer, end)


def end_links(over: asyncio.Event, selector: Any) -> None:
    """End all links of a replica, on the worker's event loop."""
    over.set()
    selector.close()


async def kept(comm: Any, end: Any, over: asyncio.Event) -> None:
    """Keep a connection open until a replica has ended."""
    await over.wait()
    end.close()
    comm.abort()


def left_here(worker: Any, results: Any, client: str) -> Any:
    """Leave results on a worker, for a client: the key, shape and dtype of each."""
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


def octets_of(array: Any) -> Any:
    """The memory of a contiguous array."""
    return memoryview(array.reshape(-1).view(np.uint8)) if array.size else b""

"""Connections between replicas on the workers of a cluster.

Each begins as one of the cluster's own, with its addresses and its security. Then the
replica's thread takes its socket over, so that no message waits for an event loop.
"""

import asyncio
import json
import socket
import ssl
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .replica_heads import Heads

ROOM = 1 << 13  # bytes that are received before it is known what they are
# A message begins with the bytes of its head and of its array, and with its key: a
# channel, if there is one, and a number.
FRONT = "!IQ?qQ"
FRONT_SIZE = struct.calcsize(FRONT)
NOT_NOW = BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError
# How long data may wait to be received, on Linux. Dask gives a connection up after half
# a minute, but a replica receives nothing while it computes.
TCP_USER_TIMEOUT = 18
TAKEN = b"\1"  # says that a side has taken its socket over


class Link:
    """One end of a connection: the messages that wait to be sent, and what has arrived.

    A message is the sizes of its two parts and its key, a head in JSON, and the bytes
    of an array; nothing of it is unpickled. No method waits; one thread at a time may
    use a link.
    """

    def __init__(
        self, connection: socket.socket, close: Callable[[], Awaitable[Any]]
    ) -> None:
        connection.setblocking(False)
        self.socket, self.close = connection, close
        self.outgoing: deque[Any] = deque()
        self.is_full = False  # it is watched for room to send more
        self.room = memoryview(bytearray(ROOM))
        self.begin = self.end = 0  # of the bytes in it that are not read yet
        self.heads = Heads()
        self.key: Any = None  # of the message that is arriving
        self.head: Any = None  # of it
        self.array: Any = None  # that it brings
        self.offered: dict[Any, Any] = {}  # memory for messages by their keys
        self.missing: Any = b""  # the memory for what has not come of it
        self.moved = 0  # bytes, in both directions

    def put(self, key: Any, tag: str, array: Any) -> None:
        """Let an array wait to be sent; its memory is read when it is."""
        head = self.heads.written(tag, array)
        self.put_message(key, head, octets_of(np.ascontiguousarray(array)))

    def put_end(self, how: Any) -> None:
        """Let the last message wait to be sent: how this side has ended."""
        self.put_message((None, 0), json.dumps({"end": how}).encode(), b"")

    def put_message(self, key: Any, head: bytes, data: Any) -> None:
        """Let a message wait to be sent."""
        channel, number = key
        place = channel is not None, channel or 0, number
        front = struct.pack(FRONT, len(head), len(data), *place) + head
        if len(data) <= ROOM:
            self.outgoing.append(memoryview(front + data))
        else:
            self.outgoing += memoryview(front), memoryview(data)

    def own(self) -> None:
        """Copy what waits: from here on its memory may be written into."""
        self.outgoing = deque(memoryview(bytes(data)) for data in self.outgoing)

    def send(self) -> None:
        """Send what there is room for. Raises OSError where the connection is lost."""
        while self.outgoing:
            try:
                sent = self.socket.send(self.outgoing[0])
            except NOT_NOW:
                return
            self.moved += sent
            self.outgoing[0] = self.outgoing[0][sent:]
            if not self.outgoing[0]:
                self.outgoing.popleft()

    def receive(self) -> list[tuple[Any, Any, Any]]:
        """Return the keys, heads and arrays of the next messages that are there whole.

        Raises OSError where the connection is lost, and another error where what comes
        is no message.
        """
        found: list[tuple[Any, Any, Any]] = []
        while not found:
            try:
                if len(self.missing) > ROOM:  # into the array itself
                    count = self.socket.recv_into(self.missing)
                    self.missing = self.missing[count:]
                else:
                    count = self.socket.recv_into(self.room[self.end :])
                    self.end += count
            except NOT_NOW:
                break
            if count == 0:
                raise ConnectionResetError("the other side has closed it")
            self.moved += count
            while self.is_whole():
                scalar = self.array is not None and not self.array.ndim
                array = self.array[()] if scalar else self.array
                found.append((self.key, self.head, array))
                self.head = self.array = None
        return found

    def is_pending(self) -> bool:
        """Whether something has arrived that the system does not know of: TLS decrypts
        more than is read.
        """
        return isinstance(self.socket, ssl.SSLSocket) and self.socket.pending() > 0

    def is_whole(self) -> bool:
        """Read on in what has arrived; whether a message is complete."""
        if self.head is None and not self.begins():
            if self.begin:
                rest = bytes(self.room[self.begin : self.end])
                self.room[: len(rest)] = rest
                self.begin, self.end = 0, len(rest)
            return False
        count = min(self.end - self.begin, len(self.missing))
        self.missing[:count] = self.room[self.begin : self.begin + count]
        self.missing = self.missing[count:]
        self.begin += count
        if self.begin == self.end:
            self.begin = self.end = 0
        return not self.missing

    def begins(self) -> bool:
        """Whether a message's head is there."""
        size = self.end - self.begin - FRONT_SIZE
        if size < 0:
            return False
        front = struct.unpack_from(FRONT, self.room, self.begin)
        head_size, data_size, has_channel, channel, number = front
        if head_size > ROOM - FRONT_SIZE:
            raise ValueError(f"a head of {head_size} bytes")
        if size < head_size:
            return False
        start = self.begin + FRONT_SIZE
        self.begin = start + head_size
        self.key = channel if has_channel else None, number
        self.head = self.heads.read(bytes(self.room[start : self.begin]))
        if "end" not in self.head:
            self.array = self.offered.pop(self.key, None)
            kind = self.head["shape"], self.head["dtype"]
            if self.array is None or (self.array.shape, self.array.dtype) != kind:
                self.array = np.empty(*kind)
        self.missing = octets_of(self.array)
        if len(self.missing) != data_size:
            raise ValueError(f"{data_size} bytes for {self.head}")
        return True


def octets_of(array: Any) -> memoryview:
    """The memory of a contiguous array; nothing of None."""
    if array is None or not array.size:
        return memoryview(bytearray())
    return memoryview(array.reshape(-1).view(np.uint8))


async def taken_over(comm: Any, is_joining: bool) -> Link:
    """Return a link on a connection of the cluster, after the message that joins.

    Each side tells the other when its event loop no longer reads from the socket: until
    then nothing else is sent, so that none of it ends up there.
    """
    loop, stream = asyncio.get_running_loop(), getattr(comm, "stream", None)
    if stream is None:  # within a process, or over what has no sockets
        here, there = socket.socketpair()
        carrying = loop.create_task(carried(comm, there))

        async def close_pair() -> None:
            here.close()
            await carrying

        return Link(here, close_pair)

    async def close() -> None:
        comm.abort()

    if is_joining:
        await stream.read_bytes(len(TAKEN))
    stream.io_loop.remove_handler(stream.fileno())
    link = Link(stream.socket, close)
    with suppress(OSError):  # no such option here, so no such limit either
        link.socket.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, 0)
    link.socket.send(TAKEN)
    while not is_joining:
        await ready(loop.add_reader, loop.remove_reader, link.socket)
        try:
            if link.socket.recv(len(TAKEN)) != TAKEN:
                raise ConnectionResetError("the other side has not taken it over")
            break
        except NOT_NOW:
            pass
    return link


async def ready(
    add: Callable[..., Any], remove: Callable[..., Any], connection: socket.socket
) -> None:
    """Wait until the event loop finds that a socket may be read, or written."""
    found = asyncio.get_running_loop().create_future()
    number = connection.fileno()

    def find() -> None:
        if not found.done():
            found.set_result(None)

    add(number, find)
    try:
        await found
    finally:
        remove(number)


async def carried(comm: Any, there: socket.socket) -> None:
    """Carry bytes between a connection without a socket and the far end of a pair,
    until either is closed.
    """
    loop = asyncio.get_running_loop()
    there.setblocking(False)

    async def outward() -> None:
        while data := await loop.sock_recv(there, 16 * ROOM):
            await comm.write(data)

    async def inward() -> None:
        while True:
            await loop.sock_sendall(there, await comm.read())

    ways = [loop.create_task(outward()), loop.create_task(inward())]
    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    for way in ways:
        way.cancel()
    await asyncio.gather(*ways, return_exceptions=True)
    there.close()
    await comm.close()

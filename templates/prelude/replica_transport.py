"""A replica's place on a worker of a dask.distributed cluster.

The replicas talk to each other over the cluster's own connections, hence with its
addresses and its security: a peer connects to a worker where that listens anyway, and
one message makes a lasting link of the connection.
"""

import asyncio
import selectors
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import wait
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from distributed import get_worker
from distributed.comm import connect
from distributed.core import Status

from .replica import (
    ReplicaError,
    ReplicaLost,
    ReplicaMismatch,
    ReplicaStopped,
    ReplicaTimeout,
)
from .replica_links import Link, ready, taken_over
from .replica_snapshots import Snapshots


class Seat:
    """The place of one replica on its worker: the links to the others, and what has
    arrived on them.
    """

    shares_memory = False

    def __init__(
        self,
        token: str,
        device: int,
        count: int,
        timeout: float,
        snapshots: tuple[str, int, dict[int, str]] | None,
    ) -> None:
        self.token, self.device, self.count = token, device, count
        self.timeout = timeout
        self.snapshots = None if snapshots is None else Snapshots(*snapshots)
        self.worker: Any = get_worker()
        self.key: Any = None  # of the task that runs here
        self.loop = self.worker.loop.asyncio_loop
        self.messages: dict[Any, tuple[str, Any]] = {}
        # Who sends no more: what that means to who waits.
        self.gone: dict[int, tuple[type[ReplicaError], str]] = {}
        self.links: dict[int, Link] = {}
        self.using = threading.Lock()  # the links
        self.selector = selectors.DefaultSelector()
        self.end: str | None = None  # how the replica has ended
        self.closed = asyncio.Event()
        seats = self.worker.__dict__.setdefault("replica_seats", WeakValueDictionary())
        seats[token, device] = self
        self.worker.handlers["join_replica"] = joining(seats)

    # -- on the worker's event loop

    async def open(self, addresses: Sequence[str]) -> None:
        """Connect to the devices before this one; those behind it connect to here."""
        arguments = self.worker.security.get_connection_args("worker")
        for peer, address in enumerate(addresses[: self.device]):
            names = {"token": self.token, "device": peer, "source": self.device}
            try:
                comm = await connect(
                    address, timeout=self.timeout, deserialize=False, **arguments
                )
                await comm.write({"op": "join_replica", "reply": False, **names})
                link = await asyncio.wait_for(taken_over(comm, True), self.timeout)
                self.add(peer, link)
            except OSError as error:
                raise ReplicaLost(
                    f"replica {self.device} cannot reach replica {peer} at {address}"
                ) from error

    async def join(self, peer: int, comm: Any) -> None:
        """Hold the connection of a device behind this one until this one has ended."""
        if peer in self.links or peer not in range(self.device + 1, self.count):
            comm.abort()
            return
        comm.deserialize = False
        try:
            link = await asyncio.wait_for(taken_over(comm, False), self.timeout)
        except OSError:
            comm.abort()
            return
        if self.end is None:
            self.add(peer, link)
            await self.closed.wait()
        else:
            await self.finish(link)

    def add(self, peer: int, link: Link) -> None:
        """Give the replica's thread a link."""
        self.links[peer] = link
        self.selector.register(link.socket, selectors.EVENT_READ, peer)

    def send_later(self, peer: int) -> None:
        """Go on sending as soon as there is room."""
        number = self.links[peer].socket.fileno()
        if number >= 0:
            self.loop.add_writer(number, self.send_rest, peer, number)

    def send_rest(self, peer: int, number: int) -> None:
        """Send what there is room for now, unless the replica's thread does."""
        self.loop.remove_writer(number)
        if self.end is None and self.using.acquire(blocking=False):
            self.send(peer)
            self.using.release()
            if self.links[peer].outgoing:
                self.send_later(peer)

    async def leave(self, end: str) -> None:
        """Tell the others how this replica has ended, behind all it has sent, and close
        the links.
        """
        self.end = end
        await asyncio.gather(*map(self.finish, self.links.values()))
        self.selector.close()
        self.closed.set()

    async def finish(self, link: Link) -> None:
        """Send the rest and the end on a link, and close it."""
        link.put_end(self.end)
        with suppress(OSError, ValueError):  # the peer has gone, or the worker goes
            link.send()
            while link.outgoing:
                await ready(self.loop.add_writer, self.loop.remove_writer, link.socket)
                link.send()
        if (number := link.socket.fileno()) >= 0:
            self.loop.remove_writer(number)  # the next socket may have this number
        await link.close()

    # -- on the replica's thread

    def connect(self, addresses: Sequence[str]) -> None:
        """Let the event loop ``open`` the links. Raises ReplicaStopped where the client
        gives the run up meanwhile: a peer that has gone is called again and again.
        """
        opening = asyncio.run_coroutine_threadsafe(self.open(addresses), self.loop)
        while not wait([opening], 0.2).done:
            if self.is_given_up():
                opening.cancel()
                raise ReplicaStopped(f"replica {self.device} was given up")
        opening.result()

    def post(self, source: int, target: int, key: Any, tag: str, array: Any) -> None:
        """Send an array without waiting for the others to take it. It is read until
        ``settle``.
        """
        if target == self.device:
            self.messages[target, key] = tag, array.copy()
            return
        self.wait(lambda: target in self.links, target, tag)
        with self.using:
            self.require_peer(target, tag)
            self.links[target].put(key, tag, array)
            self.send(target)

    def settle(self, takers: Collection[int], tag: str) -> None:
        """Let the arrays be written again that have been posted. ``takers`` take theirs
        now: wait until they have. What is not sent to others is copied, and sent by the
        event loop while the replica computes.
        """
        for peer in takers:
            self.wait(partial(self.has_sent, peer), peer, tag)
        for peer, link in list(self.links.items()):
            link.offered.clear()
            if link.outgoing:
                with self.using:
                    self.send(peer)
                    link.own()
                self.loop.call_soon_threadsafe(self.send_later, peer)

    def has_sent(self, peer: int) -> bool:
        """Whether nothing waits to be sent to a peer."""
        return peer == self.device or not self.links[peer].outgoing

    def expect(self, source: int, key: Any, out: Any) -> None:
        """Offer memory for a message that has not begun to arrive."""
        if source in self.links:
            self.links[source].offered[key] = out

    def take(self, target: int, source: int, key: Any, tag: str) -> tuple[str, Any]:
        """Wait for a message; its tag and its array."""
        self.wait(lambda: (source, key) in self.messages, source, tag)
        return self.messages.pop((source, key))

    def wait(self, is_there: Callable[[], bool], peer: int, tag: str) -> None:
        """Send and receive until something is there that comes from a peer. Raises
        ReplicaTimeout where nothing does for too long.
        """
        if is_there():
            return
        deadline, moved = time.monotonic() + self.timeout, 0
        with self.using:
            while not is_there():
                self.require_peer(peer, tag)
                if self.is_given_up():
                    raise ReplicaStopped(f"replica {self.device} was given up in {tag}")
                link, now = self.links.get(peer), time.monotonic()
                if link is not None and link.moved > moved:
                    deadline, moved = now + self.timeout, link.moved
                if now >= deadline:
                    message = f"replica {self.device} waited {self.timeout:g} s "
                    message += f"for replica {peer} in {tag}"
                    raise ReplicaTimeout(message)
                self.make_progress(min(deadline - now, 0.2))

    def make_progress(self, patience: float) -> None:
        """Send and receive what is possible; where nothing is, wait for that."""
        pending = [p for p, link in list(self.links.items()) if link.is_pending()]
        for peer in pending:
            self.receive(peer)
        if not self.selector.get_map():
            time.sleep(min(patience, 0.01))
            return
        for key, events in self.selector.select(0 if pending else patience):
            if events & selectors.EVENT_WRITE:
                self.send(key.data)
            if events & selectors.EVENT_READ:
                self.receive(key.data)

    def send(self, peer: int) -> None:
        """Send what there is room for; watch for more of it while that is not all."""
        link = self.links[peer]
        try:
            link.send()
        except OSError:
            link.outgoing.clear()  # what the peer has sent before it went tells why
        is_full = bool(link.outgoing)
        if is_full != link.is_full and peer not in self.gone:
            link.is_full = is_full
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if is_full else 0)
            self.selector.modify(link.socket, events, peer)

    def receive(self, peer: int) -> None:
        """Keep what has come from a peer: arrays, or that it has ended."""
        link = self.links[peer]
        try:
            for key, head, array in link.receive():
                if "end" in head:
                    ended = ReplicaMismatch, "has ended"
                    failed = ReplicaStopped, "failed"
                    self.lose(peer, *(ended if head["end"] == "well" else failed))
                else:
                    self.messages[peer, key] = head["tag"], array
        except OSError:
            self.lose(peer, ReplicaLost, "was lost")
        except Exception as error:  # a message can be anything
            self.lose(peer, ReplicaLost, f"sent what is no array ({error!r})")

    def lose(self, peer: int, kind: type[ReplicaError], reason: str) -> None:
        """A peer sends no more; the first reason stands."""
        if peer not in self.gone:
            self.gone[peer] = kind, reason
            self.selector.unregister(self.links[peer].socket)

    def require_peer(self, peer: int, tag: str) -> None:
        """Raise where a peer has gone."""
        if peer in self.links and self.links[peer].socket.fileno() < 0:
            self.lose(peer, ReplicaLost, "was lost")  # this worker closes
        if peer in self.gone:
            kind, reason = self.gone[peer]
            raise kind(
                f"replica {peer} {reason}, and replica {self.device} needs it in {tag}"
            )

    def is_given_up(self) -> bool:
        """The client has cancelled this task, or has gone."""
        task = self.worker.state.tasks.get(self.key)
        return task is None or task.state in ("cancelled", "resumed")

    def close(self, end: str) -> None:
        """Let the event loop take leave of the others."""
        asyncio.run_coroutine_threadsafe(self.leave(end), self.loop)


def joining(seats: Mapping[tuple[str, int], Seat]) -> Callable[..., Any]:
    """Return the handler of peers that connect to a replica of this worker. Only who
    knows the run's token finds it.
    """

    async def join(comm: Any, token: str, device: int, source: int) -> Any:
        seat = seats.get((token, device))
        if seat is None:
            comm.abort()
        else:
            await seat.join(source, comm)
        return Status.dont_reply

    return join


def run_seated(
    replica: Callable[..., Any],
    group: Callable[..., Any],
    counts: tuple[int, int],
    seat: Seat,
    addresses: Sequence[str],
    arguments: Sequence[Any],
    feeds: Mapping[str, Any],
) -> Any:
    """The task of one replica; what ``results_of`` takes."""
    seat.key = get_worker().get_current_task()
    end = "badly"
    try:
        seat.connect(addresses)
        g = group(seat.device, *counts, seat)
        result = replica(g, *arguments, **feeds)
        end = "well"
        return result, g.sent, g.received, g.last
    finally:
        seat.close(end)

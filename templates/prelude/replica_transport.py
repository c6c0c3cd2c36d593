"""A replica's place on a worker of a dask.distributed cluster.

The replicas talk to each other over the cluster's own communication layer, hence with
its addresses and its security: a peer connects to a worker where that listens anyway,
and one message makes a lasting connection of it. What arrives is an array's header and
its bytes; nothing of it is unpickled.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from distributed import get_worker
from distributed.comm import CommClosedError, connect
from distributed.core import Status
from distributed.protocol import Serialized

from .replica import (
    ReplicaError,
    ReplicaLost,
    ReplicaMismatch,
    ReplicaStopped,
    ReplicaTimeout,
)
from .replica_snapshots import Snapshots


class Seat:
    """The place of one replica on its worker: the connections to the others, and what
    has arrived on them.
    """

    def __init__(
        self,
        token: str,
        device: int,
        count: int,
        timeout: float,
        snapshots: tuple[str, int, dict[int, str]] | None,
    ) -> None:
        self.token, self.device, self.timeout = token, device, timeout
        self.snapshots = None if snapshots is None else Snapshots(*snapshots)
        self.worker: Any = get_worker()
        self.key: Any = None  # of the task that runs here
        self.loop = self.worker.loop.asyncio_loop
        self.changed = threading.Condition()
        self.messages: dict[Any, tuple[str, Any]] = {}
        # Who sends no more: what that means to who waits.
        self.gone: dict[int, tuple[type[ReplicaError], str]] = {}
        self.outgoing: dict[int, asyncio.Queue[Any]] = {
            peer: asyncio.Queue() for peer in range(count)
        }
        self.connected: list[asyncio.Task[None]] = []
        seats = self.worker.__dict__.setdefault("replica_seats", WeakValueDictionary())
        seats[token, device] = self
        self.worker.handlers["join_replica"] = joining(seats)

    # -- on the worker's event loop

    async def open(self, addresses: Sequence[str]) -> None:
        """Connect to the devices before this one; those behind it connect to here."""
        arguments = self.worker.security.get_connection_args("worker")
        for peer, address in enumerate(addresses[: self.device]):
            try:
                comm = await connect(
                    address, timeout=self.timeout, deserialize=False, **arguments
                )
            except OSError as error:
                raise ReplicaLost(
                    f"replica {self.device} cannot reach replica {peer} at {address}"
                ) from error
            names = {"token": self.token, "device": peer, "source": self.device}
            await comm.write({"op": "join_replica", "reply": False, **names})
            self.connected.append(asyncio.create_task(self.serve(peer, comm)))

    async def serve(self, peer: int, comm: Any) -> None:
        """Read and write on a connection until either side closes it."""
        comm.allow_offload = False
        writing = asyncio.create_task(self.write(peer, comm))
        try:
            while True:
                self.arrived(peer, await comm.read())
        except OSError:
            self.leave(peer, ReplicaLost, "was lost")
        except Exception as error:  # a message can be anything
            self.leave(peer, ReplicaLost, f"sent what is no array ({error!r})")
        finally:
            writing.cancel()
            comm.abort()

    async def write(self, peer: int, comm: Any) -> None:
        """Send what is waiting for a peer; None is the end."""
        while (message := await self.outgoing[peer].get()) is not None:
            try:
                await comm.write(message)
            except CommClosedError:
                return  # the reader has noticed
        await comm.close()

    def arrived(self, peer: int, message: Mapping[str, Any]) -> None:
        """Keep an array, or that the peer has ended."""
        if "end" in message:
            ended = ReplicaMismatch, "has ended"
            failed = ReplicaStopped, "failed"
            self.leave(peer, *(ended if message["end"] == "well" else failed))
            return
        frames = [memoryview(frame) for frame in message["data"].frames]
        data = frames[0] if len(frames) == 1 else bytearray().join(frames)
        array = np.frombuffer(data, np.dtype(message["dtype"]))
        array = array.reshape(message["shape"])
        with self.changed:
            self.messages[peer, tuple(message["key"])] = message["tag"], array[()]
            self.changed.notify_all()

    def leave(self, peer: int, kind: type[ReplicaError], reason: str) -> None:
        """A peer sends no more; the first reason stands."""
        with self.changed:
            self.gone.setdefault(peer, (kind, reason))
            self.changed.notify_all()

    # -- on the replica's thread

    def post(self, source: int, target: int, key: Any, tag: str, array: Any) -> None:
        """Send an array, which nobody writes into any more, without waiting."""
        if target == self.device:
            with self.changed:
                self.messages[target, key] = tag, array
            return
        with self.changed:
            self.require_peer(target, tag)
        flat = np.ascontiguousarray(array).reshape(-1)
        data = Serialized({}, [flat.view(np.uint8).data] if flat.size else [])
        shape = list(array.shape)
        message = {
            "key": list(key),
            "tag": tag,
            "dtype": str(array.dtype),
            "shape": shape,
            "data": data,
        }
        self.loop.call_soon_threadsafe(self.outgoing[target].put_nowait, message)

    def take(self, target: int, source: int, key: Any, tag: str) -> tuple[str, Any]:
        """Wait for a message; its tag and its array."""
        deadline = time.monotonic() + self.timeout
        with self.changed:
            while (source, key) not in self.messages:
                self.require_peer(source, tag)
                if self.is_given_up():
                    raise ReplicaStopped(f"replica {self.device} was given up in {tag}")
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    message = f"replica {self.device} waited {self.timeout:g} s "
                    message += f"for replica {source} in {tag}"
                    raise ReplicaTimeout(message)
                self.changed.wait(min(remaining, 0.2))
            return self.messages.pop((source, key))

    def require_peer(self, peer: int, tag: str) -> None:
        """Raise where a peer has gone."""
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
        """Tell the others how this replica has ended; the connections close behind
        that.
        """
        for queue in self.outgoing.values():
            self.loop.call_soon_threadsafe(queue.put_nowait, {"end": end})
            self.loop.call_soon_threadsafe(queue.put_nowait, None)


def joining(seats: Mapping[tuple[str, int], Seat]) -> Callable[..., Any]:
    """Return the handler of peers that connect to a replica of this worker. Only who
    knows the run's token finds it.
    """

    async def join(comm: Any, token: str, device: int, source: int) -> Any:
        seat = seats.get((token, device))
        if seat is None:
            comm.abort()
        else:
            comm.deserialize = False
            await seat.serve(source, comm)
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
        asyncio.run_coroutine_threadsafe(seat.open(addresses), seat.loop).result()
        g = group(seat.device, *counts, seat)
        result = replica(g, *arguments, **feeds)
        end = "well"
        return result, g.sent, g.received, g.last
    finally:
        seat.close(end)

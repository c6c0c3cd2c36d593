"""Replicas on the workers of a dask.distributed cluster, one task each.

The replicas talk to each other over the cluster's own communication layer, hence with
its addresses and its security: a peer connects to a worker where that listens anyway,
and one message makes a lasting connection of it. What arrives is an array's header and
its bytes; nothing of it is unpickled.
"""

import asyncio
import operator
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import cloudpickle
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
from .replica_snapshots import Snapshots, newest_snapshots
from .replica_threads import require_one_each


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
        snapshots: Snapshots | None,
    ) -> None:
        self.token, self.device = token, device
        self.timeout, self.snapshots = timeout, snapshots
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
        except (OSError, ValueError, TypeError, KeyError) as error:
            reason = "was lost"
            if not isinstance(error, OSError):
                reason = f"sent what is no array ({error})"
            self.leave(peer, ReplicaLost, reason)
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
        data = frames[0] if len(frames) == 1 else b"".join(frames)
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
    """What a worker does when a peer connects to a replica of its own. Only who knows
    the run's token finds it.
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
    """The task of one replica."""
    seat.key = get_worker().get_current_task()
    end = "badly"
    try:
        asyncio.run_coroutine_threadsafe(seat.open(addresses), seat.loop).result()
        result = replica(group(seat.device, *counts, seat), *arguments, **feeds)
        end = "well"
        return result
    finally:
        seat.close(end)


class ByValue:
    """A function that workers receive whole: they need not be able to import its
    module.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        module = sys.modules.get(__name__)
        if module is not None:
            cloudpickle.register_pickle_by_value(module)
        try:
            self.pickled = cloudpickle.dumps(function)
        finally:
            if module is not None:
                cloudpickle.unregister_pickle_by_value(module)

    def __reduce__(self) -> Any:
        return cloudpickle.loads, (self.pickled,)


class Run:
    """One run of a program on chosen workers, seen from the client."""

    def __init__(self, client: Any, addresses: Sequence[str], timeout: float) -> None:
        self.client, self.addresses, self.timeout = client, addresses, timeout
        self.token = uuid.uuid4().hex
        self.futures: list[Any] = []
        # By worker: its last sign of life, and when it was new here.
        self.heard: dict[str, tuple[Any, float]] = {}

    def submit(
        self, name: str, function: ByValue, arguments: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """A task for each device, on its worker and nowhere else."""
        futures = [
            self.client.submit(
                operator.call,
                function,
                *arguments[device],
                key=f"{name}-{device}-{self.token}",
                workers=[address],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
            for device, address in enumerate(self.addresses)
        ]
        self.futures += futures
        return futures

    def wait(self, futures: Sequence[Any], limit: float | None = None) -> None:
        """Wait until all are done. Raises the failure behind all others, or
        ReplicaTimeout after ``limit`` seconds.
        """
        started = time.monotonic()
        while any(future.status == "pending" for future in futures):
            lost = self.missing()
            if lost is not None or any(
                future.status not in ("pending", "finished") for future in futures
            ):
                self.fail(futures, lost)
            if limit is not None and time.monotonic() - started > limit:
                status = [future.status for future in futures]
                late = [d for d, state in enumerate(status) if state == "pending"]
                raise ReplicaTimeout(
                    f"replicas {late} have not started within {limit:g} s: "
                    "are their workers busy?"
                )
            time.sleep(0.02)
        if any(future.status != "finished" for future in futures):
            self.fail(futures, None)

    def missing(self) -> ReplicaError | None:
        """That a worker has gone, or gives no sign of life."""
        alive = self.client.nthreads()
        # Now and then these are only some of them.
        known = self.client.scheduler_info(n_workers=-1)["workers"]
        now = time.monotonic()
        for device, address in enumerate(self.addresses):
            if address not in alive:
                return ReplicaLost(
                    f"replica {device} was lost: its worker {address} has gone"
                )
            sign = known[address]["last_seen"] if address in known else now
            if self.heard.get(address, (None, 0.0))[0] != sign:
                self.heard[address] = sign, now
            elif now - self.heard[address][1] > self.timeout:
                return ReplicaTimeout(
                    f"replica {device}: its worker {address} gives no sign of life"
                )
        return None

    def fail(self, futures: Sequence[Any], lost: ReplicaError | None) -> None:
        """Raise why a run has failed. A replica that only stopped because of another
        waits a moment for that one.
        """
        deadline = time.monotonic() + (0.5 if lost is None else 0.3)
        while True:
            failures = [
                future.exception() for future in futures if future.status == "error"
            ]
            ranks = [CAUSES.get(type(error).__name__, 0) for error in failures]
            first = failures[ranks.index(min(ranks))] if failures else None
            if first is not None and type(first).__name__ != "ReplicaStopped":
                raise first
            if time.monotonic() > deadline or all(
                future.status != "pending" for future in futures
            ):
                raise lost or first or ReplicaLost("the cluster has given up the run")
            time.sleep(0.02)

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """The results, by device. Raises ReplicaLost where a worker goes before it has
        handed its own over.
        """
        gathering = asyncio.run_coroutine_threadsafe(
            self.client.gather(futures, asynchronous=True),
            self.client.loop.asyncio_loop,
        )
        while not gathering.done():
            lost = self.missing()
            if lost is not None:
                gathering.cancel()
                raise lost
            time.sleep(0.02)
        return list(gathering.result())


# What a failure is a consequence of, the cause first; before them comes whatever else a
# program raises.
CAUSES = {
    "ReplicaMismatch": 1,
    "ReplicaTimeout": 2,
    "ReplicaLost": 3,
    "ReplicaStopped": 4,
}


def on_workers(
    replica: Callable[..., Any],
    group: Callable[..., Any],
    counts: tuple[int, int],
    client: Any,
    replica_args: Sequence[Sequence[Any]],
    feeds: Mapping[str, Sequence[Any]],
    workers: Sequence[str] | None,
    timeout: float,
    snapshot: Any,
    every: int,
    retries: int,
) -> list[Any]:
    """Run a program with one replica on each of as many workers; the results, by
    device.

    Nothing is left behind: neither tasks nor connections. ``timeout`` is the longest,
    in seconds, that a replica waits for another. Where a replica is lost, the run
    begins again from the newest snapshots, up to ``retries`` times. Raises ReplicaLost,
    ReplicaMismatch and ReplicaTimeout, or what a replica has raised.
    """
    count = counts[0] * counts[1]
    require_one_each(count, replica_args, feeds)
    carry_constants(replica.__globals__)
    program = ByValue(Seat), ByValue(partial(run_seated, replica, group, counts))
    given = [
        (list(arguments), {name: feed[device] for name, feed in feeds.items()})
        for device, arguments in enumerate(replica_args)
    ]
    folders: list[str] = []
    while True:
        run = Run(client, placed(client, count, workers, timeout), timeout)
        begin = newest_snapshots(folders, count)
        folders.append(str(Path(snapshot or "").resolve() / run.token))
        snapshots = None if snapshot is None else Snapshots(folders[-1], every, begin)
        try:
            each = [(run.token, d, count, timeout, snapshots) for d in range(count)]
            seats = run.submit("replica-seat", program[0], each)
            run.wait(seats, timeout)
            work = [(seats[d], run.addresses, *given[d]) for d in range(count)]
            running = run.submit("replica", program[1], work)
            run.wait(running)
            return run.results(running)
        except ReplicaLost:
            if snapshot is None or len(folders) > retries:
                raise
        finally:
            client.cancel(run.futures, force=True)


def carry_constants(names: dict[str, Any]) -> None:
    """Let large constants travel with a program: the workers do not have the files
    beside its module.
    """
    path = Path(names["__file__"])
    stored = {
        file.stem: np.load(file, allow_pickle=False)
        for file in path.with_suffix(".constants").glob("*.npy")
    }
    if path.with_suffix(".npz").is_file():
        with np.load(path.with_suffix(".npz"), allow_pickle=False) as archive:
            stored.update(archive)
    if stored:
        names["constant"] = names["mapped_constant"] = lambda name, digest: stored[name]


def placed(
    client: Any, count: int, workers: Sequence[str] | None, timeout: float
) -> list[str]:
    """A worker for each device: others as long as there are any, and one thread for
    each replica.
    """
    deadline = time.monotonic() + timeout
    while True:
        free = {
            a: n
            for a, n in sorted(client.nthreads().items())
            if workers is None or a in workers
        }
        rounds = range(max(free.values(), default=0))
        chosen = [
            address for k in rounds for address, threads in free.items() if threads > k
        ][:count]
        if len(chosen) == count:
            return chosen
        if time.monotonic() > deadline:
            raise ReplicaTimeout(
                f"{count} replicas need as many worker threads; "
                f"there are {sum(free.values())}"
            )
        time.sleep(0.1)

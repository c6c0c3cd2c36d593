"""Replicas on the workers of a dask.distributed cluster, one task each."""

import asyncio
import io
import operator
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import cloudpickle
import dask.array as da
import numpy as np

from .replica import ReplicaError, ReplicaLost, ReplicaTimeout
from .replica_chunks import arrays_left, futures_of, left_on_worker, nearest
from .replica_snapshots import newest_snapshots
from .replica_threads import require_one_each, results_of
from .replica_transport import Seat, run_seated
from .sidecar import verified


class ByValue(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles a program with its functions and classes: workers need not be able to
    import its modules, and run these where they have older ones.
    """

    modules: Collection[str] = ()

    def reducer_override(self, obj: Any) -> Any:
        """Functions decorated with ``np.errstate`` or ``cache`` cannot be pickled:
        workers decorate them again.
        """
        cells = getattr(obj, "__closure__", None) or ()
        if any(isinstance(cell.cell_contents, np.errstate) for cell in cells):
            return silenced, (obj.__wrapped__,)
        if hasattr(obj, "cache_info") and obj.__module__ in self.modules:
            return cache, (obj.__wrapped__,)
        return super().reducer_override(obj)


def silenced(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without NumPy's warnings."""
    quiet: Callable[..., Any] = np.errstate(all="ignore")(function)
    return quiet


def pickled_whole(program: Any, module: str = __name__) -> bytes:
    """Return what ``cloudpickle.loads`` makes a program of on a worker, with what it
    uses of its ``module`` and of this one. These are bytes until then: a scheduler that
    read them would send names of this process's modules on.
    """
    names = {module, __name__}
    modules = [sys.modules[name] for name in names if name in sys.modules]
    stream = io.BytesIO()
    for one in modules:
        cloudpickle.register_pickle_by_value(one)
    pickler = ByValue(stream)
    pickler.modules = {*names, "builtins"}
    try:
        pickler.dump(program)
    finally:
        for one in modules:
            cloudpickle.unregister_pickle_by_value(one)
    return stream.getvalue()


class Run:
    """One run of a program on chosen workers, seen from the client."""

    def __init__(self, client: Any, addresses: Sequence[str], timeout: float) -> None:
        self.client, self.addresses, self.timeout = client, addresses, timeout
        self.token = uuid.uuid4().hex
        self.futures: list[Any] = []
        # By worker: its last sign of life, and when it was new here.
        self.heard: dict[str, tuple[Any, float]] = {}
        known = client.scheduler_info(n_workers=-1)["workers"]
        # Whether nannies start lost workers again.
        self.is_restarted = any(
            known[address]["nanny"] for address in addresses if address in known
        )

    def submit(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: Sequence[Sequence[Any]],
    ) -> list[Any]:
        """A task for each device, on its worker and nowhere else."""
        futures = [
            self.client.submit(
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
            # A long run is asked after less often, and a loss noticed within a second.
            time.sleep(min(0.02 + (time.monotonic() - started) / 100, 0.2))
        if any(future.status != "finished" for future in futures):
            self.fail(futures, None)

    def missing(self) -> ReplicaError | None:
        """That a worker has gone, or gives no sign of life."""
        alive = threads_of(self.client)
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
            all_have_ended = all(future.status != "pending" for future in futures)
            failures = [
                future.exception() for future in futures if future.status == "error"
            ]
            ranks = [CAUSES.get(type(error).__name__, 0) for error in failures]
            first = failures[ranks.index(min(ranks))] if failures else None
            if first is not None and type(first).__name__ != "ReplicaStopped":
                raise first
            if all_have_ended or time.monotonic() > deadline:
                raise lost or first or ReplicaLost("the cluster has given up the run")
            time.sleep(0.02)

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """The results, by device. Raises ReplicaLost where a worker goes before it has
        handed its own over, ReplicaMismatch if a message was never taken.
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
        return results_of(gathering.result())

    def left(self, futures: Sequence[Any]) -> list[Any]:
        """The results as dask arrays, by device: they stay on the workers. Raises what
        ``results`` does.
        """
        code = [[pickled_whole(left_on_worker)]] * len(futures)
        leave = self.submit("replica-leave", cloudpickle.loads, code)
        each = [
            (left, future, self.client.id)
            for left, future in zip(leave, futures, strict=True)
        ]
        told = self.submit("replica-left", operator.call, each)
        self.wait(told)
        return [arrays_left(self.client, *one) for one in self.results(told)]


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
    rejoin: float | None,
    gather: bool,
) -> list[Any]:
    """Run a program with one replica on each of as many workers; the results, by
    device.

    Nothing is left behind: neither tasks nor connections. ``timeout`` is the longest,
    in seconds, that a replica waits for another. Where a replica is lost, the run
    begins again from the newest snapshots, up to ``retries`` times, if there are enough
    workers within ``rejoin`` seconds. Dask arrays among the arguments are computed, and
    a replica takes the worker that has most of its own; results stay on the workers, as
    dask arrays, unless ``gather``. Raises ReplicaLost, ReplicaMismatch and
    ReplicaTimeout, or what a replica has raised.
    """
    require_client(client)
    count = counts[0] * counts[1]
    require_one_each(count, replica_args, feeds)
    carry_constants(replica.__globals__)
    make_seat = pickled_whole(Seat)
    program = pickled_whole(
        partial(run_seated, replica, group, counts), replica.__module__
    )
    replica_args, held = futures_of(client, replica_args)
    given = [
        (arguments, {name: feed[device] for name, feed in feeds.items()})
        for device, arguments in enumerate(replica_args)
    ]
    folders: list[str] = []
    addresses = placed(client, count, workers, timeout, held)
    while True:
        run = Run(client, addresses, timeout)
        begin = newest_snapshots(folders, count)
        folders.append(str(Path(snapshot or "").resolve() / run.token))
        snapshots = None if snapshot is None else (folders[-1], every, begin)
        try:
            made = run.submit("replica-code", cloudpickle.loads, [[make_seat]] * count)
            each = [(run.token, d, count, timeout, snapshots) for d in range(count)]
            begun = [(made[d], *each[d]) for d in range(count)]
            seats = run.submit("replica-seat", operator.call, begun)
            run.wait(seats, timeout)
            made = run.submit("replica-program", cloudpickle.loads, [[program]] * count)
            work = [(made[d], seats[d], run.addresses, *given[d]) for d in range(count)]
            running = run.submit("replica", operator.call, work)
            run.wait(running)
            return run.results(running) if gather else run.left(running)
        except ReplicaLost as error:
            if snapshot is None or len(folders) > retries:
                raise
            lost = error
        finally:
            client.cancel(run.futures, force=True)
        patience = timeout if run.is_restarted else 1.0
        patience = patience if rejoin is None else rejoin
        try:
            addresses = placed(client, count, workers, patience, held)
        except ReplicaTimeout as error:
            lost.add_note(f"no other worker came within {patience:g} s: {error}")
            raise lost from None


def carry_constants(names: dict[str, Any]) -> None:
    """Let large constants travel with a program: the workers do not have the files
    beside its module.
    """
    reading = [names.get(name) for name in ("constant", "mapped_constant")]
    if not any(hasattr(function, "cache_info") for function in reading):
        return  # there are none, or they are in memory
    path = Path(names["__file__"])
    stored = {
        file.stem: np.load(file, allow_pickle=False)
        for file in path.with_suffix(".constants").glob("*.npy")
    }
    if path.with_suffix(".npz").is_file():
        with np.load(path.with_suffix(".npz"), allow_pickle=False) as archive:
            stored.update(archive)
    if not stored:
        raise FileNotFoundError(f"the constants beside {path} are missing")
    names["constant"] = names["mapped_constant"] = lambda name, digest: verified(
        stored[name], digest, path
    )


def on_devices(
    client: Any,
    arrays: Sequence[Any],
    split: Callable[[list[Any]], list[list[Any]]],
    join: Callable[[list[Any]], Any],
    run_local: Callable[..., list[Any]],
    run_replicas: Callable[..., list[Any]],
) -> Any:
    """Run a program on whole arrays: on the workers of a client, or in threads where it
    is None.
    """
    if client is None:
        return join(run_local(list(da.compute(*split(list(arrays))))))
    require_client(client)
    gather = not any(isinstance(array, da.Array) for array in arrays)
    return join(run_replicas(client, split(list(arrays)), gather=gather))


def require_client(client: Any) -> None:
    """Raise TypeError for what is no client of dask.distributed."""
    if not hasattr(client, "scheduler_info"):
        kind = type(client).__name__
        raise TypeError(f"expected a client of dask.distributed first, got {kind}")


def threads_of(client: Any) -> dict[str, int]:
    """Return the number of threads of each worker. Raises ReplicaError where the client
    has been closed.
    """
    if client.status in ("closing", "closed"):
        raise ReplicaError("the client is closed: replicas need one that is connected")
    return dict(client.nthreads())


def placed(
    client: Any,
    count: int,
    workers: Sequence[str] | None,
    timeout: float,
    held: Sequence[Counter[str]],
) -> list[str]:
    """A worker for each device: others as long as there are any, those first that have
    bytes of its arguments, and one thread for each replica.
    """
    deadline = time.monotonic() + timeout
    total = sum(held, Counter[str]())
    while True:
        free = {
            a: n
            for a, n in sorted(
                threads_of(client).items(), key=lambda w: (-total[w[0]], w)
            )
            if workers is None or a in workers
        }
        rounds = range(max(free.values(), default=0))
        chosen = [
            address for k in rounds for address, threads in free.items() if threads > k
        ][:count]
        if len(chosen) == count:
            return nearest(chosen, held)
        if time.monotonic() > deadline:
            raise ReplicaTimeout(
                f"{count} replicas need as many worker threads; "
                f"there are {sum(free.values())}"
            )
        time.sleep(0.1)

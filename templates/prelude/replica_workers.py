"""Replicas on the workers of a dask.distributed cluster, one task each."""

import asyncio
import io
import shutil
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import cloudpickle
import dask.array as da
import distributed
import numpy as np

from .replica import Program, ReplicaError, ReplicaTimeout
from .replica_transport import ReplicaLost, WorkerEndpoint
from .sidecar import verified


class ByValue(cloudpickle.Pickler):  # type: ignore[misc]
    """A pickler that includes the functions and classes of a program's modules: workers
    may lack these modules, or have older ones.
    """

    names: Collection[str] = ()  # of the modules

    def reducer_override(self, obj: Any) -> Any:
        """Reduce functions decorated with ``np.errstate`` or ``cache``, which cannot be
        pickled, to calls of these decorators.
        """
        cells = getattr(obj, "__closure__", None) or ()
        if any(isinstance(cell.cell_contents, np.errstate) for cell in cells):
            return silenced, (obj.__wrapped__,)
        if hasattr(obj, "cache_info") and obj.__module__ in self.names:
            return cache, (obj.__wrapped__,)
        return super().reducer_override(obj)


def silenced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function without NumPy's warnings."""
    quiet: Callable[..., Any] = np.errstate(all="ignore")(function)
    return quiet


def pickled_whole(program: Any, module: str = __name__) -> bytes:
    """Return a program, pickled with what it uses of its ``module``, this one, and that
    of what runs in threads as well.
    """
    modules = {module, __name__, Program.__module__}
    stream, names = io.BytesIO(), modules & {*sys.modules}
    pickler = ByValue(stream)
    pickler.names = {*modules, "builtins"}
    try:
        for name in names:
            cloudpickle.register_pickle_by_value(sys.modules[name])
        pickler.dump(program)
    finally:
        for name in names:
            cloudpickle.unregister_pickle_by_value(sys.modules[name])
    return stream.getvalue()


class Run:
    """One run of a program on chosen workers, as seen by the client."""

    def __init__(self, client: Any, addresses: Sequence[str], timeout: float) -> None:
        self.client, self.addresses, self.timeout = client, addresses, timeout
        self.token, self.futures = uuid.uuid4().hex, list[Any]()

    def results(self, program: bytes, arguments: Sequence[Any]) -> list[Any]:
        """Run the program, and return the results by device."""
        count = len(self.addresses)
        places = [(self.token, d, count, self.timeout) for d in range(count)]
        try:
            endpoints = self.submit("endpoint", pickled_whole(WorkerEndpoint), places)
            self.wait(endpoints, self.timeout)
            pairs = zip(endpoints, arguments, strict=True)
            each = [(endpoint, self.addresses, *rest) for endpoint, rest in pairs]
            return self.wait(self.submit("replica", program, each))
        finally:
            self.client.cancel(self.futures, force=True)

    def submit(self, name: str, program: bytes, each: Sequence[Any]) -> list[Any]:
        """Call a program in a task for each device, on its worker only."""

        def call(pickled: bytes, *arguments: Any) -> Any:
            """Unpickle the program, which nobody may do before: a scheduler in the
            client's process would, and send names of its modules on.
            """
            return cloudpickle.loads(pickled)(*arguments)

        futures = []
        for device, address in enumerate(self.addresses):
            key = f"{name}-{device}-{self.token}"
            task = call, program, *each[device]
            futures.append(self.client.submit(*task, key=key, workers=[address]))
        self.futures += futures
        return futures

    def wait(self, futures: Sequence[Any], limit: float = float("inf")) -> list[Any]:
        """Return the results by device. Raises the failure that caused all others,
        ReplicaLost if a worker has gone, or ReplicaTimeout after ``limit`` seconds.
        """
        begun, gathering = time.monotonic(), None
        while gathering is None or not gathering.done():
            alive, waited = self.client.nthreads(), time.monotonic() - begun
            gone = [d for d, a in enumerate(self.addresses) if a not in alive]
            status = [future.status for future in futures]
            late = [device for device, s in enumerate(status) if s == "pending"]
            if gone or not {*status} <= {"pending", "finished"}:
                if gathering is not None:  # it would retry for ever
                    gathering.cancel()
                raise self.failure(futures, gone)
            if not late and gathering is None:
                results = self.client.gather(futures, asynchronous=True)
                loop = self.client.loop.asyncio_loop
                gathering = asyncio.run_coroutine_threadsafe(results, loop)
            if late and waited > limit:
                told = f"replicas {late} have not started within {limit:g} s"
                raise ReplicaTimeout(f"{told}: are their workers busy?")
            # A long run is polled less often, but a loss is noticed within a second.
            time.sleep(min(0.01 + waited / 100, 0.2))
        return list(gathering.result())

    def failure(self, futures: Sequence[Any], gone: Sequence[int]) -> BaseException:
        """Return the exception that made a run fail: the cause of all failures, which
        may be reported last. If a worker has gone, the others notice at once or never.
        """
        deadline = time.monotonic() + (0.4 if gone else 3)
        there = [future for d, future in enumerate(futures) if d not in gone]
        while any(future.status == "pending" for future in there):
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        failures = [future.exception() for future in there if future.status == "error"]
        for device in gone:
            told = f"its worker {self.addresses[device]} has gone"
            failures.append(ReplicaLost(f"replica {device} was lost: {told}"))
        # From causes to consequences; whatever else a program raises comes before.
        names = "ReplicaMismatch", "ReplicaTimeout", "ReplicaLost", "ReplicaStopped"
        ranks = {name: rank for rank, name in enumerate(names)}
        failures.sort(key=lambda error: ranks.get(type(error).__name__, -1))
        return failures[0] if failures else ReplicaLost("the cluster gave up the run")


class OnWorkers(Program):
    def run_replicas(
        self,
        client: Any,
        replica_args: Sequence[Sequence[Any]],
        *,
        workers: Collection[str] | None = None,
        timeout: float = 60.0,
        gather: bool = True,
        snapshot: Any = None,
        every: int = 10,
        retries: int = 3,
        rejoin: float | None = None,
        **feeds: Sequence[Any],
    ) -> list[Any]:
        """Run every replica as ``run_local`` does, but on a worker of the cluster that
        ``client`` is connected to.

        ``workers`` names those to take; ``timeout`` is how many seconds a replica may
        wait for another. Arguments may be dask arrays, and a replica takes the worker
        that has most of its own; without ``gather``, results are dask arrays that stay
        on the workers. The list of results has the attribute ``moved``: how many bytes
        of the arguments went to another worker.

        ``snapshot`` is a folder that all machines see: loops save their loop-carried
        values there every ``every`` iterations. If a worker is lost, the run resumes
        from them, up to ``retries`` times, with another worker that joins within
        ``rejoin`` seconds: by default ``timeout`` if nannies restart workers, else 1.
        No tasks, connections or snapshots are left behind. Raises ReplicaLost,
        ReplicaMismatch and ReplicaTimeout, or the exception of a replica.
        """
        require_client(client)
        self.require_one_each(replica_args=replica_args, **feeds)
        self.require_loops(snapshot)
        carry_constants(self.body.__globals__)
        run = partial(
            WorkerEndpoint.run, program=Program(self.body, self.group, *self.sizes)
        )
        program = pickled_whole(run, self.body.__module__)
        arguments, held = futures_of(client, replica_args)
        functions = [{k: f[d] for k, f in feeds.items()} for d in range(self.count)]
        known = client.scheduler_info(n_workers=-1)["workers"].values()
        if rejoin is None:
            rejoin = timeout if any(worker["nanny"] for worker in known) else 1.0
        keeper, lost, patience = None if gather else client.id, None, timeout
        folder = Path(snapshot or "").resolve() / uuid.uuid4().hex
        try:
            for attempt in count():
                addresses = assign_workers(client, workers, patience, held, lost)
                snapshots: tuple[Any, int, Any] = None, every, {}
                if snapshot is not None:
                    begin = self.group.newest(folder.glob("*/*"), self.count)
                    snapshots = folder / str(attempt), every, begin
                    snapshots[0].mkdir(parents=True)
                pairs = zip(arguments, functions, strict=True)
                each = [(snapshots, keeper, *pair) for pair in pairs]
                try:
                    results = Run(client, addresses, timeout).results(program, each)
                    break
                except ReplicaLost as error:
                    lost, patience = error, rejoin
                    if snapshot is None or attempt == retries:
                        raise
                    # Replicas that still run for a moment find no snapshot to delete.
                    snapshots[0].rename(folder / f"{attempt}-lost")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if not gather:
            results = [arrays_left(client, told) for told in results]
        lazy = (a for args in replica_args for a in args if isinstance(a, da.Array))
        there = sum(here[a] for a, here in zip(addresses, held, strict=True))
        results = Results(results)
        results.moved = sum(array.nbytes for array in lazy) - there
        return results


class Results(list[Any]):
    """The results of all devices."""

    moved = 0  # bytes of dask arrays among the arguments that went to another worker


def carry_constants(names: dict[str, Any]) -> None:
    """Make large constants part of a program: workers lack the files beside it."""
    reading = [names.get(name) for name in ("constant", "mapped_constant")]
    if not any(hasattr(function, "cache_info") for function in reading):
        return  # there are none, or they are in memory
    path = Path(names["__file__"])
    files = path.with_suffix(".constants").glob("*.npy")
    stored = {file.stem: np.load(file, allow_pickle=False) for file in files}
    if not stored or path.with_suffix(".npz").is_file():
        stored.update(np.load(path.with_suffix(".npz"), allow_pickle=False))

    def carried(name: str, digest: str, shape: tuple[int, ...]) -> np.ndarray:
        return verified(stored[name], digest, shape, f"{path}: {name}")

    names["constant"] = names["mapped_constant"] = carried


def on_devices(
    program: Any,
    client: Any,
    arrays: Sequence[Any],
    split: Callable[[list[Any]], list[list[Any]]],
    join: Callable[[list[Any]], Any],
) -> Any:
    """Run a program on whole arrays: on a client's workers, or in threads if None."""
    if client is None:
        return join(program.run_local(list(da.compute(*split(list(arrays))))))
    require_client(client)
    gather = not any(isinstance(array, da.Array) for array in arrays)
    return join(program.run_replicas(client, split(list(arrays)), gather=gather))


def require_client(client: Any) -> None:
    """Raise TypeError unless this is a client, and ReplicaError if it is closed."""
    if not hasattr(client, "scheduler_info"):
        kind = type(client).__name__
        raise TypeError(f"expected a client of dask.distributed first, got {kind}")
    if client.status in ("closing", "closed"):
        raise ReplicaError("the client is closed: replicas need one that is connected")


def futures_of(
    client: Any, replica_args: Sequence[Sequence[Any]]
) -> tuple[list[list[Any]], list[Counter[str]]]:
    """Compute the dask arrays among the arguments. Return the arguments of each device,
    with futures in place of these arrays, and by device how many bytes of them each
    worker has.
    """
    lazy = {a.name: a for args in replica_args for a in args if isinstance(a, da.Array)}
    futures = dict(zip(lazy, client.compute([*lazy.values()]), strict=True))
    for future in futures.values():
        if (error := future.exception()) is not None:  # waits for it
            client.cancel([*futures.values()])
            raise error
    places = client.who_has([*futures.values()]) if futures else {}
    each, held = list[list[Any]](), list[Counter[str]]()
    for arguments in replica_args:
        each.append([])
        held.append(Counter())
        for argument in arguments:
            if isinstance(argument, da.Array):
                size, argument = argument.nbytes, futures[argument.name]
                held[-1].update(dict.fromkeys(places.get(argument.key, ()), size))
            each[-1].append(argument)
    return each, held


def assign_workers(
    client: Any,
    workers: Collection[str] | None,
    patience: float,
    held: Sequence[Counter[str]],
    lost: ReplicaLost | None,
) -> list[str]:
    """Return a worker for each device, one thread for each replica: on different
    workers if there are enough, preferably on those that have bytes of the device's
    arguments. Raises ReplicaTimeout if there are too few threads for too long, or the
    exception ``lost`` if there is one.
    """
    deadline, total = time.monotonic() + patience, sum(held, Counter[str]())
    while True:
        threads = [
            (k, -total[address], address)
            for address, number in client.nthreads().items()
            if workers is None or address in workers
            for k in range(number)
        ]
        if len(threads) >= len(held):
            break
        if time.monotonic() > deadline:
            told = f"{len(held)} replicas need as many worker threads; "
            told += f"there are {len(threads)}"
            if lost is None:
                raise ReplicaTimeout(told)
            lost.add_note(f"no other worker came within {patience:g} s: {told}")
            raise lost
        time.sleep(0.1)
    free = [address for _, _, address in sorted(threads)[: len(held)]]
    chosen: dict[int, str] = {}
    wishes = [(-size, d, a) for d, here in enumerate(held) for a, size in here.items()]
    for _, device, address in sorted(wishes):
        if device not in chosen and address in free:
            free.remove(address)
            chosen[device] = address
    return [chosen.get(device) or free.pop(0) for device in range(len(held))]


def arrays_left(client: Any, told: Any) -> Any:
    """Return what a replica has left on its worker as dask arrays of one chunk."""
    arrays = []
    for key, shape, dtype in told:
        future = distributed.Future(key, client, state="memory")
        graph = {(key, *(0 for _ in shape)): future}
        chunks = tuple((size,) for size in shape)
        arrays.append(da.Array(graph, key, chunks, dtype=dtype))
    return tuple(arrays) if isinstance(told, tuple) else arrays[0]

"""Replicas on the workers of a dask.distributed cluster, one task each."""

import asyncio
import io
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import cloudpickle
import dask.array as da
import distributed
import numpy as np

from .replica import Program, ReplicaError, ReplicaLost, ReplicaTimeout
from .replica_transport import Seat
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
    """Return a program as ``call_pickled`` takes it, with what it uses of its
    ``module`` and of this one.
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


def call_pickled(pickled: bytes, *arguments: Any) -> Any:
    """Call a program on a worker. It is bytes until then: a scheduler that read them
    would send names of the client's modules on.
    """
    import cloudpickle

    return cloudpickle.loads(pickled)(*arguments)


class Run:
    """One run of a program on chosen workers, seen from the client."""

    def __init__(self, client: Any, addresses: Sequence[str]) -> None:
        self.client, self.addresses = client, addresses
        self.token = uuid.uuid4().hex
        call_pickled.__module__ = "__main__"  # whose functions travel by value
        self.futures: list[Any] = []
        known = client.scheduler_info(n_workers=-1)["workers"]
        # Whether nannies start lost workers again.
        self.is_restarted = any(
            known[address]["nanny"] for address in addresses if address in known
        )

    def submit(self, name: str, program: bytes, each: Sequence[Any]) -> list[Any]:
        """Call a program in a task for each device, on its worker and nowhere else."""
        futures = [
            self.client.submit(
                call_pickled,
                program,
                *arguments,
                key=f"{name}-{device}-{self.token}",
                workers=[address],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
            for device, (address, arguments) in enumerate(
                zip(self.addresses, each, strict=True)
            )
        ]
        self.futures += futures
        return futures

    def results(self, futures: Sequence[Any], limit: float = float("inf")) -> list[Any]:
        """The results, by device. Raises the failure behind all others, ReplicaLost
        where a worker goes, or ReplicaTimeout after ``limit`` seconds.
        """
        started, gathering = time.monotonic(), None
        while gathering is None or not gathering.done():
            status = [future.status for future in futures]
            alive, waited = threads_of(self.client), time.monotonic() - started
            gone = [d for d, a in enumerate(self.addresses) if a not in alive]
            if gone or not {*status} <= {"pending", "finished"}:
                self.fail(futures, gone)
            if "pending" in status and waited > limit:
                late = [device for device, s in enumerate(status) if s == "pending"]
                raise ReplicaTimeout(
                    f"replicas {late} have not started within {limit:g} s: "
                    "are their workers busy?"
                )
            if "pending" not in status and gathering is None:
                gathering = asyncio.run_coroutine_threadsafe(
                    self.client.gather(futures, asynchronous=True),
                    self.client.loop.asyncio_loop,
                )
            # A long run is asked after less often, and a loss noticed within a second.
            time.sleep(min(0.01 + waited / 100, 0.2))
        results: list[Any] = gathering.result()
        return results

    def fail(self, futures: Sequence[Any], gone: Sequence[int]) -> None:
        """Raise why a run has failed: the cause of all failures, or that a worker has
        gone. A replica that only stopped because of another waits for that one: a
        moment where a worker has gone.
        """
        deadline = time.monotonic() + (0.4 if gone else 3)
        while True:
            failures = [f.exception() for f in futures if f.status == "error"]
            first = min(failures, key=rank_of_cause, default=None)
            if first is not None and rank_of_cause(first) < len(CAUSES):
                raise first
            all_have_ended = all(future.status != "pending" for future in futures)
            if all_have_ended or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        for device in gone:
            address = self.addresses[device]
            raise ReplicaLost(
                f"replica {device} was lost: its worker {address} has gone"
            )
        raise first or ReplicaLost("the cluster has given up the run")


# What a failure is a consequence of, the cause first; before them comes whatever else a
# program raises.
CAUSES = "ReplicaMismatch", "ReplicaTimeout", "ReplicaLost", "ReplicaStopped"


def rank_of_cause(error: BaseException) -> int:
    name = type(error).__name__
    return CAUSES.index(name) + 1 if name in CAUSES else 0


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
        """As ``run_local``, each replica on a worker of the cluster that ``client`` is
        connected to.

        ``workers`` names those to take; ``timeout`` is how many seconds a replica may
        wait for another. Arguments may be dask arrays, and a replica takes the worker
        that has most of its own; without ``gather`` results are dask arrays, and stay
        on the workers. ``moved`` of the list of results is how many bytes of the
        arguments went to another worker.

        ``snapshot`` is a folder that all machines see: loops leave there what they
        carry, ``every`` so many iterations. Where a worker is lost the run goes on from
        there, up to ``retries`` times, with another worker that joins within ``rejoin``
        seconds: ``timeout`` where nannies start workers again, else 1. Nothing is left
        behind: neither tasks nor connections. Raises ReplicaLost, ReplicaMismatch and
        ReplicaTimeout, or what a replica has raised.
        """
        require_client(client)
        self.require_one_each(replica_args=replica_args, **feeds)
        self.require_loops(snapshot)
        carry_constants(self.body.__globals__)
        run_seated = partial(
            Seat.run, body=self.body, group=self.group, sizes=self.sizes
        )
        seat, program = (
            pickled_whole(Seat),
            pickled_whole(run_seated, self.body.__module__),
        )
        replica_args, held = futures_of(client, replica_args)
        devices, folders = range(self.count), list[str]()
        own = [{name: feeds[name][device] for name in feeds} for device in devices]
        keeper = None if gather else client.id
        lost, patience = None, timeout
        while True:
            try:
                addresses = placed(client, self.count, workers, patience, held)
            except ReplicaTimeout as error:
                if lost is None:
                    raise
                lost.add_note(f"no other worker came within {patience:g} s: {error}")
                raise lost from None
            run = Run(client, addresses)
            begin = self.group.newest(folders, self.count) if folders else {}
            if snapshot is not None:
                folders.append(str(Path(snapshot).resolve() / run.token))
            same = addresses, (folders[-1] if folders else None, every, begin), keeper
            try:
                places = [(run.token, d, self.count, timeout) for d in devices]
                seats = run.submit("seat", seat, places)
                run.results(seats, timeout)
                each = [(seats[d], *same, replica_args[d], own[d]) for d in devices]
                results = run.results(run.submit("replica", program, each))
                if not gather:
                    results = [arrays_left(client, *told) for told in results]
                return Results(results, moved_bytes(addresses, held))
            except ReplicaLost as error:
                if snapshot is None or len(folders) > retries:
                    raise
                lost = error
            finally:
                client.cancel(run.futures, force=True)
            patience = timeout if run.is_restarted else 1.0
            patience = patience if rejoin is None else rejoin


class Results(list[Any]):
    """The results of all devices; ``moved`` are the bytes of dask arrays among the
    arguments that went to another worker.
    """

    def __init__(self, results: Sequence[Any], moved: int) -> None:
        super().__init__(results)
        self.moved = moved


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


def futures_of(
    client: Any, replica_args: Sequence[Sequence[Any]]
) -> tuple[list[list[Any]], list[Counter[str]]]:
    """Return the arguments of each device, with futures in place of dask arrays, and
    how many of their bytes each worker has, by device. The arrays are computed.
    """
    given = [list(arguments) for arguments in replica_args]
    lazy = {a.name: a for own in given for a in own if isinstance(a, da.Array)}
    futures = dict(zip(lazy, client.compute(list(lazy.values())), strict=True))
    for future in futures.values():
        error = future.exception()  # waits for it
        if error is not None:
            client.cancel(list(futures.values()))
            raise error
    places = client.who_has(list(futures.values())) if futures else {}
    held = [Counter[str]() for _ in given]
    for own, bytes_held in zip(given, held, strict=True):
        for k, array in enumerate(own):
            if isinstance(array, da.Array):
                own[k] = futures[array.name]
                bytes_held[ALL] += array.nbytes
                for address in places.get(own[k].key, ()):
                    bytes_held[address] += array.nbytes
    return given, held


ALL = ""  # stands for all bytes of a device, among the addresses that have some


def moved_bytes(addresses: Sequence[str], held: Sequence[Counter[str]]) -> int:
    """Return how many bytes are not where they are needed."""
    each = zip(addresses, held, strict=True)
    return sum(own[ALL] - own[address] for address, own in each)


def placed(
    client: Any,
    count: int,
    workers: Collection[str] | None,
    timeout: float,
    held: Sequence[Counter[str]],
) -> list[str]:
    """A worker for each device: others as long as there are any, those first that have
    bytes of its arguments, and one thread for each replica.
    """
    deadline = time.monotonic() + timeout
    total = sum(held, Counter[str]())
    while True:
        threads = [
            (k, -total[address], address)
            for address, number in threads_of(client).items()
            if workers is None or address in workers
            for k in range(number)
        ]
        if len(threads) >= count:
            break
        if time.monotonic() > deadline:
            raise ReplicaTimeout(
                f"{count} replicas need as many worker threads; "
                f"there are {len(threads)}"
            )
        time.sleep(0.1)
    free = [address for _, _, address in sorted(threads)[:count]]
    chosen: dict[int, str] = {}
    wishes = [(-size, d, a) for d, own in enumerate(held) for a, size in own.items()]
    for _, device, address in sorted(wishes):
        if device not in chosen and address in free:
            free.remove(address)
            chosen[device] = address
    return [chosen.get(device) or free.pop(0) for device in range(count)]


def arrays_left(client: Any, told: Sequence[Any], is_tuple: bool) -> Any:
    """Return the results that a replica has left on its worker as dask arrays of one
    chunk: one, or a tuple of several.
    """
    arrays = []
    for key, shape, dtype in told:
        future = distributed.Future(key, client, state="memory")
        graph = {(key, *(0 for _ in shape)): future}
        chunks = tuple((size,) for size in shape)
        arrays.append(da.Array(graph, key, chunks, dtype=dtype))
    return tuple(arrays) if is_tuple else arrays[0]

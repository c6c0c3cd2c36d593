"""Collectives of replicas on workers, beside a ring of raw TCP sockets and MPI.

    python benchmarks/collectives.py [--workers 2 4] [--sizes 1KiB 1MiB 64MiB] [--rounds 3] [COLLECTIVE...]

Every replica is a process on this machine. The ring is what one would write by hand: each process sends to the next one
and adds what comes, keeps it, or hands it on. With ``--mpi path/to/python``, a Python with mpi4py, its own collectives
and those of replicas over MPI take turns in the same processes, some calls each; each rank keeps to one core. The table
has the least and the median milliseconds of a call, of rows of calls in all rounds, and how many times as long replicas
take by the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute")
COLUMNS = ("workers", "raw TCP"), ("over MPI", "mpi4py")
LEAST_SECONDS = 0.3  # of the calls that are timed together
ROWS = 10  # of these calls, each timed as a whole
TURN_BYTES = 1 << 21  # shorter arrays take turns as often as if they were so long
ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"


def times_of(call: Callable[[], Any], size: int) -> list[float]:
    """The seconds of a call in each of some rows of calls, as many in all processes, after calls that are not counted.
    A row tells what a loop takes; single calls wait for processes that are behind, and others do not wait at all.
    """
    count = int(max(5, min(300, 2e8 * LEAST_SECONDS / (size + 1e5))))
    length = max(1, count // ROWS)
    seconds = []
    for row in range(-(count // 4 // length + 1), count // length):
        started = time.perf_counter()
        for _ in range(length):
            call()
        if row >= 0:
            seconds.append((time.perf_counter() - started) / length)
    return seconds


# -- replicas on workers


def replica_call(g: Any, collective: str, size: int) -> Callable[[], Any]:
    """One call of a collective; ``size`` is the bytes of its operand on each replica."""
    x = np.arange(size // 4, dtype=np.float32)
    ring = [(device, (device + 1) % g.count) for device in range(g.count)]
    arguments = {"all_reduce": [np.add], "reduce_scatter": [np.add], "collective_permute": [ring]}
    return partial(getattr(g, collective), x, *arguments.get(collective, []))


def timed_replica(g: Any, collective: str, size: int) -> list[float]:
    """The body that runs in place of an emitted one."""
    return times_of(replica_call(g, collective, size), size)


def module_text(count: int) -> str:
    """HLO that uses every collective, so that the module's group has all of them."""
    size = 4 * count
    return f"""HloModule collectives, replica_count={count}
{ADD}ENTRY main {{
  x = f32[{size}] parameter(0)
  a = f32[{size}] all-reduce(x), to_apply=add
  b = f32[4] reduce-scatter(a), dimensions={{0}}, to_apply=add
  c = f32[{size}] all-gather(b), dimensions={{0}}
  d = f32[{size}] all-to-all(c), dimensions={{0}}
  ROOT e = f32[{size}] collective-permute(d), source_target_pairs={{{{0,1}}}}
}}
"""


class Workers:
    """A cluster of worker processes, and the module whose replicas run on it."""

    def __init__(self, count: int) -> None:
        from distributed import Client, LocalCluster

        import xla2py

        self.count = count
        self.module: Any = xla2py.emit(module_text(count), "dask").load()
        self.cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0")  # type: ignore[no-untyped-call]
        self.client = Client(self.cluster, set_as_default=False)  # type: ignore[no-untyped-call]

    def times(self, collective: str, size: int) -> list[float]:
        """The slowest replica's seconds of a call in each row."""
        arguments = [[collective, size]] * self.count
        program = self.module.Replicas(timed_replica, self.module.Group, self.count, 1)
        every = program.run_replicas(self.client, arguments)
        return [max(seconds) for seconds in zip(*every, strict=True)]

    def close(self) -> None:
        self.client.close()  # type: ignore[no-untyped-call]
        self.cluster.close()  # type: ignore[no-untyped-call]


# -- a ring of sockets


class Ring:
    """One process of a ring: a socket to the next one, one from the one before."""

    def __init__(self, rank: int, ports: Sequence[int]) -> None:
        self.rank, self.count = rank, len(ports)
        with socket.create_server(("127.0.0.1", ports[rank])) as server:
            print("listening", flush=True)
            sys.stdin.readline()  # all are
            self.next = socket.create_connection(("127.0.0.1", ports[(rank + 1) % self.count]))
            self.before = server.accept()[0]
        for one in (self.next, self.before):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            one.setblocking(False)

    def shift(self, outgoing: np.ndarray, incoming: np.ndarray) -> None:
        """Send one array and fill another, both at the same time."""
        send, receive = (memoryview(x).cast("B") for x in (outgoing, incoming))
        while send or receive:
            readable, writable, _ = select.select([self.before] if receive else [], [self.next] if send else [], [])
            if readable:
                receive = receive[self.before.recv_into(receive) :]
            if writable:
                send = send[self.next.send(send) :]

    def all_reduce(self, x: np.ndarray) -> np.ndarray:
        """The sum of all, slice by slice around the ring."""
        total = x.copy()
        slices = np.array_split(total, self.count)
        self.add_up(slices)
        for step in range(self.count - 1):
            self.shift(slices[(self.rank - step + 1) % self.count], slices[(self.rank - step) % self.count])
        return total

    def add_up(self, slices: Sequence[np.ndarray]) -> None:
        """Let the slice after this process's own be the sum of all."""
        room = np.empty_like(slices[0])
        for step in range(self.count - 1):
            here = slices[(self.rank - step - 1) % self.count]
            self.shift(slices[(self.rank - step) % self.count], room[: here.size])
            here += room[: here.size]

    def reduce_scatter(self, x: np.ndarray) -> np.ndarray:
        """One slice of the sum of all."""
        slices = np.array_split(x.copy(), self.count)
        self.add_up(slices)
        return slices[(self.rank + 1) % self.count]

    def all_gather(self, x: np.ndarray) -> np.ndarray:
        """All arrays, each going around the ring."""
        gathered = np.empty((self.count, *x.shape), x.dtype)
        gathered[self.rank] = x
        for step in range(self.count - 1):
            self.shift(gathered[(self.rank - step) % self.count], gathered[(self.rank - step - 1) % self.count])
        return gathered

    def all_to_all(self, x: np.ndarray) -> np.ndarray:
        """A block of each; blocks go around the ring, those of the nearest processes first."""
        blocks = np.roll(x.reshape(self.count, -1), -self.rank, axis=0)
        result, carried = blocks.copy(), blocks[1:]
        for step in range(1, self.count):
            arrived = np.empty_like(carried)
            self.shift(carried, arrived)
            result[-step], carried = arrived[0], arrived[1:]
        return np.roll(result, self.rank, axis=0).reshape(-1)

    def collective_permute(self, x: np.ndarray) -> np.ndarray:
        """The array of the process before."""
        result = np.empty_like(x)
        self.shift(x, result)
        return result


def ring_process(rank: int, ports: Sequence[int]) -> None:
    """Time what stdin asks for, a collective and a size in bytes a line."""
    ring = Ring(rank, ports)
    for line in sys.stdin:
        collective, size = line.split()
        x = np.arange(int(size) // 4, dtype=np.float32)
        np.testing.assert_array_equal(ring.all_reduce(x), x * ring.count)
        size = x.size // ring.count
        np.testing.assert_array_equal(ring.all_to_all(x), np.tile(x[ring.rank * size :][:size], ring.count))
        print(json.dumps(times_of(partial(getattr(ring, collective), x), x.nbytes)), flush=True)


class Rings:
    """The processes of a ring."""

    def __init__(self, count: int) -> None:
        ports = [free_port() for _ in range(count)]
        command = [sys.executable, __file__, "--ring"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.processes: list[Any] = [
            subprocess.Popen([*command, str(rank), json.dumps(ports)], **pipes)  # type: ignore[call-overload]
            for rank in range(count)
        ]
        for process in self.processes:
            process.stdout.readline()
        self.ask("")

    def ask(self, line: str) -> None:
        for process in self.processes:
            process.stdin.write(line + "\n")
            process.stdin.flush()

    def times(self, collective: str, size: int) -> list[float]:
        """The slowest process's seconds of a call in each row."""
        self.ask(f"{collective} {size}")
        every = [json.loads(process.stdout.readline()) for process in self.processes]
        return [max(seconds) for seconds in zip(*every, strict=True)]

    def close(self) -> None:
        for process in self.processes:
            process.stdin.close()
            process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


# -- MPI


def mpi_process(source: str, collective: str, size: int) -> None:
    """Time one collective of mpi4py and of a module's replicas in turns; the first process prints the slowest one's
    seconds of a call in each row.
    """
    from mpi4py import MPI

    world: Any = MPI.COMM_WORLD
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[world.rank % len(cores)]})
    names: dict[str, Any] = {"__name__": "collectives"}
    exec(compile(Path(source).read_text(encoding="utf-8"), source, "exec"), names)
    network = names["Ranks"](world.Dup(), 60.0)
    own = replica_call(names["Group"](world.rank, world.size, 1, network), collective, size)
    seconds: list[list[float]] = [[], []]
    for _ in range(30 if size < TURN_BYTES else 3):
        for k, call in enumerate((raw_call(world, collective, size), own)):
            world.Barrier()
            seconds[k] += times_of(call, max(size, TURN_BYTES))
    every = world.gather(seconds)
    if every is not None:
        print(json.dumps([[max(one) for one in zip(*both, strict=True)] for both in zip(*every, strict=True)]))


def raw_call(world: Any, collective: str, size: int) -> Callable[[], Any]:
    """One call of a collective of mpi4py."""
    x = np.arange(size // 4, dtype=np.float32)
    count, rank = world.size, world.rank
    calls: dict[str, Callable[[], Any]] = {
        "all_reduce": lambda: world.Allreduce(x, np.empty_like(x)),
        "all_gather": lambda: world.Allgather(x, np.empty(x.size * count, x.dtype)),
        "reduce_scatter": lambda: world.Reduce_scatter_block(x, np.empty(x.size // count, x.dtype)),
        "all_to_all": lambda: world.Alltoall(x, np.empty_like(x)),
        "collective_permute": lambda: world.Sendrecv(
            x, (rank + 1) % count, recvbuf=np.empty_like(x), source=(rank - 1) % count
        ),
    }
    return calls[collective]


class Mpi:
    """Processes that ``mpiexec`` starts, anew for each measurement."""

    def __init__(self, count: int, python: Path) -> None:
        import xla2py

        self.folder = tempfile.TemporaryDirectory()
        module = Path(self.folder.name, "collectives_module.py")
        xla2py.emit(module_text(count), helpers="own").save(module)
        beside = python.parent / "mpiexec"
        mpiexec = str(beside) if beside.exists() else "mpiexec"
        self.command = [mpiexec, "-n", str(count), str(python), __file__, "--mpi-process", str(module)]

    def times(self, collective: str, size: int) -> list[list[float]]:
        """The slowest process's seconds of a call in each row, of mpi4py and of replicas."""
        done = subprocess.run([*self.command, collective, str(size)], capture_output=True, text=True, check=True)
        times: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
        return times

    def close(self) -> None:
        """Nothing is left of the processes."""
        self.folder.cleanup()


# -- the table


def figures(seconds: Sequence[float]) -> str:
    return f"{1e3 * min(seconds):.3g} / {1e3 * statistics.median(seconds):.3g}"


def cells(seconds: Mapping[str, Sequence[float]]) -> list[str]:
    """What replicas take, what is raw, and how many times as long replicas take, by the medians."""
    found = []
    for own, raw in COLUMNS:
        if own in seconds:
            ratio = statistics.median(seconds[own]) / statistics.median(seconds[raw])
            found += [figures(seconds[own]), figures(seconds[raw]), f"{ratio:.2f}"]
    return found


def compared(count: int, options: argparse.Namespace) -> None:
    """Print a line for each collective and size on so many processes."""
    variants: dict[str, Any] = {} if options.only_mpi else {"workers": Workers(count), "raw TCP": Rings(count)}
    if options.mpi is not None:
        variants["mpi4py", "over MPI"] = Mpi(count, options.mpi)
    try:
        for collective in options.collectives or COLLECTIVES:
            for size in options.sizes:
                seconds = measured(variants, collective, size, options.rounds)
                print("|", " | ".join([str(count), f"`{collective}`", size, *cells(seconds)]), "|", flush=True)
    finally:
        for variant in variants.values():
            variant.close()


def measured(variants: Mapping[Any, Any], collective: str, size: str, rounds: int) -> dict[str, list[float]]:
    """The seconds of a call in each row; a variant of two names has two lists of them."""
    from xla2py.targets.dask.planning.chunk_program import size_in_bytes

    seconds: dict[str, list[float]] = {}
    for _ in range(rounds):
        for names, variant in variants.items():
            told = variant.times(collective, size_in_bytes(size))
            for name, own in zip(names, told, strict=True) if isinstance(names, tuple) else [(names, told)]:
                seconds.setdefault(name, []).extend(own)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collectives", nargs="*", help=", ".join(COLLECTIVES))
    parser.add_argument("--workers", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--sizes", nargs="+", default=["1KiB", "1MiB", "64MiB"], help="of the operand of one replica")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mpi", type=Path, help="a Python with mpi4py")
    parser.add_argument("--only-mpi", action="store_true", help="leave the cluster and the sockets out")
    options = parser.parse_args()
    if unknown := set(options.collectives) - set(COLLECTIVES):
        parser.error(f"no collective is called {', '.join(sorted(unknown))}; there are {', '.join(COLLECTIVES)}")
    pairs = COLUMNS[options.only_mpi : 2 if options.mpi else 1]
    titles = ["replicas", "collective", "array", *(title for own, raw in pairs for title in (own, raw, "times"))]
    print("|", " | ".join(titles), "|\n|" + "---|" * len(titles))
    for count in options.workers:
        compared(count, options)


if __name__ == "__main__":
    if "--ring" in sys.argv:
        ring_process(int(sys.argv[2]), json.loads(sys.argv[3]))
    elif "--mpi-process" in sys.argv:
        mpi_process(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()

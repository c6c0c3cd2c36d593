"""Replicas as ranks of MPI, each a process of its own."""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from .replica import (
    NO_SNAPSHOTS,
    Program,
    ReplicaMismatch,
    ReplicaStopped,
    ReplicaTimeout,
)

# Seconds in which a waiting rank keeps its core, and those until it sleeps, which takes
# 5e-5 at least: if each rank has a core, and if ranks share cores.
OWN_CORE = 2e-4, 5e-3
SHARED_CORE = 0.0, 5e-5
GIVE_WAY = getattr(os, "sched_yield", partial(time.sleep, 0))  # to ranks on its core
PATIENCE = 0.01  # seconds until a waiting rank checks whether the others still run
ENDING = 0  # the MPI tag of messages that tell how a rank has ended


class Ranks:
    """The network of replicas that are ranks of an mpi4py communicator.

    The receiver knows the size of an array, so only the bytes of the array are sent.
    The MPI tag is a number computed from our tag: MPI does not deliver an array to
    another collective.
    """

    def __init__(self, comm: Any, timeout: float) -> None:
        from mpi4py import MPI

        self.device, self.snapshots = comm.Get_rank(), NO_SNAPSHOTS
        self.comm, self.timeout, self.bytes = comm, timeout, MPI.BYTE
        self.test_all, self.start_all = MPI.Request.Testall, MPI.Prequest.Startall
        self.status = MPI.Status()
        self.any = MPI.ANY_SOURCE, MPI.ANY_TAG
        here = comm.Split_type(MPI.COMM_TYPE_SHARED)
        has_core = here.Get_size() <= (os.cpu_count() or 1)
        self.awake, self.sleepless = OWN_CORE if has_core else SHARED_CORE
        here.Free()
        # Collectives use the upper half of MPI's tags, channels the lower half.
        self.half: int = comm.Get_attr(MPI.TAG_UB) // 2
        self.numbers: dict[str, int] = {}
        self.persistent: list[Any] = []
        # Posted messages: the rank, the request, and the array that it reads.
        self.sending: list[tuple[int, Any, Any]] = []
        # By rank that has ended: until when its messages may still arrive.
        self.ended: dict[int, float] = {}
        # By rank: since when it seems to be in another collective.
        self.doubted: dict[int, float] = {}

    def number(self, tag: str, channel: int | None = None) -> int:
        """Return the MPI tag that stands for a tag."""
        if channel is not None:
            return 1 + channel % (self.half - 1)
        number = self.numbers.get(tag)
        if number is None:
            number = self.numbers[tag] = self.half + crc32(tag.encode()) % self.half
        return number

    def exchange(
        self, send: Mapping[int, Any], into: Mapping[int, Any], tag: str
    ) -> None:
        """Exchange arrays, from and to their own memory if they are contiguous."""
        incoming = rooms_of(into.values())
        arrays = *incoming, *map(np.ascontiguousarray, send.values())
        peers, comm = (*into, *send), self.comm
        calls = [comm.Irecv] * len(into) + [comm.Isend] * len(send)
        self.complete(self.requests(calls, arrays, peers, tag), peers, tag)
        for array, room in zip(into.values(), incoming, strict=True):
            if array is not room:
                array[...] = room

    def prepared(
        self, send: Mapping[int, Any], into: Mapping[int, Any], tag: str
    ) -> Callable[[], None]:
        """Return a function that repeats an exchange, with persistent requests."""
        places, given, peers = into.values(), send.values(), (*into, *send)
        incoming, outgoing = rooms_of(places), rooms_of(given)
        calls = [self.comm.Recv_init] * len(into) + [self.comm.Send_init] * len(send)
        requests = self.requests(calls, incoming + outgoing, peers, tag)
        self.persistent += requests
        start, are_done, complete = self.start_all, self.test_all, self.complete
        before = [(r, x) for r, x in zip(outgoing, given, strict=True) if r is not x]
        after = [(x, r) for x, r in zip(places, incoming, strict=True) if r is not x]

        def exchange() -> None:
            for room, array in before:
                room[...] = array
            start(requests)
            if not are_done(requests):
                complete(requests, peers, tag)
            for array, room in after:
                array[...] = room

        return exchange

    def requests(
        self,
        calls: Sequence[Callable[..., Any]],
        arrays: Sequence[Any],
        peers: Sequence[int],
        tag: str,
    ) -> list[Any]:
        """Return the requests of calls that send or receive arrays."""
        octets, number = self.bytes, self.number(tag)
        each = zip(calls, arrays, peers, strict=True)
        return [call([array, octets], peer, number) for call, array, peer in each]

    def post(self, peer: int, array: Any, tag: str, channel: int | None = None) -> None:
        """Start to send a copy of an array, since it may be taken at any time."""
        self.start(peer, np.array(array, order="C"), self.number(tag, channel))
        self.takers()

    def start(self, peer: int, memory: Any, number: int) -> None:
        """Start to send memory that does not change until it has been taken."""
        request = self.comm.Isend([memory, self.bytes], peer, number)
        self.sending.append((peer, request, memory))

    def takers(self) -> set[int]:
        """Return the ranks that have yet to take a message, and drop the messages that
        are taken.
        """
        self.sending = [sent for sent in self.sending if not sent[1].Test()]
        return {peer for peer, _, _ in self.sending}

    def take(
        self, source: int, tag: str, channel: int | None = None, like: Any = None
    ) -> Any:
        array = np.empty(like.shape, like.dtype)
        number = self.number(tag, channel)
        self.complete(
            [self.comm.Irecv([array, self.bytes], source, number)], [source], tag
        )
        return array[()]

    def complete(self, requests: Sequence[Any], peers: Sequence[int], tag: str) -> None:
        """Wait until all requests to peers are done."""
        begun, are_done = time.monotonic(), self.test_all
        self.doubted.clear()
        while not are_done(requests):
            waited = time.monotonic() - begun
            if waited < self.awake:
                continue
            if waited < self.sleepless:
                GIVE_WAY()
            else:
                time.sleep(0)
            if waited > PATIENCE:
                late = (p for p, r in zip(peers, requests, strict=True) if not r.Test())
                for peer in late:
                    self.require_reachable(peer, tag, begun)
                    break

    def require_reachable(self, peer: int, tag: str, begun: float) -> None:
        """Raise ReplicaError if a rank has failed, if a late one has ended or is in
        another collective, or if it has been late for too long.
        """
        here, now = f"replica {self.device}", time.monotonic()
        self.hear(tag)
        if now > self.ended.get(peer, now):
            raise ReplicaMismatch(
                f"{here} waits in {tag}, but replica {peer} has ended"
            )
        is_there = self.comm.Iprobe(peer, self.any[1], self.status)
        other = self.status.Get_tag() if is_there else ENDING
        if other < self.half or other == self.number(tag):
            self.doubted.pop(peer, None)
        # The awaited message may have arrived between the test and this probe.
        elif now - self.doubted.setdefault(peer, now) > PATIENCE:
            theirs = f"replica {peer} does {self.name(other)}"
            raise ReplicaMismatch(f"{here} does {tag}, but {theirs}")
        if now - begun > self.timeout:
            limit = f"{self.timeout:g} s for replica {peer}"
            raise ReplicaTimeout(f"{here} has waited {limit} in {tag}")

    def name(self, number: int) -> str:
        """Return the tag for which an MPI tag stands."""
        if number < self.half:
            return f"transfer (channel {number - 1})"
        names = (tag for tag, one in self.numbers.items() if one == number)
        return next(names, "something else")

    def hear(self, tag: str) -> None:
        """Record which ranks have ended. Raises ReplicaStopped if one has failed."""
        while (
            message := self.comm.Improbe(self.any[0], ENDING, self.status)
        ) is not None:
            source = self.status.Get_source()
            text = bytearray(self.status.Get_count(self.bytes))
            message.Recv([text, self.bytes])
            failure, is_sending = json.loads(text)
            patience = self.timeout if is_sending else PATIENCE
            self.ended[source] = time.monotonic() + patience
            if failure is not None:
                raise ReplicaStopped(
                    f"replica {self.device} stopped in {tag}: "
                    f"replica {source} failed: {failure}"
                )

    def tell(self, failure: str | None) -> None:
        """Tell each other rank how this one ends, and whether that rank has yet to take
        a message.
        """
        takers = self.takers()
        for peer in range(self.comm.Get_size()):
            if peer != self.device:
                text = json.dumps([failure, peer in takers]).encode()
                self.start(peer, text, ENDING)

    def finish(self) -> None:
        """Wait until all ranks have ended. Raises ReplicaMismatch if a rank has sent an
        array that this one has not taken.
        """
        self.tell(None)
        while len(self.ended) < self.comm.Get_size() - 1:
            self.hear("its end")
            time.sleep(0)
        if self.comm.Iprobe(*self.any, self.status):
            source, tag = self.status.Get_source(), self.status.Get_tag()
            self.hear("its end")  # raises if this message tells of a failure
            raise ReplicaMismatch(
                f"replica {source} does {self.name(tag)}, "
                f"but replica {self.device} has ended"
            )
        while self.takers():  # a rank that fails takes nothing, but tells of it
            self.hear("its end")
            time.sleep(0)
        for request in self.persistent:
            request.Free()


class OnRanks(Program):
    def run_mpi(
        self,
        args: Sequence[Any],
        comm: Any = None,
        *,
        timeout: float = 60.0,
        snapshot: Any = None,
        every: int = 10,
        **feeds: Any,
    ) -> Any:
        """Run the replica of this process, which mpirun has started, and return its
        results.

        ``comm`` is a communicator of mpi4py, by default that of all ranks; ``timeout``
        is how many seconds a replica may wait for another. ``snapshot`` is a folder
        that all ranks see: loops save their loop-carried values there every ``every``
        iterations, and the next run with this folder resumes from them; a run that
        succeeds removes its snapshots. Raises ValueError if the number of ranks is not
        the number of replicas, ReplicaMismatch, ReplicaStopped and ReplicaTimeout.
        """
        from mpi4py import MPI

        world = MPI.COMM_WORLD if comm is None else comm
        if world.Get_size() != self.count:
            raise ValueError(
                f"the program has {self.count} replicas, MPI has {world.Get_size()} "
                f"ranks: mpirun -n {self.count}"
            )
        self.require_loops(snapshot)
        own = world.Dup()  # keeps its messages apart from others
        network = Ranks(own, timeout)
        if snapshot is not None:
            Path(snapshot).mkdir(parents=True, exist_ok=True)
            begin = self.group.newest(Path(snapshot).glob("*"), self.count)
            # Rank 0 decides for all: machines may see changes at different times.
            network.snapshots = snapshot, every, own.bcast(begin)
        try:
            g = self.group(network.device, *self.sizes, network)
            results = self.body(g, *args, **feeds)
            network.finish()
        except BaseException as error:
            error.add_note(f"in replica {network.device}")
            if not isinstance(error, ReplicaStopped):
                network.tell(f"{type(error).__name__}: {error}")
            raise
        if snapshot is not None:
            forget(snapshot, network.device)
        own.Free()
        return results


def rooms_of(arrays: Iterable[Any]) -> list[Any]:
    """Return contiguous arrays: the same ones where they are contiguous."""
    return [x if x.flags.c_contiguous else np.empty_like(x, order="C") for x in arrays]


def forget(folder: Any, device: int) -> None:
    """Remove the snapshots of a device, unfinished ones as well."""
    for path in Path(folder).glob(f"*-*-{device}.*"):
        if path.suffix in (".snapshot", ".unfinished"):
            path.unlink()

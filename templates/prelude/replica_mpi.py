"""Replicas as ranks of MPI, each a process of its own."""

import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from .replica import (
    Arrays,
    Program,
    ReplicaMismatch,
    ReplicaStopped,
    ReplicaTimeout,
)

PAUSE = partial(time.sleep, 0)  # which takes 5e-5 seconds at least
GIVE_WAY = getattr(os, "sched_yield", PAUSE)  # to ranks on its core
SLEEPLESS = 5e-4  # seconds until a waiting rank sleeps
PATIENCE = 0.01  # seconds until a waiting rank checks whether the others still run
LONGEST = 1 << 30  # bytes of a message: some MPIs send no more than 2 GiB
ENDING = 0  # the MPI tag of messages that tell how a rank has ended
FAILED: list[Any] = []  # networks whose memory MPI may still read and write


class Ranks:
    """The network of replicas that are ranks of an mpi4py communicator. Only bytes are
    sent, with a number of our tag: MPI delivers no array to another collective.
    """

    def __init__(self, comm: Any, timeout: float) -> None:
        from mpi4py import MPI

        self.device, self.comm, self.timeout = comm.Get_rank(), comm, timeout
        self.test_all, self.start_all = MPI.Request.Testall, MPI.Prequest.Startall
        self.bytes, self.status = MPI.BYTE, MPI.Status()
        # Collectives use the upper half of MPI's tags, channels the lower half.
        self.half: int = comm.Get_attr(MPI.TAG_UB) // 2
        self.tags: dict[int, str] = {}  # of collectives, by MPI tag
        self.requests, self.kept = list[Any](), list[Any]()  # under way; persistent
        self.sending: list[tuple[int, Any]] = []  # to ranks, and may not be taken yet
        # Until when messages of an ended rank may arrive; since when one is elsewhere.
        self.ended, self.doubted = dict[int, float](), dict[int, float]()

    def number(self, tag: str, channel: int | None = None) -> int:
        """Return the MPI tag that stands for a tag."""
        if channel is not None:
            return 1 + channel % (self.half - 1)
        number = self.half + crc32(tag.encode()) % self.half
        self.tags[number] = tag
        return number

    def room(self, x: Any) -> Any:
        """Return memory that MPI knows for an array: its own if it is contiguous."""
        return x if x.flags.c_contiguous else np.empty_like(x, order="C")

    def settle(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Copy arrays for MPI to read, or what it has written."""
        for source, target in pairs:
            target[...] = source

    def prepared(
        self, send: Arrays, into: Arrays, tag: str, is_kept: bool, channel: Any = None
    ) -> Any:
        """Return a function that does an exchange, and repeats one that ``is_kept``."""
        comm, number = self.comm, self.number(tag, channel)
        before, after, messages = list[Any](), list[Any](), list[Any]()
        ways = (comm.Irecv, into, after), (comm.Isend, send, before)
        if is_kept:
            ways = (comm.Recv_init, into, after), (comm.Send_init, send, before)
        for request_of, arrays, copied in ways:
            for peer, x in arrays.items():
                if (room := self.room(x)) is not x:
                    copied.append((x, room) if arrays is send else (room, x))
                for part in messages_of(room):
                    begin = partial(request_of, (part, self.bytes), peer, number)
                    messages.append((peer, begin))
        kept = [begin() for _, begin in messages] if is_kept else []
        self.kept += kept

        def exchange() -> None:
            self.settle(before)
            self.start_all(kept)
            self.requests = kept or [begin() for _, begin in messages]
            if messages:
                self.complete(messages, tag)
            self.requests = []
            self.settle(after)

        return exchange

    def post(self, peer: int, array: Any, tag: str, channel: int | None = None) -> None:
        """Start to send a copy of an array, since it may be taken at any time."""
        room, number = self.room(np.empty_like(array)), self.number(tag, channel)
        self.settle([(array, room)])
        self.takers()
        for part in messages_of(room):
            request = self.comm.Isend((part, self.bytes), peer, number)
            self.sending.append((peer, request))

    def takers(self) -> set[int]:
        """Return the ranks that have yet to take a message, and drop what is taken."""
        self.sending = [sent for sent in self.sending if not sent[1].Test()]
        return {peer for peer, _ in self.sending}

    def take(self, source: int, tag: str, channel: int | None, like: Any) -> Any:
        array = np.empty_like(like, order="C")
        self.prepared({}, {source: array}, tag, False, channel)()
        return array[()]

    def complete(self, messages: Sequence[Any], tag: str) -> None:
        """Wait until all requests for messages to or from peers are done."""
        requests, begun, waited, polls = self.requests, time.monotonic(), 0.0, 0
        self.doubted.clear()
        is_first_done = requests[0].Test  # takes less time than to test all
        while not (is_first_done() and self.test_all(requests)):
            polls += 1
            if polls % 3:  # each takes some of what has arrived
                continue
            (GIVE_WAY if waited < SLEEPLESS else PAUSE)()
            waited = time.monotonic() - begun
            if waited > PATIENCE:
                for (peer, _), request in zip(messages, requests, strict=True):
                    if not request.Test():
                        self.require_reachable(peer, tag, begun)

    def require_reachable(self, peer: int, tag: str, begun: float) -> None:
        """Raise ReplicaError if a rank failed or ended, or is elsewhere or late."""
        here, now = f"replica {self.device}", time.monotonic()
        self.hear(tag)
        if now > self.ended.get(peer, now):
            raise ReplicaMismatch(
                f"{here} waits in {tag}, but replica {peer} has ended"
            )
        is_there = self.comm.Iprobe(peer, status=self.status)
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
        return self.tags.get(number, "something else")

    def hear(self, tag: str) -> None:
        """Record which ranks have ended. Raises ReplicaStopped if one has failed."""
        while message := self.comm.improbe(tag=ENDING, status=self.status):
            source, (failure, is_sending) = self.status.Get_source(), message.recv()
            patience = self.timeout if is_sending else PATIENCE
            self.ended[source] = time.monotonic() + patience
            if failure is not None:
                here = f"replica {self.device} stopped in {tag}"
                raise ReplicaStopped(f"{here}: replica {source} failed: {failure}")

    def tell(self, failure: str | None) -> None:
        """Tell each rank how this one ends, and if it has yet to take a message."""
        takers = self.takers()
        for peer in {*range(self.comm.Get_size())} - {self.device}:
            request = self.comm.isend((failure, peer in takers), peer, ENDING)
            self.sending.append((peer, request))

    def finish(self) -> None:
        """Wait until all ranks have ended. Raises ReplicaError if one sends still."""
        self.tell(None)
        others, status = self.comm.Get_size() - 1, self.status
        while len(self.ended) < others or self.takers():
            time.sleep(0)
            self.hear("its end")
            if len(self.ended) < others or not self.comm.Iprobe(status=status):
                continue
            if (number := status.Get_tag()) != ENDING:
                theirs = f"replica {status.Get_source()} does {self.name(number)}"
                raise ReplicaMismatch(f"{theirs}, but replica {self.device} has ended")
        for request in self.kept:
            request.Free()


def messages_of(array: Any) -> list[Any]:
    """Return the parts of a contiguous array's memory, for one message each."""
    whole = array.reshape(-1).view(np.uint8)
    return [whole[start : start + LONGEST] for start in range(0, whole.size, LONGEST)]


class OnRanks(Program):
    network: Any = Ranks

    def require_ranks(self, comm: Any) -> None:
        """Raise ValueError unless there is one rank for each replica."""
        if (ranks := comm.Get_size()) != self.count:
            told = f"the program has {self.count} replicas, MPI has {ranks} ranks"
            raise ValueError(f"{told}: mpirun -n {self.count}, of mpi4py's MPI")

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
        """Run the replica of this process among those of the communicator ``comm``, by
        default all. A replica waits at most ``timeout`` seconds for another. In the
        folder ``snapshot``, which all ranks see, loops save their loop-carried values
        every ``every`` iterations; the next run resumes from them, and removes them if
        it succeeds. Raises ValueError if there is not one rank for each replica.
        """
        from mpi4py import MPI

        world = MPI.COMM_WORLD if comm is None else comm
        self.require_ranks(world)
        self.require_loops(snapshot)
        private = world.Dup()  # keeps its messages apart from others
        network = self.network(private, timeout)
        g = self.group(network.device, *self.sizes, network)
        if snapshot is not None:
            folder = Path(snapshot)
            folder.mkdir(parents=True, exist_ok=True)
            # Rank 0 decides for all: machines may see changes at different times.
            begin = private.bcast(g.newest(folder.iterdir(), self.count))
            g.snapshots = folder, every, begin
        try:
            results = self.body(g, *args, **feeds)
            network.finish()
        except BaseException as error:
            error.add_note(f"in replica {network.device}")
            if not isinstance(error, ReplicaStopped):
                network.tell(f"{type(error).__name__}: {error}")
            FAILED.append(network)
            raise
        if snapshot is not None:
            for path in folder.glob(f"*-*-{g.device}.*"):  # unfinished ones as well
                if path.suffix in (".snapshot", ".unfinished"):
                    path.unlink()
        private.Free()
        return results

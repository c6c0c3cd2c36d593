"""Replicas as ranks of MPI, each a process of its own."""

import json
import struct
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from .replica import ReplicaMismatch, ReplicaStopped, ReplicaTimeout
from .replica_heads import Heads
from .replica_snapshots import Snapshots, forget_snapshots, newest_snapshots

HEAD_TAG = 0  # of MPI
ARRAY_TAG = 1
SHORT_ARRAY = 1 << 14  # bytes of an array that travels with its head
AWAKE = 5e-5  # seconds that a rank asks again at once: the shortest sleep is as long
# A head begins with its size and the key: a channel, if there is one, and a number.
HEAD_FRONT = "!I?qQ"


class Ranks:
    """The network between replicas that are ranks of an mpi4py communicator.

    A message has a head in JSON, with its tag and the array's dtype and shape, and the
    array's bytes; nothing is pickled. Messages of one rank arrive in the order in which
    they were sent, and are kept until they are asked for.
    """

    shares_memory = False

    def __init__(self, comm: Any, timeout: float) -> None:
        from mpi4py import MPI

        self.comm, self.timeout, self.bytes = comm, timeout, MPI.BYTE
        self.status = MPI.Status()
        self.snapshots: Any = None
        self.messages: dict[Any, tuple[str, Any]] = {}  # by source and key
        self.offered: dict[Any, Any] = {}  # memory for messages, by source and key
        self.ended: set[int] = set()
        # Requests, and the memory that they read, which may be the program's own.
        self.sending: list[tuple[Any, Any]] = []
        self.sending_copies: list[tuple[Any, Any]] = []
        self.heads = Heads()

    def post(self, source: int, target: int, key: Any, tag: str, array: Any) -> None:
        """Start to send an array. On a channel that is a copy: nobody knows when it
        will be taken.
        """
        array = np.asarray(array, order="C")
        if target == source:
            self.messages[source, key] = tag, array.copy()[()]
            return
        self.send(target, key, self.heads.written(tag, array), array)

    def send(self, target: int, key: Any, head: bytes, array: Any) -> None:
        """Start to send a head, and an array with it or behind it."""
        channel, number = key
        place = channel is not None, channel or 0, number
        front = struct.pack(HEAD_FRONT, len(head), *place)
        octets = array.reshape(-1).view(np.uint8)
        is_short = octets.size <= SHORT_ARRAY
        text = front + head + (octets.tobytes() if is_short else b"")
        self.start(self.sending_copies, text, target, HEAD_TAG)
        if not is_short and channel is None:
            self.start(self.sending, octets, target, ARRAY_TAG)
        elif not is_short:
            self.start(self.sending_copies, octets.copy(), target, ARRAY_TAG)

    def start(self, sending: Any, memory: Any, target: int, tag: int) -> None:
        request = self.comm.Isend([memory, self.bytes], target, tag)
        if not request.Test():
            sending.append((request, memory))

    def expect(self, source: int, key: Any, out: Any) -> None:
        """Offer memory for a message; it is used where it fits."""
        self.offered[source, key] = out

    def take(self, target: int, source: int, key: Any, tag: str) -> tuple[str, Any]:
        """Wait for a message; its tag and its array."""
        begun = time.monotonic()
        while (source, key) not in self.messages:
            if source in self.ended:
                raise ReplicaMismatch(
                    f"replica {target} waits in {tag}, but replica {source} has ended"
                )
            if not self.receive(tag):
                self.wait(begun, f"for replica {source} in {tag}")
        return self.messages.pop((source, key))

    def receive(self, tag: str) -> bool:
        """Receive a message of any rank, if there is one. Raises ReplicaStopped where
        it says that its rank has failed.
        """
        message = self.comm.Improbe(tag=HEAD_TAG, status=self.status)
        if message is None:
            return False
        source = self.status.Get_source()
        text = bytearray(self.status.Get_count(self.bytes))
        message.Recv([text, self.bytes])
        size, has_channel, channel, number = struct.unpack_from(HEAD_FRONT, text)
        start = struct.calcsize(HEAD_FRONT)
        head = self.heads.read(bytes(text[start : start + size]))
        if "end" in head:
            self.end(source, head["end"], tag)
            return True
        key = channel if has_channel else None, number
        kind = head["shape"], head["dtype"]
        array = self.offered.pop((source, key), None)
        if array is None or (array.shape, array.dtype) != kind:
            array = np.empty(*kind)
        octets = array.reshape(-1).view(np.uint8)
        if octets.size <= SHORT_ARRAY:
            octets[:] = np.frombuffer(text, np.uint8, offset=start + size)
        else:
            self.comm.Recv([octets, self.bytes], source, ARRAY_TAG)
        self.messages[source, key] = head["tag"], array if array.ndim else array[()]
        return True

    def wait(self, begun: float, what: str) -> None:
        """Let others have the processor. Raises ReplicaTimeout after too long."""
        waited = time.monotonic() - begun
        if waited > self.timeout:
            rank, limit = self.comm.Get_rank(), self.timeout
            raise ReplicaTimeout(f"replica {rank} has waited {limit:g} s {what}")
        if waited > AWAKE:
            time.sleep(0)

    def settle(self, takers: Collection[int], tag: str) -> None:
        """Wait until memory that was posted is no longer read."""
        begun = time.monotonic()
        while self.sending and not all(request.Test() for request, _ in self.sending):
            self.receive(tag)
            self.wait(begun, f"for what it sends in {tag} to be taken")
        self.sending.clear()
        self.offered.clear()
        if self.sending_copies:
            self.sending_copies = [x for x in self.sending_copies if not x[0].Test()]

    def end(self, source: int, failure: str | None, tag: str) -> None:
        """A rank has ended, or failed."""
        self.ended.add(source)
        if failure is not None:
            rank = self.comm.Get_rank()
            raise ReplicaStopped(
                f"replica {rank} stopped in {tag}: replica {source} failed: {failure}"
            )

    def tell(self, failure: str | None) -> None:
        """Tell the others how this rank ends."""
        head = json.dumps({"end": failure}).encode()
        nothing = np.empty(0, np.uint8)
        for peer in range(self.comm.Get_size()):
            if peer != self.comm.Get_rank():
                self.send(peer, (None, 0), head, nothing)

    def finish(self) -> None:
        """Wait until all ranks have ended. Raises ReplicaMismatch if one has sent what
        this one has not taken.
        """
        self.tell(None)
        begun, rank = time.monotonic(), self.comm.Get_rank()
        while len(self.ended) < self.comm.Get_size() - 1:
            if not self.receive("its end"):
                self.wait(begun, "for the others to end")
        for (source, _), (tag, _) in self.messages.items():
            raise ReplicaMismatch(
                f"replica {source} does {tag}, but replica {rank} has ended"
            )
        for request, _ in self.sending_copies:
            request.Wait()


def over_mpi(
    replica: Callable[..., Any],
    group: Callable[..., Any],
    counts: tuple[int, int],
    arguments: Sequence[Any],
    feeds: Mapping[str, Any],
    comm: Any,
    timeout: float,
    snapshot: Any,
    every: int,
) -> Any:
    """Run the replica that is this rank's; its results.

    With a ``snapshot`` folder a run goes on from what an earlier one has left there,
    and one that ends well leaves nothing. Raises ValueError where there are not as many
    ranks as replicas, ReplicaMismatch, ReplicaStopped and ReplicaTimeout.
    """
    from mpi4py import MPI

    world = MPI.COMM_WORLD if comm is None else comm
    count, rank = counts[0] * counts[1], world.Get_rank()
    if world.Get_size() != count:
        raise ValueError(
            f"the program has {count} replicas, MPI has {world.Get_size()} ranks: "
            f"mpirun -n {count}"
        )
    own = world.Dup()  # its messages meet no others
    network = Ranks(own, timeout)
    if snapshot is not None:
        begin = newest_snapshots([str(snapshot)], count)
        own.Barrier()  # nobody writes before all have looked
        network.snapshots = Snapshots(str(snapshot), every, begin)
    try:
        results = replica(group(rank, *counts, network), *arguments, **feeds)
        network.finish()
    except BaseException as error:
        error.add_note(f"in replica {rank}")
        if not isinstance(error, ReplicaStopped):
            network.tell(f"{type(error).__name__}: {error}")
        raise
    if snapshot is not None:
        forget_snapshots(str(snapshot), rank)
    own.Free()
    return results

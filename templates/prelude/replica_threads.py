"""Replicas as threads of one process."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from .replica import ReplicaMismatch, ReplicaStopped


class Threads:
    """The network between replicas that are threads of one process."""

    shares_memory = True

    def __init__(self, count: int) -> None:
        self.count = count
        self.snapshots = None
        self.changed = threading.Condition()
        self.messages: dict[Any, tuple[str, Any]] = {}  # by target, source and key
        self.waiting: dict[int, tuple[Any, str]] = {}  # what each device waits for
        self.ended: set[int] = set()
        self.failure: BaseException | None = None  # the first

    def post(self, source: int, target: int, key: Any, tag: str, array: Any) -> None:
        """Leave a message for a device."""
        with self.changed:
            self.messages[target, source, key] = tag, array
            self.changed.notify_all()

    def expect(self, source: int, key: Any, out: Any) -> None:
        """Arrays are handed over without copying them to memory that is offered."""

    def settle(self, takers: Collection[int], tag: str) -> None:
        """What has been posted has been handed over as it is."""

    def take(self, target: int, source: int, key: Any, tag: str) -> tuple[str, Any]:
        """Wait for a message; its tag and its array. Raises ReplicaError as soon as it
        is known that none will come.
        """
        wanted = target, source, key
        with self.changed:
            self.waiting[target] = wanted, tag
            while wanted not in self.messages:
                self.require_hope(target, source, tag)
                self.changed.wait()
            del self.waiting[target]
            return self.messages.pop(wanted)

    def require_hope(self, target: int, source: int, tag: str) -> None:
        """Raise where a message that has not come cannot come any more."""
        if self.failure is not None:
            raise ReplicaStopped(
                f"replica {target} stopped in {tag}: another one failed"
            )
        if source in self.ended:
            raise ReplicaMismatch(
                f"replica {target} waits in {tag}, but replica {source} has ended"
            )
        moving = len(self.waiting) + len(self.ended) < self.count
        if not moving and not any(
            wanted in self.messages for wanted, _ in self.waiting.values()
        ):
            circle = "; ".join(
                f"replica {device} waits for replica {wanted[1]} in {what}"
                for device, (wanted, what) in sorted(self.waiting.items())
            )
            raise ReplicaMismatch(f"the replicas wait for each other: {circle}")

    def end(self, device: int, failure: BaseException | None) -> None:
        """A device has ended; a failure stops all."""
        with self.changed:
            self.ended.add(device)
            self.waiting.pop(device, None)
            self.changed.notify_all()
        if failure is not None:
            failure.add_note(f"in replica {device}")
            self.fail(failure)

    def fail(self, failure: BaseException) -> None:
        """Stop all devices; the first failure stands."""
        with self.changed:
            self.failure = self.failure or failure
            self.changed.notify_all()


def in_threads(
    replica: Callable[..., Any],
    group: Callable[..., Any],
    replicas: int,
    partitions: int,
    replica_args: Sequence[Sequence[Any]],
    feeds: Mapping[str, Sequence[Any]],
) -> list[Any]:
    """Run a program on every device at once, each in a thread; the results, by device.
    The first failure is raised.
    """
    count = replicas * partitions
    require_one_each(count, replica_args, feeds)
    network = Threads(count)

    def run(device: int) -> Any:
        g = group(device, replicas, partitions, network)
        own = {name: feed[device] for name, feed in feeds.items()}
        result = replica(g, *replica_args[device], **own)
        return result, g.sent, g.received, g.last

    def ended(device: int, future: Future[Any]) -> None:
        network.end(device, future.exception())

    with ThreadPoolExecutor(count, thread_name_prefix="replica") as threads:
        futures = [threads.submit(run, device) for device in range(count)]
        for device, future in enumerate(futures):
            future.add_done_callback(partial(ended, device))
        try:
            wait(futures)
        except BaseException as error:  # an interrupt
            network.fail(error)
            raise
    if network.failure is not None:
        raise network.failure
    return results_of([future.result() for future in futures])


def require_one_each(
    count: int, replica_args: Sequence[Any], feeds: Mapping[str, Sequence[Any]]
) -> None:
    """Raise ValueError unless there is something for every replica."""
    for name, given in {"replica_args": replica_args, **feeds}.items():
        if len(given) != count:
            raise ValueError(
                f"{name}: the program has {count} replicas, got {len(given)}"
            )


def results_of(ends: Sequence[Any]) -> list[Any]:
    """The results of replicas that have ended well; each comes with what its replica
    has sent and received. Raises ReplicaMismatch if a message was never taken.
    """
    for source, (_, sent, _, last) in enumerate(ends):
        for (target, channel), number in sent.items():
            if ends[target][2][source, channel] < number:
                raise ReplicaMismatch(
                    f"replica {source} does {last[target]}, "
                    f"but replica {target} has ended"
                )
    return [end[0] for end in ends]

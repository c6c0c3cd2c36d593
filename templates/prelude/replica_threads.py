"""Replicas as threads of one process."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from .replica import Channel, Mailbox, Program, ReplicaMismatch, ReplicaStopped


class Thread(Mailbox):
    """The network of a replica that is one of several threads, which share one lock."""

    threads: "Sequence[Thread]"  # of all replicas
    has_ended = False
    failure: BaseException | None = None

    def post(self, peer: int, array: Any, tag: str, channel: Channel = None) -> None:
        self.threads[peer].deliver(self.device, array.copy(), tag, channel)

    def require_reachable(self, peer: int, tag: str, begun: float) -> None:
        """Raise ReplicaError at once if a message cannot arrive any more."""
        here = f"replica {self.device}"
        if any(thread.failure for thread in self.threads):
            raise ReplicaStopped(f"{here} stopped in {tag}: another one failed")
        if self.threads[peer].has_ended:
            raise ReplicaMismatch(
                f"{here} waits in {tag}, but replica {peer} has ended"
            )
        running = [thread for thread in self.threads if not thread.has_ended]
        if all(one.waiting_for and not one.waiting_for[2]() for one in running):
            each = "replica {} waits for replica {} in {}".format
            told = "; ".join(each(one.device, *one.waiting_for) for one in running)
            raise ReplicaMismatch(f"the replicas wait for each other: {told}")


class InThreads(Program):
    def run_local(self, replica_args: Sequence[Any], **feeds: Any) -> list[Any]:
        """Run every replica in a thread, and return the results by device. Raises the
        first failure. ``replica_args[k]`` are the arguments of device ``k``: replica r,
        partition p is number ``r * partitions + p``. If the program talks to its host,
        ``feeds`` are the functions by name, one for each replica.
        """
        self.require_one_each(replica_args=replica_args, **feeds)
        changed = threading.Condition()
        networks = [Thread(device, changed) for device in range(self.count)]
        for network in networks:
            network.threads = networks

        def run(network: Thread) -> Any:
            g = self.group(network.device, *self.sizes, network)
            functions = {name: feed[g.device] for name, feed in feeds.items()}
            try:
                return self.body(g, *replica_args[g.device], **functions)
            except BaseException as error:
                error.add_note(f"in replica {g.device}")
                network.failure = error
                raise
            finally:
                with changed:
                    network.has_ended = True
                    changed.notify_all()

        with ThreadPoolExecutor(self.count, thread_name_prefix="replica") as threads:
            futures = [threads.submit(run, network) for network in networks]
            try:
                wait(futures)
            except BaseException as error:  # an interrupt
                networks[0].failure = error
                raise
        if failures := [network.failure for network in networks if network.failure]:
            raise min(failures, key=lambda error: isinstance(error, ReplicaStopped))
        for network in networks:
            network.require_all_taken()
        return [future.result() for future in futures]

"""Snapshots of what a loop carries, to go on from where a replica was lost."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .replica import Replica

KEPT = 3  # snapshots of a loop, for each device


class Snapshots:
    """The folders where the devices of one attempt at a run leave snapshots, and the
    snapshots they begin from.

    ``folder`` is one that all workers and the client see. A file is called
    loop-iteration-device.npz.
    """

    def __init__(self, folder: str, every: int, begin: dict[int, str]) -> None:
        self.folder, self.every = Path(folder), every
        # By loop: the files to begin from, without device and ending.
        self.begin = begin

    def file(self, loop: int, iteration: int, device: int) -> Path:
        return self.folder / f"{loop}-{iteration}-{device}.npz"

    def write(
        self,
        loop: int,
        iteration: int,
        device: int,
        arrays: Iterable[Any],
        exchanged: Any,
    ) -> None:
        """Write a snapshot whole or not at all, and forget the oldest."""
        path = self.file(loop, iteration, device)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("wb") as stream:
            flat = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
            np.savez(stream, *(a.view(np.uint8) for a in flat), exchanged=exchanged)
        os.replace(unfinished, path)
        self.file(loop, iteration - KEPT * self.every, device).unlink(missing_ok=True)

    def read(
        self, loop: int, device: int, carried: Iterable[Any]
    ) -> tuple[int, list[Any]]:
        """The iteration and the arrays of the snapshot to begin from; their types are
        those of ``carried``.
        """
        path = Path(f"{self.begin[loop]}-{device}.npz")
        with np.load(path, allow_pickle=False) as stored:
            arrays = []
            for k, like in enumerate(carried):
                array = stored[f"arr_{k}"].view(np.asarray(like).dtype)
                arrays.append(array.reshape(np.shape(like))[()])
        return int(path.name.split("-")[1]), arrays


class Resumable(Replica):
    """Loops that can go on from a snapshot; they are counted in the order in which they
    begin.
    """

    loop = iteration = 0

    def resume(self, *carried: Any) -> Any:
        """Return what a loop begins with: what its snapshot holds where the run begins
        from one, else the arguments.
        """
        snapshots = self.network.snapshots
        self.loop, self.iteration = self.loop + 1, 0
        if snapshots is None or self.loop not in snapshots.begin:
            return carried
        self.iteration, arrays = snapshots.read(self.loop, self.device, carried)
        return [
            int(a) if isinstance(like, int) else a
            for a, like in zip(arrays, carried, strict=True)
        ]

    def snapshot(self, *carried: Any) -> None:
        """The end of an iteration, and what the next one begins with."""
        self.iteration += 1
        snapshots = self.network.snapshots
        if snapshots is not None and self.iteration % snapshots.every == 0:
            snapshots.write(
                self.loop, self.iteration, self.device, carried, self.exchanged()
            )

    def exchanged(self) -> Any:
        """Rows of peer, channel, messages sent and received: no message is under way
        where both sides agree.
        """
        keys = sorted(self.sent.keys() | self.received.keys(), key=str)
        rows = [
            (peer, -1 if c is None else c, self.sent[peer, c], self.received[peer, c])
            for peer, c in keys
        ]
        return np.array(rows, np.int64).reshape(-1, 4)


def newest_snapshots(folders: Iterable[str], count: int) -> dict[int, str]:
    """Return, by loop, the newest snapshot that all devices have, with no message under
    way; as ``Snapshots.begin``.
    """
    found: dict[tuple[int, int, str], int] = {}  # how many devices have it
    for folder in folders:
        for path in Path(folder).glob("*-*-*.npz"):
            key = int(path.stem.split("-")[0]), int(path.stem.split("-")[1]), folder
            found[key] = found.get(key, 0) + 1
    begin: dict[int, str] = {}
    for (loop, iteration, folder), files in sorted(found.items()):
        prefix = f"{folder}/{loop}-{iteration}"
        if files == count and is_quiet(prefix, count):
            begin[loop] = prefix
    return begin


def forget_snapshots(folder: str, device: int) -> None:
    """Remove the snapshots of a device."""
    for path in Path(folder).glob(f"*-*-{device}.npz"):
        path.unlink()


def is_quiet(prefix: str, count: int) -> bool:
    """Tell whether as many messages have been received as sent, between any two devices
    and on each channel.
    """
    sent: dict[tuple[int, int, int], int] = {}
    received: dict[tuple[int, int, int], int] = {}
    for device in range(count):
        with np.load(f"{prefix}-{device}.npz", allow_pickle=False) as stored:
            for peer, channel, out, back in stored["exchanged"].tolist():
                sent[device, peer, channel] = out
                received[peer, device, channel] = back
    return all(received.get(key, 0) == number for key, number in sent.items() if number)

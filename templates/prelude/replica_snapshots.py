"""Snapshots of what a loop carries, to go on from where a replica was lost."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .replica import Replica

KEPT = 3  # snapshots of a loop, for each device


class Resumable(Replica):
    """Loops that can go on from a snapshot; they are counted in the order in which they
    begin.

    A snapshot of one device is a file loop-iteration-device.npz, in a folder that all
    see. When a device has ended an iteration it has taken what the others have sent in
    it: no message is under way between snapshots of the same iteration.
    """

    loop = iteration = 0

    def resume(self, *carried: Any) -> Any:
        """Return what a loop begins with: what its snapshot holds where the run begins
        from one, else the arguments.
        """
        self.loop, self.iteration = self.loop + 1, 0
        begin = self.network.snapshots[2].get(self.loop)
        if begin is None:
            return carried
        self.iteration = int(begin.split("-")[-1])
        with np.load(f"{begin}-{self.device}.npz", allow_pickle=False) as stored:
            return [
                as_before(stored[f"arr_{k}"], like) for k, like in enumerate(carried)
            ]

    def snapshot(self, *carried: Any) -> None:
        """The end of an iteration, and what the next one begins with. A snapshot is
        written whole or not at all, and the oldest is forgotten.
        """
        self.iteration += 1
        folder, every, _ = self.network.snapshots
        if folder is None or self.iteration % every:
            return
        Path(folder).mkdir(parents=True, exist_ok=True)
        unfinished = Path(folder, f"{self.loop}-{self.device}.unfinished")
        with unfinished.open("wb") as stream:
            flat = [np.ascontiguousarray(array).reshape(-1) for array in carried]
            np.savez(stream, *(array.view(np.uint8) for array in flat))
        os.replace(unfinished, self.file(folder, self.iteration))
        self.file(folder, self.iteration - KEPT * every).unlink(missing_ok=True)

    def file(self, folder: Any, iteration: int) -> Path:
        return Path(folder, f"{self.loop}-{iteration}-{self.device}.npz")

    @staticmethod
    def newest(folders: Iterable[Any], count: int) -> dict[int, str]:
        """Return, by loop, the newest snapshot that all devices have: the path without
        device and ending.
        """
        found: Counter[tuple[int, int, str]] = Counter()
        for folder in folders:
            for path in Path(folder).glob("*-*-*.npz"):
                loop, iteration, _ = path.stem.split("-")
                found[int(loop), int(iteration), str(folder)] += 1
        return {
            loop: f"{folder}/{loop}-{iteration}"
            for (loop, iteration, folder), files in sorted(found.items())
            if files == count
        }

    @staticmethod
    def forget(folder: Any, device: int) -> None:
        """Remove the snapshots of a device."""
        for path in Path(folder).glob(f"*-*-{device}.npz"):
            path.unlink()


def as_before(octets: Any, like: Any) -> Any:
    """Return an array, or int, of the type and shape of another one, of its bytes."""
    array = octets.view(np.asarray(like).dtype).reshape(np.shape(like))[()]
    return int(array) if isinstance(like, int) else array

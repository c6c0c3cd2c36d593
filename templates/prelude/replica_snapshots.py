"""Snapshots of loop-carried values, from which a run resumes when a replica is lost."""

import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .replica import Replica


class Resumable(Replica):
    """Loops that can resume from a snapshot; they are counted in the order in which
    they begin.

    A snapshot of one device is the file loop-iteration-device.snapshot, in a folder
    that all devices see. A device that has ended an iteration has taken all messages
    that were sent in it: none is under way between snapshots of the same iteration.
    """

    loop = iteration = 0

    def resume(self, *carried: Any) -> Any:
        """Return the values that a loop begins with: those of its snapshot if the run
        resumes from one, else the arguments.
        """
        self.loop, self.iteration = self.loop + 1, 0
        begin = self.network.snapshots[2].get(self.loop)
        if begin is None:
            return carried
        self.iteration = int(begin.split("-")[-1])
        with np.load(f"{begin}-{self.device}.snapshot", allow_pickle=False) as stored:
            return [
                as_before(stored[f"arr_{k}"], like) for k, like in enumerate(carried)
            ]

    def snapshot(self, *carried: Any) -> None:
        """End an iteration, and save the values that the next one begins with. A
        snapshot is written whole or not at all; those before one that all devices have
        are removed.
        """
        self.iteration += 1
        folder, every, _ = self.network.snapshots
        if folder is None or self.iteration % every:
            return
        name = f"{self.loop}-{self.iteration}-{self.device}"
        unfinished = Path(folder, f"{name}.unfinished")
        with unfinished.open("wb") as stream:
            flat = [np.ascontiguousarray(array).reshape(-1) for array in carried]
            np.savez(stream, *(array.view(np.uint8) for array in flat))
        os.replace(unfinished, unfinished.with_suffix(".snapshot"))
        common = self.newest(Path(folder).iterdir(), self.count).get(self.loop, "-0")
        for path in Path(folder).glob(f"{self.loop}-*-{self.device}.snapshot"):
            if int(path.stem.split("-")[1]) < int(common.split("-")[-1]):
                path.unlink()

    @staticmethod
    def newest(files: Iterable[Path], count: int) -> dict[int, str]:
        """Return, by loop, the newest snapshot that all devices have: its path without
        device and suffix.
        """
        found: Counter[tuple[int, int, Path]] = Counter()
        for path in files:
            if name := re.fullmatch(r"(\d+)-(\d+)-\d+\.snapshot", path.name):
                found[int(name[1]), int(name[2]), path.parent] += 1
        return {
            loop: f"{folder}/{loop}-{iteration}"
            for (loop, iteration, folder), devices in sorted(found.items())
            if devices == count
        }


def as_before(octets: Any, like: Any) -> Any:
    """Return the array, or int, that these bytes are in the type and shape of another
    one.
    """
    array = octets.view(np.asarray(like).dtype).reshape(np.shape(like))[()]
    return int(array) if isinstance(like, int) else array

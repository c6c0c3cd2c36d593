"""Snapshots of loop-carried values, from which a run resumes when a replica is lost."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .replica import Replica, on_host


class Resumable(Replica):
    """Loops that resume from snapshots, files loop-iteration-device.snapshot.
    A device that has ended an iteration has taken all messages that were sent in it:
    none is under way between snapshots of the same iteration.
    """

    loop = iteration = 0
    saved: list[int]  # iterations of which there are snapshots of this device
    # The folder; the iterations between snapshots; by loop, what it resumes from.
    snapshots: tuple[Any, int, Mapping[int, str]] = None, 1, {}

    def resume(self, *carried: Any) -> Any:
        """Return the values that a loop begins with: its snapshot's, or as given."""
        self.loop, self.iteration, self.saved = self.loop + 1, 0, []
        if (begin := self.snapshots[2].get(self.loop)) is None:
            return carried
        self.iteration = int(begin.split("-")[-1])
        self.saved.append(self.iteration)
        with np.load(f"{begin}-{self.device}.snapshot", allow_pickle=False) as stored:
            each = zip(stored.values(), carried, strict=True)
            return [as_before(array, like) for array, like in each]

    def snapshot(self, *carried: Any) -> None:
        """End an iteration: save what the next begins with, remove what is older."""
        self.iteration += 1
        folder, every, _ = self.snapshots
        if folder is None or self.iteration % every:
            return
        path = Path(folder, f"{self.loop}-{self.iteration}-{self.device}.unfinished")
        with path.open("wb") as stream:
            np.savez(stream, *map(on_host, carried))
        path.replace(path.with_suffix(".snapshot"))
        # Others may be far ahead: listing what they saved would take long.
        self.saved.append(self.iteration)
        place = f"{folder}/{self.loop}-{{}}-{{}}.snapshot".format
        for k in reversed(self.saved):
            if all(os.path.exists(place(k, d)) for d in range(self.count)):
                while self.saved[0] < k:
                    Path(place(self.saved.pop(0), self.device)).unlink(missing_ok=True)
                break

    @staticmethod
    def newest(files: Iterable[Path], count: int) -> dict[int, str]:
        """Return, by loop, the path of the newest snapshot that all devices have."""
        found: Counter[tuple[int, int, Path]] = Counter()
        for path in files:
            if name := re.fullmatch(r"(\d+)-(\d+)-\d+\.snapshot", path.name):
                found[int(name[1]), int(name[2]), path.parent] += 1
        whole = [snapshot for snapshot, devices in found.items() if devices == count]
        return {loop: f"{folder}/{loop}-{k}" for loop, k, folder in sorted(whole)}


def as_before(array: Any, like: Any) -> Any:
    """Return an array in the type of another one, which files may not name, or int."""
    if isinstance(like, int):
        return int(array)
    array = array.view(np.result_type(like))[None]  # CuPy loses the sign of a 0-d -0
    if hasattr(like, "__cuda_array_interface__"):
        array = np.asarray(array, like=like)
    return array[0]

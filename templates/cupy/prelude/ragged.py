"""What collectives move about on one replica, and the collective that moves rows; the
host does not wait for sizes.
"""

from collections.abc import Sequence
from typing import Any

import cupy as cp

from ...prelude.replica import Replica


def copy_ragged_rows(
    source: cp.ndarray,
    target: cp.ndarray,
    source_starts: cp.ndarray,
    sizes: cp.ndarray,
    target_starts: cp.ndarray,
) -> cp.ndarray:
    """``target`` with ``sizes[k]`` rows of ``source`` from ``source_starts[k]`` copied
    to ``target_starts[k]``.
    """
    rows = cp.arange(len(target))
    # The row of the source for each of the target, or -1.
    taken = cp.full(len(target), -1)
    for start, size, place in zip(source_starts, sizes, target_starts, strict=True):
        here = (rows >= place) & (rows < place + size)
        taken = cp.where(here, rows - place + start, taken)
    inside = (taken >= 0).reshape((-1,) + (1,) * (target.ndim - 1))
    rows = cp.take(source, cp.clip(taken, 0, len(source) - 1), axis=0)
    return cp.where(inside, rows, target)


class RaggedAllToAll(Replica):
    def ragged_all_to_all(
        self,
        x: Any,
        output: Any,
        starts: Any,
        sizes: Any,
        places: Any,
        groups: Sequence[Sequence[int]] | None = None,
        channel: int | str | None = None,
    ) -> Any:
        """Rows of ``x`` of different numbers go to the members, which put them into
        their ``output``.

        The ``k``-th run, ``sizes[k]`` rows from ``starts[k]``, goes to row
        ``places[k]`` of a member: the runs of member 0 come first, then those of member
        1, and so on. All of ``x`` goes to every member: which rows it needs is known on
        the device alone.
        """
        tag, members = self.tag("ragged_all_to_all", x, channel), self.members(groups)
        runs = cp.split(cp.stack([starts, sizes, places], 1), len(members))
        arriving = self.swapped(runs, members, tag)
        result = output
        given = self.swapped([x] * len(members), members, tag)
        for run, theirs in zip(arriving, given, strict=True):
            result = copy_ragged_rows(theirs, result, run[:, 0], run[:, 1], run[:, 2])
        return result

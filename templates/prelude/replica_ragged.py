"""All-to-all of runs of rows. Source: XLA's RaggedAllToAll."""

import sys
from typing import Any

import numpy as np

from .ragged import copy_ragged_rows, room_for_runs, rows_of_runs
from .replica import Replica, tag_of
from .replica_collectives import SHARDS_JOINED, divided


class RaggedAllToAll(Replica):
    def ragged_all_to_all(
        self, x: Any, output: Any, *runs: Any, groups: Any = None, channel: Any = None
    ) -> Any:
        """Send runs of rows of ``x``, and return ``output`` with the rows that arrive.
        ``runs`` are starts, sizes, places: run ``k`` goes to row ``places[k]`` of a
        member; the runs for member 0 come first, then those for member 1, and so on.
        """
        members = self.members(groups)
        shares = divided(np.stack(runs), members, 1).values()
        each, own = zip(*(rows_of_runs(x, *share) for share in shares), strict=True)
        told = np.concatenate(own, axis=1)
        told = self.exchanged(SHARDS_JOINED, told, 1, groups, channel)
        send, taken = dict(zip(members, each, strict=True)), divided(told, members, 1)
        rows = {m: room_for_runs(x, sizes) for m, (_, sizes, _) in taken.items()}
        rows[self.device] = send.pop(self.device)
        line = sys._getframe(1).f_lineno
        tag = tag_of("ragged_all_to_all", x.dtype, output.shape, channel, line)
        self.network.prepared(send, {m: rows[m] for m in send}, tag, False)()
        for member in members:
            output = copy_ragged_rows(rows[member], output, *taken[member])
        return output

"""The collectives, each by its HLO name. Source: the operation-semantics seed, the
sections of these names.

``groups`` lists the devices that work together, in the order of the result; None is one
group of all. ``channel`` is given where several calls are one collective. They use only
what NumPy hands over to other array libraries (``__array_function__``), so arrays on a
device stay there.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from .ragged import copy_ragged_rows, rows_of_runs
from .replica import Replica

SLICED_FROM = 32768  # bytes


class AllReduce(Replica):
    def all_reduce(
        self,
        x: Any,
        combine: Callable[[Any, Any], Any],
        groups: Sequence[Sequence[int]] | None = None,
        channel: int | str | None = None,
    ) -> Any:
        """The ``x`` of the whole group, combined in the group's order: the same bits on
        all.
        """
        tag, members = self.tag("all_reduce", x, channel), self.members(groups)
        if x.nbytes <= SLICED_FROM or len(members) == 1:
            return reduce(combine, self.swapped([x] * len(members), members, tag))
        # Large arrays: each combines one slice of them, and all gather the slices.
        slices = self.swapped(np.array_split(x.reshape(-1), len(members)), members, tag)
        combined = reduce(combine, slices)
        parts = self.swapped([combined] * len(members), members, tag)
        return np.concatenate(parts).reshape(x.shape)


class ReduceScatter(Replica):
    def reduce_scatter(
        self,
        x: Any,
        combine: Callable[[Any, Any], Any],
        axis: int = 0,
        groups: Sequence[Sequence[int]] | None = None,
        channel: int | str | None = None,
    ) -> Any:
        """Return the shard of the combined ``x`` along ``axis`` that belongs to this
        place in the group.
        """
        tag, members = self.tag("reduce_scatter", x, channel), self.members(groups)
        parts = np.split(x, len(members), axis)
        return reduce(combine, self.swapped(parts, members, tag))


class AllGather(Replica):
    def all_gather(
        self,
        x: Any,
        axis: int = 0,
        groups: Sequence[Sequence[int]] | None = None,
        channel: int | str | None = None,
    ) -> Any:
        """The ``x`` of the whole group, joined along ``axis``."""
        tag, members = self.tag("all_gather", x, channel), self.members(groups)
        return np.concatenate(self.swapped([x] * len(members), members, tag), axis)


class AllToAll(Replica):
    def all_to_all(
        self,
        x: Any,
        axis: int = 0,
        groups: Sequence[Sequence[int]] | None = None,
        channel: int | str | None = None,
    ) -> Any:
        """Block ``i`` of ``x`` along ``axis`` goes to member ``i``; what arrives,
        joined along it.
        """
        tag, members = self.tag("all_to_all", x, channel), self.members(groups)
        parts = np.split(x, len(members), axis)
        return np.concatenate(self.swapped(parts, members, tag), axis)


class AllToAllOfTuple(Replica):
    def all_to_all_of_tuple(
        self,
        parts: Sequence[Any],
        groups: Sequence[Sequence[int]] | None = None,
        channel: int | str | None = None,
    ) -> Sequence[Any]:
        """Part ``i`` goes to member ``i``; what arrives, in the group's order."""
        tag = self.tag("all_to_all", parts[0], channel)
        return self.swapped(parts, self.members(groups), tag)


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
        1, and so on.
        """
        tag = self.tag("ragged_all_to_all", output, channel)
        members = self.members(groups)
        shares = np.split(np.stack([starts, sizes, places]), len(members), axis=1)
        parts = [rows_of_runs(x, *share) for share in shares]
        rows = self.swapped([part[0] for part in parts], members, tag)
        runs = self.swapped([part[1] for part in parts], members, tag)
        result = output.copy()
        for theirs, run in zip(rows, runs, strict=True):
            result = copy_ragged_rows(theirs, result, *run)
        return result


class CollectivePermute(Replica):
    def collective_permute(
        self, x: Any, pairs: Sequence[tuple[int, int]], channel: int | str | None = None
    ) -> Any:
        """The ``x`` of the device that sends here by ``pairs`` of (source, target);
        zeros where none does.
        """
        tag = self.tag("collective_permute", x, channel)
        targets = {target: x for source, target in pairs if source == self.device}
        sources = [source for source, target in pairs if target == self.device]
        arrays = self.exchange(targets, sources, tag)
        return arrays[sources[0]] if sources else np.zeros_like(x)


class CollectiveBroadcast(Replica):
    def collective_broadcast(
        self,
        x: Any,
        groups: Sequence[Sequence[int]] | None = None,
        channel: int | str | None = None,
    ) -> Any:
        """The ``x`` of the group's first member; zeros for who is in no group."""
        tag = self.tag("collective_broadcast", x, channel)
        members = self.members(groups)
        if not members:
            return np.zeros_like(x)
        first = members[0]
        send = dict.fromkeys(members if self.device == first else (), x)
        return self.exchange(send, [first], tag)[first].copy()


class Channels(Replica):
    def send(self, x: Any, channel: int, pairs: Sequence[tuple[int, int]]) -> None:
        """Send ``x`` to where ``pairs`` of (source, target) say, and go on."""
        targets = {target: x for source, target in pairs if source == self.device}
        self.exchange(targets, (), self.tag("transfer", x, channel), channel)

    def recv(
        self, otherwise: Any, channel: int, pairs: Sequence[tuple[int, int]]
    ) -> Any:
        """Return what another device sends on a channel, or ``otherwise``, an array of
        the same shape, where none does.
        """
        sources = [source for source, target in pairs if target == self.device]
        tag = self.tag("transfer", otherwise, channel)
        arrays = self.exchange({}, sources, tag, channel)
        return arrays[sources[0]] if sources else otherwise

"""The collectives, each by its HLO name. Source: the operation-semantics seed, the
sections of these names.

``channel`` is given if several calls are one collective. The collectives only call
NumPy functions that dispatch to other array libraries (``__array_function__``), so
arrays on a device stay there.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from .ragged import copy_ragged_rows, room_for_runs, rows_of_runs
from .replica import Channel, Groups, Replica

SLICED_FROM = 32768  # bytes
Combine = Callable[[Any, Any], Any]
DevicePairs = Sequence[tuple[int, int]]  # of source and target


def swapped(g: Replica, parts: Mapping[int, Any], tag: str) -> list[Any]:
    """Send part ``m`` to member ``m``, and return the parts that members send, all like
    this device's own part, in the group's order.
    """
    places = {member: np.empty_like(parts[g.device]) for member in parts}
    arrived = list(places.values())
    g.exchange(dict(parts), places, tag)
    return arrived


def joined_from_members(
    g: Replica, parts: Mapping[int, Any], axis: int, tag: str
) -> Any:
    """Send part ``m`` to member ``m``, and return the parts that members send, joined
    along ``axis``.
    """
    shape = list(parts[g.device].shape)
    shape[axis] *= len(parts)
    result = np.empty_like(parts[g.device], shape=shape, order="C")
    g.exchange(dict(parts), divided(result, parts, axis), tag)
    return result


def divided(x: Any, members: Collection[int], axis: int) -> dict[int, Any]:
    """Return the equal parts of an array along an axis, by member."""
    size, before = x.shape[axis] // len(members), (slice(None),) * axis
    return {
        m: x[(*before, slice(k * size, (k + 1) * size))] for k, m in enumerate(members)
    }


class AllReduce(Replica):
    def all_reduce(
        self, x: Any, combine: Combine, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the whole group, combined in the group's order: the same
        bits on all members.
        """
        tag, members = self.tag("all_reduce", x, channel), self.members(groups)
        if x.nbytes <= SLICED_FROM or len(members) == 1:
            return reduce(combine, swapped(self, dict.fromkeys(members, x), tag))[()]
        # Each member combines a slice, so it sends at most twice the array.
        result = np.empty_like(x, order="C")
        given, made = (
            dict(zip(members, np.array_split(a.reshape(-1), len(members)), strict=True))
            for a in (x, result)
        )
        mine = reduce(combine, swapped(self, given, tag))
        self.exchange(dict.fromkeys(members, mine), made, tag)
        return result


class ReduceScatter(Replica):
    def reduce_scatter(
        self,
        x: Any,
        combine: Combine,
        axis: int = 0,
        groups: Groups = None,
        channel: Channel = None,
    ) -> Any:
        """Return the shard of the combined ``x`` along ``axis`` that belongs to this
        device's place in the group.
        """
        tag, members = self.tag("reduce_scatter", x, channel), self.members(groups)
        return reduce(combine, swapped(self, divided(x, members, axis), tag))


class AllGather(Replica):
    def all_gather(
        self, x: Any, axis: int = 0, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the whole group, joined along ``axis``."""
        tag, members = self.tag("all_gather", x, channel), self.members(groups)
        return joined_from_members(self, dict.fromkeys(members, x), axis, tag)


class AllToAll(Replica):
    def all_to_all(
        self, x: Any, axis: int = 0, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Send block ``i`` of ``x`` along ``axis`` to member ``i``, and return the
        blocks that arrive, joined along the same axis.
        """
        tag, members = self.tag("all_to_all", x, channel), self.members(groups)
        return joined_from_members(self, divided(x, members, axis), axis, tag)


class AllToAllOfTuple(Replica):
    def all_to_all_of_tuple(
        self, parts: Sequence[Any], groups: Groups = None, channel: Channel = None
    ) -> Sequence[Any]:
        """Send part ``i`` to member ``i``, and return the parts that arrive, in the
        group's order.
        """
        tag, members = self.tag("all_to_all", parts[0], channel), self.members(groups)
        given = dict(zip(members, parts, strict=True))
        return [part[()] for part in swapped(self, given, tag)]


class RaggedAllToAll(Replica):
    def ragged_all_to_all(
        self,
        x: Any,
        output: Any,
        starts: Any,
        sizes: Any,
        places: Any,
        groups: Groups = None,
        channel: Channel = None,
    ) -> Any:
        """Send runs of rows of ``x`` to the members, and return ``output`` with the
        rows that arrive.

        The ``k``-th run, ``sizes[k]`` rows from ``starts[k]``, goes to row
        ``places[k]`` of a member: the runs for member 0 come first, then those for
        member 1, and so on.
        """
        tag = self.tag("ragged_all_to_all", output, channel)
        members = self.members(groups)
        shares = np.split(np.stack([starts, sizes, places]), len(members), axis=1)
        parts = [rows_of_runs(x, *share) for share in shares]
        rows, given = (
            dict(zip(members, part, strict=True)) for part in zip(*parts, strict=True)
        )
        runs = swapped(self, given, f"the runs of {tag}")
        room = [room_for_runs(x, run[1]) for run in runs]
        self.exchange(rows, dict(zip(members, room, strict=True)), tag)
        result = output.copy()
        for theirs, run in zip(room, runs, strict=True):
            result = copy_ragged_rows(theirs, result, *run)
        return result


class CollectivePermute(Replica):
    def collective_permute(
        self, x: Any, pairs: DevicePairs, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the device that sends to this one by ``pairs`` of
        (source, target), or zeros if none does.
        """
        tag = self.tag("collective_permute", x, channel)
        sources = [source for source, target in pairs if target == self.device]
        targets = [target for source, target in pairs if source == self.device]
        result = np.empty_like(x) if sources else np.zeros_like(x)
        given = dict.fromkeys(targets, x)
        self.exchange(given, dict.fromkeys(sources, result), tag)
        return result[()]


class CollectiveBroadcast(Replica):
    def collective_broadcast(
        self, x: Any, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the group's first member, or zeros on a device in no
        group.
        """
        tag, members = (
            self.tag("collective_broadcast", x, channel),
            self.members(groups),
        )
        if not members:
            return np.zeros_like(x)
        result, first = np.empty_like(x), members[0]
        targets = members if self.device == first else ()
        self.exchange(dict.fromkeys(targets, x), {first: result}, tag)
        return result[()]


class CollectiveReduce(Replica):
    def collective_reduce(
        self, x: Any, combine: Combine, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the whole group, combined in the group's order, on its
        first member, and zeros on the others.
        """
        tag, members = self.tag("collective_reduce", x, channel), self.members(groups)
        sources = members if self.device == members[0] else ()
        places = {member: np.empty_like(x) for member in sources}
        arrived = list(places.values())
        self.exchange({members[0]: x}, places, tag)
        return reduce(combine, arrived)[()] if arrived else np.zeros_like(x)


class Channels(Replica):
    def send(self, x: Any, channel: int, pairs: DevicePairs) -> None:
        """Send ``x`` to the targets that ``pairs`` of (source, target) have for this
        device, without waiting.
        """
        tag = self.tag("transfer", x, channel)
        for source, target in pairs:
            if source == self.device:
                self.network.post(target, x, tag, channel)

    def recv(self, otherwise: Any, channel: int, pairs: DevicePairs) -> Any:
        """Return the array that another device sends on a channel, or ``otherwise``, an
        array of the same shape, if none does.
        """
        tag = self.tag("transfer", otherwise, channel)
        for source, target in pairs:
            if target == self.device:
                return self.network.take(source, tag, channel, otherwise)
        return otherwise

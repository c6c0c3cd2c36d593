"""The collectives, each by its HLO name. Source: the operation-semantics seed, the
sections of these names.

``channel`` is given where several calls are one collective. They use only what NumPy
hands over to other array libraries (``__array_function__``), so arrays on a device stay
there.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from .ragged import copy_ragged_rows, room_for_runs, rows_of_runs
from .replica import Channel, Groups, Replica

SLICED_FROM = 32768  # bytes
Combine = Callable[[Any, Any], Any]
DevicePairs = Sequence[tuple[int, int]]  # of source and target


def parts_of_members(
    g: Replica, parts: Mapping[int, Any], tag: str
) -> tuple[Any, list[Any]]:
    """Part ``m`` goes to member ``m``; what members send, all like this device's own
    part: in one array, and one by one.
    """
    own = parts[g.device]
    room = np.empty_like(own, shape=(len(parts), *own.shape))
    rows = {member: room[k, ...] for k, member in enumerate(parts)}
    exchange(g, parts, rows, tag)
    return room, list(rows.values())


def exchange(
    g: Replica, parts: Mapping[int, Any], places: Mapping[int, Any], tag: str
) -> None:
    """Part ``m`` goes to member ``m``, and what member ``m`` sends to place ``m``."""
    send, into = dict(parts), dict(places)
    into.pop(g.device)[...] = send.pop(g.device)
    if send:
        g.network.exchange(send, into, tag)


def divided(x: Any, count: int, axis: int) -> list[Any]:
    """Return the equal parts of an array along an axis; quicker than ``np.split``."""
    size, before = x.shape[axis] // count, (slice(None),) * axis
    return [x[(*before, slice(k * size, (k + 1) * size))] for k in range(count)]


class AllReduce(Replica):
    def all_reduce(
        self, x: Any, combine: Combine, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """The ``x`` of the whole group, combined in the group's order: the same bits on
        all.
        """
        tag, members = self.tag("all_reduce", x, channel), self.members(groups)
        if x.nbytes <= SLICED_FROM or len(members) == 1:
            parts = parts_of_members(self, dict.fromkeys(members, x), tag)[1]
            return reduce(combine, parts)[()]
        # Each member combines a slice: nobody sends more than twice the array.
        result = np.empty_like(x, order="C")
        given, made = (
            dict(zip(members, np.array_split(a.reshape(-1), len(members)), strict=True))
            for a in (x, result)
        )
        mine = reduce(combine, parts_of_members(self, given, tag)[1])
        exchange(self, dict.fromkeys(members, mine), made, tag)
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
        place in the group.
        """
        tag, members = self.tag("reduce_scatter", x, channel), self.members(groups)
        given = dict(zip(members, divided(x, len(members), axis), strict=True))
        return reduce(combine, parts_of_members(self, given, tag)[1])


def joined_from_members(
    g: Replica, parts: Mapping[int, Any], axis: int, tag: str
) -> Any:
    """Part ``m`` goes to member ``m``; what members send, joined along ``axis``."""
    own = parts[g.device]
    shape = list(own.shape)
    shape[axis] *= len(parts)
    result = np.empty_like(own, shape=shape, order="C")
    places = divided(result, len(parts), axis)
    exchange(g, parts, dict(zip(parts, places, strict=True)), tag)
    return result


class AllGather(Replica):
    def all_gather(
        self, x: Any, axis: int = 0, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """The ``x`` of the whole group, joined along ``axis``."""
        tag, members = self.tag("all_gather", x, channel), self.members(groups)
        return joined_from_members(self, dict.fromkeys(members, x), axis, tag)


class AllToAll(Replica):
    def all_to_all(
        self, x: Any, axis: int = 0, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Block ``i`` of ``x`` along ``axis`` goes to member ``i``; what arrives,
        joined along it.
        """
        tag, members = self.tag("all_to_all", x, channel), self.members(groups)
        given = dict(zip(members, divided(x, len(members), axis), strict=True))
        return joined_from_members(self, given, axis, tag)


class AllToAllOfTuple(Replica):
    def all_to_all_of_tuple(
        self, parts: Sequence[Any], groups: Groups = None, channel: Channel = None
    ) -> Sequence[Any]:
        """Part ``i`` goes to member ``i``; what arrives, in the group's order."""
        tag = self.tag("all_to_all", parts[0], channel)
        given = dict(zip(self.members(groups), parts, strict=True))
        return [part[()] for part in parts_of_members(self, given, tag)[1]]


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
        runs = parts_of_members(
            self, {m: part[1] for m, part in zip(members, parts, strict=True)}, tag
        )[1]
        rows = {
            m: room_for_runs(x, run[1]) for m, run in zip(members, runs, strict=True)
        }
        exchange(
            self, {m: p[0] for m, p in zip(members, parts, strict=True)}, rows, tag
        )
        result = output.copy()
        for theirs, run in zip(rows.values(), runs, strict=True):
            result = copy_ragged_rows(theirs, result, *run)
        return result


class CollectivePermute(Replica):
    def collective_permute(
        self, x: Any, pairs: DevicePairs, channel: Channel = None
    ) -> Any:
        """The ``x`` of the device that sends here by ``pairs`` of (source, target);
        zeros where none does.
        """
        tag, here = self.tag("collective_permute", x, channel), self.device
        sources = [source for source, target in pairs if target == here]
        if sources == [here]:
            return x.copy()
        result = np.empty_like(x) if sources else np.zeros_like(x)
        targets = [target for source, target in pairs if source == here]
        self.network.exchange(
            dict.fromkeys(targets, x), dict.fromkeys(sources, result), tag
        )
        return result[()]


class CollectiveBroadcast(Replica):
    def collective_broadcast(
        self, x: Any, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """The ``x`` of the group's first member; zeros for who is in no group."""
        tag = self.tag("collective_broadcast", x, channel)
        members = self.members(groups)
        if not members:
            return np.zeros_like(x)
        first, *others = members
        if self.device == first:
            self.network.exchange(dict.fromkeys(others, x), {}, tag)
            return x.copy()
        result = np.empty_like(x)
        self.network.exchange({}, {first: result}, tag)
        return result


class CollectiveReduce(Replica):
    def collective_reduce(
        self, x: Any, combine: Combine, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """The ``x`` of the whole group, combined in the group's order, for its first
        member; zeros for the others.
        """
        tag = self.tag("collective_reduce", x, channel)
        first, *others = self.members(groups)
        if self.device != first:
            self.network.exchange({first: x}, {}, tag)
            return np.zeros_like(x)
        rows = {member: np.empty_like(x) for member in others}
        self.network.exchange({}, rows, tag)
        return reduce(combine, [x.copy(), *rows.values()])


class Channels(Replica):
    def send(self, x: Any, channel: int, pairs: DevicePairs) -> None:
        """Send ``x`` to where ``pairs`` of (source, target) say, and go on."""
        tag = self.tag("transfer", x, channel)
        for source, target in pairs:
            if source == self.device:
                self.network.post(target, x, tag, channel)

    def recv(self, otherwise: Any, channel: int, pairs: DevicePairs) -> Any:
        """Return what another device sends on a channel, or ``otherwise``, an array of
        the same shape, where none does.
        """
        tag = self.tag("transfer", otherwise, channel)
        for source, target in pairs:
            if target == self.device:
                return self.network.take(source, tag, channel, otherwise)
        return otherwise

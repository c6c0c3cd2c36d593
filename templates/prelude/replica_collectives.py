"""The collectives, each by its HLO name. Source: the operation-semantics seed, the
sections of these names.

``channel`` is given if several calls are one collective. The collectives only call
NumPy functions that dispatch to other array libraries (``__array_function__``), so
arrays on a device stay there.
"""

import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from .ragged import copy_ragged_rows, room_for_runs, rows_of_runs
from .replica import KEPT_BYTES, Channel, Groups, Replica, tag_of

Combine = Callable[[Any, Any], Any]
DevicePairs = Sequence[tuple[int, int]]  # of source and target
Parts = dict[int, Any]  # by device


def divided(x: Any, members: Collection[int], axis: int) -> Parts:
    """Return the equal parts of an array along an axis, by member."""
    size, before = x.shape[axis] // len(members), (slice(None),) * axis
    return {
        m: x[(*before, slice(k * size, (k + 1) * size))] for k, m in enumerate(members)
    }


def in_group(
    is_divided: bool, is_joined: bool, g: Replica, x: Any, axis: int, groups: Groups
) -> Any:
    """Return the layout in which the members of a group send each other the whole array
    or its parts along an axis. What arrives is joined along the axis, or listed.
    """
    members = g.members(groups)
    send = divided(x, members, axis) if is_divided else dict.fromkeys(members, x)
    own = send[g.device]
    if is_joined:
        shape = list(own.shape)
        shape[axis] *= len(members)
        result = np.empty_like(own, shape=shape, order="C")
        return send, divided(result, members, axis), result
    places = {m: np.empty_like(own, order="C")[...] for m in members if m != g.device}
    places[g.device] = own
    return send, places, [places[m] for m in members]


WHOLE_LISTED = partial(in_group, False, False)
WHOLE_JOINED = partial(in_group, False, True)
SHARDS_LISTED = partial(in_group, True, False)
SHARDS_JOINED = partial(in_group, True, True)


def combination(combine: Combine, arrays: Sequence[Any]) -> Any:
    """Return the combination of views, as an array of its own."""
    total = reduce(combine, arrays)
    return total[()] if total.base is None else total.copy()[()]


def slices(x: Any, members: Collection[int]) -> Parts:
    """Return slices of all elements of an array, by member; the last may be shorter."""
    flat, size = x.reshape(-1), -(-x.size // len(members))
    return {m: flat[k * size : (k + 1) * size] for k, m in enumerate(members)}


def slices_listed(memory: Any, g: Replica, x: Any, axis: int, groups: Groups) -> Any:
    """Return the layout in which the slices for a device arrive in memory of its own,
    at the places of their senders.
    """
    send = slices(x, g.members(groups))
    own = send[g.device]
    places = {m: room[: own.size] for m, room in slices(memory, send).items()}
    places[g.device] = own
    return send, places, [*places.values()]


def slices_filled(g: Replica, x: Any, axis: int, groups: Groups) -> Any:
    """Return the layout in which each device sends its slice of an array, and receives
    those of the others in theirs.
    """
    places = slices(x, g.members(groups))
    return dict.fromkeys(places, places[g.device]), places, x


class AllReduce(Replica):
    def all_reduce(
        self, x: Any, combine: Combine, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the whole group, combined in the group's order: the same
        bits on all members.
        """
        if x.nbytes <= KEPT_BYTES:
            each = self.exchanged(WHOLE_LISTED, x, 0, groups, channel)
            return combination(combine, each)
        # Each member combines a slice, so it sends at most twice the array.
        count = len(self.members(groups))
        memory = np.empty_like(x, shape=(x.size + -x.size % count,), order="C")
        own = partial(slices_listed, memory)
        each = self.exchanged(own, x, 0, groups, channel)
        result = memory[: x.size].reshape(x.shape)
        mine = slices(result, self.members(groups))[self.device]
        mine[...] = combination(combine, each)
        return self.exchanged(slices_filled, result, 0, groups, channel)


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
        each = self.exchanged(SHARDS_LISTED, x, axis, groups, channel)
        return combination(combine, each)


class AllGather(Replica):
    def all_gather(
        self, x: Any, axis: int = 0, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the whole group, joined along ``axis``."""
        return self.exchanged(WHOLE_JOINED, x, axis, groups, channel)


class AllToAll(Replica):
    def all_to_all(
        self, x: Any, axis: int = 0, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Send block ``i`` of ``x`` along ``axis`` to member ``i``, and return the
        blocks that arrive, joined along the same axis.
        """
        return self.exchanged(SHARDS_JOINED, x, axis, groups, channel)


class AllToAllOfTuple(Replica):
    def all_to_all_of_tuple(
        self, parts: Sequence[Any], groups: Groups = None, channel: Channel = None
    ) -> Sequence[Any]:
        """Send part ``i`` to member ``i``, and return the parts that arrive, in the
        group's order.
        """
        return [*self.exchanged(SHARDS_JOINED, np.stack(parts), 0, groups, channel)]


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
        members = self.members(groups)
        shares = np.split(np.stack([starts, sizes, places]), len(members), axis=1)
        each = [rows_of_runs(x, *share) for share in shares]
        given = np.concatenate([run for _, run in each], axis=1)
        arrived = self.exchanged(SHARDS_JOINED, given, 1, groups, channel)
        runs = np.split(arrived, len(members), axis=1)
        room = [room_for_runs(x, run[1]) for run in runs]
        rows = dict(zip(members, (own for own, _ in each), strict=True))
        into = dict(zip(members, room, strict=True))
        into.pop(self.device)[...] = rows.pop(self.device)
        names = "ragged_all_to_all", output.dtype, output.shape
        line = sys._getframe(1).f_lineno
        self.network.exchange(rows, into, tag_of(*names, channel, line))
        for theirs, run in zip(room, runs, strict=True):
            output = copy_ragged_rows(theirs, output, *run)
        return output


def permuted(g: Replica, x: Any, axis: int, pairs: DevicePairs) -> Any:
    sources = [source for source, target in pairs if target == g.device]
    targets = [target for source, target in pairs if source == g.device]
    result = np.empty_like(x, order="C") if sources else np.zeros_like(x)
    return dict.fromkeys(targets, x), dict.fromkeys(sources, result), result


class CollectivePermute(Replica):
    def collective_permute(
        self, x: Any, pairs: DevicePairs, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the device that sends to this one by ``pairs`` of
        (source, target), or zeros if none does.
        """
        return self.exchanged(permuted, x, 0, pairs, channel)


class CollectiveBroadcast(Replica):
    def collective_broadcast(
        self, x: Any, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the group's first member, or zeros on a device in no
        group.
        """
        members = self.members(groups)
        pairs = [(members[0], member) for member in members]
        return self.exchanged(permuted, x, 0, pairs, channel)


def to_first(g: Replica, x: Any, axis: int, groups: Groups) -> Any:
    send, places, each = WHOLE_LISTED(g, x, axis, groups)
    first = next(iter(send))
    return ({first: x}, places, each) if g.device == first else ({first: x}, {}, [])


class CollectiveReduce(Replica):
    def collective_reduce(
        self, x: Any, combine: Combine, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the whole group, combined in the group's order, on its
        first member, and zeros on the others.
        """
        each = self.exchanged(to_first, x, 0, groups, channel)
        return combination(combine, each) if each else np.zeros_like(x)


class Channels(Replica):
    def send(self, x: Any, channel: int, pairs: DevicePairs) -> None:
        """Send ``x`` to the targets that ``pairs`` of (source, target) have for this
        device, without waiting.
        """
        tag = tag_of("transfer", x.dtype, x.shape, channel)
        for source, target in pairs:
            if source == self.device:
                self.network.post(target, x, tag, channel)

    def recv(self, otherwise: Any, channel: int, pairs: DevicePairs) -> Any:
        """Return the array that another device sends on a channel, or ``otherwise``, an
        array of the same shape, if none does.
        """
        tag = tag_of("transfer", otherwise.dtype, otherwise.shape, channel)
        for source, target in pairs:
            if target == self.device:
                return self.network.take(source, tag, channel, otherwise)
        return otherwise

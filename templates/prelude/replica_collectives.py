"""The collectives, each by its HLO name. Source: the operation-semantics seed, the
sections of these names.

``channel`` is given if several calls are one collective. All NumPy functions here
dispatch to other array libraries (``__array_function__``): arrays stay on their device.
"""

import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from .ragged import copy_ragged_rows, room_for_runs, rows_of_runs
from .replica import KEPT_BYTES, Channel, Groups, Replica, tag_of

Combine = Callable[[Any, Any], Any]
Routes = Sequence[tuple[int, int]]  # of source and target


def divided(x: Any, members: Collection[int], axis: int = 0) -> dict[int, Any]:
    """Return the parts of an array along an axis, by member."""
    size, before = -(-x.shape[axis] // len(members)), (slice(None),) * axis
    return {m: x[*before, k * size : (k + 1) * size] for k, m in enumerate(members)}


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
    rooms = g.rooms(own, len(members))
    places = {member: rooms[k, ...] for k, member in enumerate(members)}
    places[g.device] = own
    return send, places, [*places.values()]


WHOLE_LISTED = partial(in_group, False, False)
WHOLE_JOINED = partial(in_group, False, True)
SHARDS_LISTED = partial(in_group, True, False)
SHARDS_JOINED = partial(in_group, True, True)


def combination(combine: Combine, arrays: Sequence[Any]) -> Any:
    """Return the combination of views, as an array of its own."""
    total = reduce(combine, arrays)
    return total[()] if total.base is None else total.copy()[()]


class AllReduce(Replica):
    def all_reduce(
        self, x: Any, combine: Combine, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of all members, combined in their order: the same bits."""
        if x.nbytes <= KEPT_BYTES:
            each = self.exchanged(WHOLE_LISTED, x, 0, groups, channel)
            return combination(combine, each)
        # Each member combines a shard, so it sends at most twice the array.
        flat = x.reshape(-1)
        if missing := -x.size % len(self.members(groups)):
            flat = np.concatenate([flat, flat[:missing]])
        each = self.exchanged(SHARDS_LISTED, flat, 0, groups, channel)
        own = combination(combine, each)
        whole = self.exchanged(WHOLE_JOINED, own, 0, groups, channel)
        return whole[: x.size].reshape(x.shape)


class ReduceScatter(Replica):
    def reduce_scatter(
        self,
        x: Any,
        combine: Combine,
        axis: int = 0,
        groups: Groups = None,
        channel: Channel = None,
    ) -> Any:
        """Return this member's shard, along ``axis``, of the combined ``x``."""
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
        shares = divided(np.stack([starts, sizes, places]), members, 1).values()
        each, told = zip(*(rows_of_runs(x, *share) for share in shares), strict=True)
        told = np.concatenate(told, axis=1)
        told = self.exchanged(SHARDS_JOINED, told, 1, groups, channel)
        runs, send = divided(told, members, 1), dict(zip(members, each, strict=True))
        rows = {m: room_for_runs(x, sizes) for m, (_, sizes, _) in runs.items()}
        rows[self.device] = send.pop(self.device)
        line = sys._getframe(1).f_lineno
        tag = tag_of("ragged_all_to_all", x.dtype, output.shape, channel, line)
        exchange = self.network.prepared(send, {m: rows[m] for m in send}, tag, False)
        exchange()
        for member in members:
            output = copy_ragged_rows(rows[member], output, *runs[member])
        return output


def permuted(g: Replica, x: Any, axis: int, pairs: Routes) -> Any:
    sources = [source for source, target in pairs if target == g.device]
    targets = [target for source, target in pairs if source == g.device]
    result = np.empty_like(x, order="C") if sources else np.zeros_like(x)
    return dict.fromkeys(targets, x), dict.fromkeys(sources, result), result


class CollectivePermute(Replica):
    def collective_permute(self, x: Any, pairs: Routes, channel: Channel = None) -> Any:
        """Return the ``x`` of the device that sends to this one by ``pairs`` of
        (source, target), or zeros if none does.
        """
        return self.exchanged(permuted, x, 0, pairs, channel)


class CollectiveBroadcast(Replica):
    def collective_broadcast(
        self, x: Any, groups: Groups = None, channel: Channel = None
    ) -> Any:
        """Return the ``x`` of the group's first member; zeros in no group."""
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
        """Return what ``all_reduce`` does on the first member; zeros on others."""
        each = self.exchanged(to_first, x, 0, groups, channel)
        return combination(combine, each) if each else np.zeros_like(x)


class Channels(Replica):
    def send(self, x: Any, channel: int, pairs: Routes) -> None:
        """Send ``x`` to the targets that ``pairs`` of (source, target) have for this
        device, without waiting.
        """
        tag = tag_of("transfer", x.dtype, x.shape, channel)
        for source, target in pairs:
            if source == self.device:
                self.network.post(target, x, tag, channel)

    def recv(self, otherwise: Any, channel: int, pairs: Routes) -> Any:
        """Return the array that another device sends on a channel, or ``otherwise``, an
        array of the same shape, if none does.
        """
        tag = tag_of("transfer", otherwise.dtype, otherwise.shape, channel)
        for source, target in pairs:
            if target == self.device:
                return self.network.take(source, tag, channel, otherwise)
        return otherwise

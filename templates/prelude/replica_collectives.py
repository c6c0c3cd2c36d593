"""The collectives, each by its HLO name. Source: the operation-semantics seed, the
sections of these names.

``channel`` is given if several calls are one collective. All NumPy functions here
dispatch to other array libraries (``__array_function__``): arrays stay on their device.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

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
    """Return the layout that swaps arrays, or their parts, to be joined or listed."""
    members = g.members(groups)
    send = divided(x, members, axis) if is_divided else dict.fromkeys(members, x)
    own = send[g.device]
    if is_joined:
        shape = list(own.shape)
        shape[axis] *= len(members)
        result = np.empty_like(own, shape=shape, order="C")
        places = divided(result, members, axis)
        if not is_divided and places[g.device].flags.c_contiguous:
            # The result may have larger pages, which others read sooner.
            send = dict.fromkeys(members, places[g.device]) | {g.device: own}
        return send, places, result
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
        flat, members = x.reshape(-1), self.members(groups)
        if missing := -x.size % len(members):
            flat = np.concatenate([flat, flat[:missing]])
        each = self.exchanged(SHARDS_LISTED, flat, 0, groups, channel)
        places = divided(whole := np.empty_like(flat), members)
        send = dict.fromkeys(members, own := places[self.device])
        if isinstance(combine, np.ufunc):
            combine = partial(combine, out=own)  # needs no other memory
        own[...] = reduce(combine, each)
        self.exchanged(lambda *_: (send, places, whole), flat, 0, groups, channel)
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
        """Send block ``i`` of ``x`` to member ``i``, and return those that arrive."""
        return self.exchanged(SHARDS_JOINED, x, axis, groups, channel)


def permuted(g: Replica, x: Any, axis: int, pairs: Routes) -> Any:
    sources = [source for source, target in pairs if target == g.device]
    targets = [target for source, target in pairs if source == g.device]
    result = np.empty_like(x, order="C") if sources else np.zeros_like(x)
    return dict.fromkeys(targets, x), dict.fromkeys(sources, result), result


class CollectivePermute(Replica):
    def collective_permute(self, x: Any, pairs: Routes, channel: Channel = None) -> Any:
        """Return the ``x`` that ``pairs`` of (source, target) send here, or zeros."""
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
        """Send ``x`` to this device's targets in ``pairs``."""
        tag = tag_of("transfer", x.dtype, x.shape, channel)
        for source, target in pairs:
            if source == self.device:
                self.network.post(target, x, tag, channel)

    def recv(self, otherwise: Any, channel: int, pairs: Routes) -> Any:
        """Return the array that a device sends here on a channel, or ``otherwise``."""
        tag = tag_of("transfer", otherwise.dtype, otherwise.shape, channel)
        for source, target in pairs:
            if target == self.device:
                return self.network.take(source, tag, channel, otherwise)
        return otherwise

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
PIECE = 1 << 20  # bytes of what is combined while the next is under way


class AllReduce(Replica):
    room: Any = None  # bytes, for pieces of large arrays that arrive

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
        reduced = self.reduced_in_slices(x.reshape(-1), combine, members, tag)
        return reduced.reshape(x.shape)

    def reduced_in_slices(
        self,
        x: Any,
        combine: Callable[[Any, Any], Any],
        members: Sequence[int],
        tag: str,
    ) -> Any:
        """Each member combines one slice of a large array, and all gather the slices:
        so nobody sends or receives more than twice the array.

        Slices go in pieces: while one is combined, the next ones are on their way.
        """
        result = np.empty_like(x)
        count = -(-x.nbytes // (len(members) * PIECE))
        given, made = (
            {
                member: np.array_split(part, count)
                for member, part in zip(
                    members, np.array_split(array, len(members)), strict=True
                )
            }
            for array in (x, result)
        )
        own_given, own_made = given[self.device], made[self.device]
        others = [member for member in members if member != self.device]
        room = self.room_for(2 * len(others), own_given[0])
        for place, member in enumerate(others):
            for k, piece in enumerate(own_given[:2]):
                self.expect(member, k, room[2 * place + k, : piece.size])
            for k, piece in enumerate(made[member]):
                self.expect(member, count + k, piece)
        for k in range(count):
            for member in others:
                self.post(member, given[member][k], tag)
        for k in range(count):
            parts = [
                self.take(member, tag) if member != self.device else own_given[k]
                for member in members
            ]
            combine_into(own_made[k], combine, parts)
            for place, member in enumerate(others):
                for piece in own_given[k + 2 : k + 3]:
                    self.expect(member, 1, room[2 * place + k % 2, : piece.size])
            combined = self.unchanging(own_made[k])
            for member in others:
                self.post(member, combined, tag)
        for k in range(count):
            for member in others:
                place_in(made[member][k], self.take(member, tag))
        self.network.settle(others, tag)
        return result

    def room_for(self, count: int, piece: Any) -> Any:
        """Return memory for so many arrays like a flat one. It stays for other calls:
        large memory that is new costs more than what is done in it.
        """
        size = count * piece.nbytes
        if self.room is None or self.room.nbytes < size:
            self.room = np.empty(size, np.uint8)
        return self.room[:size].view(piece.dtype).reshape(count, -1)


def combine_into(
    out: Any, combine: Callable[[Any, Any], Any], parts: Sequence[Any]
) -> None:
    """Combine arrays, the first two first, in the memory of another one."""
    if not isinstance(combine, np.ufunc):
        out[...] = reduce(combine, parts)
        return
    combined = parts[0]
    for part in parts[1:]:
        combined = combine(combined, part, out=out)


def place_in(out: Any, array: Any) -> None:
    """Let ``out`` have the elements of an array that is it, or another one."""
    if array is not out:
        out[...] = array


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


def joined_from_members(
    g: Replica, parts: Sequence[Any], members: Sequence[int], axis: int, tag: str
) -> Any:
    """Part ``i`` goes to member ``i``; what members send, joined along ``axis``. Large
    arrays are received where they belong.
    """
    if parts[0].nbytes <= SLICED_FROM or len(members) == 1:
        return np.concatenate(g.swapped(parts, members, tag), axis)
    shape = list(parts[0].shape)
    shape[axis] *= len(members)
    result = np.empty_like(parts[0], shape=shape)
    places = dict(zip(members, np.split(result, len(members), axis), strict=True))
    given = dict(zip(members, parts, strict=True))
    place_in(places.pop(g.device), given.pop(g.device))
    for member, place in places.items():
        if place.flags.c_contiguous:
            g.expect(member, 0, place)
    for member, array in g.exchange(given, places, tag).items():
        place_in(places[member], array)
    return result


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
        return joined_from_members(self, [x] * len(members), members, axis, tag)


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
        return joined_from_members(self, parts, members, axis, tag)


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


class CollectiveReduce(Replica):
    def collective_reduce(
        self,
        x: Any,
        combine: Callable[[Any, Any], Any],
        groups: Sequence[Sequence[int]] | None = None,
        channel: int | str | None = None,
    ) -> Any:
        """The ``x`` of the whole group, combined in the group's order, for its first
        member; zeros for the others.
        """
        tag, members = self.tag("collective_reduce", x, channel), self.members(groups)
        first, *others = members
        arrays = self.exchange(
            {} if self.device == first else {first: x},
            others if self.device == first else (),
            tag,
        )
        if self.device != first:
            return np.zeros_like(x)
        return reduce(combine, [x, *(arrays[member] for member in others)])


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

"""Operations of the builder between replicas and partitions, and with the host.

Source: operation-semantics seed, the sections of the same names. Replica groups are sequences of replica ids, or
:class:`~.arguments.ReplicaGroup`; no groups mean one group of all replicas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..attributes import ReplicaGroups
from ..element_types import PRED, U32
from ..shape_rules.common import array_of, dynamic_flags, one_or_tuple, refuse, scalar, shape_text
from ..shapes import TOKEN, ArrayShape, Shape, TupleShape
from .arguments import ChannelHandle, ReplicaGroup, as_shape, expected, integer, integers, pairs_of
from .core import BuilderCore, Callee, as_array_shape
from .op import Operand, XlaOp

Groups = Sequence[ReplicaGroup | Sequence[int]]


class CommunicationOperations(BuilderCore):
    """Collectives and transfers. Only operations of equal ``channel_id`` communicate; with a channel, also across
    partitions.
    """

    # -- reducing

    def all_reduce(
        self,
        operand: Operand,
        computation: Callee,
        replica_groups: Groups = (),
        channel_id: int | ChannelHandle | None = None,
        *,
        use_global_device_ids: bool = False,
    ) -> XlaOp:
        """Reduce an array, or each array of a tuple, over the replicas of a group; all get the result."""
        arrays, is_tuple = self._parts("all-reduce", operand)
        attributes = {
            **_groups("all-reduce", replica_groups, channel_id, use_global_device_ids),
            "to_apply": self._collective_reducer("all-reduce", arrays, computation),
        }
        return self._repacked(self._instruction("all-reduce", arrays, attributes), arrays, is_tuple)

    def cross_replica_sum(self, operand: Operand, replica_groups: Groups = ()) -> XlaOp:
        """Reduce as :meth:`all_reduce` does, with addition; for pred, with logical or."""
        arrays, _ = self._parts("all-reduce", operand)
        is_pred = arrays[0].array_shape.element_type is PRED
        return self.all_reduce(operand, (lambda x, y: x | y) if is_pred else (lambda x, y: x + y), replica_groups)

    def reduce_scatter(
        self,
        operand: Operand,
        computation: Callee,
        scatter_dimension: int,
        shard_count: int,
        replica_groups: Groups = (),
        channel_id: int | ChannelHandle | None = None,
        *,
        use_global_device_ids: bool = False,
    ) -> XlaOp:
        """Reduce over a group; its ``i``-th replica gets shard ``i`` of ``scatter_dimension``."""
        arrays, is_tuple = self._parts("reduce-scatter", operand)
        _require_count("reduce-scatter", "shard_count", shard_count, replica_groups)
        attributes = {
            **_groups("reduce-scatter", replica_groups, channel_id, use_global_device_ids),
            "dimensions": (scatter_dimension,),
            "to_apply": self._collective_reducer("reduce-scatter", arrays, computation),
        }
        for array in arrays:
            size = _size("reduce-scatter", array.array_shape, scatter_dimension)
            if size % shard_count:
                refuse(
                    "XP213",
                    f"reduce-scatter: the {size} elements of dimension {scatter_dimension} do not divide "
                    f"into {shard_count} shards",
                )
        declared = [_resized(a.array_shape, scatter_dimension, lambda size: size // shard_count) for a in arrays]
        op = self._instruction("reduce-scatter", arrays, attributes, one_or_tuple(declared))
        return self._repacked(op, arrays, is_tuple)

    # -- exchanging

    def all_gather(
        self,
        operand: Operand,
        all_gather_dimension: int,
        shard_count: int,
        replica_groups: Groups = (),
        channel_id: int | ChannelHandle | None = None,
        *,
        use_global_device_ids: bool = False,
    ) -> XlaOp:
        """Join the operands of a group's ``shard_count`` replicas along a dimension, in the group's order."""
        arrays, is_tuple = self._parts("all-gather", operand)
        _require_count("all-gather", "shard_count", shard_count, replica_groups)
        attributes = {
            **_groups("all-gather", replica_groups, channel_id, use_global_device_ids),
            "dimensions": (all_gather_dimension,),
        }
        for array in arrays:
            _size("all-gather", array.array_shape, all_gather_dimension)
        declared = [_resized(a.array_shape, all_gather_dimension, lambda size: size * shard_count) for a in arrays]
        op = self._instruction("all-gather", arrays, attributes, one_or_tuple(declared))
        return self._repacked(op, arrays, is_tuple)

    def all_to_all(
        self,
        operand: Operand,
        split_dimension: int,
        concat_dimension: int,
        split_count: int,
        replica_groups: Groups = (),
        channel_id: int | ChannelHandle | None = None,
    ) -> XlaOp:
        """Split into ``split_count`` blocks, send block ``i`` to replica ``i``, concatenate the received blocks."""
        op = self._operand(operand)
        shape = as_array_shape("all-to-all", op.shape)
        _require_count("all-to-all", "split_count", split_count, replica_groups)
        size = _size("all-to-all", shape, split_dimension)
        _size("all-to-all", shape, concat_dimension)
        if size % split_count:
            refuse("XP213", f"all-to-all: {size} elements do not divide into {split_count} blocks")
        # XLA's array form requires explicit groups.
        groups = replica_groups or [range(split_count)]
        attributes = {**_groups("all-to-all", groups, channel_id), "dimensions": (split_dimension,)}
        exchanged = self._instruction("all-to-all", (op,), attributes)
        if split_dimension == concat_dimension:
            return exchanged
        return self._joined(exchanged, split_dimension, concat_dimension, split_count)

    def _joined(self, op: XlaOp, split: int, concat: int, count: int) -> XlaOp:
        """Move the blocks from ``split``, where they are concatenated, to ``concat``."""
        sizes = op.array_shape.dimensions
        element_type = op.array_shape.element_type
        blocks = (*sizes[:split], count, sizes[split] // count, *sizes[split + 1 :])
        op = self._instruction("reshape", (op,), {}, ArrayShape(element_type, blocks))
        order: list[int] = []
        for d in range(len(sizes)):
            order += ([split] if d == concat else []) + [d + 1 if d >= split else d]
        op = self._instruction("transpose", (op,), {"dimensions": tuple(order)})
        factor = {split: 1 / count, concat: count}
        result = tuple(round(size * factor.get(d, 1)) for d, size in enumerate(sizes))
        return self._instruction("reshape", (op,), {}, ArrayShape(element_type, result))

    def all_to_all_tuple(
        self, operands: Sequence[Operand], replica_groups: Groups = (), channel_id: int | ChannelHandle | None = None
    ) -> XlaOp:
        """Send operand ``i`` to replica ``i`` of the group; returns a tuple of the received arrays."""
        attributes = _groups("all-to-all", replica_groups, channel_id)
        return self._instruction("all-to-all", self._operands(list(operands)), attributes)

    def ragged_all_to_all(
        self,
        input: Operand,
        input_offsets: Operand,
        send_sizes: Operand,
        output: Operand,
        output_offsets: Operand,
        recv_sizes: Operand,
        replica_groups: Groups = (),
        channel_id: int | ChannelHandle | None = None,
    ) -> XlaOp:
        """Send slices of different lengths of the first dimension; they are written into ``output``."""
        operands = (input, output, input_offsets, send_sizes, output_offsets, recv_sizes)
        attributes = _groups("ragged-all-to-all", replica_groups, channel_id)
        return self._instruction("ragged-all-to-all", self._operands(list(operands)), attributes)

    def collective_broadcast(
        self, operand: Operand, replica_groups: Groups = (), channel_id: int | ChannelHandle | None = None
    ) -> XlaOp:
        """Broadcast the operand of the first replica of a group to all of its replicas."""
        attributes = _groups("collective-broadcast", replica_groups, channel_id)
        return self._instruction("collective-broadcast", (self._operand(operand),), attributes)

    def collective_reduce(
        self,
        operand: Operand,
        computation: Callee,
        replica_groups: Groups = (),
        channel_id: int | ChannelHandle | None = None,
    ) -> XlaOp:
        """Reduce an array over the replicas of a group; its first one gets the result, the others zeros."""
        array = self._operand(operand)
        attributes = {
            **_groups("collective-reduce", replica_groups, channel_id),
            "to_apply": self._collective_reducer("collective-reduce", (array,), computation),
        }
        return self._instruction("collective-reduce", (array,), attributes)

    def collective_permute(
        self,
        operand: Operand,
        source_target_pairs: Sequence[tuple[int, int]],
        channel_id: int | ChannelHandle | None = None,
    ) -> XlaOp:
        """Send the operand from source to target of each pair; other replicas get zeros."""
        name = "collective-permute"
        pairs = tuple(pairs_of(name, "a (source, target)", source_target_pairs))
        attributes = {"channel_id": _channel_id(name, channel_id), "source_target_pairs": pairs}
        return self._instruction(name, (self._operand(operand),), attributes)

    def replica_id(self) -> XlaOp:
        """Return the number of this replica (u32)."""
        return self._instruction("replica-id", (), {})

    def partition_id(self) -> XlaOp:
        """Return the number of this partition (u32)."""
        return self._instruction("partition-id", (), {})

    # -- point to point

    def send(self, operand: Operand, channel_handle: ChannelHandle) -> XlaOp:
        """Send to the ``recv`` of the same channel; returns the token after it. Ordered after earlier transfers."""
        self._last_token = self.send_with_token(operand, self._token(), channel_handle)
        return self._last_token

    def send_with_token(self, operand: Operand, token: XlaOp, channel_handle: ChannelHandle) -> XlaOp:
        """Send after a token; returns the token after it."""
        attributes = _channel(channel_handle)
        context = self._instruction("send", (self._operand(operand), self._operand(token)), attributes)
        return self._instruction("send-done", (context,), attributes)

    def recv(self, shape: Shape, channel_handle: ChannelHandle) -> XlaOp:
        """Receive the data of the ``send`` of the same channel. Ordered after earlier transfers."""
        received = self.recv_with_token(self._token(), shape, channel_handle)
        self._last_token = received[1]
        return received[0]

    def recv_with_token(self, token: XlaOp, shape: Shape, channel_handle: ChannelHandle) -> XlaOp:
        """Receive after a token; returns ``(data, token)``."""
        attributes = _channel(channel_handle)
        declared = TupleShape((as_shape("recv", shape), scalar(U32), TOKEN))
        context = self._instruction("recv", (self._operand(token),), attributes, declared)
        return self._instruction("recv-done", (context,), attributes)

    # -- host

    def infeed(self, shape: Shape, config: str = "") -> XlaOp:
        """Return the next data of the infeed, in the layout of ``shape``. Infeeds run in the order they are built."""
        fed = self.infeed_with_token(self._token(), shape, config)
        self._last_token = fed[1]
        return fed[0]

    def infeed_with_token(self, token: XlaOp, shape: Shape, config: str = "") -> XlaOp:
        """Return ``(data, token)`` of the infeed after a token."""
        attributes = {"infeed_config": config or None}
        return self._instruction(
            "infeed", (self._operand(token),), attributes, TupleShape((as_shape("infeed", shape), TOKEN))
        )

    def outfeed(self, operand: Operand, shape_with_layout: Shape | None = None, config: str = "") -> XlaOp:
        """Put data into the outfeed; returns the token after it. Ordered after earlier transfers."""
        self._last_token = self.outfeed_with_token(operand, self._token(), shape_with_layout, config)
        return self._last_token

    def outfeed_with_token(
        self, operand: Operand, token: XlaOp, shape_with_layout: Shape | None = None, config: str = ""
    ) -> XlaOp:
        """Put data into the outfeed after a token; returns the token after it."""
        op = self._operand(operand)
        attributes = {"outfeed_shape": shape_with_layout or op.shape, "outfeed_config": config or None}
        return self._instruction("outfeed", (op, self._operand(token)), attributes)

    # -- helpers

    def _parts(self, name: str, operand: Operand) -> tuple[list[XlaOp], bool]:
        """Return the arrays of a tuple, or the one array, and whether it is a tuple."""
        op = self._operand(operand)
        if not isinstance(op.shape, TupleShape):
            as_array_shape(name, op.shape)
            return [op], False
        if not op.shape.elements:
            refuse("XP201", f"{name}: an empty tuple has nothing to exchange")
        parts = [op[i] for i in range(len(op.shape.elements))]
        for part in parts:
            as_array_shape(name, part.shape)
        return parts, True

    def _repacked(self, op: XlaOp, arrays: Sequence[XlaOp], is_tuple: bool) -> XlaOp:
        """Return the result as a tuple of one if the operand was such a tuple, which is exchanged as an array."""
        return self._packed((op,)) if is_tuple and len(arrays) == 1 else op

    def _collective_reducer(self, name: str, arrays: Sequence[XlaOp], computation: Callee) -> Any:
        types = {array.array_shape.element_type for array in arrays}
        if len(types) > 1:
            refuse("XP212", f"{name}: the arrays have different element types: {', '.join(sorted(map(str, types)))}")
        element = scalar(arrays[0].array_shape.element_type)
        return self._callee(computation, [element, element], "reducer")


def _groups(
    name: str, replica_groups: Groups, channel_id: int | ChannelHandle | None, use_global_device_ids: bool = False
) -> dict[str, Any]:
    groups = [integers(name, g.replica_ids if isinstance(g, ReplicaGroup) else g) for g in replica_groups]
    return {
        "channel_id": _channel_id(name, channel_id),
        "replica_groups": ReplicaGroups(tuple(groups)),
        "use_global_device_ids": use_global_device_ids or None,
    }


def _channel_id(name: str, channel: int | ChannelHandle | None) -> int | None:
    if isinstance(channel, ChannelHandle):
        return channel.handle
    return None if channel is None else integer(name, channel)


def _require_count(name: str, what: str, count: int, replica_groups: Groups) -> None:
    """Refuse (XP220) a count that is not the size of each group; the count is needed if there are no groups."""
    if integer(name, count) < 1:
        refuse("XP218", f"{name}: {what} has to be positive, not {count}")
    for group in replica_groups:
        size = len(group.replica_ids if isinstance(group, ReplicaGroup) else group)
        if size != count:
            refuse("XP220", f"{name}: {what} is {count}, but a replica group has {size} replicas")


def _size(name: str, shape: ArrayShape, dimension: int) -> int:
    dimension = integer(name, dimension)
    if not 0 <= dimension < shape.rank:
        refuse("XP215", f"{name}: dimension {dimension} is not in [0, {shape.rank}): {shape_text(shape)}")
    return shape.dimensions[dimension]


def _resized(shape: ArrayShape, dimension: int, size_of: Any) -> ArrayShape:
    sizes = [size_of(size) if d == dimension else size for d, size in enumerate(shape.dimensions)]
    return array_of(shape.element_type, sizes, dynamic_flags(shape))


def _channel(handle: ChannelHandle) -> dict[str, Any]:
    handle = expected("send and recv", ChannelHandle, handle)
    return {"channel_id": handle.handle, "is_host_transfer": handle.is_host_transfer or None}

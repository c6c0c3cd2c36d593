"""The program of one device, from a program with manual computations, which are written per device.

``jax.shard_map`` and ``jax.pmap`` lower to a call between two custom calls: ``xla.sdy.GlobalToLocalShape`` gives each
device its shards, ``xla.sdy.LocalToGlobalShape`` joins the shards of all devices to arrays. The function called in
between is the author's code for one device. This module rewrites the whole program for one device: arguments that only
such calls read become shards, results that only such calls make become shards. Everything in between is computed by
every device on whole arrays, which are sliced to shards and gathered from shards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..dataclass import dataclass
from ..hlo.attributes import Raw, ReplicaGroups
from ..hlo.element_types import U32
from ..hlo.ir import Computation, HloModule, Instruction, fresh_name, with_called
from ..hlo.shapes import ArrayShape, Shape, TupleShape
from ..hlo.shardings import Sharding, ShardLayout, parse_meshes, parse_shardings, shard_layout

_TO_LOCAL, _TO_GLOBAL = "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"
_SHARDINGS = {
    target: re.compile(rf'xla\.sdy\.{side}_shardings="((?:[^"\\]|\\.)*)"')
    for target, side in {_TO_LOCAL: "in", _TO_GLOBAL: "out"}.items()
}
_NAMES_RESULTS = "xla.sdy.FuncResultSharding"
_OF_GLOBAL_SHAPES = ("entry_computation_layout", "input_output_alias", "buffer_donor")
_NUMBER = ArrayShape(U32, ())


@dataclass(frozen=True, eq=False)
class _Sharded:
    """An array of which each device has a shard."""

    part: Instruction
    shape: ArrayShape  # of the whole array
    sharding: Sharding


_Value = Instruction | _Sharded | tuple[Any, ...]


def of_one_device(module: HloModule) -> HloModule:
    """Return the program of one device; the module itself if it has no manual computations, or unsupported ones."""
    shardings = _shardings(module)
    counts = {sharding.mesh.count for each in shardings.values() for sharding in each}
    if len(counts) != 1 or module.replica_count != 1 or module.num_partitions not in (1, *counts):
        return module
    writer = _Writer(module, shardings)
    for computation in module.computations:
        writer.write(computation)
    header = {name: value for name, value in module.header.items() if name not in _OF_GLOBAL_SHAPES}
    header["num_partitions"] = counts.pop()
    return replace(
        module,
        computations=tuple(writer.written.values()),
        entry=writer.written[module.entry],
        header=header,
        layout=writer.layout,
    )


def _shardings(module: HloModule) -> dict[Instruction, list[Sharding]]:
    """Return the shardings of the custom calls of manual computations; empty if any of them is not supported."""
    calls = [i for i in module.instructions() if i.attributes.get("custom_call_target") in _SHARDINGS]
    attributes = module.header.get("frontend_attributes")
    meshes = parse_meshes(attributes.text) if calls and isinstance(attributes, Raw) else {}
    found = {}
    for call in calls:
        attributes = call.attributes.get("frontend_attributes")
        text = attributes.text if isinstance(attributes, Raw) else ""
        spelled = _SHARDINGS[call["custom_call_target"]].search(text)
        shardings = parse_shardings(spelled[1], meshes) if spelled else None
        if shardings is None or not _fits(call, shardings):
            return {}
        found[call] = shardings
    return found


def _fits(call: Instruction, shardings: list[Sharding]) -> bool:
    """Return whether the shapes of a call are those that its shardings imply."""
    given, made = [operand.shape for operand in call.operands], _elements(call.shape)
    if not len(given) == len(made) == len(shardings):
        return False
    wholes, parts = (given, made) if call["custom_call_target"] == _TO_LOCAL else (made, given)
    return all(
        isinstance(whole, ArrayShape)
        and isinstance(part, ArrayShape)
        and sharding.part(whole.dimensions) == part.dimensions
        for whole, part, sharding in zip(wholes, parts, shardings, strict=True)
    )


def _elements(shape: Shape) -> list[Shape]:
    return list(shape.elements) if isinstance(shape, TupleShape) else [shape]


class _Writer:
    """The rewriter of a program's computations for one device, callees first."""

    def __init__(self, module: HloModule, shardings: Mapping[Instruction, list[Sharding]]) -> None:
        self.shardings = shardings
        self.entry = module.entry
        self.written: dict[Computation, Computation] = {}
        self.names = {instruction.name for instruction in module.instructions()}
        self.channel = max((i.attributes.get("channel_id") or 0 for i in module.instructions()), default=0)
        self.instructions: list[Instruction] = []
        self.values: dict[Instruction, _Value] = {}
        self.wholes: dict[_Sharded, Instruction] = {}
        self.layout: ShardLayout | None = None

    def write(self, computation: Computation) -> None:
        self.instructions, self.values, self.wholes = [], {}, {}
        divided = self._divided_parameters(computation) if computation is self.entry else {}
        for instruction in computation.instructions:
            self.values[instruction] = self._value(instruction, divided)
        root = self.values[computation.root]
        final = self._own(root, computation.root) if computation is self.entry else self._whole(root)
        if computation is self.entry:
            results = root if isinstance(root, tuple) else (root,)
            is_flat = not any(isinstance(each, tuple) for each in results)
            divisions = [each.sharding if isinstance(each, _Sharded) else None for each in results]
            given = [divided.get(parameter) for parameter in computation.parameters]
            meshes = {sharding.mesh for each in self.shardings.values() for sharding in each}
            self.layout = shard_layout(
                given, divisions if is_flat else None, meshes.pop() if len(meshes) == 1 else None
            )
        self.written[computation] = replace(computation, instructions=tuple(self.instructions), root=final)

    def _divided_parameters(self, computation: Computation) -> dict[Instruction, Sharding]:
        """Return the parameters that are only read as shards, always with the same sharding."""
        uses: dict[Instruction, list[Sharding | None]] = {parameter: [] for parameter in computation.parameters}
        for user in computation.instructions:
            takes_parts = user.attributes.get("custom_call_target") == _TO_LOCAL
            for place, operand in enumerate(user.operands):
                if operand in uses:
                    uses[operand].append(self.shardings[user][place] if takes_parts else None)
        uses.setdefault(computation.root, []).append(None)
        return {
            parameter: each[0]
            for parameter, each in uses.items()
            if parameter.opcode == "parameter" and each and each[0] is not None and all(one == each[0] for one in each)
        }

    def _value(self, old: Instruction, divided: Mapping[Instruction, Sharding]) -> _Value:
        operands = [self.values[operand] for operand in old.operands]
        target = old.attributes.get("custom_call_target")
        if old in divided:
            sizes = divided[old].part(old.array_shape.dimensions)
            assert sizes is not None
            part = self._add(old.name, "parameter", ArrayShape(old.array_shape.element_type, sizes), like=old)
            return _Sharded(part, old.array_shape, divided[old])
        if target == _TO_LOCAL:
            taken = [
                self._part(value, sharding, old) for value, sharding in zip(operands, self.shardings[old], strict=True)
            ]
            return tuple(taken) if isinstance(old.shape, TupleShape) else taken[0]
        if target == _TO_GLOBAL:
            made = [
                _Sharded(self._whole(value), shape, sharding)  # type: ignore[arg-type]
                for value, shape, sharding in zip(operands, _elements(old.shape), self.shardings[old], strict=True)
            ]
            return tuple(made) if isinstance(old.shape, TupleShape) else made[0]
        if target == _NAMES_RESULTS and len(operands) == 1:
            return operands[0]
        if old.opcode == "tuple":
            return tuple(operands)
        if old.opcode == "get-tuple-element" and isinstance(operands[0], tuple) and old["index"] < len(operands[0]):
            return operands[0][old["index"]]  # type: ignore[no-any-return]
        attributes = {name: with_called(value, self.written.__getitem__) for name, value in old.attributes.items()}
        new = replace(old, operands=tuple(self._whole(value) for value in operands), attributes=attributes)
        self.instructions.append(new)
        return new

    def _add(
        self, name: str, opcode: str, shape: Shape, *operands: Instruction, like: Instruction, **attributes: Any
    ) -> Instruction:
        if opcode == "parameter":
            attributes = dict(like.attributes)
        else:
            name = fresh_name(name, self.names)
        made = Instruction(name, opcode, shape, operands, attributes, like.metadata, like.span)
        self.instructions.append(made)
        return made

    def _own(self, value: _Value, old: Instruction) -> Instruction:
        """Return one device's part of a result."""
        if isinstance(value, _Sharded):
            return value.part
        if isinstance(value, Instruction):
            return value
        parts = tuple(self._own(each, old) for each in value)
        return self._add("results", "tuple", TupleShape(tuple(p.shape for p in parts)), *parts, like=old)

    def _whole(self, value: _Value) -> Instruction:
        """Return the whole value on every device, gathered if it is sharded."""
        if isinstance(value, Instruction):
            return value
        if isinstance(value, tuple):
            parts = tuple(self._whole(each) for each in value)
            shape = TupleShape(tuple(part.shape for part in parts))
            return self._add("several", "tuple", shape, *parts, like=parts[0] if parts else self.entry.root)
        if value not in self.wholes:
            self.wholes[value] = self._gathered(value)
        return self.wholes[value]

    def _gathered(self, value: _Sharded) -> Instruction:
        whole, sharding = value.part, value.sharding
        for dimension in range(len(sharding.dimensions)):
            if sharding.shard_count(dimension) == 1:
                continue
            sizes = list(whole.array_shape.dimensions)
            sizes[dimension] = value.shape.dimensions[dimension]
            groups = sharding.groups(dimension)
            listed = ",".join("{" + ",".join(map(str, group)) + "}" for group in groups)
            self.channel += 1
            whole = self._add(
                "gathered",
                "all-gather",
                ArrayShape(value.shape.element_type, tuple(sizes)),
                whole,
                like=value.part,
                dimensions=(dimension,),
                channel_id=self.channel,
                replica_groups=ReplicaGroups(groups, "{" + listed + "}"),
                use_global_device_ids=True,
            )
        return whole

    def _part(self, value: _Value, sharding: Sharding, like: Instruction) -> Instruction:
        """Return the shard of an array that belongs to the device."""
        if isinstance(value, _Sharded) and value.sharding == sharding:
            return value.part
        whole = self._whole(value)
        shape = whole.array_shape
        sizes = sharding.part(shape.dimensions)
        assert sizes is not None
        if sizes == shape.dimensions:
            return whole
        starts = [self._start(sharding, d, size, like) for d, size in enumerate(sizes)]
        own = ArrayShape(shape.element_type, sizes)
        return self._add("part", "dynamic-slice", own, whole, *starts, like=like, dynamic_slice_sizes=sizes)

    def _start(self, sharding: Sharding, dimension: int, size: int, like: Instruction) -> Instruction:
        """Return the start of the device's shard along a dimension."""
        places = np.array(sharding.places(dimension), np.uint32)
        parts = sharding.shard_count(dimension)
        if parts == 1:
            return self._number(0, like)
        device = self._add("partition", "partition-id", _NUMBER, like=like)
        numbers = np.arange(places.size)
        steps = (step for step in range(1, places.size + 1) if places.size % step == 0)
        step = next((step for step in steps if (numbers // step % parts == places).all()), None)
        if step is None:  # the mesh has an irregular order of devices
            table = ArrayShape(U32, (places.size,))
            listed = self._add("starts", "constant", table, like=like, literal=places * np.uint32(size))
            one = ArrayShape(U32, (1,))
            found = self._add("own", "dynamic-slice", one, listed, device, like=like, dynamic_slice_sizes=(1,))
            return self._add("start", "reshape", _NUMBER, found, like=like)
        for opcode, number in {"divide": step, "remainder": parts, "multiply": size}.items():
            if number == 1 or (opcode == "remainder" and step * parts == places.size):
                continue
            device = self._add("start", opcode, _NUMBER, device, self._number(number, like), like=like)
        return device

    def _number(self, number: int, like: Instruction) -> Instruction:
        return self._add("number", "constant", _NUMBER, like=like, literal=np.array(number, np.uint32))

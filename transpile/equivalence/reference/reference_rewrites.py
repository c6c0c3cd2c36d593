"""Rewrites optimised HLO to a form that XLA's frontend accepts.

jaxlib compiles only HLO that can be converted to StableHLO, which has neither fusions nor buffers: fusions become
calls, bitcasts become reshapes and transposes according to their layouts, and layouts and compiler annotations are
dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from typing import Any, ClassVar

import numpy as np

from ...hlo.attributes import SliceDimension
from ...hlo.bitcasts import bitcast_as_reshape_transpose
from ...hlo.custom_calls import PLACEMENTS, is_callback
from ...hlo.custom_calls.table import CUSTOM_CALLS
from ...hlo.ir import Computation, HloModule, Instruction, with_called
from ...hlo.shapes import ArrayShape, Shape, TupleShape, compatible, without_layouts
from ...passes.calls.custom_call_definitions import expanding, is_expanded

_KEPT_HEADER = ("num_partitions", "replica_count")
# Annotations for the compiler, which do not change what a program computes.
NOTES = {
    *("backend_config", "control-predecessors", "frontend_attributes", "metadata", "origin", "original_value"),
    *("output_to_operand_aliasing", "result_accuracy", "statistics"),
}
_NEEDS_REWRITE = re.compile(
    r"\b(?:fusion|bitcast|domain|exp2|log2|shuffle|[\w-]+-start)\("
    r"|\]\{[\d,]*:"  # a layout with tiles or a memory space
    r"|input_output_alias="
    r'|custom_call_target="(?!lapack_)'  # perhaps of another backend's library
)
_ENTRY_LAYOUT = re.compile(r"entry_computation_layout=(.*)")
_DIMENSION_ORDER = re.compile(r"\]\{([\d,]+)\}")


def needs_rewrite(text: str) -> bool:
    """Return whether HLO text has constructs that the conversion to StableHLO refuses, or entry layouts that matter."""
    if _NEEDS_REWRITE.search(text):
        return True
    entry_layout = _ENTRY_LAYOUT.search(text)
    orders = _DIMENSION_ORDER.findall(entry_layout[1]) if entry_layout else []
    return any(order.split(",") != sorted(order.split(","), key=int, reverse=True) for order in orders)


def rewrite_for_xla(module: HloModule) -> HloModule:
    """Return the same program without fusions, bitcasts, layouts, compiler annotations and custom calls of other
    backends.
    """
    return rewritten(module, Rewriter(NOTES), {})


def rewritten(module: HloModule, rewriter: Rewriter, header: Mapping[str, Any]) -> HloModule:
    """Return a module whose computations a rewriter has rewritten; ``header`` replaces its numbers of devices."""
    module, _ = expanding(module, _is_of_another_backend)
    for computation in module.computations:
        rewriter.rewrite(computation)
    kept = header or {name: module.header[name] for name in _KEPT_HEADER if name in module.header}
    return HloModule(
        module.name, tuple(rewriter.finished), rewriter.rewritten[id(module.entry)], kept, module.stack_frames
    )


def _is_of_another_backend(instruction: Instruction) -> bool:
    return is_expanded(instruction, {}) and not CUSTOM_CALLS[instruction["custom_call_target"]].runs_on_cpu


class Rewriter:
    """Rewrites computations, callees first; ``RULES`` has a method for each opcode that changes."""

    def __init__(self, dropped: Set[str]) -> None:
        self.dropped = dropped
        self.finished: list[Computation] = []
        self.rewritten: dict[int, Computation] = {}  # by the id of the original
        self._instructions: list[Instruction] = []

    def rewrite(self, computation: Computation) -> None:
        self._instructions = []
        values: dict[int, Instruction] = {}
        for instruction in computation.instructions:
            operands = tuple(values[id(operand)] for operand in instruction.operands)
            rule = self.RULES.get(instruction.opcode, Rewriter._plain)
            values[id(instruction)] = rule(self, instruction, operands)
        root = values[id(computation.root)]
        result = Computation(computation.name, tuple(self._instructions), root, computation.execution_thread)
        self.rewritten[id(computation)] = result
        self.finished.append(result)

    def _add(
        self, name: str, opcode: str, shape: Shape, operands: tuple[Instruction, ...], **attributes: Any
    ) -> Instruction:
        instruction = Instruction(name, opcode, shape, operands, attributes)
        self._instructions.append(instruction)
        return instruction

    def _plain(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        attributes = {key: self._remapped(value) for key, value in old.attributes.items() if key not in self.dropped}
        return self._add(old.name, old.opcode, without_layouts(old.shape), operands, **attributes)

    def _remapped(self, value: Any) -> Any:
        return with_called(value, lambda called: self.rewritten[id(called)])

    def _fusion(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        to_apply = self.rewritten[id(old["calls"])]
        return self._add(old.name, "call", without_layouts(old.shape), operands, to_apply=to_apply)

    def _async_start(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        """Return the whole operation as a call: later starts and updates forward its result, and ``async-done`` is that
        result.
        """
        called = self.rewritten[id(old["calls"])]
        return self._add(old.name, "call", called.root.shape, operands, to_apply=called)

    def _first_operand(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        return operands[0]

    def _custom_call(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        """Return a custom call with its layouts, since LAPACK needs column-major matrices, and with its configuration.

        A call that only says where an array is becomes the array itself, since there is one device.
        """
        if old["custom_call_target"] in PLACEMENTS and operands and compatible(operands[0].shape, old.shape):
            return operands[0]
        if is_callback(old):
            return self._zeros(old.name, old.shape)
        dropped = self.dropped - {"backend_config"}
        attributes = {key: self._remapped(value) for key, value in old.attributes.items() if key not in dropped}
        return self._add(old.name, old.opcode, old.shape, operands, **attributes)

    def _zeros(self, name: str, shape: Shape) -> Instruction:
        """Return zeros in place of the results of a callback, which this process does not have. The results are not
        used, or emitted code reports that it cannot run.
        """
        if isinstance(shape, TupleShape):
            parts = [self._zeros(f"{name}.{k}", part) for k, part in enumerate(shape.elements)]
            return self._add(name, "tuple", without_layouts(shape), tuple(parts))
        if not isinstance(shape, ArrayShape):
            return self._add(name, "after-all", shape, ())
        return self._filled(name, shape, 0)

    def _filled(self, name: str, shape: ArrayShape, value: float) -> Instruction:
        scalar, literal = ArrayShape(shape.element_type, ()), np.full((), value, shape.element_type.dtype)
        number = self._add(f"{name}.number", "constant", scalar, (), literal=literal)
        return self._add(name, "broadcast", without_layouts(shape), (number,), dimensions=())

    def _bitcast(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        source, result = old.operands[0].array_shape, old.array_shape
        steps = bitcast_as_reshape_transpose(source, result)
        value = operands[0]
        if steps is not None:
            value = self._transpose(f"{old.name}.in", value, steps.permutation_in)
            reshaped = ArrayShape(source.element_type, steps.dimensions)
            value = self._add(f"{old.name}.reshape", "reshape", reshaped, (value,))
            value = self._transpose(f"{old.name}.out", value, steps.permutation_out)
        opcode = "copy" if source.element_type == result.element_type else "bitcast-convert"
        return self._add(old.name, opcode, result.without_layout(), (value,))

    def _exp2(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        """Return a power. StableHLO has neither powers nor logarithms of two, nor rotations."""
        two = self._filled(f"{old.name}.two", old.array_shape, 2.0)
        return self._add(old.name, "power", without_layouts(old.shape), (two, *operands))

    def _log2(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        shape = old.array_shape.without_layout()
        natural = self._add(f"{old.name}.log", "log", shape, operands)
        return self._add(old.name, "divide", shape, (natural, self._filled(f"{old.name}.two", shape, np.log(2.0))))

    def _shuffle(self, old: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        """Return a rotation as slices that are concatenated."""
        (value,) = operands
        for dimension, shift in zip(old["dimensions"], old["shifts"], strict=True):
            value = self._rotated(f"{old.name}.{dimension}", value, dimension, shift)
        return self._add(old.name, "copy", without_layouts(old.shape), (value,))

    def _rotated(self, name: str, value: Instruction, dimension: int, shift: int) -> Instruction:
        shape = value.array_shape
        size = shape.dimensions[dimension]
        first = shift % max(size, 1)
        whole = [SliceDimension(0, each, 1) for each in shape.dimensions]
        parts = []
        for part, (start, stop) in {"tail": (first, size), "head": (0, first)}.items():
            index = (*whole[:dimension], SliceDimension(start, stop, 1), *whole[dimension + 1 :])
            sizes = (*shape.dimensions[:dimension], stop - start, *shape.dimensions[dimension + 1 :])
            cut = ArrayShape(shape.element_type, sizes)
            parts.append(self._add(f"{name}.{part}", "slice", cut, (value,), slice=index))
        return self._add(name, "concatenate", shape, tuple(parts), dimensions=(dimension,))

    def _transpose(self, name: str, value: Instruction, permutation: tuple[int, ...]) -> Instruction:
        sizes = tuple(value.array_shape.dimensions[axis] for axis in permutation)
        shape = ArrayShape(value.array_shape.element_type, sizes)
        return self._add(name, "transpose", shape, (value,), dimensions=permutation)

    RULES: ClassVar[Mapping[str, Callable[..., Instruction]]] = {
        "async-done": _first_operand,
        "async-start": _async_start,
        "async-update": _first_operand,
        "bitcast": _bitcast,
        "copy-done": _first_operand,
        "copy-start": _first_operand,
        "custom-call": _custom_call,
        "domain": _first_operand,
        "exp2": _exp2,
        "fusion": _fusion,
        "log2": _log2,
        "shuffle": _shuffle,
    }

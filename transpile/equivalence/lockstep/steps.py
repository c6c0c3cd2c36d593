"""A step of a program: each instruction of a computation alone, on the operands that emitted code had.

If the reference's result for these operands differs from emitted code's, the instruction introduced the error; an error
in the operands is inherited. Operands that emitted code never had as values (a broadcast that NumPy does implicitly, a
sum that became a mean) are computed by the reference from earlier values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ...array.graph import Graph
from ...array.node import Node, Region, literal_value
from ...array.program import Scope
from ...array.value import Value
from ...dataclass import dataclass
from ...hlo.carriers import Array
from ...hlo.ir import HloModule, Instruction
from ...hlo.shapes import without_layouts
from ..shrinking.cases import array_leaves, as_tuple, flat, kept_header, module_of, new_parameter, ordered

# They compute nothing, have no arrays to compare, or have another result each time.
_NOT_CHECKED = frozenset(
    "parameter constant tuple get-tuple-element after-all add-dependency domain infeed outfeed send send-done recv "
    "recv-done rng rng-get-and-update-state async-start async-update async-done partition-id replica-id".split()
)
IN_PLACE = frozenset(("call", "fusion", "async-start"))

Recorded = Mapping[Node, Array]
Expected = dict[Instruction, tuple[list[Array], list[Array]]]  # results, and sums of the magnitudes of terms


def emitted_leaves(lowered: Any, graph: Graph, recorded: Recorded) -> list[Array | None]:
    """Return the arrays that emitted code had for a lowered value, in logical shape; None for each unknown one."""
    if lowered is None:
        return []
    if isinstance(lowered, Value):
        return [_logical(lowered, graph, recorded)]
    return [leaf for part in lowered for leaf in emitted_leaves(part, graph, recorded)]


def _logical(value: Value, graph: Graph, recorded: Recorded) -> Array | None:
    node = graph.current(value.node)
    if value.sizes or not graph.has_current(value.node):
        return None
    if node.is_literal:
        array = literal_value(node)
    elif node.opcode == "integer":
        array = np.asarray(node.parameters["value"])
    elif node in recorded:
        array = recorded[node]
    else:
        return None
    if node.is_python_int or node.opcode == "integer" or node.parameters.get("plain"):  # its users give it a type
        array = array.astype(value.node.type.dtype)
    order = graph.turned.get(value.node, tuple(range(node.ndim)))
    if len(order) != node.ndim or not _same_but_units([node.shape[axis] for axis in order], value.node.shape):
        return None  # a rewrite changed its layout
    array = array.transpose(order) if array.ndim == node.ndim else array
    if array.size != math.prod(value.node.shape):
        return array  # of a wrong shape, which the comparison reports
    return _seen_through(array.reshape(value.node.shape), value)


def _same_but_units(a: Sequence[int], b: Sequence[int]) -> bool:
    return [size for size in a if size != 1] == [size for size in b if size != 1]


def _seen_through(array: Array, value: Value) -> Array:
    """Return the node's array through the axis map."""
    mapped = [axis for axis in value.axes if axis is not None]
    array = array.transpose(mapped)
    index = tuple(slice(None) if axis is not None else None for axis in value.axes)
    return np.broadcast_to(array[index], value.shape)


def known_instructions(scope: Scope, graph: Graph, values: Recorded) -> frozenset[Instruction]:
    """Return the instructions of a scope whose values emitted code had, in the right shapes."""
    return frozenset(
        i
        for i in scope.values
        if array_leaves(i.shape) and all(leaf is not None for leaf in typed_leaves(i, scope, graph, values))
    )


def typed_leaves(instruction: Instruction, scope: Scope, graph: Graph, values: Recorded) -> list[Array | None]:
    """Return the arrays of an instruction as emitted code had them, in HLO's types; None for an array of another
    shape.
    """
    typed: list[Array | None] = []
    leaves = emitted_leaves(scope.values[instruction], graph, values)
    for shape, array in zip(array_leaves(instruction.shape), leaves, strict=True):
        fits = array is not None and array.shape == shape.dimensions
        typed.append(np.asarray(array).astype(shape.element_type.dtype) if fits else None)
    return typed


def state_nodes(lowered: Any) -> list[Node]:
    """Return the nodes of a lowered value, in order."""
    if lowered is None:
        return []
    return [lowered.node] if isinstance(lowered, Value) else [node for part in lowered for node in state_nodes(part)]


@dataclass(slots=True)
class BodyEnd:
    """All values at the end of the body of a loop or function, each with the number of its event."""

    function: int
    region: Region
    values: dict[Node, Array]
    times: dict[Node, int]
    lines: dict[Node, int]
    begun: int
    ended: int
    iterations: tuple[int, ...]
    runs: dict[Region, list[BodyEnd]] = field(default_factory=dict)  # the iterations of inner loops


@dataclass(frozen=True, slots=True)
class Check:
    """An instruction, and the earlier instructions that only the reference computes.

    If it ``adds_up`` terms, the reference also returns the sum of their magnitudes, by which rounding is measured.
    """

    instruction: Instruction
    inside: tuple[Instruction, ...]
    adds_up: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A module whose parameters are known operands, and whose results are those of the checks."""

    module: HloModule
    parameters: tuple[Instruction, ...]  # the instruction whose emitted value each parameter has
    checks: tuple[Check, ...]

    def arrays(self, scope: Scope, graph: Graph, values: Recorded) -> list[Array]:
        """Return the values of the parameters that emitted code had."""
        leaves = (leaf for instruction in self.parameters for leaf in typed_leaves(instruction, scope, graph, values))
        return [leaf for leaf in leaves if leaf is not None]

    def expected(self, results: Iterable[Array]) -> Expected:
        """Return the results of each checked instruction, with the sums of magnitudes of its terms if it adds up
        terms.
        """
        rest = iter(results)
        found = {}
        for check in self.checks:
            count = len(array_leaves(check.instruction.shape))
            values = [next(rest) for _ in range(count)]
            found[check.instruction] = (values, [next(rest) for _ in range(count if check.adds_up else 0)])
        return found


def step_of(scope: Scope, known: frozenset[Instruction], like: HloModule, wanted: Iterable[Instruction]) -> Step:
    """Return the step that checks the ``wanted`` instructions of a scope, without those that depend on values that
    are not ``known``. The module has the name and header of ``like``.
    """
    made: dict[Instruction, Instruction | None] = {}
    inside: dict[Instruction, tuple[Instruction, ...]] = {}
    parameters: dict[Instruction, Instruction] = {}

    def operand(instruction: Instruction) -> Instruction | None:
        if instruction in known and instruction.opcode != "constant":
            if instruction not in parameters:
                parameters[instruction] = new_parameter(instruction.name, without_layouts(instruction.shape))
            return parameters[instruction]
        return made.get(instruction)

    def again(instruction: Instruction) -> Instruction | None:
        operands = [operand(each) for each in instruction.operands]
        if instruction.opcode == "parameter" or any(each is None for each in operands):
            return None
        return instruction.replace(operands=tuple(each for each in operands if each is not None))

    for instruction in scope.computation.instructions:  # operands first
        unknown = [each for each in instruction.operands if each not in known]
        inside[instruction] = tuple(dict.fromkeys(part for each in unknown for part in (*inside[each], each)))
        if instruction not in known or instruction.opcode == "constant":
            made[instruction] = again(instruction)
    checks: list[Check] = []
    roots: list[Instruction] = []
    for instruction in wanted:
        root = made[instruction] if instruction in made else again(instruction)
        if root is not None:
            magnitudes = _magnitudes(root)
            checks.append(Check(instruction, inside[instruction], bool(magnitudes)))
            roots += flat(root) + magnitudes
    root = as_tuple(roots)
    needed = set(ordered(root))
    used = {source: parameter for source, parameter in parameters.items() if parameter in needed}
    module = module_of(root, used.values(), like.name, kept_header(like), like)
    return Step(module, tuple(used), tuple(checks))


_SUMS = frozenset(("convolution", "dot", "ragged-dot", "reduce", "reduce-window"))


def _magnitudes(instruction: Instruction) -> list[Instruction]:
    """Return the same sums over the operands' absolute values; none if the instruction is not a sum."""
    types = [shape.element_type for operand in instruction.operands for shape in array_leaves(operand.shape)]
    is_sum = instruction.opcode in _SUMS and all(called.root.opcode == "add" for called in instruction.called)
    if not is_sum or not all(each.is_floating for each in types):
        return []
    operands = (Instruction(f"{o.name}.abs", "abs", without_layouts(o.shape), (o,)) for o in instruction.operands)
    return flat(instruction.replace(name=f"{instruction.name}.abs", operands=tuple(operands)))


def checkable(scope: Scope) -> list[Instruction]:
    """Return the instructions of a scope that a step can check."""
    candidates = [i for i in scope.values if i.opcode not in _NOT_CHECKED and array_leaves(i.shape)]
    return [instruction for instruction in candidates if not _is_in_place(instruction, scope)]


def _is_in_place(instruction: Instruction, scope: Scope) -> bool:
    """Return whether the computation that an instruction calls is inlined in the text, and so is checked itself."""
    calls = ((instruction, called) for called in instruction.called)
    return instruction.opcode in IN_PLACE and any(call in scope.called for call in calls)

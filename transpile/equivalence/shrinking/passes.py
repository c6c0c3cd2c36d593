"""The passes of the reducer, in order: each proposes smaller cases of a case, the largest cuts first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import XlaToPythonError
from ...hlo.carriers import Array
from ...hlo.ir import Computation, HloModule, Instruction, with_called
from ...hlo.printer import print_module
from ...hlo.shapes import ArrayShape, TupleShape, without_layouts
from ..inputs.generate import make_inputs
from .cases import (
    Case,
    Leaves,
    array_leaves,
    as_tuple,
    flat,
    inlined,
    module_of,
    new_parameter,
    ordered,
    substituted,
    tree_of,
)
from .shapes import smaller_shapes

_LEAF_OPCODES = frozenset(("parameter", "constant"))
_FEW = 24  # instructions at most, for each to be tried alone
_MOST_FAILURES = 3  # of the reference, after which values are only made up
_ITERATIONS = (0, 1, 2, 3, 5, 8, 16, 32, 64)  # iterations whose state is tried as inputs of a loop's body
NOTES = frozenset(
    ("backend_config", "control-predecessors", "frontend_attributes", "metadata", "origin", "sharding", "statistics")
)


class Values:
    """The values of instructions, from the reference, or made up if it refuses."""

    def __init__(self, evaluate: Callable[[str, list[Array]], list[Array]]) -> None:
        self._evaluate = evaluate
        self._failures = 0
        self._known: dict[Instruction, Leaves] = {}
        self._arguments: dict[Instruction, Leaves] = {}

    def of(self, case: Case, wanted: Sequence[Instruction]) -> dict[Instruction, Leaves]:
        """Return the arrays of some instructions of a case."""
        if any(self._arguments.get(parameter, leaves) is not leaves for parameter, leaves in case.arguments.items()):
            self._known.clear()
        self._arguments = dict(case.arguments)
        missing = [instruction for instruction in wanted if instruction not in self._known]
        if missing:
            probe = case.with_root(as_tuple(part for instruction in missing for part in flat(instruction)))
            module = probe.module()
            results = self._results(module, probe.inputs()) or _made_up(missing)
            rest = iter(results)
            for instruction in missing:
                self._known[instruction] = tuple(next(rest) for _ in array_leaves(instruction.shape))
        return {instruction: self._known[instruction] for instruction in wanted}

    def _results(self, module: HloModule, inputs: list[Array]) -> list[Array] | None:
        """Return the reference's results, or None if it refuses, or has refused too often."""
        if self._failures < _MOST_FAILURES:
            try:
                return self._evaluate(print_module(module), inputs)
            except XlaToPythonError:
                self._failures += 1
        return None


def _made_up(instructions: Sequence[Instruction]) -> list[Array]:
    """Return ordinary values of the right shapes."""
    parameters = [new_parameter(f"p{k}", instruction.shape) for k, instruction in enumerate(instructions)]
    return make_inputs(module_of(as_tuple(parameters), parameters, "values"))


# -- outputs


def outputs(case: Case, values: Values) -> Iterator[Case]:
    """Yield cases with one of several results, then without a half, a quarter, .. of them."""
    root = case.root
    if not isinstance(root.shape, TupleShape):
        return
    parts = list(root.operands) if root.opcode == "tuple" else flat(root)
    for part in parts:
        yield case.with_root(part)
    for kept in _less(parts):
        yield case.with_root(as_tuple(kept, root.name))


def _less(parts: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the parts without a chunk of them, large chunks first."""
    size = len(parts) // 2
    while size:
        for start in range(0, len(parts), size):
            yield [*parts[:start], *parts[start + size :]]
        size //= 2


# -- instructions


def earlier_root(case: Case, values: Values) -> Iterator[Case]:
    """Yield cases with an earlier instruction as the result, by bisection: half-way first, then ever later."""
    body = [i for i in ordered(case.root)[:-1] if i.opcode not in _LEAF_OPCODES and array_leaves(i.shape)]
    low = 0
    while low < len(body):
        middle = (low + len(body)) // 2
        yield case.with_root(body[middle])
        low = middle + 1
    if len(body) <= _FEW:
        for instruction in body:
            yield case.with_root(instruction)


def isolated(case: Case, values: Values) -> Iterator[Case]:
    """Yield the root alone on the values of its operands, then with up to four steps before it."""
    for depth in (1, 2, 3, 5):
        frontier = _frontier(case.root, depth)
        if frontier:
            yield _cut(case, frontier, values)
    body = [i for i in ordered(case.root)[:-1] if i.opcode not in _LEAF_OPCODES and array_leaves(i.shape)]
    if len(body) <= _FEW:
        for instruction in body:
            single = case.with_root(instruction)
            frontier = _frontier(instruction, 1)
            if frontier:
                yield _cut(single, frontier, values)


def _frontier(root: Instruction, depth: int) -> list[Instruction]:
    """Return the instructions that the last ``depth`` steps before the root use as operands, if they can be
    parameters.
    """
    inside, level = {root}, [root]
    for _ in range(depth - 1):
        level = [operand for instruction in level for operand in instruction.operands]
        inside.update(i for i in level if i.opcode not in _LEAF_OPCODES)
    before = dict.fromkeys(o for i in ordered(root) if i in inside for o in i.operands if o not in inside)
    return [instruction for instruction in before if _can_be_parameter(instruction)]


def _can_be_parameter(instruction: Instruction) -> bool:
    return instruction.opcode not in _LEAF_OPCODES and bool(array_leaves(instruction.shape))


def cut(case: Case, values: Values) -> Iterator[Case]:
    """Yield cases with parameters in place of instructions: of all, of half of them, a quarter, .., of one."""
    body = [i for i in ordered(case.root)[:-1] if _can_be_parameter(i)]
    size = len(body)
    while size:
        for start in range(0, len(body), size):
            yield _cut(case, body[start : start + size], values)
        size //= 2


def _cut(case: Case, instructions: Sequence[Instruction], values: Values) -> Case:
    """Return the case with parameters in place of some instructions."""
    known = values.of(case, instructions)
    parameters = {i: new_parameter(i.name, without_layouts(i.shape)) for i in instructions}
    arguments = {parameters[i]: known[i] for i in instructions}
    return case.with_root(substituted(case.root, parameters), arguments)


def forwarded(case: Case, values: Values) -> Iterator[Case]:
    """Yield cases with an instruction replaced by an operand of the same shape."""
    for instruction in ordered(case.root):
        for operand in instruction.operands:
            if operand.shape == instruction.shape:
                yield case.with_root(substituted(case.root, {instruction: operand}))


def flat_parameters(case: Case, values: Values) -> Iterator[Case]:
    """Yield cases with arrays in place of a tuple parameter; unused ones disappear."""
    for parameter, leaves in case.arguments.items():
        if isinstance(parameter.shape, TupleShape):
            parts = [
                new_parameter(f"{parameter.name}.{k}", without_layouts(s))
                for k, s in enumerate(array_leaves(parameter.shape))
            ]
            whole = tree_of(parameter.shape, iter(parts), parameter.name)
            root = without_unpacking(substituted(case.root, {parameter: whole}))
            yield case.with_root(root, {part: (leaf,) for part, leaf in zip(parts, leaves, strict=True)})


# -- computations


def calls(case: Case, values: Values) -> Iterator[Case]:
    """Yield cases with a call inlined: of a fusion, a branch, one iteration of a loop."""
    for instruction in ordered(case.root):
        for body in _bodies(instruction, case, values):
            yield case.with_root(without_unpacking(substituted(case.root, {instruction: body[0]})), body[1])


Body = tuple[Instruction, dict[Instruction, Leaves]]


def _bodies(instruction: Instruction, case: Case, values: Values) -> Iterator[Body]:
    opcode = instruction.opcode
    if opcode in ("call", "fusion"):
        yield inlined(instruction.called[0], instruction.operands), {}
    elif opcode == "conditional":
        arguments = list(instruction.operands[1:])
        computations = list(instruction.called)
        for computation, argument in zip(computations, arguments, strict=False):
            yield inlined(computation, [argument]), {}
    elif opcode == "while":
        yield from _iterations(instruction, case, values)


def _iterations(loop: Instruction, case: Case, values: Values) -> Iterator[Body]:
    """Yield one iteration of a loop, on the state that the reference has at its start."""
    state = loop.operands[0]
    body: Computation = loop["body"]
    yield inlined(body, [state]), {}
    parameter = new_parameter(loop.name, without_layouts(loop.shape))
    leaves = values.of(case, [state])[state]
    single = case.with_root(inlined(body, [parameter]), {parameter: leaves})
    for iteration in range(_ITERATIONS[-1] + 1):
        if iteration in _ITERATIONS:
            yield single.root, {parameter: leaves}
        step = single.with_root(single.root, {parameter: leaves})
        leaves = values.of(step, [single.root])[single.root]


def regions(case: Case, values: Values) -> Iterator[Case]:
    """Yield cases in which an instruction of a called computation is replaced by an operand of the same shape.

    Loops are left alone: without some of their instructions, most would run forever.
    """
    whiles = [instruction for instruction in ordered(case.root) if instruction.opcode == "while"]
    loops = {inner for loop in whiles for inner in (*loop.called, *called_by(loop["body"].root))}
    for computation in called_by(case.root):
        if computation in loops:
            continue
        for instruction in computation.instructions:
            if instruction.opcode in _LEAF_OPCODES:
                continue
            for other in instruction.operands:
                if other.shape == instruction.shape:
                    root = substituted(computation.root, {instruction: other})
                    yield case.with_root(with_computation(case.root, computation, with_root(computation, root)))


# -- values


def constants(case: Case, values: Values) -> Iterator[Case]:
    """Yield cases with simpler constants: 0, 1, half of the value."""
    for instruction in ordered(case.root):
        if instruction.opcode == "constant" and isinstance(instruction.shape, ArrayShape):
            for literal in _simpler(np.asarray(instruction["literal"])):
                changed = instruction.replace(attributes={**instruction.attributes, "literal": literal})
                yield case.with_root(substituted(case.root, {instruction: changed}))


def simpler_inputs(case: Case, values: Values) -> Iterator[Case]:
    """Yield cases with simpler arguments: zeros, ones, integers, zeros in a half, a quarter, .. of the elements."""
    needed = set(ordered(case.root))
    for parameter, leaves in case.arguments.items():
        if parameter in needed:
            for k, leaf in enumerate(leaves):
                for simpler in _simpler(leaf):
                    yield case.with_root(case.root, {parameter: (*leaves[:k], simpler, *leaves[k + 1 :])})


def _simpler(array: Array) -> Iterator[Array]:
    """Yield simpler arrays of the same shape and dtype. Each is strictly simpler, so that the search ends."""
    for value in (0, 1):
        whole = np.full(array.shape, value).astype(array.dtype)
        if (array != whole).any() and not (value and not array.any()):
            yield whole
    if array.dtype.kind in "iu" and array.size == 1 and abs(int(array.reshape(())[()])) > 1:
        yield np.asarray(np.trunc(array.astype(np.float64) / 2)).astype(array.dtype)
    if array.dtype.kind not in "biu" and not np.iscomplexobj(array):
        with np.errstate(all="ignore"):
            rounded = np.rint(array.astype(np.float64)).astype(array.dtype)
        if (rounded != array).any() and np.isfinite(array.astype(np.float64)).all():
            yield rounded
    yield from _zeroed(array)


_MOST_ZEROED = 64  # chunks of elements that are tried as zeros


def _zeroed(array: Array) -> Iterator[Array]:
    """Yield the array with zeros in a chunk of its non-zero elements, large chunks first."""
    kept = np.flatnonzero(array.ravel())
    size = len(kept) // 2
    while size and len(kept) // size <= _MOST_ZEROED:
        for start in range(0, len(kept), size):
            changed = array.copy().ravel()
            changed[kept[start : start + size]] = np.zeros((), array.dtype)
            yield changed.reshape(array.shape)
        size //= 2


# -- annotations


def plain(case: Case, values: Values) -> Iterator[Case]:
    """Yield the case without metadata and compiler annotations."""
    everything = [*ordered(case.root), *(i for called in called_by(case.root) for i in called.instructions)]
    if not any(i.metadata is not None or NOTES & i.attributes.keys() for i in everything):
        return
    computations: dict[Computation, Computation] = {}
    for called in reversed(called_by(case.root)):  # callees first
        inner = without_notes(called.instructions, computations)
        computations[called] = replace(called, instructions=tuple(inner.values()), root=inner[called.root])
    made = without_notes(ordered(case.root), computations)
    arguments = {made[p]: leaves for p, leaves in case.arguments.items() if p in made}
    yield replace(case, root=made[case.root], arguments=arguments, like=replace(case.like, stack_frames=(), sources={}))


Reducer = Callable[[Case, Values], Iterator[Case]]

REDUCERS: tuple[Reducer, ...] = (
    outputs,
    earlier_root,
    isolated,
    flat_parameters,
    calls,
    cut,
    forwarded,
    regions,
    constants,
    lambda case, values: smaller_shapes(case),
    simpler_inputs,
    plain,
)

# -- rewrites that reducers use


def without_unpacking(root: Instruction) -> Instruction:
    """Return the root with each ``get-tuple-element`` of a ``tuple`` replaced by the element."""
    made: dict[Instruction, Instruction] = {}
    for instruction in ordered(root):
        operands = tuple(made[operand] for operand in instruction.operands)
        changed = instruction if operands == instruction.operands else instruction.replace(operands=operands)
        if changed.opcode == "get-tuple-element" and operands[0].opcode == "tuple":
            changed = operands[0].operands[changed["index"]]
        made[instruction] = changed
    return made[root]


def called_by(root: Instruction) -> list[Computation]:
    """Return the computations that a root needs, callers first, each once."""
    found: dict[Computation, None] = {}
    stack = [computation for instruction in ordered(root) for computation in instruction.called]
    while stack:
        computation = stack.pop(0)
        if computation not in found:
            found[computation] = None
            stack += [inner for instruction in computation.instructions for inner in instruction.called]
    return list(found)


def with_root(computation: Computation, root: Instruction) -> Computation:
    """Return a computation with the same parameters and another root."""
    return replace(computation, instructions=tuple(ordered(*computation.parameters, root)), root=root)


def with_computation(root: Instruction, old: Computation, new: Computation) -> Instruction:
    """Return the root with a computation replaced wherever it is called."""
    made = {old: new}
    for computation in reversed(called_by(root)):  # callees first
        if computation not in made:
            changed = _calling(computation.root, made)
            made[computation] = computation if changed is computation.root else with_root(computation, changed)
    return _calling(root, made)


def _calling(root: Instruction, made: dict[Computation, Computation]) -> Instruction:
    changes: dict[Instruction, Instruction] = {}

    def exchange(old: Computation) -> Computation:
        return made.get(old, old)

    for instruction in ordered(root):
        attributes = {key: with_called(value, exchange) for key, value in instruction.attributes.items()}
        operands = tuple(changes.get(operand, operand) for operand in instruction.operands)
        if operands != instruction.operands or any(attributes[k] is not v for k, v in instruction.attributes.items()):
            changes[instruction] = instruction.replace(attributes=attributes, operands=operands)
    return changes.get(root, root)


def without_notes(
    instructions: Sequence[Instruction], computations: dict[Computation, Computation]
) -> dict[Instruction, Instruction]:
    """Return instructions without metadata and annotations, which call the replacements of their computations."""
    made: dict[Instruction, Instruction] = {}

    def exchange(old: Computation) -> Computation:
        return computations.get(old, old)

    for instruction in instructions:
        kept = {k: with_called(v, exchange) for k, v in instruction.attributes.items() if k not in NOTES}
        operands = tuple(made[operand] for operand in instruction.operands)
        made[instruction] = instruction.replace(attributes=kept, operands=operands, metadata=None)
    return made

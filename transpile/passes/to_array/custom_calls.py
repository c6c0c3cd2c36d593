"""Lowers custom-call: known targets that HLO cannot define, and hooks of the user for others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...array.node import ForeignName, HostName, Node, PreludeName, Slot
from ...array.value import Value
from ...hlo.attributes import SliceDimension
from ...hlo.carriers import NARROWING, WIDENING
from ...hlo.custom_calls import PLACEMENTS, Call, complaint, known_call, read_call
from ...hlo.custom_calls.special_functions import (
    ASSOCIATIVE_SCAN,
    IN_WIDER,
    LINEAR_RECURRENCE,
    OWN_TARGETS,
    WITH_FLOAT64,
)
from ...hlo.element_types import F64, S32, U64
from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape, Shape, TupleShape, leaves
from ...hlo.shardings import AFTER_PARTITIONER
from ...hlo.source import Diagnostic, UnsupportedError
from .control import flattened, unflattened
from .elementwise import converted
from .linear_algebra import permutation
from .lowering import FunctionLowering, Lowered, lowers
from .structure import sliced

# Targets that the legalization of narrow element types makes; input may not name them.
_CARRIERS = {f"xla2py.{function}": function for function in NARROWING | WIDENING}


def refusal(instruction: Instruction, hooks: Mapping[str, str]) -> Diagnostic | None:
    """Return why a custom call is refused, or None: its target is unknown (XP305), or it is malformed (XP308)."""
    target = instruction["custom_call_target"]
    if target in hooks:
        return None
    if known_call(target) is not None:
        return complaint(instruction)
    reason = f"the custom call {target!r} is not known"
    hint = f"give a function for it: --custom-call '{target}=module:function'"
    return Diagnostic("XP305", reason, instruction.span, hint=hint)


@lowers("custom-call")
def custom_call(lowering: FunctionLowering, instruction: Instruction, *operands: Lowered) -> Lowered:
    target = instruction["custom_call_target"]
    hook = lowering.module.options.custom_calls.get(target)
    if hook is not None:
        return _hooked(lowering, instruction, hook, operands)
    if target in _CARRIERS:
        return _of_elements(_CARRIERS[target], lowering, instruction, *operands)
    if target in OWN_TARGETS:
        return _special(OWN_TARGETS[target], lowering, instruction, *operands)
    if target == ASSOCIATIVE_SCAN:
        return _associative_scan(lowering, instruction, *operands)
    if target == LINEAR_RECURRENCE:
        return _linear_recurrence(lowering, instruction, *operands)
    row = known_call(target)
    assert row is not None, f"{target} is refused"
    assert row.rule, f"{target} has a definition, which comes before lowering"
    return _RULES.get(row.rule, partial(_prelude, row.rule))(lowering, read_call(instruction), *operands)


def is_placement(target: str) -> bool:
    """Return whether a custom call only says where its operands should be."""
    return target in PLACEMENTS


def _of_elements(function: str, lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    """Return a prelude function that is applied element by element."""
    shape = instruction.array_shape
    made = lowering.elementwise("prelude", shape.element_type, *operands, shape=shape.dimensions, function=function)
    return replace(made, sizes=operands[0].sizes)


def _special(function: str, lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    """Return a special function of the prelude or of the library."""
    shape = instruction.array_shape
    if function in IN_WIDER:
        own, wider = IN_WIDER[function]
        wide = instruction.replace(shape=replace(shape, element_type=wider))
        made = _special(own, lowering, wide, *(converted(lowering, each, wider) for each in operands))
        return converted(lowering, made, shape.element_type)
    if function.startswith("np."):
        name = function.removeprefix("np.")
        return lowering.elementwise("library", shape.element_type, *operands, shape=shape.dimensions, function=name)
    own = f"{function}_float64" if shape.element_type is F64 and function in WITH_FLOAT64 else function
    return _of_elements(own, lowering, instruction, *operands)


def _associative_scan(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    """Return cumulative combinations of several arrays along the axis in the configuration."""
    nodes = _plain(lowering, operands)
    axis = int(instruction["backend_config"].text)
    arguments = (tuple(Slot(k) for k in range(len(nodes))), lowering.function_of(instruction["to_apply"]))
    return lowering.call_many("associative_scan", nodes, arguments=arguments, **({"axis": axis} if axis else {}))


def _linear_recurrence(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    """Return the states of a recurrence along the axis in the configuration."""
    axis = int(instruction["backend_config"].text)
    keywords: dict[str, Any] = {"axis": axis} if axis else {}
    return lowering.call("linear_recurrence", _plain(lowering, operands), **keywords)


def _hooked(lowering: FunctionLowering, instruction: Instruction, hook: str, operands: tuple[Lowered, ...]) -> Lowered:
    """Return the call of a user's function. It is pure, called once, and gets the operands and, by keyword, the shape
    and the configuration.
    """
    module, function = hook.split(":")
    nodes = tuple(lowering.plain(value) for value in flattened(operands))
    config = instruction.attributes.get("backend_config")
    keywords = {
        "shape": _shape_argument(instruction.shape),
        "backend_config": config.text if config is not None else "",
    }
    parameters: dict[str, Any] = {
        "function": ForeignName(module, function),
        "arguments": tuple(Slot(k) for k in range(len(nodes))),
        "keywords": keywords,
    }
    if isinstance(instruction.shape, TupleShape):
        leaves = list(flattened(_arrays(instruction.shape)))
        types = tuple((shape.dimensions, shape.element_type) for shape in leaves)  # type: ignore[attr-defined]
        node = lowering.graph.add("prelude", nodes, results=types, pinned=True, **parameters)
        return unflattened(instruction.shape, iter(lowering.items(node)))
    shape = instruction.array_shape
    return Value.of(
        lowering.graph.add(
            "prelude", nodes, shape=shape.dimensions, element_type=shape.element_type, pinned=True, **parameters
        )
    )


def _arrays(shape: Shape) -> Any:
    if isinstance(shape, TupleShape):
        return tuple(_arrays(element) for element in shape.elements)
    return shape if isinstance(shape, ArrayShape) else None


def _shape_argument(shape: Shape) -> Any:
    if isinstance(shape, TupleShape):
        return tuple(_shape_argument(element) for element in shape.elements)
    return shape.dimensions if isinstance(shape, ArrayShape) else None


# -- rules: ``(lowering, call, *operands)``


def _prelude(function: str, lowering: FunctionLowering, call: Call, *operands: Value) -> Lowered:
    """Return a prelude function of the operands, with the configuration as keywords."""
    nodes = _plain(lowering, operands)
    if isinstance(call.instruction.shape, TupleShape):
        return lowering.call_many(function, nodes, **call.config)
    return lowering.call(function, nodes, **call.config)


def _placement(lowering: FunctionLowering, call: Call, *operands: Lowered) -> Lowered:
    """Return the operands. Raises UnsupportedError XP362 if devices would have only parts of them."""
    instruction = call.instruction
    wanted = [shape.dimensions for shape in instruction.element_shapes if isinstance(shape, ArrayShape)]
    given = [value.shape for value in flattened(operands)]
    if wanted[: len(given)] != given[: len(wanted)]:
        message = f"{instruction.name} divides arrays among devices: the program is still to be partitioned"
        raise UnsupportedError(Diagnostic("XP362", message, instruction.span, hint=AFTER_PARTITIONER))
    return operands[0] if isinstance(instruction.shape, ArrayShape) or len(operands) == 1 else operands


def _gesdd(lowering: FunctionLowering, call: Call, *operands: Value) -> Lowered:
    """Return singular values and vectors; the result shapes without vectors may be smaller than the prelude's."""
    workspace, values, left, right, info = lowering.call_many("gesdd", _plain(lowering, operands), **call.config)
    cut = [
        sliced(lowering, part, tuple(SliceDimension(0, size) for size in call.result(index).dimensions))
        for index, part in ((2, left), (3, right))
    ]
    return workspace, values, *cut, info


def _plain(lowering: FunctionLowering, operands: Sequence[Value]) -> tuple[Node, ...]:
    return tuple(lowering.plain(value) for value in operands)


def _pivots_to_permutation(lowering: FunctionLowering, call: Call, pivots: Value) -> Value:
    return Value.of(permutation(lowering.graph, lowering.plain(pivots), call.result().dimensions[-1]))


def _zeros(lowering: FunctionLowering, call: Call, *operands: Value) -> Value:
    shape = call.result()
    return Value.repeated(lowering.graph.literal(0, shape.element_type), shape.dimensions)


def _rng_seed(lowering: FunctionLowering, call: Call) -> Value:
    """Return 64 random bits of the generator of ``rng``."""
    bounds = tuple(lowering.graph.literal(bound, U64) for bound in (0, 2**64 - 1))
    arguments = (Slot(0), Slot(1), (), U64, PreludeName("GENERATOR"))
    return lowering.call_in_order("rng_uniform", bounds, arguments)


def _pad_to_static(lowering: FunctionLowering, call: Call, operand: Value) -> Lowered:
    """Return an array of the bound's shape, with any values beyond the sizes, and the size of every dimension."""
    sizes = dict(operand.sizes)
    found = (_size(lowering, sizes.get(d), n) for d, n in enumerate(operand.shape))
    return (replace(operand, sizes=()), *found)


def _size(lowering: FunctionLowering, size: Node | None, bound: int) -> Value:
    if size is None:
        return Value.of(lowering.graph.literal(bound, S32))
    return converted(lowering, Value.of(size), S32)


def _slice_to_dynamic(lowering: FunctionLowering, call: Call, operand: Value, *sizes: Value) -> Value:
    dynamic = call.result().dynamic
    named = ((d, lowering.strong(sizes[d].node)) for d, is_dynamic in enumerate(dynamic) if is_dynamic)
    return replace(operand, sizes=tuple(named))


def _callback(lowering: FunctionLowering, call: Call, *operands: Lowered) -> Lowered:
    """Return the results of a function that may be passed to ``main``; zeros if nothing uses them."""
    instruction = call.instruction
    found = lowering.module.callbacks[instruction]
    shapes = [shape for _, shape in leaves(instruction.shape) if isinstance(shape, ArrayShape)]
    if not found.is_used:
        given = iter([Value.repeated(lowering.graph.literal(0, s.element_type), s.dimensions) for s in shapes])
        return unflattened(instruction.shape, given)
    nodes = tuple(lowering.plain(value) for value in flattened(operands))
    if not instruction["custom_call_target"].startswith("xla_ffi_"):
        nodes = nodes[1:]  # the first operand is the address of the function
    arguments = (HostName(found.name), *(Slot(k) for k in range(len(nodes))))
    made = lowering.effect("prelude", nodes, shapes, function="call_back", arguments=arguments, keywords={})
    return unflattened(instruction.shape, iter(made))


_RULES: dict[str, Callable[..., Lowered]] = {
    "placement": _placement,
    "callback": _callback,
    "gesdd": _gesdd,
    "pivots_to_permutation": _pivots_to_permutation,
    "zeros": _zeros,
    "rng_seed": _rng_seed,
    "pad_to_static": _pad_to_static,
    "slice_to_dynamic": _slice_to_dynamic,
}

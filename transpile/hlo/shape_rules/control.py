"""Shape rules of tuples, calls, loops, branches, asynchronous wrappers and ordering."""

from __future__ import annotations

from collections.abc import Sequence

from ..element_types import PRED, S32, U32
from ..ir import Computation
from ..shapes import TOKEN, ArrayShape, Shape, TokenShape, TupleShape, compatible
from .common import (
    Operation,
    Rule,
    array_of,
    dynamic_flags,
    is_scalar,
    refuse,
    require_parameters,
    scalar,
    shape_text,
    signature,
)


def tuple_operand(op: Operation, at_least: int) -> TupleShape:
    """Return operand 0; refuse (XP210) anything but a tuple of at least this many elements."""
    operand = op.operands[0]
    if not isinstance(operand, TupleShape) or len(operand.elements) < at_least:
        op.refuse("XP210", f"operand 0 has to be a tuple of at least {at_least} elements, not {shape_text(operand)}")
    return operand


def _get_tuple_element(op: Operation) -> Shape:
    operand, index = tuple_operand(op, 0), op["index"]
    if not 0 <= index < len(operand.elements):
        op.refuse("XP219", f"index {index} of a tuple of {len(operand.elements)} elements")
    element: Shape = operand.elements[index]
    return element


def _while(op: Operation) -> Shape:
    (carried,) = op.operands
    condition, body = signature(op["condition"]), signature(op["body"])
    require_parameters(op, condition, [carried], "the condition")
    require_parameters(op, body, [carried], "the body")
    if not is_scalar(condition.result, PRED):
        op.refuse("XP217", f"the condition {condition.name} has to give pred[], not {shape_text(condition.result)}")
    if not compatible(body.result, carried):
        op.refuse(
            "XP217",
            f"the body {body.name} has to give back what it takes, {shape_text(carried)}, "
            f"not {shape_text(body.result)}",
        )
    return carried


def branches(op: Operation) -> tuple[Computation, ...]:
    """Return a conditional's computations; with a pred, the true one first."""
    if op["branch_computations"] is not None:
        return tuple(op["branch_computations"])
    if op["true_computation"] is None or op["false_computation"] is None:
        refuse("XP202", f"{op.opcode} needs branch_computations, or true_computation and false_computation")
    return (op["true_computation"], op["false_computation"])


def _conditional(op: Operation) -> Shape:
    chooser, computations = op.operands[0], branches(op)
    if not is_scalar(chooser, PRED) and not is_scalar(chooser, S32):
        refuse("XP213", f"{op.opcode} chooses by pred[] or s32[], not by {shape_text(chooser)}")
    if is_scalar(chooser, PRED) != (op["branch_computations"] is None):
        hint = "pred goes with true_computation and false_computation, s32 with branch_computations"
        op.refuse("XP202", f"{shape_text(chooser)} does not choose among what the attributes name", hint)
    if not computations:
        refuse("XP202", f"{op.opcode} needs at least one branch")
    if len(op.operands) != len(computations) + 1:
        op.refuse("XP201", f"{len(computations)} branches need as many operands, not {len(op.operands) - 1}")
    signatures = [signature(computation) for computation in computations]
    for number, (branch, operand) in enumerate(zip(signatures, op.operands[1:], strict=True)):
        require_parameters(op, branch, [operand], f"branch {number},")
        if not compatible(branch.result, signatures[0].result):
            op.refuse(
                "XP217",
                f"branch {number}, {branch.name}, gives {shape_text(branch.result)}, "
                f"but branch 0 gives {shape_text(signatures[0].result)}",
            )
    return _merged([branch.result for branch in signatures])


def _merged(results: Sequence[Shape]) -> Shape:
    """Return the shape of results of branches: a size that is dynamic in any branch is dynamic, in arrays and in tuples
    of arrays.
    """
    first = results[0]
    if isinstance(first, TupleShape):
        columns = zip(*(r.elements for r in results if isinstance(r, TupleShape)), strict=True)
        return TupleShape(tuple(_merged_arrays(column) for column in columns))
    return _merged_arrays(results)


def _merged_arrays(shapes: Sequence[Shape]) -> Shape:
    first, arrays = shapes[0], [shape for shape in shapes if isinstance(shape, ArrayShape)]
    if not isinstance(first, ArrayShape):
        return first
    flags = [any(column) for column in zip(*map(dynamic_flags, arrays), strict=True)]
    return array_of(first.element_type, first.dimensions, flags)


def _call(op: Operation) -> Shape:
    function = signature(op["to_apply"])
    require_parameters(op, function, op.operands, "the computation")
    return function.result


def _fusion(op: Operation) -> Shape:
    fused = signature(op["calls"])
    require_parameters(op, fused, op.operands, "the computation")
    return fused.result


def _async_parts(op: Operation, shape: Shape) -> tuple[Shape, Shape]:
    """Return operands and result of ``((operands..), result, context..)``, after a check with the wrapped
    computation.
    """
    if not isinstance(shape, TupleShape) or len(shape.elements) < 2:
        op.refuse("XP210", f"its shape has to be ((operands..), result, ..), not {shape_text(shape)}")
    operands, result = shape.elements[:2]
    if op["calls"] is not None:
        wrapped = signature(op["calls"])
        if not compatible(operands, TupleShape(wrapped.parameters)) or not compatible(result, wrapped.result):
            op.refuse("XP217", f"{shape_text(shape)} does not carry {wrapped.name}: {wrapped}")
    return operands, result


def _async_start(op: Operation) -> Shape | None:
    if op["calls"] is None:
        refuse("XP202", f"{op.opcode} needs the attribute calls")
    require_parameters(op, signature(op["calls"]), op.operands, "the wrapped computation")
    if op.declared is not None:
        _async_parts(op, op.declared)
    return None


def _async_update(op: Operation) -> Shape:
    _async_parts(op, op.operands[0])
    return op.operands[0]


def _same(op: Operation) -> Shape:
    return op.operands[0]


def require_token(op: Operation, index: int) -> None:
    if not isinstance(op.operands[index], TokenShape):
        op.refuse("XP210", f"operand {index} has to be token[], not {shape_text(op.operands[index])}")


def _add_dependency(op: Operation) -> Shape:
    require_token(op, 1)
    return op.operands[0]


def _copy_done(op: Operation) -> Shape:
    target, source = tuple_operand(op, 2).elements[:2]
    if not compatible(target, source):
        op.refuse("XP213", f"target {shape_text(target)} and source {shape_text(source)} differ")
    return target


def _custom_call(op: Operation) -> None:
    constraints = op["operand_layout_constraints"]
    if constraints is not None:
        if len(constraints) != len(op.operands):
            op.refuse("XP201", f"{len(constraints)} operand layouts for {len(op.operands)} operands")
        for number, (constraint, operand) in enumerate(zip(constraints, op.operands, strict=True)):
            if not compatible(constraint, operand):
                op.refuse(
                    "XP213",
                    f"operand {number} is {shape_text(operand)}, but its layout is given for {shape_text(constraint)}",
                )


RULES: dict[str, Rule] = {
    "tuple": lambda op: TupleShape(op.operands),
    "get-tuple-element": _get_tuple_element,
    "while": _while,
    "conditional": _conditional,
    "call": _call,
    "fusion": _fusion,
    "async-start": _async_start,
    "async-update": _async_update,
    "async-done": lambda op: _async_parts(op, op.operands[0])[1],
    "opt-barrier": _same,
    "add-dependency": _add_dependency,
    "after-all": lambda op: TOKEN,
    "domain": _same,
    "copy-start": lambda op: TupleShape((op.operands[0], op.operands[0], scalar(U32))),
    "copy-done": _copy_done,
    "custom-call": _custom_call,
}

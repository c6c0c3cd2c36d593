"""Linear recurrences: associative scans of pairs of factors and terms, of which the states alone are read."""

from __future__ import annotations

from collections.abc import Sequence

from ...array.support import Support
from ...hlo.attributes import Raw
from ...hlo.custom_calls.special_functions import LINEAR_RECURRENCE
from ...hlo.element_types import C64, C128, F32, F64
from ...hlo.ir import Computation, Instruction

_TYPES = (F32, F64, C64, C128)


def recurrence_call(
    result: Instruction, wanted: int, arrays: Sequence[Instruction], combine: Computation, axis: int, supports: Support
) -> Instruction | None:
    """The call that takes the place of the result number ``wanted`` of a scan of two arrays, where that is a linear
    recurrence and the target has a function for it."""
    if not supports.features.has_linear_recurrences or len(arrays) != 2 or not _is_linear(combine, wanted):
        return None
    factors, terms = arrays[1 - wanted], arrays[wanted]
    types = {factors.array_shape.element_type, terms.array_shape.element_type}
    if len(types) > 1 or types.isdisjoint(_TYPES) or factors.array_shape.dimensions != terms.array_shape.dimensions:
        return None
    attributes = {"custom_call_target": LINEAR_RECURRENCE, "backend_config": Raw(str(axis))}
    return result.replace(opcode="custom-call", operands=(factors, terms), attributes=attributes)


def _is_linear(combine: Computation, wanted: int) -> bool:
    """Tell whether two elements (f, t) and (g, u) become (f g, g t + u), the second of which is the wanted one."""
    parameters, results = combine.parameters, combine.root.operands
    if combine.root.opcode != "tuple" or len(results) != 2 or len(parameters) != 4:
        return False
    f, g = parameters[1 - wanted], parameters[3 - wanted]
    t, u = parameters[wanted], parameters[2 + wanted]
    state = results[wanted]
    products = [each for each in state.operands if _is(each, "multiply", g, t)]
    return _is(results[1 - wanted], "multiply", f, g) and bool(products) and _is(state, "add", products[0], u)


def _is(instruction: Instruction, opcode: str, a: Instruction, b: Instruction) -> bool:
    """Tell whether an instruction combines two others, in either order."""
    return instruction.opcode == opcode and instruction.operands in ((a, b), (b, a))

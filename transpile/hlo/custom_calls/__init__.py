"""Custom calls that are known: what each target takes, and what it computes.

A row of :data:`CUSTOM_CALLS` is a :class:`~.call.CustomCall`. Reading an instruction by its row is the only way to its
configuration, so that a malformed one ends in a diagnostic.
"""

from __future__ import annotations

from ..ir import Computation, Instruction
from ..shape_rules.common import shape_text
from ..shapes import TupleShape, compatible
from ..source import Diagnostic, HloVerificationError
from .block_scaling import BLOCK_SCALING
from .call import Call, CustomCall
from .callbacks import CALLBACKS, Callback, callbacks, is_callback, known_functions
from .convolutions import CONVOLUTIONS
from .fields import ConfigError
from .functions import FUNCTIONS
from .gpu_lapack import gpu_lapack_calls
from .lapack import lapack_calls
from .matrix_products import MATRIX_PRODUCTS
from .orders import ORDERS
from .others import OTHERS, PLACEMENTS
from .sparse import SPARSE
from .special_functions import SPECIAL_CALLS
from .tpu_lapack import TPU_LAPACK
from .xla_library import XLA_LIBRARY

CUSTOM_CALLS: dict[str, CustomCall] = {
    **OTHERS,
    **CALLBACKS,
    **FUNCTIONS,
    **SPECIAL_CALLS,
    **XLA_LIBRARY,
    **ORDERS,
    **dict(lapack_calls()),
    **dict(gpu_lapack_calls()),
    **TPU_LAPACK,
    **SPARSE,
    **MATRIX_PRODUCTS,
    **CONVOLUTIONS,
    **BLOCK_SCALING,
}


def read_call(instruction: Instruction) -> Call:
    """A custom call of a known target. Raises ConfigError where it is not what its target takes."""
    return CUSTOM_CALLS[instruction["custom_call_target"]].read(instruction)


def definition_of(instruction: Instruction) -> Computation | None:
    """Return what a custom call of a known target computes, as a computation of its operands, where HLO can say it.

    Raises ConfigError where the call is not what its target takes.
    """
    row = CUSTOM_CALLS[instruction["custom_call_target"]]
    try:
        computation = row.computation(row.read(instruction))
    except HloVerificationError as error:
        raise ConfigError(f"does not fit: {error.diagnostics[0].message}") from None
    if computation is None:
        return None
    parameters = tuple(parameter.shape for parameter in computation.parameters)
    operands = tuple(operand.shape for operand in instruction.operands)
    if not compatible(TupleShape(parameters), TupleShape(operands)) or not compatible(
        computation.root.shape, instruction.shape
    ):
        given = shape_text(computation.root.shape)
        raise ConfigError(f"gives {given} for its operands, not {shape_text(instruction.shape)}")
    return computation


def complaint(instruction: Instruction) -> Diagnostic | None:
    """Return what is wrong with a custom call of a known target (XP308)."""
    try:
        definition_of(instruction)
    except ConfigError as error:
        message = f"the custom call {instruction['custom_call_target']!r} {error}"
        return Diagnostic("XP308", message, instruction.span)
    return None


__all__ = [
    "CUSTOM_CALLS",
    "PLACEMENTS",
    "Call",
    "Callback",
    "ConfigError",
    "CustomCall",
    "callbacks",
    "complaint",
    "definition_of",
    "is_callback",
    "known_functions",
    "read_call",
]

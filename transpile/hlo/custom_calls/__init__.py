"""Known custom calls: the signature of each target, and its definition.

A row of :mod:`.table` is a :class:`~.call.CustomCall`. An instruction's configuration is only read through its row, so
that a malformed one ends in a diagnostic.
"""

from __future__ import annotations

from ..ir import Computation, Instruction
from ..shape_rules.common import shape_text
from ..shapes import TupleShape, compatible
from ..source import Diagnostic, HloVerificationError
from .call import Call, CustomCall
from .callbacks import Callback, callbacks, is_callback, known_functions
from .fields import ConfigError
from .others import PLACEMENTS


def known_call(target: str) -> CustomCall | None:
    """Return the row of a target; None for an unknown one."""
    from .table import CUSTOM_CALLS  # imports the builder, and few programs have custom calls

    return CUSTOM_CALLS.get(target)


def read_call(instruction: Instruction) -> Call:
    """Return a custom call of a known target. Raises ConfigError if it does not match the target's signature."""
    return _row(instruction).read(instruction)


def _row(instruction: Instruction) -> CustomCall:
    row = known_call(instruction["custom_call_target"])
    assert row is not None
    return row


def definition_of(instruction: Instruction) -> Computation | None:
    """Return a custom call of a known target as a computation of its operands; None if HLO cannot express it.

    Raises ConfigError if the call does not match the target's signature.
    """
    row = _row(instruction)
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
    """Return the diagnostic (XP308) for an invalid custom call of a known target; None for a valid one."""
    try:
        definition_of(instruction)
    except ConfigError as error:
        message = f"the custom call {instruction['custom_call_target']!r} {error}"
        return Diagnostic("XP308", message, instruction.span)
    return None


__all__ = [
    "PLACEMENTS",
    "Call",
    "Callback",
    "ConfigError",
    "CustomCall",
    "callbacks",
    "complaint",
    "definition_of",
    "is_callback",
    "known_call",
    "known_functions",
    "read_call",
]

"""Custom calls that are known: what each target takes, and what it computes.

A row of :mod:`.table` is a :class:`~.call.CustomCall`. Reading an instruction by its row is the only way to its
configuration, so that a malformed one ends in a diagnostic.
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
    """Return the row of a target; None for one that is not known."""
    from .table import CUSTOM_CALLS  # brings the builder with it, and few programs have custom calls

    return CUSTOM_CALLS.get(target)


def read_call(instruction: Instruction) -> Call:
    """A custom call of a known target. Raises ConfigError where it is not what its target takes."""
    return _row(instruction).read(instruction)


def _row(instruction: Instruction) -> CustomCall:
    row = known_call(instruction["custom_call_target"])
    assert row is not None
    return row


def definition_of(instruction: Instruction) -> Computation | None:
    """Return what a custom call of a known target computes, as a computation of its operands, where HLO can say it.

    Raises ConfigError where the call is not what its target takes.
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
    """Return what is wrong with a custom call of a known target (XP308)."""
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

"""Shape inference for every operation, by XLA's rules.

The rules are in :mod:`.shape_rules`, one module per topic; :data:`SHAPE_RULES` has one row per opcode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .opcodes import OPCODES
from .shape_rules import (
    collectives,
    contractions,
    control,
    elementwise,
    gather_scatter,
    linear_algebra,
    reductions,
    structure,
)
from .shape_rules.common import Operation, Rule, refuse, shape_text
from .shapes import Shape, compatible

SHAPE_RULES: dict[str, Rule] = {
    **elementwise.RULES,
    **structure.RULES,
    **gather_scatter.RULES,
    **reductions.RULES,
    **contractions.RULES,
    **linear_algebra.RULES,
    **control.RULES,
    **collectives.RULES,
}


def infer_shape(
    opcode: str,
    operand_shapes: Sequence[Shape],
    attributes: Mapping[str, Any],
    *,
    declared: Shape | None = None,
    replica_count: int = 1,
    num_partitions: int = 1,
) -> Shape | None:
    """Return the shape that XLA infers for an operation's result, without layouts.

    ``attributes`` are under HLO's names, with called computations as :class:`~.ir.Computation`. ``declared`` is the
    shape in the text: rules take from it what does not follow from the operands (the type of a ``convert`` or of a
    ``dot``, the sizes of a ``reshape``) and check it. Counts of 1 mean "not known", as in XLA.

    Returns ``None`` if only the declared shape can give it (``parameter``, ``custom-call``, or ``reshape`` without
    ``declared``). Raises ``HloVerificationError`` with a code XP2xx that names the broken rule and the sizes.

    Source: XLA's shape inference and HLO verifier; operation-semantics seed. Beyond XLA's HLO rules the seed's
    restricted broadcasts are accepted: scalar bounds of ``clamp``, a scalar predicate of ``select``.
    """
    require_operand_count(opcode, len(operand_shapes))
    operation = Operation(opcode, tuple(operand_shapes), attributes, declared, replica_count, num_partitions)
    return SHAPE_RULES[opcode](operation)


def require_operand_count(opcode: str, count: int) -> None:
    """Raise HloVerificationError (XP201) for a number of operands that the opcode does not take."""
    fewest, most = OPCODES[opcode].arity
    if fewest <= count and (most is None or count <= most):
        return
    wanted = f"{fewest}" if most == fewest else f"at least {fewest}" if most is None else f"{fewest} to {most}"
    refuse("XP201", f"{opcode} takes {wanted} operand{'' if wanted.split()[-1] == '1' else 's'}, not {count}")


def require_declared(opcode: str, expected: Shape, declared: Shape) -> None:
    """Raise HloVerificationError (XP204) if a declared shape is not the expected one, apart from layouts and dynamic
    sizes.
    """
    if not compatible(expected, declared):
        refuse("XP204", f"{opcode} gives {shape_text(expected)}, but is declared as {shape_text(declared)}")


__all__ = ["SHAPE_RULES", "infer_shape", "require_declared", "require_operand_count"]

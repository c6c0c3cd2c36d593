"""How far an instruction of emitted code may be from the reference, its operands taken as given."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np

from ...hlo.ir import Instruction
from ..shrinking.cases import Array, bare, module_of, new_parameter
from ..verdicts.comparison import Budget
from ..verdicts.tolerances import budgets_for
from .steps import Check


def allowances(check: Check) -> list[Budget]:
    """Return what each array of an instruction may be off by: as a program of it, and of what only the reference
    computes.
    """
    given: dict[Instruction, Instruction] = {}
    made: dict[Instruction, Instruction] = {}
    for part in (*check.inside, check.instruction):
        for operand in part.operands:
            if operand not in made and operand.opcode != "constant":
                given.setdefault(operand, new_parameter(operand.name, bare(operand.shape)))
        operands = (made.get(operand) or given.get(operand, operand) for operand in part.operands)
        made[part] = part.replace(operands=tuple(operands))
    return budgets_for(module_of(made[check.instruction], given.values(), "budget"))


def with_magnitude(budget: Budget, magnitude: Array) -> Budget:
    """The allowance with rounding of sums measured by the terms: of ``n`` terms, ``n eps`` of their magnitudes."""
    sizes = magnitude.astype(np.float64)
    largest = float(np.max(sizes, initial=0.0))
    _, absolute = budget.tolerance(magnitude.dtype)
    eps = float(ml_dtypes.finfo(magnitude.dtype).eps)
    return replace(budget, absolute=absolute + 4 * eps * budget.terms * largest)

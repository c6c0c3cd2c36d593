"""Element-wise operations: the words of the rows in ``elementwise.toml``.

``interval``, ``magnitude``, ``type``, ``python_int`` and ``rounds`` are rules of these names; ``parameters`` are words,
optional with ``?``; the other columns are those of :meth:`..operation.Table.define`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from math import ceil, floor
from pathlib import Path
from typing import Any

from .. import intervals, magnitudes
from ..intervals import of_either, of_operands
from ..operation import Operand, Table
from . import axes
from .inference import broadcast, common_type, pred, real_type
from .parameters import WORD


def _are_counts(operands: Sequence[Operand]) -> bool:
    """Return whether the operands are Python ints, or Python ints and literals: then so is the result."""
    counts = False
    for operand in operands:
        if operand.is_python_int:
            counts = True
        elif operand.opcode != "literal":
            return False
    return counts


_OF_OPERANDS = "total product difference quotient rest shifted clamped"
_RULES: dict[str, dict[str, Any]] = {
    "interval": {
        **{word: of_operands(getattr(intervals, word)) for word in _OF_OPERANDS.split()},
        **{word: of_either(getattr(intervals, word)) for word in ("larger", "smaller", "both")},
        "chosen": intervals.chosen,
        "converted": intervals.converted,
    },
    "magnitude": vars(magnitudes),
    "type": {
        "real": real_type,
        "pred": pred,
        "of choices": lambda operands, parameters: common_type(operands[1:], parameters),
        "given": None,
    },
    "python_int": {
        "counts": _are_counts,
        "choices": lambda operands: all(operand.is_python_int for operand in operands[1:]),
    },
    "rounds": {"floor": floor, "ceil": ceil, "round": round},
}


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with rules in place of their words."""
    words = {word.rstrip("?"): WORD.optional if word[-1] == "?" else WORD for word in row.get("parameters", "").split()}
    found = {column: _RULES[column][word] if column in _RULES else word for column, word in row.items()}
    return {"element_type": found.pop("type", common_type), **found, "parameters": words}


OPERATIONS = Table(is_elementwise=True, shape=broadcast, axes=axes.elementwise, allocates=True)
for _names, _row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items():
    for _name in _names.split():
        OPERATIONS.define(_name, **{"names": _name.replace("-", "_"), **_columns(_row)})

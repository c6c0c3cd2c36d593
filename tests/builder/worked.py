"""How a program of the builder is judged: by the emitted NumPy code, and by written-down values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xla2py
from xla2py.tests.operations.tables import statuses
from xla2py.transpile.emission.module.support_table import SUPPORTED
from xla2py.transpile.equivalence.verdicts.comparison import compare
from xla2py.transpile.errors import UnsupportedError
from xla2py.transpile.hlo.ir import HloModule


def check_emitted(module: HloModule, inputs: Sequence[Any], expected: Any) -> None:
    """The emitted code gives the expected values, or says that it cannot where the coverage table says so."""
    of_numpy = statuses()["numpy"]
    if all(of_numpy[instruction.opcode] == SUPPORTED for instruction in module.instructions()):
        assert_equal(expected, xla2py.emit(module, format=False).load().main(*inputs))
    else:
        try:
            xla2py.emit(module)
        except UnsupportedError:
            return
        assert any(of_numpy[i.opcode] != SUPPORTED for i in module.instructions()), "emitted, but not in the table"


def assert_equal(expected: Any, actual: Any) -> None:
    wrong = [str(leaf) for leaf in compare(expected, actual) if not leaf.status.is_good]
    assert not wrong, "\n".join(wrong)

"""Which cases of the operations go up the ladder."""

from __future__ import annotations

import re

from xla2py.tests.operations.case import Case
from xla2py.tests.operations.tables import cases_by_opcode

CHAOTIC = {"mandelbrot"}  # examples of which the last digit decides about a few elements: when a point escapes
NARROW = re.compile(r"\b([su][124]|f4e\w+|f8e\w+)\[")  # element types that CuPy does not have: they are carried


def sample(opcode: str, count: int) -> list[Case]:
    """About ``count`` cases of an opcode in CuPy's own dtypes, and as many in others, spread over its table; all that
    there are if few.
    """
    kinds: tuple[list[Case], list[Case]] = ([], [])
    for one in cases_by_opcode()[opcode]:
        kinds[NARROW.search(one.text()) is not None].append(one)
    return [one for cases in kinds for one in cases[:: max(1, len(cases) // count)]]

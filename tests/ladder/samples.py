"""Which cases of the operations go up the ladder."""

from __future__ import annotations

import os
import re

from xla2py.tests.operations.case import Case
from xla2py.tests.operations.tables import cases_by_opcode

WHOLE = bool(os.environ.get("XLA2PY_WHOLE_LADDER"))  # all cases of all operations
NARROW = re.compile(r"\b([su][124]|f4e\w+|f8e\w+)\[")  # element types that CuPy does not have


def sample(opcode: str, count: int) -> list[Case]:
    """About ``count`` cases of an opcode in CuPy's own dtypes, spread over its table; all that there are if few."""
    cases = [one for one in cases_by_opcode()[opcode] if not NARROW.search(one.text())]
    return cases[:: max(1, len(cases) // count)]

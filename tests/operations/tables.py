"""All cases, by opcode; what has none, and why; the summary that the coverage table shows."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from xla2py.tests.operations import cases
from xla2py.tests.operations.case import Case
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.opcodes import OPCODES
from xla2py.transpile.target import target_names

TABLES = [import_module(f"{cases.__name__}.{name}") for _, name, _ in iter_modules(cases.__path__)]
BATCH = 100

# Opcodes without a case here.
ELSEWHERE: dict[str, str] = {
    **{name: "in tests/replicas" for name, spec in OPCODES.items() if spec.replica_only},
    "infeed": "needs a host that feeds it",
    "outfeed": "needs a host that takes it",
}


@cache
def cases_by_opcode() -> dict[str, list[Case]]:
    """Every case, under its opcode."""
    found: dict[str, list[Case]] = defaultdict(list)
    for table in TABLES:
        for one in table.cases():
            found[one.opcode].append(one)
    return dict(found)


@cache
def statuses() -> dict[str, dict[str, str]]:
    """Read from docs/operations.md what each target does with each opcode; another test keeps the page current."""
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ")[:-1] for line in page.splitlines() if line.startswith("| `")]
    table = {cells[0].strip("`"): cells[1:] for cells in rows}
    return {target: {opcode: table[opcode][k] for opcode in OPCODES} for k, target in enumerate(target_names())}


def batches() -> list[tuple[str, int]]:
    """The opcodes, and the number of each batch of their cases."""
    return [(name, k) for name, found in cases_by_opcode().items() for k in range(-(-len(found) // BATCH))]


def batch(opcode: str, number: int) -> list[Case]:
    return cases_by_opcode()[opcode][number * BATCH : (number + 1) * BATCH]


def summary() -> dict[str, dict[str, object]]:
    """For each opcode the number of its cases and the element types they cover, or where it is tested instead."""
    order = {name: at for at, name in enumerate(ELEMENT_TYPES)}
    result: dict[str, dict[str, object]] = {}
    for opcode in sorted(OPCODES):
        found = cases_by_opcode().get(opcode, [])
        types = sorted({one.element_type for one in found}, key=order.__getitem__)
        result[opcode] = {"cases": len(found), "element_types": types}
        if opcode in ELSEWHERE:
            result[opcode]["elsewhere"] = ELSEWHERE[opcode]
    return result

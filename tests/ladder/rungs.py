"""How far up the ladder each opcode got: the table of docs/cupy.md.

``python -m xla2py.tests.ladder.rungs`` writes it anew.
"""

from __future__ import annotations

from pathlib import Path

from xla2py.tests.ladder.replicas import opcodes
from xla2py.tests.operations.tables import ELSEWHERE, cases_by_opcode
from xla2py.transpile.hlo.opcodes import OPCODES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cupy.md"
BEGIN, END = "<!-- rungs:begin -->\n", "<!-- rungs:end -->"


def table() -> str:
    """A row for each opcode: how many cases it has and what they pass, or why there are none."""
    rows = ["| operation | cases | reached |", "|---|---|---|"]
    replicated = opcodes()
    for opcode in sorted(OPCODES):
        cases = cases_by_opcode().get(opcode, [])
        reached = "3: static check, twin, kernels on the CPU"
        if not cases:
            reached = "3, replicas in one process" if opcode in replicated else f"none: {ELSEWHERE[opcode]}"
        rows.append(f"| `{opcode}` | {len(cases)} | {reached} |")
    return "\n".join(rows) + "\n"


def page() -> str:
    """The page with the current table."""
    head, rest = PAGE.read_text("utf-8").split(BEGIN)
    return f"{head}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""How far up the ladder each opcode got: the table of docs/cupy.md.

``python -m xla2py.tests.ladder.rungs`` writes it anew.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from xla2py.tests.ladder import hosts, replicas
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.transpile.hlo.opcodes import OPCODES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cupy.md"
BEGIN, END = "<!-- rungs:begin -->\n", "<!-- rungs:end -->"


def reached() -> dict[str, tuple[int, str]]:
    """For each opcode the number of its cases or programs, and how far they come."""
    found = {
        name: (len(cases), "3: static check, twin, kernels on the CPU") for name, cases in cases_by_opcode().items()
    }
    for opcodes, how in [
        (replicas.opcodes(), "3, replicas in one process"),
        (hosts.opcodes(), "3, with functions of the host"),
    ]:
        for opcode, programs in Counter(opcodes).items():
            found.setdefault(opcode, (programs, how))
    return found


def table() -> str:
    """A row for each opcode. Raises KeyError for one that is in no test of the ladder."""
    rungs = reached()
    rows = "".join("| `{}` | {} | {} |\n".format(opcode, *rungs[opcode]) for opcode in sorted(OPCODES))
    return f"| operation | cases | reached |\n|---|---|---|\n{rows}"


def page() -> str:
    """The page with the current table."""
    head, rest = PAGE.read_text("utf-8").split(BEGIN)
    return f"{head}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

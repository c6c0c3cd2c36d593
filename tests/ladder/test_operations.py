"""Every opcode on CuPy without a GPU: emitted, checked against the installed package, and run on the twin."""

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

from xla2py.tests.ladder import rungs
from xla2py.tests.ladder.running import failures, needs_compiler
from xla2py.tests.ladder.samples import sample
from xla2py.tests.operations.tables import ELSEWHERE, cases_by_opcode
from xla2py.tests.whole import much
from xla2py.transpile.hlo.opcodes import OPCODES

SAMPLE = much(7, 10**6)  # cases of each opcode


@needs_compiler
@pytest.mark.parametrize("opcode", sorted(cases_by_opcode()))
def test_the_twin_does_what_xla_does(opcode):
    wrong = list(failures(sample(opcode, SAMPLE)))
    shown = "\n\n".join(map(str, wrong[:5]))
    assert not wrong, f"{len(wrong)} cases of {opcode} are wrong:\n{shown}"


def test_every_opcode_of_one_replica_is_here():
    assert set(cases_by_opcode()) == set(OPCODES) - set(ELSEWHERE)


def test_the_table_of_the_page_is_current():
    """Written anew by ``python -m xla2py.tests.ladder.rungs``."""
    assert rungs.page() == rungs.PAGE.read_text("utf-8")

"""Every opcode, over its element types and attributes, against XLA on the CPU or a definition in NumPy."""

import json
from pathlib import Path

import pytest

from xla2py.tests.operations.runner import failures
from xla2py.tests.operations.tables import ELSEWHERE, batch, batches, cases_by_opcode, summary
from xla2py.transpile.hlo.opcodes import OPCODES

COVERAGE = Path(__file__).with_name("coverage.json")


@pytest.mark.usefixtures("unoptimised_xla")
@pytest.mark.parametrize(("opcode", "number"), batches())
def test_emitted_code_does_what_xla_does(opcode, number):
    wrong = list(failures(batch(opcode, number)))
    shown = "\n\n".join(map(str, wrong[:5]))
    assert not wrong, f"{len(wrong)} of {len(batch(opcode, number))} cases of {opcode} are wrong:\n{shown}"


def test_every_opcode_has_a_case_or_a_reason():
    assert set(cases_by_opcode()) | set(ELSEWHERE) == set(OPCODES)


def test_no_opcode_is_excused_for_nothing():
    assert not set(cases_by_opcode()) & set(ELSEWHERE)


def test_the_coverage_file_is_current():
    """Written anew by ``python -m xla2py.tests.operations.write_coverage``."""
    assert json.loads(COVERAGE.read_text(encoding="utf-8")) == summary()

"""Faults in emitted code, and in the templates and rules that write it, are found and named by their instruction.

A sample runs always; all of them, and their reduction, in ``make prove``.
"""

from __future__ import annotations

from functools import cache

import pytest

import xla2py
from xla2py.tests.equivalence.seeded_faults import (
    FAULTS,
    OF_SOURCES,
    OF_TEXT,
    PACKAGE,
    Fault,
    in_lockstep,
    is_found,
    measured,
    reduced,
)
from xla2py.tests.whole import is_whole, much

SAMPLE = much(OF_TEXT[::6] + OF_SOURCES[::16], FAULTS)
NAMED_LATER = {  # by the instruction that reads what has no text, or no value, of its own
    ("shapes", "broadcast along another axis"),
    ("cubes", "axes in the wrong order"),
    ("triangles", "diagonal included"),
}


@cache
def emitted(program: str) -> str:
    return xla2py.emit(next(fault.module for fault in FAULTS if fault.program == program)).source


def title(fault: Fault) -> str:
    return f"{fault.program}, {fault.name}"


@pytest.mark.parametrize("fault", OF_TEXT, ids=title)
def test_a_fault_of_text_has_a_place(fault: Fault) -> None:
    source = emitted(fault.program)
    assert fault.seeded(source) != source


@pytest.mark.parametrize("fault", OF_SOURCES, ids=title)
def test_a_fault_of_a_template_or_rule_has_one_place(fault: Fault) -> None:
    assert (PACKAGE / fault.file).read_text("utf-8").count(fault.find) == 1


@pytest.mark.parametrize("fault", SAMPLE, ids=title)
def test_a_fault_is_found_and_named(fault: Fault) -> None:
    result = measured(fault, reduces=is_whole())
    assert result.changes
    assert result.is_found
    assert result.named == fault.instruction or (fault.program, fault.name) in NAMED_LATER
    assert result.line or "constant" in fault.name or "proved" in fault.name  # a constant has no statement
    assert result.left <= len(fault.module.entry.instructions)


@pytest.mark.parametrize("program", sorted({fault.program for fault in FAULTS}))
def test_without_a_fault_nothing_is_found(program: str) -> None:
    fault = next(fault for fault in FAULTS if fault.program == program)
    clean = Fault("none", program, "$ never", "", "")
    assert not is_found(clean, fault.module, fault.inputs(fault.module))
    found = in_lockstep(clean)
    assert found.checked and not found.divergences and not found.unchecked and not found.failure


def test_a_fault_is_reduced() -> None:
    fault = OF_TEXT[3]
    assert reduced(fault).instructions <= 3

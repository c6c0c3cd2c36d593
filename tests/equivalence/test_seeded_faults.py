"""Faults in emitted code are found, and named by their instruction.

A sample runs always; all of them, and their reduction, with ``XLA2PY_ALL_FAULTS=1``.
"""

from __future__ import annotations

import os

import pytest

import xla2py
from xla2py.tests.equivalence.seeded_faults import FAULTS, Fault, changes, in_lockstep, is_found, reduced

EVERYTHING = bool(os.environ.get("XLA2PY_ALL_FAULTS"))
SAMPLE = FAULTS if EVERYTHING else FAULTS[::6]
NAMED_LATER = {"broadcast along another axis"}  # the text belongs to the instruction that reads the broadcast


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.program}, {fault.name}")
def test_a_fault_has_a_place(fault: Fault) -> None:
    source = xla2py.emit(fault.module).source
    assert fault.seeded(source) != source


@pytest.mark.parametrize("fault", SAMPLE, ids=lambda fault: f"{fault.program}, {fault.name}")
def test_a_fault_is_found_and_named(fault: Fault) -> None:
    module = fault.module
    assert changes(fault)
    assert is_found(fault, module, fault.inputs(module))
    first = in_lockstep(fault).first
    assert first is not None and first.line
    assert first.instruction.name == fault.instruction or fault.name in NAMED_LATER


@pytest.mark.parametrize("program", sorted({fault.program for fault in FAULTS}))
def test_without_a_fault_nothing_is_found(program: str) -> None:
    fault = next(fault for fault in FAULTS if fault.program == program)
    clean = Fault("none", program, "$ never", "", "")
    assert not is_found(clean, fault.module, fault.inputs(fault.module))
    found = in_lockstep(clean)
    assert found.checked and not found.divergences and not found.unchecked and not found.failure


@pytest.mark.parametrize("fault", SAMPLE if EVERYTHING else FAULTS[3:4], ids=lambda fault: fault.name)
def test_a_fault_is_reduced(fault: Fault) -> None:
    assert reduced(fault).instructions <= len(fault.module.entry.instructions)

"""Emitted CuPy code without a GPU: the static check, and values on the twin."""

import pytest

import xla2py
from xla2py.tests.targets.programs.structure import BY_TWO_INDICES
from xla2py.tests.targets.programs.table import PROGRAMS
from xla2py.tests.targets.running import differences, on_device, on_numpy

pytest.importorskip("cupy", reason="CuPy is not installed")


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_modules_name_and_call_what_cupy_has_and_wait_for_nothing(program):
    from xla2py.tests.ladder.static import problems

    assert problems(xla2py.emit(program.text, "cupy", format=False).source) == []


@pytest.mark.parametrize("program", [*PROGRAMS, BY_TWO_INDICES], ids=str)
def test_the_twin_gives_what_numpy_gives(program):
    inputs = program.inputs()
    assert differences(on_numpy(program.text, inputs), on_device(program.text, inputs)) == []

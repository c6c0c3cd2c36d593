"""Emitted CuPy code without a GPU: the static check, and values on the twin."""

import pytest

import xla2py
from xla2py.tests.targets.programs.structure import BY_TWO_INDICES
from xla2py.tests.targets.programs.table import PROGRAMS
from xla2py.tests.targets.running import differences, on_device, on_numpy

pytest.importorskip("cupy", reason="CuPy is not installed")


@pytest.mark.parametrize("program", [*PROGRAMS, BY_TWO_INDICES], ids=str)
def test_modules_wait_for_nothing_and_the_twin_gives_what_numpy_gives(program):
    """They name and call what CuPy has; elements by two indices are looked up on the host."""
    from xla2py.tests.ladder.static import problems

    inputs, emitted = program.inputs(), xla2py.emit(program.text, "cupy", format=False)
    assert program is BY_TWO_INDICES or problems(emitted.source) == []
    assert differences(on_numpy(program.text, inputs), on_device(program.text, inputs, emitted)) == []

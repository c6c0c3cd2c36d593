"""Every example on CuPy without a GPU, with its own arguments: checked, run on the twin, compared with NumPy."""

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.targets.cupy.twin.modules import twin
from xla2py.tests.ladder.running import checked, needs_compiler
from xla2py.tests.test_examples import LOWER, assert_close, inputs
from xla2py.tests.whole import much
from xla2py.transpile.commands.run import command
from xla2py.transpile.equivalence.verdicts.tolerances import budget_for


@needs_compiler
@pytest.mark.parametrize("stage", much(LOWER.STAGES[:1], LOWER.STAGES))
@pytest.mark.parametrize("name", LOWER.NAMES)
def test_the_twin_does_what_numpy_does(name, stage):
    module = xla2py.load(LOWER.hlo_file(name, stage))
    arguments = [array.copy() for array in inputs(name)]
    expected = xla2py.emit(module, format=False).load().main(*arguments)
    assert_close(expected, checked(xla2py.emit(module, "cupy", format=False), arguments), budget_for(module))


def test_the_command_copies_to_the_device_and_back(tmp_path):
    with twin():
        result = CliRunner().invoke(
            command, [str(LOWER.hlo_file("attention", "before")), "-t", "cupy", "-o", str(tmp_path / "out.npz")]
        )
    assert (result.exit_code, result.exception) == (0, None), result.output
    assert np.load(tmp_path / "out.npz")["result"].shape

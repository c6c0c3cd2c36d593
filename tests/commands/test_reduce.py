"""``xla2py reduce``: what it writes, and what an oracle of the user's own says."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from xla2py.transpile.hlo.verifier import verify

PROGRAM = """
ENTRY e {
  a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  total = f32[8] add(a, b)
  bent = f32[8] tanh(total)
  grown = f32[8] exponential(bent)
  ROOT results = (f32[8], f32[8]) tuple(grown, total)
}
"""


@pytest.fixture
def oracle(folder: Path) -> str:
    """A script that finds a case interesting where it has a tanh."""
    Path("program.hlo").write_text(PROGRAM)
    script = Path("oracle.py")
    check = "import sys, numpy\nnumpy.load(sys.argv[2])\nsys.exit('tanh' not in open(sys.argv[1]).read())\n"
    script.write_text(f"#!{sys.executable}\n{check}")
    script.chmod(0o755)
    return "./oracle.py"


def test_an_oracle_of_the_users_own_decides(xla2py, oracle):
    code, out, err = xla2py("reduce", "program.hlo", "--oracle", oracle, "--retries", "0")
    assert code == 0
    import xla2py as package

    module = package.load(Path("program.reduced.hlo"))
    verify(module)
    assert [i.opcode for i in module.entry.instructions] == ["parameter", "tanh"]
    with np.load("program.reduced.npz") as inputs:
        assert inputs["arr_0"].shape == (1,)
    assert out == "./oracle.py program.reduced.hlo program.reduced.npz\n"
    assert "2 instructions" in err


def test_a_program_that_is_right_is_not_reduced(xla2py, oracle):
    code, _, err = xla2py("reduce", "program.hlo")
    assert code == 2
    assert "error[XP620]" in err
    assert not Path("program.reduced.hlo").exists()


def test_an_oracle_must_be_there(xla2py, oracle):
    code, _, err = xla2py("reduce", "program.hlo", "--oracle", "./missing")
    assert code == 2
    assert "error[XP401]" in err

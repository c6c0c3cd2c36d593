"""Kernels in plain Python beside NumPy's modules, and beside what the twin makes of their C++."""

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.targets.cupy import fusion
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.tests.kernels.interpreter import Interpreter
from xla2py.tests.kernels.interpreting import Compared, by_interpreter, kernel_module
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.test_examples import LOWER, inputs
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.verdicts.comparison import compare, compare_leaf, flatten
from xla2py.transpile.equivalence.verdicts.tolerances import EXACT, budget_for
from xla2py.transpile.fuzzing.families import random_program
from xla2py.transpile.kernels.verifier import InvalidKernelError, verify_kernel

# Examples that ask a library of the GPU for a handle when they are imported.
NAMES = sorted(set(LOWER.NAMES) - {"image_rotation"})
SAMPLE = much(12, 200)  # lines or elements of each kernel of an example


@pytest.mark.parametrize("seed", range(much(20, 300)))
def test_interpreted_kernels_do_what_numpy_does(seed):
    program = random_program("lines", seed)
    module = xla2py.load(program.text)
    with np.errstate(all="ignore"):
        expected = xla2py.emit(module, format=False).load().main(*(array.copy() for array in program.inputs))
    leaves = [leaf for _, leaf in flatten(expected)]
    budgets = [budget_for(module) if k in program.rounded else EXACT for k in range(len(leaves))]
    found = compare(leaves, by_interpreter(program.text, program.inputs), budgets)
    assert [str(leaf) for leaf in found if not leaf.status.is_good] == []


@needs_compiler
@pytest.mark.parametrize("name", much(NAMES[::3], NAMES))
def test_kernels_of_examples_do_in_cuda_what_they_do_in_python(name):
    text = LOWER.hlo_file(name, "before").read_text()
    arguments = [array.copy() for array in inputs(name)]  # examples import JAX, which does not load beside the twin
    budget = budget_for(xla2py.load(text))
    wrong = []

    def differ(expected, found):
        leaf = compare_leaf(expected, found, budget, ())
        if not leaf.status.is_good:
            wrong.append(str(leaf))

    emitted, kernels = kernel_module(text)
    with twin():
        loaded = emitted.load()
        compared = {key: Compared(kernel, vars(loaded)[key], SAMPLE, differ) for key, kernel in kernels.items()}
        vars(loaded).update(compared)
        to_host(loaded.main(*to_device(arguments)))
    assert wrong == []
    assert all(kernel.compared or kernel.kernel.parts > 1 for kernel in compared.values())


def test_rows_are_added_to_a_table(monkeypatch):
    monkeypatch.setattr(fusion, "_LARGE_LOOP", 64)
    _, kernels = kernel_module(
        "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
        "ENTRY e { x = f32[9,8] parameter(0)  at = s32[9] parameter(1)  zero = f32[] constant(0)  "
        "y = f32[9,8] negate(x)  w = f32[9,8] exponential(y)  t = f32[4,8] broadcast(zero), dimensions={}  "
        "ROOT r = f32[4,8] scatter(t, at, w), update_window_dims={1}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum }"
    )
    (kernel,) = kernels.values()
    x, at = np.arange(72, dtype=np.float32).reshape(9, 8) / 9, np.array([3, 0, -1, 3, 4, 1, 0, 2**31 - 1, 2], np.int32)
    expected = np.zeros((5, 8), np.float32)
    np.add.at(expected, np.where((at < 0) | (at > 3), 4, at), np.exp(-x))
    (sums,) = Interpreter(kernel, [x, at]).run()
    np.testing.assert_allclose(sums, expected[:4], 1e-6)
    kernel.at_once = 3
    with pytest.raises(InvalidKernelError, match="rows of 8 are no groups of 3"):
        verify_kernel(kernel)


def test_a_kernel_that_reads_beside_an_array_is_an_error():
    _, kernels = kernel_module(
        "ENTRY e { x = f32[4,5] parameter(0)  y = f32[4,3] slice(x), slice={[0:4],[2:5]}  z = f32[4,3] negate(y)  "
        "ROOT r = f32[4,3] exponential(z) }"
    )
    (kernel,) = kernels.values()
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_allclose(Interpreter(kernel, [x]).run()[0], np.exp(-x[:, 2:]), 1e-6)
    with pytest.raises(ValueError, match="not \\(4, 4\\)"):
        Interpreter(kernel, [x[:, :4]])
    kernel.loop = (5, 3)
    with pytest.raises(IndexError, match="of 20"):
        Interpreter(kernel, [x])._element(14)

"""Functions that a reduction calls, whatever they do with their operands."""

import numpy as np
import pytest

from xla2py import emit
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child

IGNORANT = """
always { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT c = pred[] constant(true) }
first_known { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  three = f32[] constant(3)  ROOT t = (f32[], s32[]) tuple(three, j) }
ENTRY e { p = pred[24,5] parameter(0)  x = f32[24,5] parameter(1)  i = s32[24,5] parameter(2)
  no = pred[] constant(false)  zero = f32[] constant(0)  none = s32[] constant(0)  ROOT r = """
LINES = [
    "pred[] reduce(p, no), dimensions={0,1}, to_apply=always }",
    "pred[5] reduce(p, no), dimensions={0}, to_apply=always }",
    "pred[24,5] reduce-window(p, no), window={size=24x1 pad=23_0x0_0}, to_apply=always }",
    "pred[23,5] reduce-window(p, no), window={size=2x1}, to_apply=always }",
    "(f32[5], s32[5]) reduce(x, i, zero, none), dimensions={0}, to_apply=first_known }",
]


@pytest.mark.parametrize("target", ["numpy", "dask"])
@pytest.mark.parametrize("line", LINES)
def test_a_reducer_that_ignores_its_operands(line, target):
    numbers = np.arange(120).reshape(24, 5)
    arguments = numbers % 7 == 0, numbers.astype(np.float32), numbers.astype(np.int32)
    expected = run_hlo_in_child(IGNORANT + line, *arguments)
    namespace = {}
    exec(compile(emit(IGNORANT + line, target).source, "emitted", "exec"), namespace)
    result = namespace["main"](*arguments)
    for own, theirs in zip(result if isinstance(result, tuple) else (result,), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(own), theirs)
    assert emit(IGNORANT + line, "cupy").source

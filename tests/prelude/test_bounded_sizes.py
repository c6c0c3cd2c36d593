"""Arrays with bounded sizes that are joined, updated and gone over by windows, as XLA on the CPU has it."""

import numpy as np
import pytest

import xla2py
from xla2py.transpile.equivalence.reference.xla import run_hlo

TEXT = """HloModule m
sum {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
ENTRY e {{
  x = f32[8] parameter(0)  y = f32[4] parameter(1)  n = s32[] parameter(2)  m = s32[] parameter(3)
  d = f32[<=8] set-dimension-size(x, n), dimensions={{0}}
  e = f32[<=4] set-dimension-size(y, m), dimensions={{0}}
  zero = f32[] constant(0)  i = s32[] constant({start})
  r = f32[{shape}] {body}
  size = s32[] get-dimension-size(r), dimensions={{0}}
  {whole}
  ROOT both = (f32[{bound}], s32[]) tuple(w, size)
}}
"""
X, Y = np.arange(1, 9, dtype=np.float32), np.arange(10, 50, 10, dtype=np.float32)


def program(body, shape, start=2):
    bound = int(shape.removeprefix("<="))
    back = f"full = s32[] constant({bound})  w = f32[{bound}] set-dimension-size(r, full), dimensions={{0}}"
    whole = back if shape.startswith("<=") else f"w = f32[{bound}] copy(r)"
    return TEXT.format(body=body, shape=shape, start=start, bound=bound, whole=whole)


def agree(text, *arguments):
    theirs, size = run_hlo(text, *arguments)
    ours, own = xla2py.emit(text).load().main(*arguments)
    assert own == size
    meant = max(int(size), 0)
    np.testing.assert_array_equal(ours[:meant], theirs[:meant])


@pytest.mark.parametrize("n", [0, 5, 8])
@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("concatenate(d, e), dimensions={0}", "<=12"),
        ("concatenate(d, y), dimensions={0}", "<=12"),
        ("concatenate(y, d, e), dimensions={0}", "<=16"),
        ("dynamic-update-slice(d, y, i)", "<=8"),
        ("dynamic-update-slice(x, d, i)", "<=8"),
        ("dynamic-update-slice(d, x, i)", "<=8"),
        ("reduce-window(d, zero), window={size=3}, to_apply=sum", "<=6"),
        ("reduce-window(d, zero), window={size=3 pad=1_1}, to_apply=sum", "<=8"),
        ("reduce-window(d, zero), window={size=3 stride=2}, to_apply=sum", "<=3"),
        ("reduce-window(d, zero), window={size=2 stride=2 pad=1_1 rhs_dilate=2}, to_apply=sum", "<=4"),
        ("reduce-window(d, zero), window={size=8 pad=7_0}, to_apply=sum", "<=8"),
    ],
)
def test_sizes_and_what_is_meant_are_those_of_xla(body, shape, n):
    agree(program(body, shape), X, Y, np.int32(n), np.int32(2))


@pytest.mark.parametrize("start", [1, 7])
def test_what_lies_beyond_a_smaller_update_stays(start):
    for source, shape in (("x", "8"), ("d", "<=8")):  # XLA on the CPU cannot compile these
        main = xla2py.emit(program(f"dynamic-update-slice({source}, e, i)", shape, start)).load().main
        found, size = main(X, Y, np.int32(7), np.int32(2))
        expected, at = X.copy(), min(start, 4)
        expected[at : at + 2] = Y[:2]
        assert size == (8 if source == "x" else 7)
        np.testing.assert_array_equal(found[:7], expected[:7])


def test_columns_beside_each_other_keep_the_size_of_rows():
    text = """HloModule m
    sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
    ENTRY e {
      x = f32[8,2] parameter(0)  n = s32[] parameter(1)  zero = f32[] constant(0)
      d = f32[<=8,2] set-dimension-size(x, n), dimensions={0}
      both = f32[<=8,4] concatenate(d, x), dimensions={1}
      ROOT r = f32[4] reduce(both, zero), dimensions={0}, to_apply=sum
    }"""
    x = np.arange(16, dtype=np.float32).reshape(8, 2)
    (expected,) = run_hlo(text, x, np.int32(3))
    np.testing.assert_array_equal(xla2py.emit(text).load().main(x, np.int32(3)), expected)

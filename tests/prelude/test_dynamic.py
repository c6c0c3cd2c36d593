"""Dimensions with a dynamic size: XLA CPU is the judge of what each composition means."""

import numpy as np
import pytest

import xla2py
from xla2py.templates.prelude.dynamic import crop, dynamic_reshape, extend
from xla2py.transpile.equivalence.reference.xla import run_hlo

pytestmark = pytest.mark.filterwarnings("error")

TEXT = """HloModule m
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
ENTRY e {{
  x = f32[8] parameter(0)  y = f32[8] parameter(1)  n = s32[] parameter(2)  zero = f32[] constant(0)
  two = s32[] constant(2)  three = s32[] constant(3)  full = s32[] constant({bound})
  d = f32[<=8] set-dimension-size(x, n), dimensions={{0}}
  {body}
}}
"""
X, Y = np.arange(1, 9, dtype=np.float32), np.arange(10, 90, 10, dtype=np.float32)
BACK = "ROOT r = f32[{bound}] set-dimension-size(s, full), dimensions={{0}}"


@pytest.mark.parametrize("n", [-2, 0, 1, 5, 8, 12])
@pytest.mark.parametrize(
    "body, ours",
    [
        ("ROOT r = f32[] reduce(d, zero), dimensions={0}, to_apply=add", lambda x, y, n: crop(x, [n]).sum()),
        (
            "ROOT r = f32[] dot(d, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
            lambda x, y, n: crop(x, [n]) @ crop(y, [n]),
        ),
        ("ROOT r = f32[8] set-dimension-size(d, full), dimensions={0}", lambda x, y, n: x),
    ],
)
def test_padding_takes_no_part(body, ours, n):
    (theirs,) = run_hlo(TEXT.format(body=body, bound=8), X, Y, np.int32(n))
    np.testing.assert_array_equal(ours(X, Y, n), theirs)


@pytest.mark.parametrize("n", [0, 1, 5, 8])
@pytest.mark.parametrize(
    "body, bound, ours",
    [
        ("s = f32[<=8] reverse(d), dimensions={0}", 8, lambda x, y, n: crop(x, [n])[::-1]),
        (
            "s = f32[<=16] concatenate(d, y), dimensions={0}",
            16,
            lambda x, y, n: np.concatenate([crop(x, [n]), y]),
        ),
        ("s = f32[<=11] pad(d, zero), padding=1_2", 11, lambda x, y, n: np.pad(crop(x, [n]), (1, 2))),
    ],
)
def test_crop_compute_extend(body, bound, ours, n):
    text = TEXT.format(body=f"{body}  {BACK.format(bound=bound)}", bound=bound)
    (theirs,) = run_hlo(text, X, Y, np.int32(n))
    np.testing.assert_array_equal(extend(ours(X, Y, n), [bound]), theirs)


def test_dynamic_reshape():
    body = """s = f32[2,<=4] dynamic-reshape(d, two, three)
      ROOT r = f32[2] reduce(s, zero), dimensions={1}, to_apply=add"""
    (theirs,) = run_hlo(TEXT.format(body=body, bound=8), X, Y, np.int32(6))
    reshaped = dynamic_reshape(X, [6], [2, 3], [2, 4])
    np.testing.assert_array_equal(crop(reshaped, [None, 3]).sum(axis=1), theirs)
    np.testing.assert_array_equal(reshaped, np.float32([[1, 2, 3, 0], [4, 5, 6, 0]]))


def test_arguments_within_their_bounds():
    text = "ENTRY e {\n  x = f32[2,<=3] parameter(0)\n  ROOT y = f32[2,<=3] add(x, x)\n}\n"
    main = xla2py.emit(text).load().main
    for n in (0, 2, 3):
        assert main(np.ones((2, n), np.float32)).shape == (2, n)
    for wrong in (np.ones((2, 4), np.float32), np.ones((1, 3), np.float32), np.ones((2, 3)), np.float32([1, 2, 3])):
        with pytest.raises(TypeError, match=r"x: expected float32\[2, <=3\], got "):
            main(wrong)

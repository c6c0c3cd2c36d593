"""Emitted Dask code beside emitted NumPy code: loops, dtypes of a byte, and arguments that are refused."""

import dask
import numpy as np
import pytest

import xla2py
from xla2py.tests.counted_loops import counted_loop
from xla2py.tests.targets.running import differences, on_dask, on_numpy, run, uneven

da = pytest.importorskip("dask.array", reason="Dask is not installed")


ROTATED = counted_loop(
    5,
    {"x": "f32[6]", "y": "f32[6]"},
    """
    half = f32[] constant(0.5)
    head = f32[1] slice(x), slice={[0:1]}
    tail = f32[5] slice(x), slice={[1:6]}
    new_y = f32[6] concatenate(tail, head), dimensions={0}
    inner = f32[4] slice(y), slice={[1:5]}
    new_x = f32[6] pad(inner, half), padding=1_1
    """,
    given="x = f32[6] parameter(0)  y = f32[6] parameter(1)",
    behind="ROOT r = (f32[6], f32[6]) tuple(x_end, y_end)",
)


def test_a_loop_that_joins_does_not_shred_its_arrays():
    given = [np.arange(6, dtype=np.float32), -np.arange(6, dtype=np.float32)]
    x, y = run(ROTATED, "dask", given, uneven)
    assert max(x.npartitions, y.npartitions) <= 2
    assert differences(on_numpy(ROTATED, given), on_dask(ROTATED, given, uneven)) == []


NARROW_CASTS = """HloModule casts
ENTRY main {
  x = f32[4] parameter(0)
  a = f8e4m3fn[4] convert(x)
  b = f8e5m2[4] convert(x)
  c = u2[4] convert(x)
  one = f8e4m3fn[] constant(1)
  d = f8e4m3fn[4] broadcast(one), dimensions={}
  unit = u2[] constant(1)
  e = u2[4] broadcast(unit), dimensions={}
  ROOT all = (f8e4m3fn[4], f8e5m2[4], u2[4], f8e4m3fn[4], u2[4]) tuple(a, b, c, d, e)
}
"""


def test_arrays_of_different_dtypes_of_a_byte_are_no_one_array_to_dask():
    given = [np.arange(4, dtype=np.float32)]
    results, expected = on_dask(NARROW_CASTS, given, np.asarray), on_numpy(NARROW_CASTS, given)
    assert [each.dtype for each in results] == [each.dtype for each in expected]
    assert differences(expected, results) == []


def test_wrong_arguments_are_named_before_anything_else():
    with pytest.raises(TypeError, match=r"x: expected float32\[4\], got float64\[4\]"):
        xla2py.emit(NARROW_CASTS, "dask").load().main(da.ones(4))


PART_OF_TUPLE = """HloModule m
ENTRY e {
  p = (f32[3,2], f32[]) parameter(0)
  x = f32[3,2] get-tuple-element(p), index=0
  ROOT y = f32[3,2] negate(x)
}
"""


@pytest.mark.parametrize(
    ("program", "nested", "arguments"),
    [
        (lambda: xla2py.from_jax(lambda x: x + 1, xla2py.array("3, 2")), False, lambda x: x),
        (lambda: xla2py.from_jax(lambda x: x + 1, xla2py.array("N, 2")), False, lambda x: x),
        (lambda: xla2py.from_jax(lambda p: p["x"] + 1, {"x": xla2py.array("3, 2")}), True, lambda x: {"x": x}),
        (lambda: PART_OF_TUPLE, False, lambda x: (x, np.float32(1))),
    ],
    ids=["array", "any size", "tree", "tuple"],
)
def test_what_finds_unknown_sizes_is_said(program, nested, arguments):
    numbers = np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2)
    x = da.from_array(numbers, chunks=2)
    x = x[x[:, 0] > 0]
    main = xla2py.emit(program(), "dask", chunks="2", nested=nested).load().main
    with pytest.raises(TypeError, match=r"got .*float32\[nan, 2\]; call its compute_chunk_sizes\(\)"):
        main(arguments(x))
    assert main(arguments(x.compute_chunk_sizes())).shape == (3, 2)


TWO_OUTPUTS = counted_loop(
    2,
    {"a": "f32[3]", "b": "f32[3]"},
    """
    seven = f32[1] constant({7})
    eight = f32[1] constant({8})
    new_a = f32[3] dynamic-update-slice(a, seven, i)
    new_b = f32[3] dynamic-update-slice(b, eight, i)
    """,
    given="a = f32[3] parameter(0)  b = f32[3] copy(a)",
    behind="ROOT both = (f32[3], f32[3]) tuple(a_end, b_end)",
)


def test_copies_of_one_array_that_a_loop_writes_into_stay_two():
    x = np.float32([1, 2, 3])
    one, two = dask.compute(*xla2py.emit(TWO_OUTPUTS, target="dask").load().main(x))
    assert (one.tolist(), two.tolist()) == ([7, 7, 3], [8, 8, 3])


def test_a_row_becomes_a_matrix_in_chunks_of_forced_lengths():
    text = "ENTRY e { x = s32[5,5,1] parameter(0)  row = s32[25] reshape(x)  ROOT r = s32[5,5] reshape(row) }"
    x = np.arange(25, dtype=np.int32).reshape(5, 5, 1)
    (found,) = on_dask(text, [x], uneven, "2")
    np.testing.assert_array_equal(found, x[..., 0])

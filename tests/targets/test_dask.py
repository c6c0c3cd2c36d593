"""Emitted Dask code does what emitted NumPy code does, in any chunks, and computes nothing before it is asked to."""

from functools import cache

import dask
import numpy as np
import pytest

import xla2py
from xla2py.tests.targets.programs.elementwise import elementwise
from xla2py.tests.targets.programs.program import Program
from xla2py.tests.targets.programs.table import PROGRAMS
from xla2py.tests.targets.running import differences, on_dask, on_numpy, run, uneven
from xla2py.tests.whole import crossed

da = pytest.importorskip("dask.array", reason="Dask is not installed")


def one_chunk(array):
    return da.from_array(array, chunks=-1)


def single_elements(array):
    return da.from_array(array, chunks=1 if array.size else -1)


def plain(array):
    return array


@cache
def expected(program: Program):
    return on_numpy(program.text, program.inputs())


PROGRAMS_AND_MORE = [*PROGRAMS, elementwise("real", "f8e4m3fn")]


@pytest.mark.parametrize(
    ("program", "cut"),
    [*crossed(PROGRAMS_AND_MORE, [uneven]), *crossed(PROGRAMS_AND_MORE, [single_elements, plain, one_chunk])],
)
def test_the_results_are_lazy_and_those_of_numpy(program, cut):
    given = program.inputs()
    before = [array.tobytes() for array in given]
    assert differences(expected(program), on_dask(program.text, given, cut)) == []
    assert [array.tobytes() for array in given] == before


def test_a_loop_that_joins_does_not_shred_its_arrays():
    (program,) = [program for program in PROGRAMS if program.name == "a loop that swaps, pads and joins"]
    _, x, y = run(program.text, "dask", program.inputs(), uneven)
    assert max(x.npartitions, y.npartitions) <= 2


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
    results, expected = on_dask(NARROW_CASTS, given, plain), on_numpy(NARROW_CASTS, given)
    assert [each.dtype for each in results] == [each.dtype for each in expected]
    assert differences(expected, results) == []


def test_wrong_arguments_are_named_before_anything_else():
    (program,) = [program for program in PROGRAMS if program.name == "softmax"]
    with pytest.raises(TypeError, match=r"x: expected float32\[4, 3, 5\], got float64\[4, 3, 5\]"):
        xla2py.emit(program.text, "dask").load().main(da.ones((4, 3, 5)))


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


TWO_OUTPUTS = """
body {
  s = (s32[], f32[3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[3] get-tuple-element(s), index=1
  b = f32[3] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  seven = f32[1] constant({7})
  eight = f32[1] constant({8})
  c = f32[3] dynamic-update-slice(a, seven, i)
  d = f32[3] dynamic-update-slice(b, eight, i)
  ROOT t = (s32[], f32[3], f32[3]) tuple(next, c, d)
}
cond { s = (s32[], f32[3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(2)
  ROOT less = pred[] compare(i, n), direction=LT }
ENTRY e {
  x = f32[3] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[3], f32[3]) tuple(zero, x, x)
  r = (s32[], f32[3], f32[3]) while(start), condition=cond, body=body
  a = f32[3] get-tuple-element(r), index=1
  b = f32[3] get-tuple-element(r), index=2
  ROOT both = (f32[3], f32[3]) tuple(a, b)
}
"""


def test_copies_of_one_array_that_a_loop_writes_into_stay_two():
    x = np.float32([1, 2, 3])
    one, two = dask.compute(*xla2py.emit(TWO_OUTPUTS, target="dask").load().main(x))
    assert (one.tolist(), two.tolist()) == ([7, 7, 3], [8, 8, 3])

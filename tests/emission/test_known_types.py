"""No name is first a number and then an array, so that emitted code passes strict type checks."""

import numpy as np
import pytest

import xla2py

# By case: a program whose values had names in common that type checkers take for values of different types.
PROGRAMS = {
    "an array and then a number": """
ENTRY main {
  x = f32[] parameter(0)
  y = f32[3] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[3] broadcast(zero), dimensions={}
  p = pred[3] compare(y, zeros), direction=GT
  a = f32[3] select(p, y, zeros)
  s = f32[3] sine(a)
  t = f32[3] add(s, a)
  cosine = f32[3] cosine(t)
  u = f32[3] multiply(cosine, t)
  q = pred[] compare(x, zero), direction=GT
  two = f32[] constant(2)
  b = f32[] select(q, two, zero)
  c = f32[] cosine(b)
  d = f32[] add(c, b)
  ROOT r = (f32[3], f32[]) tuple(u, d)
}
""",
    "a number that a loop makes of a product of vectors": """
body {
  c = (f32[], s32[], f32[3]) parameter(0)
  s = f32[] get-tuple-element(c), index=0
  i = s32[] get-tuple-element(c), index=1
  x = f32[3] get-tuple-element(c), index=2
  zeros = f32[3] broadcast(f32[] constant(0)), dimensions={}
  p = pred[3] compare(x, zeros), direction=GT
  kept = f32[3] select(p, x, zeros)
  large = f32[3] maximum(kept, x)
  d = f32[] dot(large, large), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  q = pred[] compare(d, f32[] constant(1)), direction=GT
  more = f32[] multiply(d, s)
  next = f32[] select(q, more, s)
  j = s32[] add(i, s32[] constant(1))
  ROOT t = (f32[], s32[], f32[3]) tuple(next, j, large)
}
test {
  c = (f32[], s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(c), index=1
  s = f32[] get-tuple-element(c), index=0
  one = f32[] constant(1)
  small = pred[] compare(s, one), direction=LT
  few = pred[] compare(i, s32[] constant(9)), direction=LT
  ROOT l = pred[] and(few, small)
}
ENTRY main {
  x = f32[3] parameter(0)
  begin = (f32[], s32[], f32[3]) tuple(f32[] constant(0.1), s32[] constant(0), x)
  w = (f32[], s32[], f32[3]) while(begin), condition=test, body=body
  ROOT a = f32[] get-tuple-element(w), index=0
}
""",
    "a flag that a loop carries": """
body {
  c = (f32[], pred[], s32[]) parameter(0)
  x = f32[] get-tuple-element(c), index=0
  go = pred[] get-tuple-element(c), index=1
  i = s32[] get-tuple-element(c), index=2
  y = f32[] multiply(x, f32[] constant(0.5))
  kept = f32[] select(go, y, x)
  nine = s32[] constant(9)
  small = pred[] compare(i, nine), direction=LT
  next = pred[] and(go, small)
  j = s32[] add(i, s32[] constant(1))
  ROOT t = (f32[], pred[], s32[]) tuple(kept, next, j)
}
test {
  c = (f32[], pred[], s32[]) parameter(0)
  go = pred[] get-tuple-element(c), index=1
  x = f32[] get-tuple-element(c), index=0
  one = f32[] constant(1)
  more = pred[] compare(x, one), direction=GT
  ROOT l = pred[] and(go, more)
}
ENTRY main {
  x = f32[] parameter(0)
  begin = (f32[], pred[], s32[]) tuple(x, pred[] constant(true), s32[] constant(0))
  w = (f32[], pred[], s32[]) while(begin), condition=test, body=body
  a = f32[] get-tuple-element(w), index=0
  g = pred[] get-tuple-element(w), index=1
  ROOT r = (f32[], pred[]) tuple(a, g)
}
""",
    "choices between numbers that are typed and between those that are not": """
ENTRY main {
  x = f64[] parameter(0)
  y = f64[] parameter(1)
  zero = f64[] constant(0)
  one = f64[] constant(1)
  minus = f64[] constant(-1)
  p = pred[] compare(x, zero), direction=GT
  a = f64[] select(p, minus, zero)
  squared = f64[] multiply(x, x)
  shifted = f64[] add(squared, one)
  quotient = f64[] divide(a, shifted)
  b = f64[] subtract(quotient, f64[] divide(a, x))
  q = pred[] compare(y, zero), direction=GT
  c = f64[] select(q, minus, zero)
  scaled = f64[] multiply(c, b)
  d = f64[] subtract(scaled, f64[] multiply(c, x))
  ROOT r = (f64[], f64[]) tuple(b, d)
}
""",
    "a function of a number": """
ENTRY main {
  x = f32[] parameter(0)
  low = f32[] erf(f32[] constant(-1.4142135))
  ROOT y = f32[] multiply(x, low)
}
""",
    "reshapes of choices": """
ENTRY main {
  x = f32[16,6] parameter(0)
  zeros = f32[16,6] broadcast(f32[] constant(0)), dimensions={}
  p = pred[16,6] compare(x, zeros), direction=GT
  a = f32[16,6] select(p, x, zeros)
  reshaped = f32[2,8,6] reshape(a)
  b = f32[2,8,6] sine(reshaped)
  c = f32[2,8,6] multiply(b, reshaped)
  ones = f32[2,8,6] broadcast(f32[] constant(1)), dimensions={}
  q = pred[2,8,6] compare(c, ones), direction=LT
  d = f32[2,8,6] select(q, c, ones)
  reshaped.1 = f32[32,3] reshape(d)
  e = f32[32,3] sine(reshaped.1)
  ROOT f = f32[32,3] multiply(e, reshaped.1)
}
""",
    "reshapes of a function and of an argument": """
ENTRY main {
  x = f32[16,6] parameter(0)
  y = f32[96] parameter(1)
  a = f32[16,6] tanh(x)
  reshaped = f32[2,8,6] reshape(a)
  b = f32[2,8,6] sine(reshaped)
  c = f32[2,8,6] multiply(b, reshaped)
  d = f32[32,3] reshape(c)
  reshaped.1 = f32[32,3] reshape(y)
  e = f32[32,3] sine(reshaped.1)
  f = f32[32,3] multiply(e, reshaped.1)
  ROOT g = f32[32,3] add(d, f)
}
""",
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_types_are_strict(case, tmp_path, wrong_types):
    xla2py.emit(f"HloModule m\n{PROGRAMS[case]}").save(tmp_path / "m.py")
    assert wrong_types(tmp_path, "m.py") == ""


def test_choices_between_numbers_are_those_of_python_and_keep_their_types():
    text = """
HloModule m
ENTRY main {
  x = f32[] parameter(0)
  i = s32[] parameter(1)
  p = pred[] compare(x, f32[] constant(0)), direction=GT
  a = f32[] select(p, f32[] constant(1), x)
  b = s32[] select(p, i, s32[] constant(7))
  ROOT r = (f32[], s32[]) tuple(a, b)
}
"""
    emitted = xla2py.emit(text)
    assert "np.where" not in emitted.source
    main = emitted.load().main
    for x, i in ((2.5, 3), (-2.5, 3), (np.nan, 3)):
        a, b = main(np.float32(x), np.int32(i))
        assert (a.dtype, b.dtype) == (np.float32, np.int32)
        np.testing.assert_array_equal((a, b), (1, i) if x > 0 else (np.float32(x), 7))
    assert "cp.where" in xla2py.emit(text, target="cupy").source  # which asks no device for the mask


@pytest.mark.parametrize("element_type", ["f32", "bf16", "s32"])
def test_numbers_are_listed_as_they_are(element_type):
    text = f"""
HloModule m
ENTRY main {{
  x = {element_type}[] parameter(0)
  a = {element_type}[1] reshape(x)
  one = {element_type}[1] constant({{1}})
  y = {element_type}[] negate(x)
  b = {element_type}[1] reshape(y)
  ROOT r = {element_type}[3] concatenate(a, one, b), dimensions={{0}}
}}
"""
    emitted = xla2py.emit(text)
    assert "np.array([x, 1, -x], dtype=" in emitted.source
    dtype = xla2py.load(text).entry.root.shape.element_type.dtype
    result = emitted.load().main(np.asarray(3, dtype)[()])
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.astype(np.float32), [3, 1, -3])

"""Numbers that functions are given, or give, in every call are written where they are used."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees
from xla2py.tests.recording.lazy_jax import jax, jnp

PASS = "constants_through_calls"
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def layer(weights, x):
    hidden = jnp.tanh(x @ weights["kernel"])
    root = jnp.sqrt(jnp.var(hidden, axis=-1, keepdims=True) + 1e-5)
    return x + (hidden - hidden.mean(-1, keepdims=True)) / root * weights["scale"]


@jax.jit
def loss(layers, x):
    for weights in layers:
        x = layer(weights, x)
    return jnp.sum(x**2)


def layers(count):
    rng = np.random.default_rng(5)
    shapes = {"kernel": (4, 4), "scale": (4,)}
    return [{name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()} for _ in range(count)]


def body(function, *arguments, **options):
    return xla2py.emit(xla2py.from_jax(function, *arguments), debug=True, **options).source


def definition(text, name):
    return text.split(f"def {name}(")[1].split("\ndef ")[0]


def test_the_derivative_of_a_variance_is_given_no_numbers():
    def step(layers, x):
        return jax.tree.map(lambda weight, change: weight - 0.1 * change, layers, jax.grad(loss)(layers, x))

    given = layers(2)
    without = body(step, given, X, disable_passes=[PASS, "interfaces"])
    assert "np.bool_(True)" in without
    assert "np.where(" in without
    text = body(step, given, X)
    assert "np.bool_(True)" not in text
    assert "np.float32(4)" not in text
    assert "np.where(" not in text
    assert_same(step, given, X)


def assert_same(function, *arguments):
    """The module gives what XLA does, with the pass and without."""
    wanted = jax.tree.leaves(jax.jit(function)(*arguments))
    for disabled in ([], [PASS]):
        module = xla2py.emit(xla2py.from_jax(function, *arguments), disable_passes=disabled).load()
        found = jax.tree.leaves(module.main(*arguments))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


MODULE = """HloModule m

work {{
  x = f32[4] parameter(0)
  n = f32[] parameter(1)
  k = f32[] parameter(2)
  one = f32[] constant(1)
  m = f32[] add(n, one)
  zero = f32[] constant(0)
  p = pred[] compare(m, zero), direction=GT
  ns = f32[4] broadcast(n), dimensions={{}}
  ks = f32[4] broadcast(k), dimensions={{}}
  s = f32[4] sine(x)
  c = f32[4] cosine(s)
  t = f32[4] tanh(c)
  a = f32[4] multiply(t, ns)
  b = f32[4] add(a, ks)
  d = f32[4] divide(b, s)
  ROOT r = (f32[4], f32[], pred[], f32[4]) tuple(d, m, p, s)
}}

again {{
  x = f32[4] parameter(0)
  m = f32[] parameter(1)
  p = pred[] parameter(2)
  ms = f32[4] broadcast(m), dimensions={{}}
  ps = pred[4] broadcast(p), dimensions={{}}
  s = f32[4] sine(x)
  e = f32[4] exponential(s)
  t = f32[4] tanh(e)
  y = f32[4] multiply(t, ms)
  ROOT r = f32[4] select(ps, y, x)
}}

ENTRY main {{
  x = f32[4] parameter(0)
  k = f32[] parameter(1)
  n = f32[] constant({first})
  o = f32[] constant({second})
  f = (f32[4], f32[], pred[], f32[4]) call(x, n, k), to_apply=work
  f0 = f32[4] get-tuple-element(f), index=0
  f1 = f32[] get-tuple-element(f), index=1
  f2 = pred[] get-tuple-element(f), index=2
  f3 = f32[4] get-tuple-element(f), index=3
  g = (f32[4], f32[], pred[], f32[4]) call(f0, o, k), to_apply=work
  g0 = f32[4] get-tuple-element(g), index=0
  g1 = f32[] get-tuple-element(g), index=1
  g2 = pred[] get-tuple-element(g), index=2
  g3 = f32[4] get-tuple-element(g), index=3
  h = f32[4] call(f3, f1, f2), to_apply=again
  i = f32[4] call(g0, g1, g2), to_apply=again
  ROOT r = (f32[4], f32[4], f32[4]) tuple(h, i, g3)
}}
"""
Y = np.linspace(0.2, 1.4, 4, dtype=np.float32)


def test_numbers_move_in_and_what_follows_moves_on():
    hlo = MODULE.format(first=3, second=3)
    text = xla2py.emit(hlo, debug=True).source
    assert re.search(r"def work\(x: Array, k: Scalar\) -> tuple\[Array, Array\]", text)
    assert re.search(r"def again\(x: Array\) -> Array", text)
    assert " * 4" in definition(text, "again")
    assert "np.where(" not in text
    assert_agrees(hlo, Y, np.float32(0.5), without=PASS)


@pytest.mark.parametrize(("first", "second"), [("0", "-0"), ("nan", "1"), ("3", "4")])
def test_other_numbers_stay_arguments(first, second):
    hlo = MODULE.format(first=first, second=second)
    text = xla2py.emit(hlo, debug=True).source
    assert re.search(r"def work\(x: Array, n: Scalar, k: Scalar\)", text)
    assert_agrees(hlo, Y, np.float32(0.5), without=PASS)


@pytest.mark.parametrize("number", ["nan", "-0", "inf"])
def test_any_number_moves(number):
    hlo = MODULE.format(first=number, second=number)
    assert re.search(r"def work\(x: Array, k: Scalar\)", xla2py.emit(hlo, debug=True).source)
    assert_agrees(hlo, Y, np.float32(0.5), without=PASS)


NUMBERS_ALONE = """HloModule m

first {
  n = f32[] parameter(0)
  s = f32[] sine(n)
  c = f32[] cosine(s)
  t = f32[] tanh(c)
  e = f32[] exponential(t)
  l = f32[] log(e)
  a = f32[] add(s, l)
  z = f32[] constant(7)
  ROOT r = (f32[], f32[]) tuple(a, z)
}

ENTRY main {
  x = f32[] parameter(0)
  n = f32[] constant(0.5)
  f = (f32[], f32[]) call(n), to_apply=first
  g = (f32[], f32[]) call(n), to_apply=first
  h = (f32[], f32[]) call(x), to_apply=first
  f0 = f32[] get-tuple-element(f), index=0
  g1 = f32[] get-tuple-element(g), index=1
  h0 = f32[] get-tuple-element(h), index=0
  ROOT r = (f32[], f32[], f32[]) tuple(f0, g1, h0)
}
"""


@pytest.mark.parametrize("is_given_alone", [False, True])
def test_one_result_is_left(is_given_alone):
    hlo = NUMBERS_ALONE.replace("call(x)", "call(n)") if is_given_alone else NUMBERS_ALONE
    assert_agrees(hlo, np.float32(0.25), without=PASS)
    text = xla2py.emit(hlo, debug=True).source
    assert "first(" not in text if is_given_alone else "def first(n: Scalar) -> Scalar:" in text


TABLES = """HloModule m

first {{
  p = f32[5] parameter(0)
  t = f32[5] parameter(1)
  s = f32[5] sine(p)
  c = f32[5] cosine(s)
  h = f32[5] tanh(c)
  e = f32[5] exponential(h)
  ROOT a = f32[5] multiply(e, t)
}}

ENTRY main {{
  x = f32[5] parameter(0)
  t = f32[5] constant({{0.25, 1, 3, -2, 0.125}})
  u = f32[5] constant({{0.25, 1, 3, -2, {last}}})
  f = f32[5] call(x, t), to_apply=first
  ROOT g = f32[5] call(f, u), to_apply=first
}}
"""


@pytest.mark.parametrize(("last", "moves"), [("0.125", True), ("0.5", False)])
def test_tables_that_are_the_same_in_all_calls(last, moves):
    text = TABLES.format(last=last)
    source = xla2py.emit(text, debug=True).source
    assert ("def first(p: Array) -> Array:" in source) == moves
    assert_agrees(text, np.linspace(-1, 1, 5, dtype=np.float32), without=PASS)


def test_a_gradient_makes_the_masks_that_its_function_has_only_for_it():
    def loss(a, b):
        lower, other = jnp.linalg.cholesky(a), jnp.linalg.cholesky(b)
        return jnp.log(jnp.diag(lower)).sum() + jnp.sin(other).sum() + (lower * other).sum()

    a = X.T @ X + 2 * np.eye(4, dtype=np.float32)
    text = body(jax.grad(loss, (0, 1)), a, a + np.eye(4, dtype=np.float32))
    assert "np.tril(" in definition(text, "d_cholesky") and "np.tri(" not in text
    assert text.count("np.eye(4") == 1
    hlo = jax.jit(jax.grad(loss, (0, 1))).lower(a, a + 1).as_text("hlo", debug_info=True)
    assert_agrees(hlo, a, a + 1, without=PASS)

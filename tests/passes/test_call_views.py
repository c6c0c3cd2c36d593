"""Functions take arrays in place of views of them that only have more axes."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees, entry
from xla2py.tests.recording.lazy_jax import jax, jnp

WIDTH = 4
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, WIDTH)


def layer(params, x):
    hidden = jnp.tanh(x @ params["weight"])
    centred = hidden - hidden.mean(-1, keepdims=True)
    return x + centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * params["scale"]


def over_rows(params, x):
    """A layer that norms over the rows, and scales with a factor that has an axis for them."""
    hidden = jnp.tanh(x @ params["weight"])
    variance = (hidden**2).mean(0)
    factor = jax.lax.rsqrt(variance.reshape(1, WIDTH) + 1e-5) * params["scale"].reshape(1, WIDTH)
    return x + hidden * factor


def gradients(layers, x, layer=layer):
    def loss(layers):
        h = x
        for each in layers:
            h = layer(each, h)
        return (h**2).sum()

    return jax.grad(loss)(layers)


def parameters(count):
    rng = np.random.default_rng(7)
    shapes = {"weight": (WIDTH, WIDTH), "scale": (WIDTH,)}
    return [{name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()} for _ in range(count)]


@pytest.mark.parametrize("count", [3, 4])
def test_layers_take_the_weights(count):
    module = xla2py.from_jax(gradients, parameters(count), X)
    text = xla2py.emit(module, debug=True).source
    assert "[None]" in xla2py.emit(module, disable_passes=["call_views"]).source
    assert not re.search(r"\w\[None\]", text)  # no list that is filled
    assert "def layer(layers: Tree, x: Array)" in text
    assert ' * layers["scale"]' in text


def test_work_on_views_is_work_on_the_weights():
    module = xla2py.from_jax(lambda layers, x: gradients(layers, x, over_rows), parameters(3), X)
    body = xla2py.emit(module, debug=True).source.split("def over_rows(")[1].split("return")[0]
    assert 'layers["scale"]' in body
    assert "[0]" not in body


@pytest.mark.parametrize("layer", [layer, over_rows])
@pytest.mark.parametrize("disabled", [[], ["call_views"]])
def test_the_values_are_those_of_jax(disabled, layer):
    given = parameters(3)
    module = xla2py.from_jax(lambda layers, x: gradients(layers, x, layer), given, X)
    found = xla2py.emit(module, disable_passes=disabled).load().main(given, X)
    wanted = jax.jit(lambda layers, x: gradients(layers, x, layer))(given, X)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


REVERSED = """weighted {
f = f32[4] parameter(0)
x = f32[4] parameter(1)
r = f32[4] reverse(f), dimensions={0}
p = f32[4] multiply(r, x)
s = f32[4] sine(p)
t = f32[4] tanh(s)
u = f32[4] multiply(t, s)
ROOT v = f32[4] add(u, x)
}
"""
CALLS = (
    *("f = f32[4] parameter(0)", "x = f32[4] parameter(1)", "g = f32[4] {}"),
    *("a = f32[4] call(g, x), to_apply=weighted", "b = f32[4] call(g, a), to_apply=weighted"),
    "c = f32[4] call(g, b), to_apply=weighted",
)


@pytest.mark.parametrize(
    ("view", "is_taken"),
    [("reverse(f), dimensions={0}", True), ("sine(f)", False), ("sort(f), dimensions={0}, to_apply=less", False)],
)
def test_what_is_reversed_twice_is_not_reversed(view, is_taken):
    less = "less {\na = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT l = pred[] compare(a, b), direction=LT\n}\n"
    text = entry(*(line.replace("{}", view) for line in CALLS), functions=REVERSED + less)
    assert ("[::-1]" not in xla2py.emit(text).source) == is_taken
    assert_agrees(text, X[0], X[1] * 3, without="call_views")


STACKED = """HloModule m

work {{
  x = f32[4] parameter(0)
  i = s32[3] parameter(1)
  e = f32[4] exponential(x)
  s = f32[4] sine(e)
  c = f32[4] cosine(s)
  l = s32[3] abs(i)
  m = s32[3] minimum(l, i)
  t = s32[3] multiply(l, m)
  u = s32[3] add(t, l)
  a = s32[3,1] reshape(l)
  b = s32[3,1] reshape(u)
  p = s32[3,2] concatenate(a, b), dimensions={{1}}
  ROOT r = (f32[4], s32[3,2]) tuple(c, p)
}}

ENTRY main {{
  x = f32[4] parameter(0)
  i = s32[3] parameter(1)
  first = (f32[4], s32[3,2]) call(x, i), to_apply=work
  f = f32[4] get-tuple-element(first), index=0
  p = s32[3,2] get-tuple-element(first), index=1
  next = (f32[4], s32[3,2]) call(f, i), to_apply=work
  g = f32[4] get-tuple-element(next), index=0
  q = s32[3,2] get-tuple-element(next), index=1
  o = s32[3,1] slice(p), slice={{[0:3], [0:1]}}
  a = s32[3] reshape(o)
  v = s32[3,1] slice(q), slice={{[0:3], [1:2]}}
  b = s32[3] reshape(v)
  {rest}
}}
"""


@pytest.mark.parametrize(
    ("rest", "is_taken_apart"),
    [
        ("ROOT r = (f32[4], s32[3], s32[3]) tuple(g, a, b)", True),
        ("ROOT r = (f32[4], s32[3], s32[3,2]) tuple(g, a, q)", False),
        ("t = s32[3,2] add(p, q)\n  ROOT r = (f32[4], s32[3,2]) tuple(g, t)", False),
    ],
)
def test_functions_give_the_arrays_of_a_stack(rest, is_taken_apart):
    text = STACKED.format(rest=rest)
    source = xla2py.emit(text).source
    assert ("np.stack" not in source) is is_taken_apart
    assert_agrees(text, np.float32([0, -1, np.nan, 2]), np.int32([5, -1, 2]), without="interfaces")

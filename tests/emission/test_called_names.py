"""Functions are called as their calls say, not by the numbers that JAX tells several of one name apart by."""

import re

import numpy as np
import pytest

import xla2py
from xla2py.transpile.emission.naming.scopes import called_names

jax = pytest.importorskip("jax")
X, W = np.float32([[1, -2, 3], [0.5, 0, 1]]), np.float32([[1, 0, 2], [0, 1, 0], [3, 1, 1]])


def functions(program, *arguments):
    """The heads of the functions of the program's own, by name."""
    generated = xla2py.emit(xla2py.from_jax(program, *arguments))
    found, expected = generated.load().main(*arguments), jax.jit(program)(*arguments)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5)
    return dict(re.findall(r"^def (\w+)\((.*)\) ->", generated.source, re.MULTILINE))


@jax.jit
def mixed(a, b):
    c = jax.numpy.sin(a @ b) * a
    return c / (1 + jax.numpy.abs(c)) - a.sum()


class Layer:
    def __init__(self, w):
        self.w = w

    def applied(self, other):
        return jax.numpy.cos(self.w @ other) * self.w - jax.numpy.exp(other).sum(axis=0)


def test_functions_of_one_name_and_of_several_shapes():
    def program(x, w):
        return mixed(x, w), mixed(x * 2, w), mixed(w, w), mixed(w, w * 3)

    heads = functions(program, X, W)
    assert {"mixed", "mixed_2"} <= heads.keys() and not any(re.fullmatch(r"mixed_\d\d+", name) for name in heads), heads


def test_a_method_has_no_parameter_that_is_called_self():
    jitted = jax.jit(Layer.applied)
    jax.tree_util.register_pytree_node(Layer, lambda layer: ((layer.w,), None), lambda _, parts: Layer(*parts))

    def program(x, w):
        return jitted(Layer(w), w * 2), jitted(Layer(w + 1), w), x

    heads = functions(program, X, W)
    assert "self" not in heads["applied"], heads


TEXT = """
HloModule jit_f
scale_7.3 {
  a = f32[3] parameter(0)
  ROOT r = f32[3] sine(a)
}
ENTRY main {
  x = f32[3] parameter(0)
  a = f32[3] call(x), to_apply=scale_7.3, metadata={op_name="jit(f)/NAME"}
  b = f32[3] call(a), to_apply=scale_7.3, metadata={op_name="jit(f)/OTHER"}
  ROOT t = f32[3] multiply(a, b)
}
"""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("jit(scale)", "jit(scale)", "scale"),
        ("jit(scale)", "vmap(jit(scale))", "scale"),
        ("transpose(jvp(jit(scale)))", "transpose(jvp(jit(scale)))", "d_scale"),
        ("jit(scale)", "transpose(jvp(jit(scale)))", None),  # they do not agree
        ("jit(other)", "jit(other)", None),  # what is called has another name
        ("jit(sc)", "jit(sc)", None),
        ("jit(scale_7)", "jit(scale_7)", "scale_7"),  # the author's own number
        ("jit(scale) or else", "mul", None),
    ],
)
def test_names_are_those_that_all_calls_have(first, second, expected):
    module = xla2py.load(TEXT.replace("NAME", first).replace("OTHER", second))
    assert list(called_names(module).values()) == ([] if expected is None else [expected])


WEIGHED = """
HloModule jit_f
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
weigh { logits = f32[5] parameter(0)
  e = f32[5] exponential(logits)
  zero = f32[] constant(0)
  s = f32[] reduce(e, zero), dimensions={0}, to_apply=sum
  ss = f32[5] broadcast(s), dimensions={}
  d = f32[5] divide(e, ss)
  m = f32[5] multiply(d, e)
  n = f32[5] sine(m)
  l = f32[5] add(n, ss)
  ROOT r = (f32[5], f32[5], f32[]) tuple(l, e, s)
}
ENTRY main {
  logits = f32[5] parameter(0)
  y = f32[5] parameter(1)
  a = (f32[5], f32[5], f32[]) call(logits), to_apply=weigh
  b = (f32[5], f32[5], f32[]) call(y), to_apply=weigh
  a0 = f32[5] get-tuple-element(a), index=0
  a1 = f32[5] get-tuple-element(a), index=1
  a2 = f32[] get-tuple-element(a), index=2
  b0 = f32[5] get-tuple-element(b), index=0
  b1 = f32[5] get-tuple-element(b), index=1
  b2 = f32[] get-tuple-element(b), index=2
  as = f32[5] broadcast(a2), dimensions={}
  bs = f32[5] broadcast(b2), dimensions={}
  p = f32[5] multiply(a0, b1)
  q = f32[5] multiply(p, as)
  s = f32[5] add(q, b0)
  t = f32[5] add(s, a1)
  ROOT u = f32[5] multiply(t, bs)
}
"""


def test_results_are_called_as_inside_the_function_unless_that_says_nothing():
    source = xla2py.emit(xla2py.load(WEIGHED)).source
    assert "    total, exp_logits, exp_logits_sum = weigh(logits)\n" in source, source

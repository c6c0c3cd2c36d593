"""Functions of one name that compute the same are one; a blur is a function, since its convolution is some lines."""

import re

import numpy as np

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp

IMAGES = [np.random.default_rng(seed).uniform(size=(12, 9)).astype(np.float32) for seed in range(2)]


def blur(z):
    rows = jax.vmap(lambda row: jnp.convolve(row, jnp.array([0.25, 0.5, 0.25], z.dtype), mode="valid"))
    return rows(z.T.reshape(9, 12)).reshape(3, 3, 10)


def likeness(a, b):
    mean, other = blur(a), blur(b)
    covariance = blur(a * b) - mean * other
    return (covariance / (blur(a * a) + blur(b * b) - mean * mean - other * other)).mean()


def functions(emitted):
    return re.findall(r"^def (\w+)", emitted.source, re.MULTILINE)


def lowered(function, *given):
    return jax.jit(function).lower(*given).as_text("hlo", debug_info=True)


def test_a_blur_is_one_function_with_and_without_a_gradient():
    for function in (likeness, jax.value_and_grad(likeness)):
        emitted = xla2py.emit(lowered(function, *IMAGES), checks=False)
        assert functions(emitted).count("blur") == 1
        assert "blur_2" not in functions(emitted)
        found = emitted.load().main(*IMAGES)
        for actual, expected in zip(jax.tree.leaves(found), jax.tree.leaves(function(*IMAGES)), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=2e-3, atol=1e-5)


def test_a_single_blur_stays_where_it_is():
    assert "blur" not in functions(xla2py.emit(lowered(blur, IMAGES[0]), checks=False))


STEP = """
{name} {{
  x = f32[5] parameter(0)
  y = f32[5] parameter(1)
  a = f32[5] sine(x)
  b = f32[5] cosine(y)
  c = f32[5] multiply(a, b)
  d = f32[5] tanh(c)
  e = f32[5] add(d, x)
  ROOT f = f32[5] {last}(e)
}}
"""
CALLS = """
ENTRY main {
  p = f32[5] parameter(0)
  q = f32[5] parameter(1)
  r = f32[5] call(p, q), to_apply=step.1
  s = f32[5] call(q, r), to_apply=step.1
  t = f32[5] call(s, p), to_apply=NAME.2
  u = f32[5] call(t, s), to_apply=NAME.2
  ROOT v = f32[5] add(u, r)
}
"""


def kept(name, last):
    steps = STEP.format(name="step.1", last="exponential") + STEP.format(name=f"{name}.2", last=last)
    emitted = xla2py.emit("HloModule m\n" + steps + CALLS.replace("NAME", name), checks=False)
    p, q = np.linspace(-1, 1, 5, dtype=np.float32), np.linspace(0, 3, 5, dtype=np.float32)

    def step(x, y, outer=np.exp):
        return outer(np.tanh(np.sin(x) * np.cos(y)) + x)

    end = np.exp if last == "exponential" else np.log
    r = step(p, q)
    s = step(q, r)
    t = step(s, p, end)
    np.testing.assert_allclose(emitted.load().main(p, q), step(t, s, end) + r, rtol=1e-5)
    return len([name for name in functions(emitted) if name != "main"])


def test_equal_functions_of_one_name_are_one():
    assert kept("step", "exponential") == 1
    assert kept("step_5", "exponential") == 1  # as JAX numbers functions of one name


def test_other_names_and_other_operations_stay():
    assert kept("again", "exponential") == 2
    assert kept("step", "log") == 2
    assert kept("step_5", "log") == 2
    assert kept("other_5", "exponential") == 2

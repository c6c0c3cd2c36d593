"""What is recognised with JAX's types of 64 bits, where positions are s64, as without."""

import ast

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.passes.raising import hlo
from xla2py.tests.recording.lazy_jax import jax, jnp

A = (np.random.default_rng(0).normal(size=(4, 4)) + 4 * np.eye(4)).astype(np.float32)
B = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
V = np.array([3, 1, 3, -2, 5, 0], np.float32)
PROGRAMS = {
    "solve": (lambda a, b: jnp.linalg.solve(a, b), (A, B)),
    "solve each": (lambda a, b: jnp.linalg.solve(a, b), (np.stack([A, A.T]), np.stack([B, B + 1]))),
    "tensorsolve": (
        lambda a, b: jnp.linalg.tensorsolve(a, b),
        (A.reshape(2, 2, 2, 2), B[:2, :2]),
    ),
    "inv": (lambda a: jnp.linalg.inv(a), (A,)),
    "det": (lambda a: jnp.linalg.det(a), (A,)),
    "slogdet": (lambda a: jnp.linalg.slogdet(a), (A,)),
    "lu": (lambda a: jax.scipy.linalg.lu(a), (A,)),
    "expm": (lambda a: jax.scipy.linalg.expm(a / 8), (A,)),
    "gradients of solve": (lambda a, b: jax.grad(lambda a, b: jnp.linalg.solve(a, b).sum(), (0, 1))(a, b), (A, B)),
    "gradient of det": (lambda a: jax.grad(jnp.linalg.det)(a), (A,)),
    "gradient of inv": (lambda a: jax.grad(lambda a: jnp.linalg.inv(a).sum())(a), (A,)),
    "nanvar": (lambda x: jnp.nanvar(x), (V,)),
    "piecewise": (lambda x: jnp.piecewise(x, [x < 0, x > 1], [1.0, 2.0, lambda x: x * 2]), (V,)),
}


def lines_of_main(source):
    function = next(node for node in ast.parse(source).body if getattr(node, "name", "") == "main")
    return function.end_lineno - function.lineno


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_with_types_of_32_bits(name):
    function, arguments = PROGRAMS[name]
    texts = []
    for wide in (False, True):
        with jax.enable_x64(wide):
            texts.append(hlo(function, *arguments))
            expected = jax.tree.leaves(jax.jit(function)(*arguments))
    narrow, wide = (emit(text, checks=False, annotate="none", results="may-alias") for text in texts)
    assert lines_of_main(wide.source) <= lines_of_main(narrow.source)
    found = jax.tree.leaves(wide.load().main(*arguments))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-4, atol=2e-5)


def test_conversions_that_lose_bits_stay():
    """Positions and masks are converted without a step between; what does not fit there is not."""
    text = """
ENTRY main {
  x = s32[4] parameter(0)
  small = s8[4] convert(x)
  wide = s64[4] convert(small)
  mask = pred[4] parameter(1)
  number = s32[4] convert(mask)
  count = s64[4] convert(number)
  ROOT t = (s64[4], s64[4]) tuple(wide, count)
}"""
    module = emit(text, checks=False, annotate="none")
    wide, count = module.load().main(np.array([1, 127, 128, 1000], np.int32), np.array([True, False, True, True]))
    assert wide.tolist() == [1, 127, -128, -24] and count.tolist() == [1, 0, 1, 1]
    assert module.source.count("astype") == 3

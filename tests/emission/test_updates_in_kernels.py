"""The next values of arguments have their names where kernels compute them, as they have elsewhere."""

import numpy as np
import pytest

from xla2py.tests.recording.lazy_jax import jax

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.tests.ladder.running import checked, needs_compiler

GENERATOR = np.random.default_rng(8)


def step(params, momentum, x):
    """A step of gradient descent with momentum, of parameters in half precision."""

    def loss(params):
        return (jax.numpy.tanh(x @ params["w"] + params["b"]) ** 2).sum()

    gradients = jax.grad(loss)(params)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g.astype(np.float32), momentum, gradients)
    return jax.tree.map(lambda p, m: (p - 0.1 * m).astype(p.dtype), params, momentum), momentum


def arrays(dtype):
    return {"w": GENERATOR.normal(size=(6, 4)).astype(dtype), "b": GENERATOR.normal(size=4).astype(dtype)}


@needs_compiler
def test_parameters_after_a_step():
    arguments = arrays(np.float16), arrays(np.float32), GENERATOR.normal(size=(3, 6)).astype(np.float16)
    module = xla2py.emit(xla2py.from_jax(step, *arguments), "cupy", style="fast", nested=False)
    names = ", ".join(f"new_{tree}_w" for tree in ("momentum", "params"))
    assert f"{names} = update_kernel" in module.source
    leaves = jax.tree_util.tree_leaves(arguments)
    expected = jax.tree_util.tree_leaves(jax.jit(step)(*arguments))
    for one, other in zip(expected, jax.tree_util.tree_leaves(checked(module, leaves)), strict=True):
        np.testing.assert_allclose(other.astype(np.float32), np.asarray(one).astype(np.float32), 1e-2, 1e-2)

"""The next values of arguments have their names where kernels compute them, as they have elsewhere."""

import numpy as np
import pytest

from xla2py.tests.recording.lazy_jax import jax

pytest.importorskip("cupy", reason="CuPy is not installed")

from xla2py.tests.ladder.running import as_jax, needs_compiler

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
    module = as_jax(step, *arguments, rtol=1e-2, atol=1e-2)
    names = ", ".join(f"new_{tree}_w" for tree in ("momentum", "params"))
    assert f"{names} = update_kernel" in module.source

"""Products of 16-bit floats: ``a @ b`` where the target's library accumulates them in float32, else by casts."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("cupy", reason="CuPy is not installed")

from jax import numpy as jnp  # noqa: E402

import xla2py  # noqa: E402
from xla2py.targets.cupy.twin.costs import costs_of  # noqa: E402
from xla2py.tests.ladder.running import checked  # noqa: E402

GENERATOR = np.random.default_rng(2)
KINDS = {"bfloat16": jnp.bfloat16, "float16": jnp.float16}


def numbers(*shape, kind="bfloat16"):
    return GENERATOR.normal(size=shape).astype(KINDS[kind])


def emitted(function, *arguments, target="cupy"):
    return xla2py.emit(xla2py.from_jax(function, *arguments), target)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("function", "shapes", "text"),
    [
        (lambda x, w: x @ w, ((4, 30), (30, 5)), "x @ w"),
        (lambda x, w: x.T @ w, ((30, 4), (30, 5)), "x.T @ w"),
        (lambda x, w: x @ w.T + 1, ((4, 30), (5, 30)), "x @ w.T"),
    ],
)
def test_products_of_matrices_need_no_casts(function, shapes, text, kind):
    arguments = [numbers(*shape, kind=kind) for shape in shapes]
    module = emitted(function, *arguments)
    assert text in module.source
    assert "astype" not in module.source[: module.source.index("def check_arguments")]
    assert costs_of(module.load, arguments).products == ((kind, 1),)
    expected = np.asarray(jax.jit(function)(*arguments)).astype(np.float32)
    np.testing.assert_allclose(checked(module, arguments).astype(np.float32), expected, 2e-2, 1e-2)


X, W = numbers(4, 30), numbers(30, 5)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x, w: jnp.matmul(x, w, preferred_element_type=jnp.float32), (X, W)),  # not rounded
        (
            lambda x, w: (lambda f: (f, f.astype(jnp.bfloat16)))(jnp.matmul(x, w, preferred_element_type="float32")),
            (X, W),
        ),
        (lambda x, w: x @ w, (numbers(2, 4, 30), numbers(2, 30, 5))),  # a batch, which CuPy refuses
        (lambda x, w: x @ w, (X, W[:, 0])),
        (lambda x, w: (x @ w.astype(jnp.float32)).astype(jnp.bfloat16), (X, W.astype(jnp.float16))),
    ],
)
def test_others_are_products_of_float32(function, arguments):
    module = emitted(function, *arguments)
    assert dict(costs_of(module.load, arguments).products) == {"float32": 1}
    expected = [np.asarray(x).astype(np.float32) for x in jax.tree_util.tree_leaves(jax.jit(function)(*arguments))]
    found = checked(module, list(arguments))
    for one, other in zip(expected, found if isinstance(found, tuple) else [found], strict=True):
        np.testing.assert_allclose(other.astype(np.float32), one, 2e-2, 1e-2)


def test_libraries_without_them_cast():
    assert "astype(np.float32)" in emitted(lambda x, w: x @ w, X, W, target="numpy").source

"""Products of narrow numbers: by the library where it adds up 16-bit floats in float32 and bytes in int32, else by
casts.
"""

import numpy as np
import pytest

from xla2py.tests.recording.lazy_jax import jax, jnp

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.tests.ladder.running import checked

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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("function", "shapes", "text", "launches"),
    [
        (lambda x, w: x @ w, ((2, 3, 7, 5), (2, 3, 5, 4)), "gemm(x, w)", 1),
        (lambda x, w: x @ w.mT, ((2, 3, 7, 5), (2, 3, 4, 5)), "gemm(x, w.mT)", 1),
        (lambda x, w: x.mT @ w.mT, ((3, 5, 7), (3, 4, 5)), "gemm(x.mT, w.mT)", 1),
        (lambda x, w: x @ w, ((2, 3, 7, 5), (5, 4)), "cp.tensordot(x, w, axes=1)", 1),
        (lambda x, w: x[..., :4] @ w[:, 1:5], ((2, 3, 7), (2, 7, 4)), "gemm(x[..., :4], w[:, 1:5])", 1),
        (lambda x, w: x[..., ::-1] @ w[::-1], ((2, 3, 7), (2, 7, 4)), "gemm(x[..., ::-1], w[::-1])", 3),  # copies
        (lambda x, w: jnp.einsum("bthd,bshd->bhts", x, w), ((2, 6, 3, 8), (2, 5, 3, 8)), "gemm(x.transpose", 3),
        (lambda x, w: x @ w, ((1, 9), (9, 1)), "gemm(x, w)", 1),  # CuPy would round each term
        (lambda x, w: jnp.einsum("btm,mhd->bthd", x, w), ((2, 3, 9), (9, 2, 4)), "cp.tensordot(x, w, axes=1)", 1),
        (
            lambda x, w: jnp.matmul(x, w, preferred_element_type="float32"),
            ((3, 7), (7, 4)),
            "gemm(x, w, cp.float32)",
            1,
        ),
        (lambda x, w: jnp.matmul(x, w.mT, preferred_element_type="float32"), ((2, 3, 7), (2, 4, 7)), "cp.float32)", 1),
        (lambda x, w: x @ w, ((4, 30), (30,)), 'contract(x, w, "ab,b->a")', 1),
        (lambda x, w: x @ w, ((30,), (30, 4)), 'contract(x, w, "a,ac->c")', 1),
        (lambda x, w: x @ w, ((30,), (30,)), 'contract(x, w, "a,a->")', 1),
        (lambda x, w: jnp.einsum("ij,ji->", x, w), ((4, 30), (30, 4)), 'contract(x, w, "', 2),  # a copy
        (lambda x, w: jnp.einsum("abij,abjkl->abikl", x, w), ((2, 3, 4, 5), (2, 3, 5, 6, 2)), "contract(x, w, ", 1),
        (
            lambda x, w: jnp.einsum("btm,mhd->bthd", x, w, preferred_element_type="float32"),
            ((2, 3, 9), (9, 2, 4)),
            ", cp.float32)",
            1,
        ),
    ],
)
def test_batches_and_sums_of_float32_go_to_cublas(function, shapes, text, launches, kind):
    arguments = [numbers(*shape, kind=kind) for shape in shapes]
    module = emitted(function, *arguments)
    assert text in module.source
    costs = costs_of(module.load, arguments)
    assert (costs.launches, costs.products) == (launches, ((kind, 1),))
    expected = np.asarray(jax.jit(function)(*arguments))
    found = checked(module, arguments)
    assert found.dtype == expected.dtype
    tolerance = 1e-5 if found.dtype == np.float32 else 2e-2
    np.testing.assert_allclose(found.astype(np.float32), expected.astype(np.float32), tolerance, tolerance)


X, W = numbers(4, 30), numbers(30, 5)


def test_sums_that_are_also_rounded_are_added_up_once():
    def both(x, w):
        sums = jnp.matmul(x, w, preferred_element_type=jnp.float32)
        return sums, sums.astype(jnp.bfloat16)

    module = emitted(both, X, W)
    assert costs_of(module.load, [X, W]).products == (("bfloat16", 1),)
    for one, other in zip(jax.jit(both)(X, W), checked(module, [X, W]), strict=True):
        np.testing.assert_allclose(other.astype(np.float32), np.asarray(one).astype(np.float32), 2e-2, 1e-2)


def test_others_are_products_of_float32():
    def product(x, w):
        return (x @ w.astype(jnp.float32)).astype(jnp.bfloat16)

    arguments = [X, W.astype(jnp.float16)]
    module = emitted(product, *arguments)
    assert dict(costs_of(module.load, arguments).products) == {"float32": 1}
    expected = np.asarray(jax.jit(product)(*arguments)).astype(np.float32)
    np.testing.assert_allclose(checked(module, arguments).astype(np.float32), expected, 2e-2, 1e-2)


@pytest.mark.parametrize("cast", [True, False])
@pytest.mark.parametrize(
    ("text", "shapes", "call"),
    [
        ("mk,kn->mn", ((5, 16), (16, 12)), "gemm(x, w, cp.int32)"),
        ("mk,nk->mn", ((1, 16), (12, 16)), "gemm(x, w.T, cp.int32)"),
        ("bmk,bnk->bmn", ((3, 5, 16), (3, 12, 16)), "gemm(x, w.mT, cp.int32)"),
        ("bmk,kn->bmn", ((3, 5, 16), (16, 12)), "gemm(x, w, cp.int32)"),
        ("bmhk,bnhk->bhmn", ((2, 5, 3, 16), (2, 12, 3, 16)), "cp.int32)"),
        ("bmk,bkn->mn", ((2, 5, 6), (2, 6, 4)), "gemm("),
        ("mk,kn->mn", ((5, 15), (15, 12)), "astype(cp.int32)"),  # rows of no whole words
        ("mk,kn->mn", ((5, 16), (16, 3)), "astype(cp.int32)"),
    ],
)
def test_bytes_are_added_up_in_int32(text, shapes, call, cast):
    def product(x, w):
        if cast:
            return jnp.einsum(text, x.astype(jnp.int32), w.astype(jnp.int32))
        return jnp.einsum(text, x, w, preferred_element_type=jnp.int32)

    arguments = [GENERATOR.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    module = emitted(product, *arguments)
    assert call in module.source
    assert costs_of(module.load, arguments).products == (("int8" if "gemm" in module.source else "int32", 1),)
    np.testing.assert_array_equal(checked(module, arguments), np.asarray(product(*arguments)))


def test_bytes_that_begin_at_no_word_are_copied():
    def product(x, w):
        return jnp.einsum("mk,nk->mn", x[3:83].reshape(5, 16), w, preferred_element_type=jnp.int32)

    arguments = [GENERATOR.integers(-128, 128, shape).astype(np.int8) for shape in ((90,), (12, 16))]
    module = emitted(product, *arguments)
    assert "gemm(x[3:83].reshape(5, 16), w.T, cp.int32)" in module.source
    np.testing.assert_array_equal(checked(module, arguments), np.asarray(product(*arguments)))


def test_products_of_three_arrays_stay():
    def product(x, w):
        return jnp.einsum("ij,ik,il->jkl", x, w, w, optimize=False)

    x, w = numbers(4, 3), numbers(4, 5)
    expected = np.asarray(jax.jit(product)(x, w)).astype(np.float32)
    np.testing.assert_allclose(checked(emitted(product, x, w), [x, w]).astype(np.float32), expected, 5e-2, 5e-2)


def test_libraries_without_them_cast():
    assert "astype(np.float32)" in emitted(lambda x, w: x @ w, X, W, target="numpy").source

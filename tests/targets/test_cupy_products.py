"""Batches of products in the fast style of CuPy: cuBLAS reads operands where they are, as the twin does."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.targets.cupy.twin.cublas import CublasError
from xla2py.tests.ladder.running import checked, on_twin
from xla2py.tests.recording.lazy_jax import jax, jnp

GENERATOR = np.random.default_rng(4)


def numbers(*shape, dtype=np.float32):
    return GENERATOR.normal(size=shape).astype(dtype)


CASES = [
    (lambda x, w: x @ w.mT, ((2, 3, 7, 5), (2, 3, 4, 5)), "gemm(x, w.mT)"),
    (lambda x, w: x.mT @ w, ((3, 5, 7), (3, 5, 4)), "gemm(x.mT, w)"),
    (lambda x, w: x @ w, ((2, 3, 7, 5), (5, 4)), "cp.tensordot(x, w, axes=1)"),
    (lambda x, w: x[..., :4] @ w[:, 1:5], ((2, 3, 7), (2, 7, 4)), "gemm(x[..., :4], w[:, 1:5])"),
    (lambda x, w: x @ w, ((2, 3, 4), (2, 4, 5)), "x @ w"),
    (lambda x, w: x @ w.T, ((3, 4), (5, 4)), "x @ w.T"),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("function", "shapes", "text"), CASES)
def test_nothing_is_copied_before_a_product(function, shapes, text, dtype):
    with jax.enable_x64(dtype == "float64"):
        arguments = [numbers(*shape, dtype=dtype) for shape in shapes]
        module = xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style="fast")
        expected = np.asarray(jax.jit(function)(*arguments))
    assert f"return {text}\n" in module.source
    costs = costs_of(module.load, arguments)
    assert (costs.launches, costs.products) == (1, ((dtype, 1),))
    np.testing.assert_allclose(checked(module, arguments), expected, 1e-5, 1e-5)


def attention(q, k, v):
    return jnp.einsum("bhts,bshd->bthd", jnp.einsum("bthd,bshd->bhts", q, k), v)


@pytest.mark.parametrize("batch", [1, 3])
def test_large_matrices_whose_batch_is_in_another_order_are_multiplied_in_turn(batch):
    arguments = [numbers(batch, length, 2, 4) for length in (5, 6, 6)]
    module = xla2py.emit(xla2py.from_jax(attention, *arguments), "cupy", style="fast")
    expected = np.asarray(attention(*arguments))
    np.testing.assert_allclose(checked(module, arguments), expected, 1e-5, 1e-5)
    copied = costs_of(module.load, arguments)
    in_turn = replace(module, source=module.source.replace("SMALL_BYTES = 1 << 25", "SMALL_BYTES = 1"))
    np.testing.assert_allclose(checked(in_turn, arguments), expected, 1e-5, 1e-5)
    costs = costs_of(in_turn.load, arguments)
    assert costs.launches == 2 * batch
    assert copied.launches == 2 + 3 * (batch > 1)
    assert (costs.bytes_moved < copied.bytes_moved) == (batch > 1)


def test_readable_modules_leave_it_to_the_library():
    arguments = [numbers(2, 3, 4), numbers(4, 5)]
    module = xla2py.emit(xla2py.from_jax(lambda x, w: x @ w, *arguments), "cupy")
    assert "x @ w" in module.source
    assert costs_of(module.load, arguments).launches == 4  # CuPy works out where each matrix is


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(b.data.ptr, kind, layout_b.apart, layout_b.step)", "(b.data.ptr, kind, layout_b.apart, layout_a.step)"),
        ("(layout_b.turn, layout_a.turn,", "(layout_a.turn, layout_b.turn,"),
        ("max(column, rows), step", "columns, step"),
        ("result_kind, layout.apart, layout.step", "result_kind, layout_a.apart, layout.step"),
        ("cp.cuda.cublas.CUBLAS_COMPUTE_32F\n", "cp.cuda.cublas.CUBLAS_COMPUTE_64F\n"),
        ("shape[-2:], addressof(one))", "shape[-2:])"),
    ],
)
def test_the_twin_finds_wrong_places(right, wrong):
    x, w = numbers(3, 5, 7), numbers(3, 5, 4)
    module = xla2py.emit(xla2py.from_jax(lambda x, w: x.mT @ w, x, w), "cupy", style="fast")
    expected = np.einsum("bki,bkj->bij", x, w)
    np.testing.assert_allclose(on_twin(module, [x, w]), expected, 1e-5, 1e-5)
    assert right in module.source
    broken = replace(module, source=module.source.replace(right, wrong))
    try:
        found = on_twin(broken, [x, w])
    except (CublasError, ValueError):
        return
    assert not np.allclose(found, expected, 1e-3, 1e-3)

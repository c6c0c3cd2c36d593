"""QR in one call, and guards behind decompositions that may fail."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import assert_agrees, hlo, main, optimised
from xla2py.tests.recording.lazy_jax import jnp
from xla2py.transpile.equivalence.verdicts.comparison import Budget

rng = np.random.default_rng(5)
TALL = rng.normal(size=(6, 3)).astype(np.float32)
WIDE = np.ascontiguousarray(TALL.T)
SQUARE = TALL[:3]
SYMMETRIC = SQUARE + SQUARE.T
BATCH = np.stack([SYMMETRIC, 2 * SYMMETRIC, np.full((3, 3), np.nan, np.float32)])
LOOSE = Budget(relative=1e-3, absolute=1e-4)


@pytest.mark.parametrize("form", [hlo, optimised])
@pytest.mark.parametrize("matrix", [TALL, WIDE, SQUARE, BATCH[:2]], ids=["tall", "wide", "square", "batch"])
def test_both_factors_in_one_call(matrix, form):
    text = form(lambda a: tuple(jnp.linalg.qr(a)), matrix)
    assert "q, r = np.linalg.qr(a)" in main(text) and "geqrf" not in main(text)
    assert_agrees(text, matrix, without="factorisations", budget=LOOSE)


def test_a_matrix_that_is_not_finite():
    text = hlo(lambda a: tuple(jnp.linalg.qr(a)), SQUARE)
    assert_agrees(text, np.full((3, 3), np.nan, np.float32), without="factorisations", budget=LOOSE)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: jnp.linalg.qr(a, mode="r"),  # no Q is asked for
        lambda a: tuple(jnp.linalg.qr(a, mode="complete")),
        lambda a: tuple(jnp.linalg.qr(a, mode="raw")),
    ],
)
def test_other_uses_of_the_reflectors_stay(function):
    text = hlo(function, TALL)
    assert "geqrf(a)" in main(text) and "np.linalg.qr" not in main(text)
    assert_agrees(text, TALL, without="factorisations", budget=LOOSE)


@pytest.mark.parametrize(
    ("function", "matrix"),
    [
        (lambda a: jnp.linalg.svd(a, full_matrices=False)[1], TALL),
        (lambda a: jnp.linalg.eigvalsh(a), BATCH),
        (lambda a: jnp.linalg.eigvalsh(a), np.full((3, 3), np.inf, np.float32)),
    ],
)
def test_no_guard_where_the_function_has_its_own(function, matrix):
    text = hlo(function, matrix)
    assert "np.nan" not in main(text) and "np.nan" in main(text, disable_passes=["factorisations"])
    assert_agrees(text, matrix, without="factorisations", budget=LOOSE)


def test_a_guard_with_another_nan_stays():
    text = hlo(lambda a: jnp.linalg.eigvals(a), SYMMETRIC)
    assert "complex(np.nan, np.nan)" in main(text)
    assert_agrees(text, np.full((3, 3), np.nan, np.float32), without="factorisations", budget=LOOSE)


def test_a_guard_that_asks_for_something_else_stays():
    def other(a, flag):
        return jnp.where(flag == 0, jnp.linalg.svd(a, full_matrices=False)[1], jnp.nan)

    text = hlo(other, TALL, np.int32(0))
    assert "np.where((flag == 0) & (info == 0), " in main(text)
    for flag in (0, 1):
        assert_agrees(text, TALL, np.int32(flag), without="factorisations", budget=LOOSE)

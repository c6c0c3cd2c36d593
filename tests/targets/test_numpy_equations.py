"""Loops that Numba compiles as a whole, with equations of small matrices and calls of functions in their rounds."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.templates.prelude import lapack, linalg
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numba_prelude import numba_prelude
from xla2py.tests.targets.numpy_fast import assert_as_in_xla
from xla2py.transpile.emission.module.generated import GeneratedModule

jnp, lax = jax.numpy, jax.lax
small_equations, small_matrices = numba_prelude("small_equations"), numba_prelude("small_matrices")
RNG = np.random.default_rng(3)


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


def positive(n: int, dtype: Any = np.float32) -> np.ndarray:
    a = normal(n, n, dtype=dtype)
    return a @ a.T + n * np.eye(n, dtype=dtype)


def as_one_function(function: Callable[..., Any], *arguments: Any, tolerance: float = 2e-4) -> GeneratedModule:
    """The module of a function, ``main`` of which has no loop left, and which gives what XLA gives."""
    module = xla2py.emit(xla2py.from_jax(function, *arguments), style="fast", format=False, checks=False, debug=True)
    main = module.source.split("\ndef main")[1].split("\ndef ")[0]
    assert re.search(r"(_loop|compiled_main)\(", main)
    assert not {"for", "while"} & set(main.split())
    assert_as_in_xla(module, function, arguments, tolerance)
    return module


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 5, 32])
def test_small_matrices_have_the_factors_of_the_shared_prelude(n, dtype):
    """Only one triangle is read; what is not positive definite, or has NaN, gives NaN in the triangle."""
    a = positive(n, dtype)
    failing = [-a, np.zeros_like(a), np.where(np.eye(n) > 0, np.nan, a), np.where(np.arange(n) == n - 1, np.nan, a)]
    for lower in (True, False):
        triangle = np.where(np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T, a, np.nan)
        tolerance = 50 * np.finfo(dtype).eps
        made = small_equations.small_cholesky(triangle, lower)
        np.testing.assert_allclose(made, linalg.cholesky(a, lower), tolerance, tolerance * n)
        for matrix in failing:
            for factor in (linalg.cholesky(matrix, lower), small_equations.small_cholesky(matrix, lower)):
                assert (np.isnan(factor) == ~np.isnan(triangle)).all()


@pytest.mark.parametrize("unit_diagonal", [True, False])
@pytest.mark.parametrize("lower", [True, False])
def test_small_triangles_are_solved_as_by_the_shared_prelude(lower, unit_diagonal):
    """By one triangle, with zeros and infinities on the diagonal, too, and arrays of any order."""
    for n, k in ((1, 1), (4, 3), (7, 1)):
        a, b = positive(n) + normal(n, n), normal(n, k)
        singular, huge = a.copy(), a.copy()
        singular[n // 2, n // 2], huge[0, 0] = 0, np.inf
        ways = {"lower": lower, "unit_diagonal": unit_diagonal}
        for matrix in (a, singular, huge, np.asfortranarray(a)):
            expected = linalg.triangular_solve(matrix, b, **ways)
            made = small_equations.small_triangular_solve(matrix, b, **ways)
            np.testing.assert_allclose(made, expected, 1e-4, 1e-5)


SOLVES = (
    (small_equations.small_solve, lapack.solve),
    (small_matrices.small_solve_transposed, lapack.solve_transposed),
)


def test_small_equations_are_solved_as_by_the_shared_prelude():
    for dtype in (np.float32, np.float64):
        for n in (1, 2, 6, 32):
            a = normal(n, n, dtype=dtype)
            for b in (normal(n, dtype=dtype), normal(n, 3, dtype=dtype), normal(3, n, dtype=dtype).T):
                tolerance = 3e3 * np.finfo(dtype).eps
                for made, expected in SOLVES:
                    np.testing.assert_allclose(made(a, b), expected(a, b), tolerance, tolerance)
    for singular in (np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 0, 2]), np.full((3, 3), np.nan)):
        for solves in SOLVES:
            made, expected = (solve(singular, np.arange(3.0)) for solve in solves)
            assert np.array_equal(np.isfinite(made), np.isfinite(expected))
            np.testing.assert_array_equal(made, expected)


def kalman(gain: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def program(f, h, q, r, x, p, zs):
        def step(carry, z):
            x, p = carry
            x, p = f @ x, f @ p @ f.T + q
            k = gain(h @ p @ h.T + r, h @ p).T
            x = x + k @ (z - h @ x)
            return (x, p - k @ h @ p), x

        return lax.scan(step, (x, p), zs)

    return program


@pytest.mark.parametrize(
    ("gain", "function"),
    [
        (jnp.linalg.solve, "small_solve"),
        (lambda s, hp: jnp.linalg.inv(s) @ hp, "small_solve"),
        (lambda s, hp: jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(s), hp, trans=1), "small_solve_transposed"),
        (lambda s, hp: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(s), hp), "small_triangular_solve"),
        (lambda s, hp: jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(s), hp, lower=True), "small_cholesky"),
    ],
)
def test_a_kalman_filter_is_one_function(gain, function):
    f = np.eye(4, dtype=np.float32) + 0.1 * normal(4, 4)
    arguments = f, normal(2, 4), 0.1 * positive(4), positive(2), normal(4), positive(4), normal(20, 2)
    assert f"{function}(" in as_one_function(kalman(gain), *arguments).source


def test_newtons_method_is_one_function():
    def newton(a, x):
        residual = lambda x: jnp.sin(x) + a @ x - 1  # noqa: E731

        def step(carry):
            x, count = carry
            return x - jnp.linalg.solve(jax.jacfwd(residual)(x), residual(x)), count + 1

        goes_on = lambda carry: (jnp.abs(residual(carry[0])).max() > 1e-5) & (carry[1] < 30)  # noqa: E731
        return lax.while_loop(goes_on, step, (x, 0))

    as_one_function(newton, positive(4), normal(4))


def test_equations_of_larger_matrices_stay_lapacks():
    solve = lambda a, x: lax.fori_loop(0, 9, lambda _, x: jnp.linalg.solve(a, x), x)  # noqa: E731
    source = xla2py.emit(xla2py.from_jax(solve, positive(33), normal(33)), style="fast").source
    assert "small_solve" not in source


def test_functions_that_loops_call_are_written_in_place():
    """Also functions with several results, and those that call others."""

    def block(x, w):
        y = jnp.tanh(x @ w) + x
        y = y - y.mean()
        y = y / jnp.sqrt((y * y).mean() + 1e-5)
        return jnp.where(y > 0, y, jnp.expm1(y)), (y * y).sum()

    def pair(x, w, v):
        x, first = block(x, w)
        x, second = block(x, v)
        return x, first + second

    def program(x, w, v):
        def step(_, x):
            x, first = pair(x, w, v)
            x, second = pair(x, v, w)
            x, third = pair(x, w, w)
            return x + 1e-3 * (first - second + third)

        return lax.fori_loop(0, 6, step, x)

    arguments = normal(5), 0.3 * normal(5, 5), 0.3 * normal(5, 5)
    assert "block(" in xla2py.emit(xla2py.from_jax(program, *arguments)).source
    module = as_one_function(program, *arguments)
    assert "block(" not in module.source

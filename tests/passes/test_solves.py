"""Linear equations and Cholesky factors, on matrices that are regular, singular and not finite."""

import numpy as np
import pytest

from xla2py.tests.passes.raising import assert_agrees, hlo, main, optimised
from xla2py.tests.recording.lazy_jax import jax
from xla2py.transpile.equivalence.verdicts.comparison import Budget

jnp = jax.numpy
rng = np.random.default_rng(3)
REGULAR = rng.normal(size=(5, 5)).astype(np.float32) + 4 * np.eye(5, dtype=np.float32)[::-1]
ZERO = np.zeros((5, 5), np.float32)
NAN = np.where(np.eye(5, dtype=bool), np.float32(np.nan), REGULAR)
RIGHT = rng.normal(size=(5, 3)).astype(np.float32)
LOOSE = Budget(relative=1e-4, absolute=1e-4)
POSITIVE = REGULAR @ REGULAR.T


@pytest.mark.parametrize("matrix", [REGULAR, ZERO, NAN], ids=["regular", "zero", "nan"])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a, b: jnp.linalg.solve(a, b), "return solve(a, b)"),
        (lambda a, b: jnp.linalg.solve(a, b[:, 0]), "return solve(a, b[:, :1])[:, 0]"),
        (lambda a, b: jnp.linalg.solve(a, b[:, :1]), "return solve(a, b[:, :1])"),
        (lambda a, b: jnp.linalg.inv(a), "solve(a, "),
    ],
)
@pytest.mark.parametrize("form", [hlo, optimised])
def test_equations(function, expected, matrix, form):
    text = form(function, matrix, RIGHT)
    assert "for " not in main(text)
    if form is hlo:
        assert expected in main(text)
    assert_agrees(text, matrix, RIGHT, without="solves", budget=LOOSE)


MATRICES = {
    "regular": np.stack([REGULAR, REGULAR.T, REGULAR + 1]),
    "one singular": np.stack([REGULAR, ZERO, REGULAR]),
    "one NaN": np.stack([REGULAR, REGULAR, NAN]),
    "none": np.zeros((0, 5, 5), np.float32),
}
RIGHTS = np.stack([RIGHT, RIGHT + 1, RIGHT - 1])


@pytest.mark.parametrize("matrices", MATRICES.values(), ids=MATRICES)
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (jnp.linalg.solve, "return solve_each(a, b)"),
        (jax.vmap(jnp.linalg.solve), "return solve_each(a, b)"),
        (lambda a, b: jax.vmap(jnp.linalg.solve)(a, b[:, :, 0]), "return solve_each(a, b[..., :1])[..., 0]"),
    ],
)
@pytest.mark.parametrize("form", [hlo, optimised])
def test_equations_of_many_matrices(function, expected, matrices, form):
    text = form(function, matrices, RIGHTS[: len(matrices)])
    if form is hlo and len(matrices):
        assert main(text) == expected
    assert_agrees(text, matrices, RIGHTS[: len(matrices)], without="solves", budget=LOOSE)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: jnp.linalg.det(a),
        lambda a, b: jnp.linalg.slogdet(a),
        lambda a, b: jnp.linalg.solve(a.T, b),
        lambda a, b: jnp.linalg.solve(jnp.stack([a, a + 1]), jnp.stack([b, b])),
        lambda a, b: jnp.linalg.solve(jnp.array([[a, a + 1]] * 3), jnp.array([[b, b]] * 3)),
        lambda a, b: jax.vmap(lambda b: jnp.linalg.solve(a, b))(jnp.stack([b, b])),
    ],
)
def test_other_uses_of_lu_compute_the_same(function):
    assert_agrees(hlo(function, REGULAR, RIGHT), REGULAR, RIGHT, without="solves", budget=LOOSE)


def test_the_transposed_equations_are_no_plain_solution():
    linalg = pytest.importorskip("jax.scipy.linalg")
    text = hlo(lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans=1), REGULAR, RIGHT)
    assert " solve(" not in main(text) and "getrf(" in main(text)
    assert_agrees(text, REGULAR, RIGHT, without="solves", budget=LOOSE)


@pytest.mark.parametrize("matrix", [POSITIVE, -POSITIVE, NAN], ids=["positive", "negative", "nan"])
@pytest.mark.parametrize("form", [hlo, optimised])
def test_cholesky(matrix, form):
    text = form(lambda a: jnp.linalg.cholesky(a, symmetrize_input=False), matrix)
    assert main(text) == "return np.tril(cholesky(a))"
    assert_agrees(text, matrix, without="cholesky", budget=LOOSE)


def test_the_upper_factor():
    text = hlo(lambda a: jnp.linalg.cholesky(a, upper=True), POSITIVE)
    assert_agrees(text, POSITIVE, without="cholesky", budget=LOOSE)

"""Linear equations and Cholesky factors, on matrices that are regular, singular and not finite."""

import numpy as np

from xla2py.tests.passes.raising import assert_agrees, cases, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jax
from xla2py.transpile.equivalence.verdicts.comparison import Budget

jnp, linalg = jax.numpy, jax.scipy.linalg
rng = np.random.default_rng(3)
REGULAR = rng.normal(size=(5, 5)).astype(np.float32) + 4 * np.eye(5, dtype=np.float32)[::-1]
ZERO = np.zeros((5, 5), np.float32)
NAN = np.where(np.eye(5, dtype=bool), np.float32(np.nan), REGULAR)
RIGHT = rng.normal(size=(5, 3)).astype(np.float32)
LOOSE = Budget(relative=1e-4, absolute=1e-4)
POSITIVE = REGULAR @ REGULAR.T

test_equations = cases(
    "solves",
    REGULAR,
    RIGHT,
    inputs=[(matrix, RIGHT) for matrix in (REGULAR, ZERO, NAN)],
    claims=[lacks("for ")],
    budget=LOOSE,
    also=[optimised],
)(
    (lambda a, b: jnp.linalg.solve(a, b), "return solve(a, b)"),
    (lambda a, b: jnp.linalg.solve(a, b[:, 0]), "return solve(a, b[:, :1])[:, 0]"),
    (lambda a, b: jnp.linalg.solve(a, b[:, :1]), "return solve(a, b[:, :1])"),
    (lambda a, b: jnp.linalg.inv(a), "solve(a, "),
)


MATRICES = np.stack([REGULAR, REGULAR.T, REGULAR + 1])
MANY = MATRICES, np.stack([REGULAR, ZERO, REGULAR]), np.stack([REGULAR, REGULAR, NAN])  # one singular, one NaN
RIGHTS = np.stack([RIGHT, RIGHT + 1, RIGHT - 1])

test_equations_of_many_matrices = cases(
    "solves", MATRICES, RIGHTS, inputs=[(each, RIGHTS) for each in MANY], budget=LOOSE, also=[optimised]
)(
    (jnp.linalg.solve, "return solve_each(a, b)"),
    (jax.vmap(jnp.linalg.solve), "return solve_each(a, b)"),
    (lambda a, b: jax.vmap(jnp.linalg.solve)(a, b[:, :, 0]), "return solve_each(a, b[..., :1])[..., 0]"),
)

test_equations_of_no_matrix = cases("solves", MATRICES[:0], RIGHTS[:0], budget=LOOSE, forms=(hlo, optimised))(
    jnp.linalg.solve,
    jax.vmap(jnp.linalg.solve),
    lambda a, b: jax.vmap(jnp.linalg.solve)(a, b[:, :, 0]),
)

test_other_uses_of_lu_compute_the_same = cases("solves", REGULAR, RIGHT, budget=LOOSE)(
    lambda a, b: jnp.linalg.det(a),
    lambda a, b: jnp.linalg.slogdet(a),
    lambda a, b: jnp.linalg.solve(a.T, b),
    lambda a, b: jnp.linalg.solve(jnp.stack([a, a + 1]), jnp.stack([b, b])),
    lambda a, b: jnp.linalg.solve(jnp.array([[a, a + 1]] * 3), jnp.array([[b, b]] * 3)),
    lambda a, b: jax.vmap(lambda b: jnp.linalg.solve(a, b))(jnp.stack([b, b])),
)


def _filtered(matrices, b):
    def step(x, a):
        x = jnp.linalg.solve(a + jnp.outer(x, x), b[:, 0])
        return x, x.sum()

    return jax.lax.scan(step, b[:, 1], matrices)[1].sum()


test_transposed_equations = cases(
    "solves",
    REGULAR,
    RIGHT,
    inputs=[(matrix, RIGHT) for matrix in (REGULAR, ZERO, NAN)],
    claims=[lacks("getrf")],
    budget=LOOSE,
    also=[optimised],
)(
    (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans=1), "return solve_transposed(a, b)"),
    (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b[:, 0], trans=1), "return solve_transposed(a, b[:, 0])"),
)


def test_a_loop_saves_the_matrix_for_transposed_equations():
    matrices = np.stack([REGULAR, REGULAR.T, REGULAR + 1])
    text = hlo(jax.value_and_grad(_filtered), matrices, RIGHT)
    assert "solve_transposed(" in main(text) and "getrf" not in main(text) and "permutation" not in main(text)
    assert_agrees(text, matrices, RIGHT, without="solves", budget=LOOSE)


test_other_transposed_factors_compute_the_same = cases("solves", REGULAR, RIGHT, claims=[lacks("solve_transposed")])(
    lambda a, b: linalg.lu_solve((linalg.lu_factor(a)[0], linalg.lu_factor(a.T)[1]), b, trans=1),
    lambda a, b: linalg.lu_solve((linalg.lu_factor(a)[0].T, linalg.lu_factor(a)[1]), b, trans=1),
)


test_cholesky = cases(
    "cholesky", POSITIVE, inputs=[(POSITIVE,), (-POSITIVE,), (NAN,)], budget=LOOSE, forms=(hlo, optimised)
)(
    (lambda a: jnp.linalg.cholesky(a, symmetrize_input=False), "return cholesky(a)"),
    lambda a: jnp.linalg.cholesky(a, upper=True),
)


def _gradients(function):
    """Of the sum of the results."""
    return jax.grad(lambda a, b: function(a, b).sum(), argnums=(0, 1))


test_equations_of_transposes = cases(
    "solves", REGULAR, RIGHT, inputs=[(matrix, RIGHT) for matrix in (REGULAR, ZERO, NAN)], budget=LOOSE
)(
    (_gradients(jnp.linalg.solve), "solve_transposed(a, ", lacks("getrf")),
    (_gradients(lambda a, b: jnp.linalg.solve(a, b[:, 0])), "solve_transposed(a, ", lacks("getrf")),
    (_gradients(lambda a, b: jnp.linalg.inv(a)), "solve_transposed(a, ", lacks("getrf")),
    (lambda a, b: jax.grad(lambda a: jnp.linalg.slogdet(a)[1])(a), "solve_transposed(a, ", lacks("getrf")),
    (lambda a, b: jnp.linalg.solve(a.T, b), "return solve(a.T, b)"),
    (_gradients(lambda a, b: jnp.linalg.solve(jnp.stack([a, a + 1]), jnp.stack([b, b]))), lacks("solve_transposed")),
)

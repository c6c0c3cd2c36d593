"""QR in one call, and guards behind decompositions that may fail."""

import numpy as np

from xla2py.tests.passes.raising import assert_agrees, before, cases, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jnp
from xla2py.transpile.equivalence.verdicts.comparison import Budget

rng = np.random.default_rng(5)
TALL = rng.normal(size=(6, 3)).astype(np.float32)
WIDE = np.ascontiguousarray(TALL.T)
SQUARE = TALL[:3]
SYMMETRIC = SQUARE + SQUARE.T
BATCH = np.stack([SYMMETRIC, 2 * SYMMETRIC, np.full((3, 3), np.nan, np.float32)])
LOOSE = Budget(relative=1e-3, absolute=1e-4)

test_both_factors_in_one_call = cases(
    "factorisations", claims=["q, r = np.linalg.qr(a)", lacks("geqrf")], budget=LOOSE, forms=(hlo, optimised)
)(*((lambda a: tuple(jnp.linalg.qr(a)), matrix) for matrix in (TALL, WIDE, SQUARE, BATCH[:2])))


test_r_alone = cases("factorisations", claims=['np.linalg.qr(a, mode="r")', lacks("geqrf")], budget=LOOSE)(
    *((lambda a: jnp.linalg.qr(a, mode="r"), matrix) for matrix in (TALL, WIDE, BATCH[:2]))
)

test_other_uses_of_the_reflectors_stay = cases(
    "factorisations", TALL, claims=["geqrf(a)", lacks("np.linalg.qr")], budget=LOOSE
)(
    lambda a: tuple(jnp.linalg.qr(a, mode="complete")),
    lambda a: tuple(jnp.linalg.qr(a, mode="raw")),
)

test_no_guard_where_the_function_has_its_own = cases(
    "factorisations", claims=[lacks("np.nan"), before("np.nan")], budget=LOOSE
)(
    (lambda a: jnp.linalg.svd(a, full_matrices=False)[1], TALL),
    (lambda a: jnp.linalg.eigvalsh(a), BATCH),
    (lambda a: jnp.linalg.eigvalsh(a), np.full((3, 3), np.inf, np.float32)),
)

test_guards = cases("factorisations", SQUARE, inputs=[(np.full((3, 3), np.nan, np.float32),)], budget=LOOSE)(
    lambda a: tuple(jnp.linalg.qr(a)),
    (lambda a: jnp.linalg.eigvals(a), "complex(np.nan, np.nan)"),  # another NaN
)


def test_a_guard_that_asks_for_something_else_stays():
    def other(a, flag):
        return jnp.where(flag == 0, jnp.linalg.svd(a, full_matrices=False)[1], jnp.nan)

    text = hlo(other, TALL, np.int32(0))
    assert "np.where((flag == 0) & (info == 0), " in main(text)
    for flag in (0, 1):
        assert_agrees(text, TALL, np.int32(flag), without="factorisations", budget=LOOSE)

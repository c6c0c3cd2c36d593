"""Choices that make no difference: raised, near misses, values on XLA."""

import numpy as np

from xla2py.tests.passes.raising import cases
from xla2py.tests.recording.lazy_jax import jax, jnp

X = np.float32([1, -2, np.inf, -np.inf, np.nan, 0, -0.0, 3.4028235e38])
M = np.array([True, False, True, False, True, False, True, False])

test_choices_and_comparisons = cases("known_choices", X, M)(
    (lambda x, m: jnp.where(m, x, jnp.where(m, 2.0, x * 3)), "return np.where(m, x, x * 3)"),
    (lambda x, m: jnp.where(m, jnp.where(m, x, 2.0), x * 3), "return np.where(m, x, x * 3)"),
    (lambda x, m: jnp.where(m, x, jnp.where(~m, 2.0, x * 3)), "return np.where(m, x, 2)"),
    (lambda x, m: jnp.where(m, jnp.where(~m, x, 2.0), x * 3), "return np.where(m, 2, x * 3)"),
    (
        lambda x, m: jnp.where(m[0], 1.0, jnp.where(m[0], x, 2.0) * 3),
        "return np.where(m[0], 1, np.where(m[0], x, 2) * 3)",
    ),  # of many
    (lambda x, m: jnp.where(m & ~m, x, x * 3), "return x * 3"),
    (lambda x, m: jnp.where(x == -jnp.inf, -jnp.inf, x) * 3, "return x * 3"),
    (lambda x, m: jnp.where(x != 1, x, 1) * 3, "return x * 3"),
    (lambda x, m: jnp.where(x == 0, 0, x) * 3, "np.where(x == 0, 0, x)"),  # -0 becomes 0
    (lambda x, m: jnp.where(~(x > 0) | (x > 0), x, x * 3), "return x"),
    (lambda x, m: (x, m & ~m), "return x, np.zeros(8, dtype=np.bool_)"),
    (lambda x, m: jnp.where(m, x, jnp.where(~(x > 0), 2.0, x * 3)), "np.where(~(x > 0), 2, x * 3)"),  # another mask
    (lambda x, m: jnp.where(jnp.isnan(x), 0, x) == jnp.inf, "return x == np.inf"),
    (lambda x, m: jnp.where(x == 1, 5, x) == -2, "return x == -2"),
    (lambda x, m: jnp.where(jnp.isnan(x), 0, x) == 0, "np.where(np.isnan(x), 0, x) == 0"),
    (lambda x, m: jnp.where(x == 1, 5, x) == 1, "np.where(x == 1, 5, x) == 1"),
    (lambda x, m: jnp.where(m, 5, x) == 1, "np.where(m, 5, x) == 1"),  # it may be 1 where m holds
    (lambda x, m: jnp.where(jnp.isnan(x * 2), 0, x) == 1, "np.isnan(x * 2)"),  # a mask of another array
    (lambda x, m: jnp.where(jnp.isnan(x), 0, x) != jnp.inf, "!= np.inf"),
    (lambda x, m: jnp.where(m, 5, jnp.where(x > 1, 5, x)), "return np.where(m | (x > 1), 5, x)"),
    (
        lambda x, m: jnp.where(m, 5, jnp.where(x > 1, 5, jnp.where(x < 0, 5, x))),
        "return np.where(m | (x > 1) | (x < 0), 5, x)",
    ),
    (lambda x, m: jnp.where(m, jnp.where(x > 1, x, 5), 5), "return np.where(m & (x > 1), x, 5)"),
    (lambda x, m: jnp.where(m, 5, jnp.where(x > 1, 6, x)), "np.where(m, 5, np.where(x > 1, "),  # other numbers
    (lambda x, m: (y := jnp.where(x > 1, 5, x)) * jnp.where(m, 5, y), "np.where(m, 5, "),  # somebody else reads it
    (
        lambda x, m: jnp.where(jnp.isnan(x), 5, jnp.where(x == jnp.inf, 5, jnp.where(x == -jnp.inf, 5, x))),
        "return np.where(np.isfinite(x), x, 5)",
    ),
    (
        lambda x, m: jnp.where(jnp.isnan(x), 5, jnp.where(x == jnp.inf, 5, jnp.where(x == 1, 5, x))),
        "return np.where(np.isnan(x) | (x == np.inf) | (x == 1), 5, x)",
    ),
)

test_the_gradient_of_nan_to_num_is_0_where_its_argument_is_not_finite = cases("known_choices", X)(
    (
        jax.grad(lambda x: (jnp.nan_to_num(x) * x).sum()),
        "return np.nan_to_num(x) + np.where(np.isfinite(x), x, 0)",
    ),
)

test_stacks_of_masks = cases(
    "known_choices", np.bool_(True), np.bool_(False), inputs=[(np.bool_(a), np.bool_(False)) for a in (True, False)]
)(
    (lambda a, b: jnp.stack([a, b]).any(), "return a | b"),
    (lambda a, b: jnp.stack([a, jnp.array(False), b]).any(), "return a | b"),
    (lambda a, b: jnp.stack([a, jnp.array(True), b]).all(), "return a & b"),
    (lambda a, b: jnp.stack([a, jnp.array(False)]).any(), "return a"),
    (lambda a, b: jnp.stack([a, b, ~a, ~b, a ^ b]).any(), ".any()"),  # too many
    (lambda a, b: jnp.stack([jnp.stack([a, b]), jnp.stack([b, a])]).any(axis=0), ".any(axis=0)"),
)


PLACES = np.int32([2, -3, 0, 7])

test_choices_of_what_is_there_and_double_negations = cases("known_choices")(
    (lambda i: jnp.where(i == 2, 2, i), PLACES, "return i"),
    (lambda i: jnp.where(i != 2, i, 2), PLACES, "return i"),
    (lambda i: jnp.where(i == 2, 3, i), PLACES, "return np.where(i == 2, 3, i)"),
    (lambda i: jnp.where(i != 2, 2, i), PLACES, "return np.where(i != 2, 2, i)"),
    (lambda x: jnp.where(x == 0, 0, x), X, "return np.where(x == 0, 0, x)"),  # -0 becomes 0
    (lambda i: ~(~i), PLACES, "return i"),
    (lambda i: (i & i) + 1, PLACES, "return i + 1"),
    (lambda i: (i > 2) | (i > 2), PLACES, "return i > 2"),
    (lambda x: (x > 0) == False, X, "return ~(x > 0)"),  # noqa: E712
    (lambda x: ((x > 0) == False) == False, X, "return x > 0"),  # noqa: E712,
)

WHOLE = np.int32([2, -3, 0, 2**31 - 1])

test_integers_are_never_nan = cases("known_choices", WHOLE)(
    (lambda i: jnp.where(i.astype(jnp.float32) >= i.astype(jnp.float32), i, 0), "return i"),
    (lambda i: jnp.where(jnp.isnan(i.astype(jnp.float32)), 0, i), "return i"),
    (lambda i: i.astype(jnp.float16) == i.astype(jnp.float16), "np.ones(4, dtype=np.bool_)"),  # some are infinite
    (lambda i: i.astype(jnp.float32) < i.astype(jnp.float32), "np.zeros(4, dtype=np.bool_)"),
    (lambda x: jnp.where(x >= x, x, 0), X, "return np.where(x >= x, x, 0)"),
    (lambda x: jnp.where(x != x, 0, x), X, "np.isnan(x)"),
    (lambda x: jnp.isnan(x.astype(jnp.float16)), X, "isnan"),
)

AROUND_POLES = np.float32([-3, -2.5, -2, -1.5, -1, -0.5, -0.0, 0, 0.5, 3, np.inf, -np.inf, np.nan])

test_signs_of_the_gamma_function = cases("known_choices", AROUND_POLES)(
    (lambda x: jax.scipy.special.gammasgn(x) * jnp.exp(x), "return gammasgn(x) * np.exp(x)"),
    (lambda x: jax.scipy.special.gammasgn(x), "return gammasgn(x)"),
)

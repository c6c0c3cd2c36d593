"""Sorts by keys order what is read and nothing else; the largest are found without their places."""

import numpy as np

from xla2py.tests.passes.raising import Claim, cases
from xla2py.tests.recording.lazy_jax import jnp, lax

GENERATOR = np.random.default_rng(0)
X, Y = (GENERATOR.integers(-3, 3, (4, 9)).astype(np.float32) for _ in range(2))
X[1, 2] = np.nan


def says(part):
    return Claim(part, lambda body, plain: part in " ".join(body.split()))


test_what_nobody_reads_is_not_put_in_order = cases("unread_results", X, Y, says=says)(
    (lambda x, y: jnp.lexsort((y[0], x[0])), "(sort_key(x[0]), sort_key(y[0])), (np.arange(9, dtype=np.int32),), 0"),
    (lambda x, y: lax.sort((x, y), 1, num_keys=2)[1], "sort_by_keys((sort_key(x), sort_key(y)), (y,), 1)"),
    (lambda x, y: lax.sort((x, y, x + y), 1, num_keys=2)[::2], "(x, x + y), 1)"),
    (lambda x, y: lax.sort((x, y), 1, num_keys=2), "(x, y), 1)"),
    (lambda x, y: lax.top_k(x + y, 3)[0], "top_values(x + y, 3)"),
    (lambda x, y: -lax.top_k(-x, 3)[0], "top_values(-x, 3)"),
    (lambda x, y: lax.top_k(x, 3)[1], "top_k(x, 3)"),
    (lambda x, y: lax.top_k(x, 3), "top_k(x, 3)"),
)

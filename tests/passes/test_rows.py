"""Numbers at even distances that are taken at a place: raised, near misses, values on XLA."""

import numpy as np

from xla2py.tests.passes.raising import cases
from xla2py.tests.recording.lazy_jax import jax, jnp

PLACES = np.int32([0, 5, -3, 2])

test_rows = cases("rows", PLACES)(
    (lambda i: jnp.arange(7)[jnp.where(i > 0, 6, 2)], "return np.where(i > 0, np.int32(6), np.int32(2))"),
    (lambda i: (jnp.arange(7) + 3)[jnp.clip(i, 0, 4)], "return np.clip(i, 0, 4) + 3"),
    (
        lambda i: jnp.arange(7, dtype=jnp.int16)[jnp.clip(i, 0, 4)],
        "np.arange(7, dtype=np.int16)[",
    ),  # rare, and left
    (lambda i: jnp.array([3, 4, 5, 6])[jnp.clip(i, 0, 3)], "return np.clip(i, 0, 3) + 3"),
    (lambda i: jnp.arange(7)[jnp.clip(i, 0, 9)], "np.arange(7"),  # beyond the last
    (lambda i: jnp.arange(7)[jnp.clip(i, -1, 4)], "np.where(clipped_i < 0, clipped_i + 7, clipped_i)"),
    (lambda i: (jnp.arange(7) * 2)[jnp.clip(i, 0, 4)], "np.arange(0, 14, 2"),  # a table says more,
)


def scanned(numbers):
    return lambda x: jax.lax.scan(lambda total, place: (total + x[place], total), jnp.float32(0), numbers())


X = np.arange(9, dtype=np.float32) ** 2
test_numbers_that_a_scan_goes_through_are_its_counter = cases("rows", X)(
    (scanned(lambda: jnp.arange(4) + 1), "x[i + 1]"),
    (scanned(lambda: jnp.arange(4) * 2), "x[2 * i]"),
    (scanned(lambda: jnp.arange(4)[::-1]), "x[3 - i]"),
    (scanned(lambda: jnp.arange(8, 0, -2)), "x[8 - 2 * i]"),
    (scanned(lambda: jnp.array([4, 5, 6])), "x[i + 4]"),
    (scanned(lambda: jnp.array([4, 6, 5])), "[4, 6, 5]"),
    (scanned(lambda: (jnp.arange(4, dtype=jnp.int8) * 50).astype(jnp.int32) % 9), "np.array([0, 5, 1, 2]"),  # no int8
)

test_all_elements_in_their_order_are_the_array = cases("ranges", X[:4])(
    (lambda x: x[jnp.arange(4)] * 2, "return x * 2"),
)

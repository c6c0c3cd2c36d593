"""Numbers in loops: Python combines them, in a tenth of the time that a ufunc takes."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, cases, lacks
from xla2py.tests.recording.lazy_jax import jax, jnp

lax = jax.lax
X = np.array([2, -1, np.nan, 0.5, np.inf, -np.inf, 7, -3], np.float32)
Y = np.array([1, np.nan, 3, 0.5, np.inf, 4, -7, np.nan], np.float32)
NUMBERS = np.array([3, -9, 2**31 - 1, -(2**31), 0, 5, -1, 4], np.int32)


def folded(of, start=0.0):
    """The last of ``c = of(c, x[i], y[i])``, and all of them."""

    def step(c, pair):
        c = of(c, *pair)
        return c, c

    return lambda x, y: lax.scan(step, jnp.asarray(start, x.dtype), (x, y))


test_floats = cases("unread_results", X, Y, budget=EXACT)(
    (folded(lambda c, x, y: jnp.minimum(x, y)), "smaller_of("),
    (folded(lambda c, x, y: jnp.maximum(x, y)), "larger_of("),
    (folded(lambda c, x, y: jnp.maximum(jnp.minimum(c, x), 0.0) + y), ", 0) + "),
    (folded(lambda c, x, y: jnp.maximum(x, 0.0)), "np.float32(0)"),
    (folded(lambda c, x, y: jnp.clip(x, -1.0, 3.0) * y), "number_within(", ", -1, 3) * "),
    (folded(lambda c, x, y: jnp.clip(x, c, y)), "smaller_of(y["),
    (folded(lambda c, x, y: abs(x) + y), "abs(x[", lacks("np.abs")),
    (folded(lambda c, x, y: jnp.where(x > y, 3.0, -3.0) * y), "3 if ", lacks("float32(3)")),
    # near-misses: what is read elsewhere keeps its type, arrays are the library's, and so is what stands in no loop
    (folded(lambda c, x, y: jnp.where(x > y, 3.0, -3.0)), "np.float32(3) if "),
    (folded(lambda c, x, y: jnp.where(x > y, 3.0, -3.0) * jnp.where(x > c, 2.0, 1.0)), "np.float32(3) if "),
    (folded(lambda c, x, y: jnp.maximum(x, 0.0) * jnp.maximum(y, 0.0)), "np.float32(0)"),
    (lambda x, y: lax.fori_loop(0, 3, lambda i, c: jnp.maximum(c, y) * 0.5, x), "np.maximum("),
    (lambda x, y: jnp.maximum(x[0], y[0]), "np.maximum("),
)

test_integers = cases("unread_results", NUMBERS, NUMBERS[::-1].copy(), budget=EXACT)(
    (folded(lambda c, x, y: jnp.minimum(x, y), 0), "min("),
    (folded(lambda c, x, y: jnp.maximum(x, 5) * 1_000_000 + y, 0), "np.int32(5)"),
    (folded(lambda c, x, y: jnp.clip(x, -2, 2) + c, 0), "min(max("),
    (folded(lambda c, x, y: abs(x) + c, 0), "np.abs("),
    (folded(lambda c, x, y: jnp.where(x > y, 7, 9) * y, 0), "7 if "),
    (folded(lambda c, x, y: jnp.where(x > y, 2_000_000_000, 7) * 3, 0), "np.int32(7)"),
)

# Magnitudes have another type than what they multiply, which NumPy promotes: they give it none.
Z = np.array([1 + 2j, -0.5j, 3, -1 + 1j], np.complex64)
test_complex_numbers = cases("unread_results", Z, Z[::-1].copy())(
    (folded(lambda c, x, y: jnp.where(x.real > y.real, c, 2.0) * abs(x)), "np.complex64(2)"),
    (folded(lambda c, x, y: jnp.where(x.real > y.real, c, 2.0) * x), " 2) * "),
)

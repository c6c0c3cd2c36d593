"""Conversions that NumPy makes by itself."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, STAYS, cases
from xla2py.tests.recording.lazy_jax import jax, jnp, lax

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
BYTES = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)
COUNTS = np.arange(12, dtype=np.int32).reshape(3, 4)
Z = (X + 1j * X[::-1]).astype(np.complex64)

test_a_conversion_is_left_to_numpy = cases("promotions", budget=EXACT)(
    (lambda n, x: n + (x > 0), (COUNTS, X), "return n + (x > 0)"),
    (lambda x, n: x * n, (X, BYTES), "return x * n"),
    (lambda n, x: n / x, (BYTES, X), "return n / x"),
    (lambda n, x: n < x, (BYTES, X), "return n < x"),
    (lambda z, x: z + x, (Z, X), "return z + x"),
    (lambda x: x * 2j, (X,), "return x * 2j"),
    (lambda x, z: lax.complex(x, jnp.zeros_like(x)) * z, (X, Z), "return x * z"),
    (lambda x, n: jnp.where(x > 0, x, n), (X, BYTES), "return np.where(x > 0, x, n)"),
)

test_running_totals_convert = cases("promotions", budget=EXACT)(
    (lambda x: jnp.cumsum(x[0] > 0), (X,), "return (x[0] > 0).cumsum(dtype=np.int32)"),
    (lambda x: jnp.cumsum(x > 0, axis=1), (X,), "return (x > 0).cumsum(axis=-1, dtype=np.int32)"),
    (lambda n: jnp.cumprod(n.astype(jnp.int16), axis=0), (BYTES,), "return n.cumprod(axis=0, dtype=np.int16)"),
)
test_other_running_totals_stay = cases("promotions", claims=[STAYS], budget=EXACT)(
    (lambda n: jnp.cumsum(n.astype(jnp.int8), axis=0), (COUNTS * 50,)),  # narrower
    (lambda n: jnp.cumsum(n.astype(jnp.float32), axis=0), (BYTES,)),
    (lambda x: (lambda n: (jnp.cumsum(n), n))((x[0] > 0).astype(jnp.int32)), (X,)),  # needed elsewhere
)

test_lengths_of_complex_numbers_divide_as_they_are = cases("promotions", Z)(
    (lambda z: jax.grad(lambda z: jnp.abs(z).sum())(z), "return np.conj(z) / np.where(z == 0, 1, np.abs(z))"),
    (lambda z: (lambda r: z / jnp.where(r == 0, 2, r))(jnp.abs(z).astype(jnp.complex64)), "converted = "),
)

test_other_conversions_stay = cases("promotions", claims=[".astype("], budget=EXACT)(
    (lambda x, n: x * n, (X, COUNTS)),  # NumPy would compute in float64
    (lambda x: (x > 0).astype(jnp.int32) + 1, (X,)),  # a number has no type of its own
    (lambda x: (x > 0).astype(jnp.float32) - (x < 1).astype(jnp.float32), (X,)),  # both convert
    (lambda x: (x > 0).astype(jnp.float32), (X,)),
    (lambda x: x.astype(jnp.complex64) / 3, (X,)),  # a float in Python
    (lambda x: lax.complex(x, jnp.zeros_like(x)) / 3, (X,)),
    (lambda x: jnp.where(x > 0, x.astype(jnp.complex64), 3), (X,)),
    (lambda x, n: (n.astype(jnp.float32) + x, n.astype(jnp.float32)), (X, BYTES)),  # needed elsewhere
    (lambda x, n: x + n.astype(jnp.bfloat16), (X.astype(jnp.bfloat16), BYTES)),
    (lambda x, n: jnp.where(x > 0, x, n), (X[0, 0], BYTES[0, 0])),  # Python's choice keeps the type
)

test_a_mask_becomes_a_number_in_one_step = cases("masks", X, budget=EXACT)(
    (lambda x: jnp.mean(x > 0), "return (x > 0).astype(np.float32).mean()"),
    (lambda x: (x > 0).astype(jnp.int8).astype(jnp.float32), "return (x > 0).astype(np.float32)"),
    (lambda x: (x > 0).astype(jnp.int8).astype(jnp.int32), "return (x > 0).astype(np.int32)"),
)

test_integers_become_others_in_one_step = cases("masks", X, budget=EXACT)(
    (lambda x: (x > 0).astype(jnp.uint8).astype(jnp.int8).astype(jnp.int32), "return (x > 0).astype(np.int32)"),
    (lambda x, n: (n & 7).astype(jnp.int8).astype(jnp.float32), (X, COUNTS), "return (n & 7).astype(np.float32)"),
    (lambda x, n: (n & 255).astype(jnp.int8).astype(jnp.float32), (X, COUNTS), STAYS),  # which int8 cannot hold
    (lambda x, n: n.astype(jnp.int8).astype(jnp.float32), (X, COUNTS), STAYS),
)

test_other_conversions_of_conversions_stay = cases("masks", X, claims=[STAYS], budget=EXACT)(
    lambda x: (x > 0).astype(jnp.int4).astype(jnp.float32),  # narrow numbers round in their own ways
    lambda x: (x > 0).astype(jnp.int8).astype(jnp.bool_),
    lambda x: ((x > 0).astype(jnp.int8), (x > 0).astype(jnp.int8).astype(jnp.float32)),  # read elsewhere, too
    lambda x: x.astype(jnp.int8).astype(jnp.float32),
)

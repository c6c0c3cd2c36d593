"""Rows of numbers that JAX counts in integers."""

import numpy as np

from xla2py.tests.passes.raising import EXACT, STAYS, before, cases, entry, hlo, optimised
from xla2py.tests.recording.lazy_jax import jnp

X = np.arange(24, dtype=np.float32)

test_aranges = cases("aranges", X, claims=[before(".astype(")], budget=EXACT, forms=(hlo, optimised))(
    (lambda x: x * jnp.arange(24).astype(jnp.float32), "return x * np.arange(24, dtype=np.float32)"),
    (
        lambda x: x[:, None] - jnp.arange(5).astype(jnp.float32),
        "return x[:, None] - np.arange(5, dtype=np.float32)",
    ),
    (lambda x: (x, jnp.arange(9).astype(jnp.uint8)), "return x, np.arange(9, dtype=np.uint8)"),
)


def converted(size, source, result):
    return entry(f"i = {source}[{size}] iota(), iota_dimension=0", f"x = {result}[{size}] convert(i)")


test_what_is_not_exact_stays = cases("aranges", claims=[".astype("], budget=None)(
    converted(300, "s32", "u8"),
    converted(128, "s32", "s8"),
    converted(300, "u8", "f32"),
    converted(2**24 + 2, "s32", "f32"),
    converted(9, "s32", "f16"),
)

test_integers_that_are_read_stay = cases("aranges", X, claims=[STAYS], budget=None)(
    lambda x: (jnp.arange(24), x + jnp.arange(24).astype(jnp.float32)),
)

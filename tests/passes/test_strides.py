"""Masks that are known become slices of what is reduced."""

import numpy as np

from xla2py.tests.passes.raising import STAYS, cases, entry
from xla2py.tests.recording.lazy_jax import jnp

X = np.float32([[1, np.inf, 3, np.nan, 5, 6], [-1, 2, -3, np.inf, 5, 0.5]])


def masked(pattern, *, number=0, opcode="add", axis=1):
    other = 0 if opcode == "add" else 1
    reducer = f"f {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] {opcode}(a, b) }}"
    return entry(
        "x = f32[2,6] parameter(0)",
        f"m = pred[6] constant({{{', '.join(pattern)}}})",
        "mask = pred[2,6] broadcast(m), dimensions={1}",
        f"n = f32[] constant({number})",
        "other = f32[2,6] broadcast(n), dimensions={}",
        "chosen = f32[2,6] select(mask, x, other)",
        f"init = f32[] constant({other})",
        f"s = f32[{6 if axis == 0 else 2}] reduce(chosen, init), dimensions={{{axis}}}, to_apply=f",
        functions=reducer,
    )


test_masks = cases("strides", X)(
    (masked("101010"), "return x[:, ::2].sum(axis=-1)"),
    (masked("010101"), "return x[:, 1::2].sum(axis=-1)"),
    (masked("001100"), "return x[:, 2:4].sum(axis=-1)"),
    (masked("100100", number=1, opcode="multiply"), "return x[:, ::3].prod(axis=-1)"),
    (masked("110100"), STAYS),
    (masked("101010", number=1), STAYS),
    (masked("101010", axis=0), STAYS),
)

test_masks_of_positions = cases("strides", X)(
    (lambda x: jnp.where(jnp.arange(6) % 2 == 0, x, 0).sum(1), "return x[:, ::2].sum(axis=-1)"),
    (lambda x: jnp.where(abs(jnp.arange(6) - 2) < 2, x, -jnp.inf).max(1), "return x[:, 1:4].max(axis=-1)"),
    (lambda x: jnp.where(jnp.arange(6) % 3 == 1, x, jnp.inf).min(1), "return x[:, 1::3].min(axis=-1)"),
    (lambda x: jnp.where(jnp.arange(6) % 2 == 0, x, 0).max(1), STAYS),
    (lambda x: jnp.where(jnp.arange(6) > 6, x, 0).sum(1), STAYS),
)

"""Rotary position embedding, with its table of angles as a constant."""

import jax.numpy as jnp
import numpy as np

LENGTH, HEAD_SIZE = 32, 16
ANGLES = (np.arange(LENGTH)[:, None] / 10_000 ** (np.arange(0, HEAD_SIZE, 2) / HEAD_SIZE)).astype(np.float32)


def rotate(x, position_offset):
    """x: [batch, length, heads, head_size]; the first token stands at ``position_offset``, at most 8."""
    positions = jnp.clip(jnp.arange(x.shape[1]) + position_offset, 0, LENGTH - 1)
    angles = jnp.asarray(ANGLES)[positions][None, :, None, :]
    cosine, sine = jnp.cos(angles), jnp.sin(angles)
    even, odd = x[..., ::2], x[..., 1::2]
    rotated = jnp.stack([even * cosine - odd * sine, even * sine + odd * cosine], axis=-1)
    return rotated.reshape(x.shape)


def program():
    rng = np.random.default_rng(0)
    return rotate, (rng.normal(size=(2, 24, 4, HEAD_SIZE)).astype(np.float32), np.int32(3))

"""Rotary position embedding."""

import numpy as np

ANGLES = (np.arange(32)[:, None] / 10_000 ** (np.arange(0, 16, 2) / 16)).astype(np.float32)


def main(x, position_offset):
    """Return ``x`` [batch, positions, heads, width] with pairs of features turned by their positions."""
    for name, given, dtype, shape in (
        ("x", x, "float32", (2, 24, 4, 16)),
        ("position_offset", position_offset, "int32", ()),
    ):
        if given.dtype != dtype or given.shape != shape:
            raise TypeError(f"{name}: expected {dtype}{shape}, got {given.dtype}{given.shape}")
    positions = np.clip(np.arange(x.shape[1]) + position_offset, 0, len(ANGLES) - 1)
    angles = ANGLES[positions][:, None]
    cosine, sine = np.cos(angles), np.sin(angles)
    even, odd = x[..., ::2], x[..., 1::2]
    rotated = np.stack([even * cosine - odd * sine, even * sine + odd * cosine], axis=-1)
    return rotated.reshape(x.shape)

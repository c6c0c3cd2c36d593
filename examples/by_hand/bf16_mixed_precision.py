"""A gated feed-forward layer in bfloat16 with float32 sums."""

import ml_dtypes
import numpy as np


def main(params_down, params_gate, params_scale, params_up, x):
    """Return ``x`` [.., width] with the layer's output added; bfloat16 in and out."""
    for name, given, shape in (
        ("params_down", params_down, (192, 64)),
        ("params_gate", params_gate, (64, 192)),
        ("params_scale", params_scale, (64,)),
        ("params_up", params_up, (64, 192)),
        ("x", x, (16, 64)),
    ):
        if given.dtype != ml_dtypes.bfloat16 or given.shape != shape:
            raise TypeError(f"{name}: expected bfloat16{shape}, got {given.dtype}{given.shape}")
    wide = x.astype(np.float32)
    root = np.sqrt((wide * wide).mean(axis=-1, keepdims=True) + 1e-6)
    normed = (wide / root).astype(ml_dtypes.bfloat16) * params_scale
    normed = normed.astype(np.float32)
    gate = normed @ params_gate.astype(np.float32)
    up = normed @ params_up.astype(np.float32)
    hidden = (gate / (1 + np.exp(-gate)) * up).astype(ml_dtypes.bfloat16)
    down = hidden.astype(np.float32) @ params_down.astype(np.float32)
    return x + down.astype(ml_dtypes.bfloat16)

"""A linear layer with int8 weights and dynamically quantised int8 activations."""

import numpy as np


def main(x, weight, weight_scale, bias):
    """Return ``x`` @ ``weight`` + ``bias``, where ``weight`` is int8 in steps of ``weight_scale``."""
    for name, given, dtype, shape in (
        ("x", x, "float32", (16, 96)),
        ("weight", weight, "int8", (96, 48)),
        ("weight_scale", weight_scale, "float32", (48,)),
        ("bias", bias, "float32", (48,)),
    ):
        if given.dtype != dtype or given.shape != shape:
            raise TypeError(f"{name}: expected {dtype}{shape}, got {given.dtype}{given.shape}")
    scale = np.abs(x).max(axis=-1, keepdims=True) / 127
    scale = np.where(scale == 0, 1, scale)
    quantized = np.clip(np.rint(x / scale), -127, 127).astype(np.int8)
    total = quantized.astype(np.int32) @ weight.astype(np.int32)
    return total.astype(np.float32) * scale * weight_scale + bias

"""A linear layer with int8 weights and dynamically quantised int8 activations."""

import numpy as np


def main(x, weight, weight_scale, bias):
    scale = np.abs(x).max(axis=-1, keepdims=True) / 127
    scale = np.where(scale == 0, 1, scale)
    quantized = np.clip(np.rint(x / scale), -127, 127).astype(np.int8)
    total = quantized.astype(np.int32) @ weight.astype(np.int32)
    return total.astype(np.float32) * scale * weight_scale + bias

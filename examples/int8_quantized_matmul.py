"""A linear layer with int8 weights and dynamically quantised int8 activations."""

import jax.numpy as jnp
import numpy as np
from jax import lax


def quantize(x):
    """Symmetric int8 values and one scale a row."""
    scale = jnp.max(jnp.abs(x), axis=-1, keepdims=True) / 127
    scale = jnp.where(scale == 0, 1, scale)
    return jnp.clip(jnp.round(x / scale), -127, 127).astype(jnp.int8), scale


def quantized_linear(x, weight, weight_scale, bias):
    """x: [batch, inputs]; weight: int8[inputs, outputs]; weight_scale, bias: [outputs]."""
    x_int8, x_scale = quantize(x)
    total = lax.dot_general(x_int8, weight, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    return total.astype(jnp.float32) * x_scale * weight_scale + bias


def program():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 96)).astype(np.float32)
    weight = rng.integers(-127, 128, size=(96, 48)).astype(np.int8)
    weight_scale = rng.uniform(0.001, 0.02, size=48).astype(np.float32)
    bias = rng.normal(size=48).astype(np.float32)
    return quantized_linear, (x, weight, weight_scale, bias)

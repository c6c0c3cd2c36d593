"""A gated feed-forward layer in bfloat16 with float32 sums, as large models run it."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np


def rms_norm(x, scale):
    x = x.astype(jnp.float32)
    return (x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)).astype(jnp.bfloat16) * scale


def gated_feed_forward(params, x):
    """x: bfloat16[tokens, width]."""
    normed = rms_norm(x, params["scale"])
    gate = jnp.dot(normed, params["gate"], preferred_element_type=jnp.float32)
    up = jnp.dot(normed, params["up"], preferred_element_type=jnp.float32)
    hidden = (jax.nn.silu(gate) * up).astype(jnp.bfloat16)
    return x + hidden @ params["down"]


def program():
    rng = np.random.default_rng(0)

    def weights(rows, columns):
        return (rng.normal(size=(rows, columns)) / np.sqrt(rows)).astype(ml_dtypes.bfloat16)

    params = {
        "scale": np.ones(64, ml_dtypes.bfloat16),
        "gate": weights(64, 192),
        "up": weights(64, 192),
        "down": weights(192, 64),
    }
    return gated_feed_forward, (params, rng.normal(size=(16, 64)).astype(ml_dtypes.bfloat16))

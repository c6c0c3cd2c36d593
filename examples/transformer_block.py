"""A pre-norm transformer block: masked self-attention, a GELU feed-forward layer, two residuals."""

import jax
import jax.numpy as jnp
import numpy as np

HEADS = 4


def layer_norm(x, scale, offset):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + offset


def self_attention(params, x, mask):
    batch, length, width = x.shape
    qkv = (x @ params["qkv"]).reshape(batch, length, 3, HEADS, width // HEADS)
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // HEADS)
    scores = jnp.where(mask[:, None, None, :], scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return mixed.reshape(batch, length, width) @ params["output"]


def feed_forward(params, x):
    return jax.nn.gelu(x @ params["up"] + params["up_bias"]) @ params["down"] + params["down_bias"]


def transformer_block(params, x, mask):
    """x: [batch, length, width]; mask: [batch, length], true where there is a token."""
    x = x + self_attention(params["attention"], layer_norm(x, **params["norm_1"]), mask)
    return x + feed_forward(params["feed_forward"], layer_norm(x, **params["norm_2"]))


def program():
    rng = np.random.default_rng(0)
    width, hidden = 64, 256

    def weights(rows, columns):
        return (rng.normal(size=(rows, columns)) / np.sqrt(rows)).astype(np.float32)

    def norm():
        return {"scale": np.ones(width, np.float32), "offset": np.zeros(width, np.float32)}

    params = {
        "norm_1": norm(),
        "attention": {"qkv": weights(width, 3 * width), "output": weights(width, width)},
        "norm_2": norm(),
        "feed_forward": {
            "up": weights(width, hidden),
            "up_bias": np.zeros(hidden, np.float32),
            "down": weights(hidden, width),
            "down_bias": np.zeros(width, np.float32),
        },
    }
    x = rng.normal(size=(2, 32, width)).astype(np.float32)
    mask = np.arange(32) < np.array([[32], [20]])
    return transformer_block, (params, x, mask)

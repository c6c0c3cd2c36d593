"""A pre-norm transformer block."""

import numpy as np


def layer_norm(x, scale, offset):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + offset


def main(
    params_attention_output,
    params_attention_qkv,
    params_feed_forward_down,
    params_feed_forward_down_bias,
    params_feed_forward_up,
    params_feed_forward_up_bias,
    params_norm_1_offset,
    params_norm_1_scale,
    params_norm_2_offset,
    params_norm_2_scale,
    x,
    mask,
):
    """Return ``x`` [batch, length, width] after attention and the feed-forward layer."""
    for name, given, dtype, shape in (
        ("params_attention_output", params_attention_output, "float32", (64, 64)),
        ("params_attention_qkv", params_attention_qkv, "float32", (64, 192)),
        ("params_feed_forward_down", params_feed_forward_down, "float32", (256, 64)),
        ("params_feed_forward_down_bias", params_feed_forward_down_bias, "float32", (64,)),
        ("params_feed_forward_up", params_feed_forward_up, "float32", (64, 256)),
        ("params_feed_forward_up_bias", params_feed_forward_up_bias, "float32", (256,)),
        ("params_norm_1_offset", params_norm_1_offset, "float32", (64,)),
        ("params_norm_1_scale", params_norm_1_scale, "float32", (64,)),
        ("params_norm_2_offset", params_norm_2_offset, "float32", (64,)),
        ("params_norm_2_scale", params_norm_2_scale, "float32", (64,)),
        ("x", x, "float32", (2, 32, 64)),
        ("mask", mask, "bool", (2, 32)),
    ):
        if given.dtype != dtype or given.shape != shape:
            raise TypeError(f"{name}: expected {dtype}{shape}, got {given.dtype}{given.shape}")
    batch, length, width = x.shape
    normed = layer_norm(x, params_norm_1_scale, params_norm_1_offset)
    qkv = (normed @ params_attention_qkv).reshape(batch, length, 3, 4, -1)
    q, k, v = qkv.transpose(2, 0, 3, 1, 4)
    scores = q @ k.mT / 4
    scores = np.where(mask[:, None, None], scores, -1e9)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
    x = x + mixed @ params_attention_output
    normed = layer_norm(x, params_norm_2_scale, params_norm_2_offset)
    up = normed @ params_feed_forward_up + params_feed_forward_up_bias
    gelu = 0.5 * up * (1 + np.tanh(0.7978846 * (up + 0.044715 * up * up * up)))
    return x + gelu @ params_feed_forward_down + params_feed_forward_down_bias

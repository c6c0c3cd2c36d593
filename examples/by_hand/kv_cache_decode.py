"""Greedy decoding of a few tokens with a key-value cache."""

import numpy as np


def main(params_embedding, params_output, params_qkv, cache_key, cache_value, token, position):
    """Return the next tokens, and the caches of keys and values with those of these tokens."""
    for name, given, dtype, shape in (
        ("params_embedding", params_embedding, "float32", (100, 32)),
        ("params_output", params_output, "float32", (4, 8, 32)),
        ("params_qkv", params_qkv, "float32", (3, 32, 4, 8)),
        ("cache_key", cache_key, "float32", (24, 4, 8)),
        ("cache_value", cache_value, "float32", (24, 4, 8)),
        ("token", token, "int32", ()),
        ("position", position, "int32", ()),
    ):
        if given.dtype != dtype or given.shape != shape:
            raise TypeError(f"{name}: expected {dtype}{shape}, got {given.dtype}{given.shape}")
    keys, values = cache_key.copy(), cache_value.copy()
    length, _, size = keys.shape
    tokens = np.empty(8, dtype=np.int32)
    for t in range(8):
        x = params_embedding[token]
        query, key, value = np.einsum("d,sdhe->she", x, params_qkv)
        keys[position + t] = key
        values[position + t] = value
        scores = np.einsum("hd,thd->ht", query, keys) / np.sqrt(np.float32(size))
        scores = np.where(np.arange(length) <= position + t, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        attended = np.einsum("ht,thd->hd", weights, values)
        x = x + np.einsum("hd,hde->e", attended, params_output)
        token = np.argmax(params_embedding @ x)
        tokens[t] = token
    return tokens, keys, values

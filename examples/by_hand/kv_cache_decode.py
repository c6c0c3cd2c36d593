"""Greedy decoding of a few tokens with a key-value cache."""

import numpy as np


def main(params_embedding, params_output, params_qkv, cache_key, cache_value, token, position):
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

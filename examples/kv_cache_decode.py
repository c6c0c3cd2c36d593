"""Greedy decoding of a few tokens with a key-value cache."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def attend(query, cache, position):
    """query: [heads, size]; cache["key"], cache["value"]: [length, heads, size]."""
    scores = jnp.einsum("hd,thd->ht", query, cache["key"]) / np.sqrt(query.shape[-1])
    visible = jnp.arange(cache["key"].shape[0]) <= position
    weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf))
    return jnp.einsum("ht,thd->hd", weights, cache["value"])


def decode_token(params, cache, token, position):
    """One step: write the token's key and value into the cache, attend, pick the likeliest next token."""
    x = params["embedding"][token]
    query, key, value = jnp.einsum("d,sdhe->she", x, params["qkv"])
    cache = {
        "key": lax.dynamic_update_slice(cache["key"], key[None], (position, 0, 0)),
        "value": lax.dynamic_update_slice(cache["value"], value[None], (position, 0, 0)),
    }
    x = x + jnp.einsum("hd,hde->e", attend(query, cache, position), params["output"])
    return cache, jnp.argmax(params["embedding"] @ x)


def decode(params, cache, token, position):
    """Decode 8 tokens from ``position`` on. Returns them and the filled cache."""

    def step(carry, offset):
        cache, token = carry
        cache, token = decode_token(params, cache, token, position + offset)
        return (cache, token), token

    (cache, _), tokens = lax.scan(step, (cache, token), jnp.arange(8))
    return tokens, cache


def program():
    rng = np.random.default_rng(0)
    vocabulary, width, heads, size, length = 100, 32, 4, 8, 24

    def normal(*shape):
        return rng.normal(scale=0.3, size=shape).astype(np.float32)

    params = {
        "embedding": normal(vocabulary, width),
        "qkv": normal(3, width, heads, size),
        "output": normal(heads, size, width),
    }
    cache = {"key": normal(length, heads, size), "value": normal(length, heads, size)}
    return decode, (params, cache, np.int32(17), np.int32(10))

"""A recurrent layer in both directions."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def gru(params, xs, reverse):
    def cell(h, x):
        z = jax.nn.sigmoid(x @ params["wz"] + h @ params["uz"])
        r = jax.nn.sigmoid(x @ params["wr"] + h @ params["ur"])
        n = jnp.tanh(x @ params["wn"] + r * (h @ params["un"]))
        h = (1 - z) * n + z * h
        return h, h

    start = jnp.zeros((xs.shape[1], params["uz"].shape[0]))
    return lax.scan(cell, start, xs, reverse=reverse)


def encode(forward, backward, xs):
    """xs: [time, batch, inputs]. Returns the states of both directions side by side, and the last ones."""
    last_forward, states_forward = gru(forward, xs, reverse=False)
    last_backward, states_backward = gru(backward, xs, reverse=True)
    return (
        jnp.concatenate([states_forward, states_backward], axis=-1),
        jnp.concatenate([last_forward, last_backward], axis=-1),
    )


def program():
    rng = np.random.default_rng(0)

    def params():
        sizes = {"w": (6, 8), "u": (8, 8)}
        return {k + gate: rng.normal(scale=0.5, size=sizes[k]).astype(np.float32) for k in "wu" for gate in "zrn"}

    return encode, (params(), params(), rng.normal(size=(10, 3, 6)).astype(np.float32))

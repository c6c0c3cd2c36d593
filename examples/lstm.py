"""An LSTM layer over a sequence, written as a scan."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def lstm(params, inputs):
    """inputs: [length, batch, features]. Returns the hidden state of every step and the last cell state."""

    def step(state, x):
        hidden, cell = state
        gates = x @ params["input"] + hidden @ params["recurrent"] + params["bias"]
        update, forget, candidate, output = jnp.split(gates, 4, axis=-1)
        cell = jax.nn.sigmoid(forget + 1) * cell + jax.nn.sigmoid(update) * jnp.tanh(candidate)
        hidden = jax.nn.sigmoid(output) * jnp.tanh(cell)
        return (hidden, cell), hidden

    batch, width = inputs.shape[1], params["recurrent"].shape[0]
    start = (jnp.zeros((batch, width)), jnp.zeros((batch, width)))
    (_, cell), hiddens = lax.scan(step, start, inputs)
    return hiddens, cell


def program():
    rng = np.random.default_rng(0)
    features, width = 16, 32
    params = {
        "input": (rng.normal(size=(features, 4 * width)) / np.sqrt(features)).astype(np.float32),
        "recurrent": (rng.normal(size=(width, 4 * width)) / np.sqrt(width)).astype(np.float32),
        "bias": np.zeros(4 * width, np.float32),
    }
    inputs = rng.normal(size=(24, 4, features)).astype(np.float32)
    return lstm, (params, inputs)

"""Beam search over a first-order language model."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

BEAMS, LENGTH, END = 4, 12, 0


def decode(transition, emission, start):
    """transition: [v, v]; emission: [LENGTH, v]. Returns the tokens of each beam, their scores, each step's parents."""
    vocabulary = transition.shape[0]
    only_end = jnp.where(jnp.arange(vocabulary) == END, 0.0, -jnp.inf)

    def step(state, t):
        tokens, scores, done = state
        log_probs = jax.nn.log_softmax(transition[tokens[:, t]] + emission[t])
        log_probs = jnp.where(done[:, None], only_end, log_probs)
        candidates = (scores[:, None] + log_probs).reshape(-1)
        scores, best = lax.top_k(candidates, BEAMS)
        beam, token = best // vocabulary, best % vocabulary
        tokens = tokens[beam].at[:, t + 1].set(token)
        return (tokens, scores, done[beam] | (token == END)), beam

    tokens = jnp.zeros((BEAMS, LENGTH + 1), jnp.int32).at[:, 0].set(start)
    scores = jnp.where(jnp.arange(BEAMS) == 0, 0.0, -jnp.inf)  # all beams begin alike
    (tokens, scores, _), parents = lax.scan(step, (tokens, scores, jnp.zeros(BEAMS, bool)), jnp.arange(LENGTH))
    return tokens, scores, parents


def program():
    rng = np.random.default_rng(0)
    transition, emission = (rng.normal(size=(rows, 20)).astype(np.float32) for rows in (20, LENGTH))
    return decode, (transition, emission, np.int32(3))

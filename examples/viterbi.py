"""The likeliest path through a hidden Markov model: a forward scan and a backward one."""

import jax.numpy as jnp
import numpy as np
from jax import lax


def viterbi(log_start, log_transition, log_emission, observations):
    """log_transition[i, j]: from state i to j; log_emission: [states, symbols]; observations: int32[length]."""

    def forward(score, symbol):
        candidates = score[:, None] + log_transition
        best = jnp.argmax(candidates, axis=0)
        return jnp.max(candidates, axis=0) + log_emission[:, symbol], best

    def backward(state, best):
        return best[state], state

    score = log_start + log_emission[:, observations[0]]
    score, pointers = lax.scan(forward, score, observations[1:])
    last = jnp.argmax(score)
    first, path = lax.scan(backward, last, pointers, reverse=True)
    return jnp.concatenate([first[None], path]), score[last]


def program():
    rng = np.random.default_rng(0)
    states, symbols = 6, 10

    def log_distribution(*shape):
        return np.log(rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])).astype(np.float32)

    observations = rng.integers(0, symbols, size=50).astype(np.int32)
    return viterbi, (
        log_distribution(states),
        log_distribution(states, states),
        log_distribution(states, symbols),
        observations,
    )

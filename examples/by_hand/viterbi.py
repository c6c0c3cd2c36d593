"""The likeliest path through a hidden Markov model."""

import numpy as np


def main(log_start, log_transition, log_emission, observations):
    """Return the most likely path of hidden states, and its log probability."""
    for name, given, dtype, shape in (
        ("log_start", log_start, "float32", (6,)),
        ("log_transition", log_transition, "float32", (6, 6)),
        ("log_emission", log_emission, "float32", (6, 10)),
        ("observations", observations, "int32", (50,)),
    ):
        if given.dtype != dtype or given.shape != shape:
            raise TypeError(f"{name}: expected {dtype}{shape}, got {given.dtype}{given.shape}")
    steps = len(observations)
    score = log_start + log_emission[:, observations[0]]
    pointers = np.empty((steps - 1, len(log_start)), dtype=np.int32)
    for t in range(1, steps):
        candidates = score[:, None] + log_transition
        pointers[t - 1] = candidates.argmax(axis=0)
        score = candidates.max(axis=0) + log_emission[:, observations[t]]
    path = np.empty(steps, dtype=np.int32)
    path[-1] = score.argmax()
    for t in range(steps - 2, -1, -1):
        path[t] = pointers[t][path[t + 1]]
    return path, score[path[-1]]

"""Beam search over a first-order language model."""

import numpy as np

BEAMS, LENGTH, END = 4, 12, 0


def log_softmax(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def main(transition, emission, start):
    """Return the tokens of each beam, their log probabilities, and the beam that each step went on from."""
    for name, given, dtype, shape in (
        ("transition", transition, "float32", (20, 20)),
        ("emission", emission, "float32", (12, 20)),
        ("start", start, "int32", ()),
    ):
        if given.dtype != dtype or given.shape != shape:
            raise TypeError(f"{name}: expected {dtype}{shape}, got {given.dtype}{given.shape}")
    vocabulary = len(transition)
    only_end = np.where(np.arange(vocabulary) == END, np.float32(0), -np.inf).astype(np.float32)
    tokens = np.zeros((BEAMS, LENGTH + 1), dtype=np.int32)
    tokens[:, 0] = start
    scores = np.full(BEAMS, -np.inf, dtype=np.float32)
    scores[0] = 0
    done = np.zeros(BEAMS, dtype=bool)
    parents = np.empty((LENGTH, BEAMS), dtype=np.int32)
    for t in range(LENGTH):
        log_probs = log_softmax(transition[tokens[:, t]] + emission[t])
        log_probs = np.where(done[:, None], only_end, log_probs)
        candidates = (scores[:, None] + log_probs).ravel()
        best = np.argsort(-candidates, kind="stable")[:BEAMS]
        scores = candidates[best]
        beam, token = best // vocabulary, best % vocabulary
        parents[t] = beam
        tokens = tokens[beam]
        tokens[:, t + 1] = token
        done = done[beam] | (token == END)
    return tokens, scores, parents

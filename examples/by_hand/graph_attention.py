"""A layer of graph attention: messages along edges, softmax over those that reach a node."""

import numpy as np


def segment_softmax(scores, segments, count):
    peak = np.full(count, -np.inf, dtype=scores.dtype)
    np.maximum.at(peak, segments, scores)
    exp = np.exp(scores - peak[segments])
    total = np.zeros(count, dtype=scores.dtype)
    np.add.at(total, segments, exp)
    return exp / total[segments]


def main(nodes, senders, receivers, weight, from_sender, from_receiver):
    """Return the new features of each node, and the weight of each edge."""
    for name, given, dtype, shape in (
        ("nodes", nodes, "float32", (10, 5)),
        ("senders", senders, "int32", (30,)),
        ("receivers", receivers, "int32", (30,)),
        ("weight", weight, "float32", (5, 4)),
        ("from_sender", from_sender, "float32", (4,)),
        ("from_receiver", from_receiver, "float32", (4,)),
    ):
        if given.dtype != dtype or given.shape != shape:
            raise TypeError(f"{name}: expected {dtype}{shape}, got {given.dtype}{given.shape}")
    hidden = nodes @ weight
    scores = (hidden @ from_sender)[senders] + (hidden @ from_receiver)[receivers]
    scores = np.where(scores >= 0, scores, 0.01 * scores)
    weights = segment_softmax(scores, receivers, len(nodes))
    result = np.zeros_like(hidden)
    np.add.at(result, receivers, weights[:, None] * hidden[senders])
    return result, weights

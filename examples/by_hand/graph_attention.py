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
    hidden = nodes @ weight
    scores = (hidden @ from_sender)[senders] + (hidden @ from_receiver)[receivers]
    scores = np.where(scores >= 0, scores, 0.01 * scores)
    weights = segment_softmax(scores, receivers, len(nodes))
    result = np.zeros_like(hidden)
    np.add.at(result, receivers, weights[:, None] * hidden[senders])
    return result, weights

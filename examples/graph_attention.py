"""A layer of graph attention: messages along edges, softmax over those that reach a node."""

import jax
import jax.numpy as jnp
import numpy as np


def segment_softmax(scores, segments, count):
    peak = jax.ops.segment_max(scores, segments, count)
    exp = jnp.exp(scores - peak[segments])
    return exp / jax.ops.segment_sum(exp, segments, count)[segments]


def attend(nodes, senders, receivers, weight, from_sender, from_receiver):
    """nodes: [n, d]; senders, receivers: [edges], the ends of each edge. Returns the new nodes and the weights."""
    count = len(nodes)
    hidden = nodes @ weight
    scores = jax.nn.leaky_relu((hidden @ from_sender)[senders] + (hidden @ from_receiver)[receivers])
    weights = segment_softmax(scores, receivers, count)
    messages = weights[:, None] * hidden[senders]
    return jax.ops.segment_sum(messages, receivers, count), weights


def program():
    rng = np.random.default_rng(0)
    senders, receivers = rng.integers(0, 10, size=(2, 30), dtype=np.int32)
    nodes, weight = (rng.normal(size=shape).astype(np.float32) for shape in ((10, 5), (5, 4)))
    from_sender, from_receiver = rng.normal(size=(2, 4)).astype(np.float32)
    return attend, (nodes, senders, receivers, weight, from_sender, from_receiver)

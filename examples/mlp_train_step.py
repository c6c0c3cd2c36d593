"""One Adam step of a multi-layer perceptron that classifies 64-pixel digits."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

LEARNING_RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def logits(params, images):
    hidden = images
    for layer in params[:-1]:
        hidden = jax.nn.relu(hidden @ layer["weight"] + layer["bias"])
    return hidden @ params[-1]["weight"] + params[-1]["bias"]


def loss_function(params, images, labels):
    log_probabilities = jax.nn.log_softmax(logits(params, images))
    picked = jnp.take_along_axis(log_probabilities, labels[:, None], axis=1)
    return -jnp.mean(picked)


def train_step(params, optimizer_state, images, labels):
    """Returns the new parameters, the new optimizer state and the loss before the step."""
    loss, gradients = jax.value_and_grad(loss_function)(params, images, labels)
    step = optimizer_state["step"] + 1
    mean = jax.tree.map(lambda m, g: BETA_1 * m + (1 - BETA_1) * g, optimizer_state["mean"], gradients)
    square = jax.tree.map(lambda s, g: BETA_2 * s + (1 - BETA_2) * g**2, optimizer_state["square"], gradients)
    mean_scale = 1 / (1 - BETA_1**step)
    square_scale = 1 / (1 - BETA_2**step)
    params = jax.tree.map(
        lambda p, m, s: p - LEARNING_RATE * (m * mean_scale) / (jnp.sqrt(s * square_scale) + EPSILON),
        params,
        mean,
        square,
    )
    return params, {"step": step, "mean": mean, "square": square}, loss


def program():
    rng = np.random.default_rng(0)
    sizes = [64, 128, 32, 10]
    params = [
        {
            "weight": rng.normal(scale=np.sqrt(2 / rows), size=(rows, columns)).astype(np.float32),
            "bias": np.zeros(columns, np.float32),
        }
        for rows, columns in pairwise(sizes)
    ]
    optimizer_state = {
        "step": np.int32(0),
        "mean": jax.tree.map(np.zeros_like, params),
        "square": jax.tree.map(np.zeros_like, params),
    }
    images = rng.uniform(size=(32, 64)).astype(np.float32)
    labels = rng.integers(0, 10, size=32).astype(np.int32)
    return train_step, (params, optimizer_state, images, labels)

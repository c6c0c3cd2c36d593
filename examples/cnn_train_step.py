"""One momentum step of a small convolutional network with batch normalisation and max pooling."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LEARNING_RATE, MOMENTUM = 0.05, 0.9


def convolution(images, kernel, stride=1):
    return lax.conv_general_dilated(
        images, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def batch_norm(x, scale, offset):
    mean = jnp.mean(x, axis=(0, 1, 2))
    variance = jnp.var(x, axis=(0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + offset


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def logits(params, images):
    x = jax.nn.relu(batch_norm(convolution(images, params["kernel_1"]), params["scale_1"], params["offset_1"]))
    x = max_pool(x)
    x = jax.nn.relu(convolution(x, params["kernel_2"], stride=2))
    x = jnp.mean(x, axis=(1, 2))
    return x @ params["dense"] + params["bias"]


def loss_function(params, images, labels):
    one_hot = jax.nn.one_hot(labels, params["bias"].shape[0])
    return -jnp.mean(jnp.sum(one_hot * jax.nn.log_softmax(logits(params, images)), axis=-1))


def train_step(params, velocity, images, labels):
    """Returns the new parameters, the new velocity and the loss before the step."""
    loss, gradients = jax.value_and_grad(loss_function)(params, images, labels)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v - LEARNING_RATE * g, velocity, gradients)
    params = jax.tree.map(jnp.add, params, velocity)
    return params, velocity, loss


def program():
    rng = np.random.default_rng(0)

    def weights(*shape):
        return rng.normal(scale=np.sqrt(2 / np.prod(shape[:-1])), size=shape).astype(np.float32)

    params = {
        "kernel_1": weights(3, 3, 3, 8),
        "scale_1": np.ones(8, np.float32),
        "offset_1": np.zeros(8, np.float32),
        "kernel_2": weights(3, 3, 8, 16),
        "dense": weights(16, 10),
        "bias": np.zeros(10, np.float32),
    }
    velocity = jax.tree.map(np.zeros_like, params)
    images = rng.uniform(size=(8, 16, 16, 3)).astype(np.float32)
    labels = rng.integers(0, 10, size=8).astype(np.int32)
    return train_step, (params, velocity, images, labels)

"""Bilinear sampling of images at arbitrary points, and a Sobel edge map: gathers and a depth-wise convolution."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SOBEL = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], np.float32)


def sample_bilinear(image, rows, columns):
    """image: [height, width, channels]; rows, columns: float positions of any common shape."""
    height, width, _ = image.shape
    top = jnp.clip(jnp.floor(rows), 0, height - 2).astype(jnp.int32)
    left = jnp.clip(jnp.floor(columns), 0, width - 2).astype(jnp.int32)
    down = (rows - top)[..., None]
    right = (columns - left)[..., None]
    upper = image[top, left] * (1 - right) + image[top, left + 1] * right
    lower = image[top + 1, left] * (1 - right) + image[top + 1, left + 1] * right
    return upper * (1 - down) + lower * down


def edges(image):
    channels = image.shape[-1]
    kernels = jnp.tile(jnp.stack([SOBEL, SOBEL.T], axis=-1)[:, :, None, :], (1, 1, 1, channels))
    gradients = lax.conv_general_dilated(
        image[None],
        kernels,
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=channels,
    )
    pairs = gradients.reshape(*image.shape, 2)
    return jnp.sqrt(jnp.sum(pairs**2, axis=(-1, -2)))


def rotate_and_find_edges(image, angle):
    """Rotate the image by ``angle`` about its centre, then find edges."""
    height, width, _ = image.shape
    row, column = jnp.meshgrid(jnp.arange(height) - height / 2, jnp.arange(width) - width / 2, indexing="ij")
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    rotated = sample_bilinear(
        image, cosine * row - sine * column + height / 2, sine * row + cosine * column + width / 2
    )
    return rotated, edges(rotated)


def program():
    rng = np.random.default_rng(0)
    return rotate_and_find_edges, (rng.uniform(size=(24, 32, 3)).astype(np.float32), np.float32(0.3))

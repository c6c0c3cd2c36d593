"""Bilinear rotation of an image, and its Sobel edges."""

import numpy as np

SOBEL = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], dtype=np.float32)


def main(image, angle):
    """Return the ``image`` [height, width, 3] turned by ``angle`` in radians, and the strength of its edges."""
    for name, given, shape in (("image", image, (24, 32, 3)), ("angle", angle, ())):
        if given.dtype != np.float32 or given.shape != shape:
            raise TypeError(f"{name}: expected float32{shape}, got {given.dtype}{given.shape}")
    height, width, _ = image.shape
    row = np.arange(height, dtype=np.float32)[:, None] - height / 2
    column = np.arange(width, dtype=np.float32) - width / 2
    cosine, sine = np.cos(angle), np.sin(angle)
    rows = cosine * row - sine * column + height / 2
    columns = sine * row + cosine * column + width / 2
    top = np.clip(np.floor(rows), 0, height - 2).astype(np.int32)
    left = np.clip(np.floor(columns), 0, width - 2).astype(np.int32)
    down = (rows - top.astype(np.float32))[..., None]
    right = (columns - left.astype(np.float32))[..., None]
    upper = image[top, left] * (1 - right) + image[top, left + 1] * right
    lower = image[top + 1, left] * (1 - right) + image[top + 1, left + 1] * right
    rotated = upper * (1 - down) + lower * down
    padded = np.pad(rotated, ((1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(0, 1))
    across = np.einsum("hwcij,ij->hwc", windows, SOBEL)
    along = np.einsum("hwcij,ji->hwc", windows, SOBEL)
    return rotated, np.sqrt((across**2 + along**2).sum(axis=-1))

"""Programs over whole arrays: element-wise work, rows, reductions, windows, gathers, scatters, sorting."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import erf

from xla2py.benchmarks.cpu_kit.program import either, integers, normal, traced, uniform


def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    deviation = 0.2 * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (0.05 + 0.02) * years) / deviation
    return spot * jax.scipy.stats.norm.cdf(d1) - strike * jnp.exp(-0.05 * years) * jax.scipy.stats.norm.cdf(
        d1 - deviation
    )


def black_scholes_by_hand(spot: Any, strike: Any, years: Any) -> Any:
    half, root = np.float32(0.5), np.float32(0.5**0.5)
    deviation = np.float32(0.2) * np.sqrt(years)
    d1 = (np.log(spot / strike) + np.float32(0.07) * years) / deviation
    first = half + half * erf(d1 * root)
    second = half + half * erf((d1 - deviation) * root)
    return spot * first - strike * np.exp(np.float32(-0.05) * years) * second


def options(count: int) -> tuple[Any, ...]:
    return uniform(count, low=50, high=150), uniform(count, low=60, high=140), uniform(count, low=0.1, high=2)


def select(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(x > y, x * 2, y - 1)


def gelu(xp: Any, x: Any) -> Any:
    return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def axpy(xp: Any, x: Any, y: Any) -> Any:
    return 2.5 * x + y


def silu_bf16(x: Any) -> Any:
    return x * jax.nn.sigmoid(x)


def polar(xp: Any, x: Any, y: Any) -> Any:
    return xp.sqrt(x * x + y * y), xp.arctan2(y, x)


def wave(xp: Any, x: Any) -> Any:
    return xp.sin(x) * xp.cos(2 * x)


def rotate_hue(xp: Any, image: Any) -> Any:
    gray = (image * xp.asarray([0.3, 0.6, 0.1], dtype=np.float32)).sum(-1, keepdims=True)
    return xp.clip(gray + 1.3 * (image - gray), 0, 1)


def hash_bits(xp: Any, x: Any) -> Any:
    x = (x ^ (x >> 16)) * np.uint32(0x45D9F3B)
    x = (x ^ (x >> 16)) * np.uint32(0x45D9F3B)
    return x ^ (x >> 16)


ELEMENTWISE = [
    traced(
        "element-wise",
        "Black-Scholes, 4e3",
        black_scholes,
        *options(4096),
        by_hand=black_scholes_by_hand,
        allowed=("scipy",),
    ),
    traced(
        "element-wise",
        "Black-Scholes, 1e6",
        black_scholes,
        *options(10**6),
        by_hand=black_scholes_by_hand,
        allowed=("scipy",),
    ),
    either("element-wise", "select, 4e6", select, normal(4096, 1024), uniform(4096, 1024)),
    either("element-wise", "select, 8e3", select, normal(8192), uniform(8192)),
    either("element-wise", "gelu, 16 MB", gelu, normal(4096, 1024)),
    either("element-wise", "gelu, 256 MB", gelu, normal(8192, 8192)),
    either("element-wise", "axpy, 256 MB", axpy, normal(8192, 8192), uniform(8192, 8192)),
    traced("low precision", "silu of bf16", silu_bf16, lambda: jnp.asarray(normal(4096, 1024)(), jnp.bfloat16)),
    either("element-wise", "polar coordinates", polar, normal(10**6), uniform(10**6)),
    either("element-wise", "waves", wave, normal(10**6, scale=10)),
    either("element-wise", "colours of an image", rotate_hue, uniform(1024, 1024, 3)),
    either("element-wise", "hash of integers", hash_bits, integers(10**6, below=2**31, dtype=np.uint32)),
]


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(xp: Any, x: Any, scale: Any, offset: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / xp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * scale + offset


def rms_norm(xp: Any, x: Any, scale: Any) -> Any:
    return x / xp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def batch_norm(xp: Any, x: Any, scale: Any, offset: Any) -> Any:
    mean = x.mean((0, 1, 2))
    variance = ((x - mean) ** 2).mean((0, 1, 2))
    return (x - mean) / xp.sqrt(variance + 1e-5) * scale + offset, mean, variance


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()


def cross_entropy_by_hand(logits: Any, labels: Any) -> Any:
    shifted = logits - logits.max(1, keepdims=True)
    return (np.log(np.exp(shifted).sum(1)) - shifted[np.arange(len(labels)), labels]).mean()


def distances(xp: Any, x: Any, y: Any) -> Any:
    return xp.sqrt(xp.abs((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T)).min(1)


ROWS = [
    either("rows", "softmax, rows of 1024", softmax, normal(4096, 1024)),
    either("rows", "softmax, rows of 64", softmax, normal(65536, 64)),
    either("rows", "layer norm", layer_norm, normal(4096, 1024), normal(1024), normal(1024)),
    either("rows", "RMS norm", rms_norm, normal(4096, 1024), normal(1024)),
    either("rows", "batch norm, training", batch_norm, normal(32, 56, 56, 64), normal(64), normal(64)),
    traced(
        "rows", "cross entropy", cross_entropy, normal(4096, 1000), integers(4096, below=1000),
        by_hand=cross_entropy_by_hand,
    ),
    either("rows", "distances of points", distances, normal(1024, 64), normal(2048, 64)),
    either("reductions", "sums of columns", lambda xp, x: x.sum(0), normal(4096, 4096)),
    either("reductions", "argmax of rows", lambda xp, x: x.argmax(1), normal(1024, 4096)),
    either("reductions", "argmax of columns", lambda xp, x: x.argmax(0), normal(4096, 1024)),
    either("reductions", "cumulative sums", lambda xp, x: xp.cumsum(x, axis=1), normal(1024, 4096)),
    either("reductions", "norm of 64 MB", lambda xp, x: xp.sqrt((x * x).sum()), normal(4096, 4096)),
]  # fmt: skip


def max_pool(size: int, stride: int) -> Any:
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, "VALID")


def average_pool(x: Any) -> Any:
    return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4


def max_pool_by_hand(x: Any) -> Any:
    rows = np.maximum(x[:, ::2], x[:, 1::2])
    return np.maximum(rows[:, :, ::2], rows[:, :, 1::2])


def average_pool_by_hand(x: Any) -> Any:
    n, height, width, channels = x.shape
    return x.reshape(n, height // 2, 2, width // 2, 2, channels).mean((2, 4))


def max_pool_gradient(x: Any, change: Any) -> Any:
    return jax.vjp(max_pool(2, 2), x)[1](change)[0]


IMAGES = normal(16, 112, 112, 32)
WINDOWS = [
    traced("windows", "max pool 2x2", max_pool(2, 2), IMAGES, by_hand=max_pool_by_hand),
    traced("windows", "max pool 3x3, stride 2", max_pool(3, 2), IMAGES),
    traced("windows", "average pool 2x2", average_pool, IMAGES, by_hand=average_pool_by_hand),
    traced("windows", "gradient of max pool 2x2", max_pool_gradient, IMAGES, normal(16, 56, 56, 32)),
]


def embedding_gradient(places: Any, change: Any) -> Any:
    return jnp.zeros((10000, 256), jnp.float32).at[places].add(change)


def embedding_gradient_by_hand(places: Any, change: Any) -> Any:
    gradient = np.zeros((10000, 256), np.float32)
    np.add.at(gradient, places, change)
    return gradient


def histogram(places: Any, weights: Any) -> Any:
    return jnp.zeros(1000, jnp.float32).at[places].add(weights)


def histogram_by_hand(places: Any, weights: Any) -> Any:
    return np.bincount(places, weights, 1000).astype(np.float32)


def sort_by_hand(x: Any) -> Any:
    return np.sort(x, axis=1)


INDEXING = [
    either("gather", "rows of a table", lambda xp, table, places: table[places], normal(30000, 256),
           integers(8192, below=30000)),
    traced("scatter", "gradient of an embedding", embedding_gradient, integers(4096, below=10000),
           normal(4096, 256), by_hand=embedding_gradient_by_hand),
    traced("scatter", "weighted histogram", histogram, integers(10**6, below=1000), normal(10**6),
           by_hand=histogram_by_hand),
    traced("sort", "sort rows", lambda x: jnp.sort(x, axis=1), normal(1024, 1024), by_hand=sort_by_hand),
    either("sort", "argsort rows", lambda xp, x: xp.argsort(x, axis=1, stable=True), normal(1024, 1024)),
    traced("sort", "top 64 of 4096", lambda x: jax.lax.top_k(x, 64), normal(256, 4096)),
    either("gather", "search a table", lambda xp, table, x: xp.searchsorted(table, x), lambda: np.sort(normal(4096)()),
           normal(10**5)),
]  # fmt: skip
PROGRAMS = [*ELEMENTWISE, *ROWS, *WINDOWS, *INDEXING]

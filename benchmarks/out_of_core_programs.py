"""Programs on arrays larger than memory, as one writes them in JAX, and by hand for dask.array.

Each takes one large array of random numbers in [0, 1): a table of ``COLUMNS`` columns or, where its name ends in
"line", one axis.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

COLUMNS = 256
LEVELS = np.linspace(0, 1, 1000, dtype=np.float32)
HEIGHTS = np.random.default_rng(3).random(1000, np.float32)
WEIGHTS = np.random.default_rng(4).standard_normal((COLUMNS, COLUMNS), np.float32) / 16
CENTRES = np.random.default_rng(5).random((8, COLUMNS), np.float32)
BINS = 64
STEPS = 3
PERCENTS = np.array([5, 50, 95], np.float32)


class Later:
    """A module that is imported when something of it is asked for: JAX takes more memory than some programs may."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.name), name)


Pair = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def programs() -> dict[str, Pair]:
    """Return the program in JAX and the one by hand, by name."""
    import dask.array as da

    jax, jnp, lax, nn = map(Later, ("jax", "jax.numpy", "jax.lax", "jax.nn"))

    def by_blocks(function: Callable[..., Any], **options: Any) -> Callable[[Any], Any]:
        return lambda x: x.map_blocks(function, dtype=np.float32, **options)

    def windows(depth: int) -> Callable[[Callable[..., Any]], Callable[[Any], Any]]:
        """Blocks of rows with some rows of their neighbours."""
        return lambda f: lambda x: x.map_overlap(f, depth=(depth, 0), boundary="periodic", dtype=np.float32)

    def heat(m: Any) -> Callable[[Any], Any]:
        def step(x: Any) -> Any:
            return x + np.float32(0.1) * (m.roll(x, 1, 0) + m.roll(x, -1, 0) - 2 * x)

        def steps(x: Any) -> Any:
            for _ in range(STEPS):
                x = step(x)
            return x

        return steps

    def inner(x: Any) -> Any:
        return (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4

    def nearest(x: Any, centres: Any) -> Any:
        return ((centres**2).sum(1) - 2 * x @ centres.T).argmin(1)

    def k_means(x: Any) -> Any:
        def step(_: Any, centres: Any) -> Any:
            found = nearest(x, centres)
            count = jax.ops.segment_sum(jnp.ones(x.shape[0], x.dtype), found, 8)
            return jax.ops.segment_sum(x, found, 8) / jnp.maximum(count, 1)[:, None]

        return lax.fori_loop(0, STEPS, step, jnp.asarray(CENTRES))

    def k_means_by_hand(x: Any) -> Any:
        centres = CENTRES
        for _ in range(STEPS):

            def sums(block: np.ndarray, centres: np.ndarray = centres) -> np.ndarray:
                found = nearest(block, centres)[:, None] == np.arange(8)
                ones = np.ones((len(block), 1), np.float32)
                return (found.astype(np.float32).T @ np.hstack([block, ones]))[None]

            chunks = ((1,) * x.numblocks[0], (8,), (COLUMNS + 1,))
            total = x.map_blocks(sums, new_axis=2, chunks=chunks, dtype=np.float32).sum(axis=0).compute()
            centres = total[:, :-1] / np.maximum(total[:, -1:], 1)
        return da.from_array(centres)

    def power(m: Any) -> Callable[[Any], Any]:
        def steps(x: Any) -> Any:
            v = m.ones(COLUMNS, dtype=np.float32)
            for _ in range(STEPS):
                v = (x @ v) @ x
                v = v / m.sqrt((v * v).sum())
            return v

        return steps

    def normalised(m: Any, axis: int) -> Callable[[Any], Any]:
        return lambda x: (x - x.mean(axis, keepdims=True)) / m.sqrt(x.var(axis, keepdims=True) + np.float32(1e-5))

    def logsumexp_by_hand(x: Any) -> Any:
        peak = x.max(axis=1, keepdims=True)
        peak = da.where(da.isfinite(peak), peak, np.float32(0))
        return (da.log(da.exp(x - peak).sum(axis=1, keepdims=True)) + peak)[:, 0]

    def softmax_by_hand(x: Any) -> Any:
        e = da.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def gelu_by_hand(x: Any) -> Any:
        c = np.float32((2 / np.pi) ** 0.5)
        return x * (1 + da.tanh(c * (x + np.float32(0.044715) * x**3))) / 2

    def layer(x: np.ndarray) -> np.ndarray:
        return np.maximum(x @ WEIGHTS, 0) @ WEIGHTS

    def moving(x: np.ndarray) -> np.ndarray:
        return (np.roll(x, 1, 0) + x + np.roll(x, -1, 0)) / 3

    def lagged(x: Any) -> Any:
        return (x[1:] * x[:-1]).sum()

    table: dict[str, Pair] = {
        "sum": (lambda x: jnp.sum(x), da.sum),
        "mean of columns": (lambda x: x.mean(0), lambda x: x.mean(axis=0)),
        "variance of rows": (lambda x: x.var(1), lambda x: x.var(axis=1)),
        "deviation of columns": (lambda x: x.std(0), lambda x: x.std(axis=0)),
        "maximum": (lambda x: x.max(0), lambda x: x.max(axis=0)),
        "argmax of columns": (lambda x: x.argmax(0), lambda x: x.argmax(axis=0)),
        "argmin of rows": (lambda x: x.argmin(1), lambda x: x.argmin(axis=1)),
        "norm of rows": (lambda x: jnp.linalg.norm(x, axis=1), lambda x: da.sqrt((x * x).sum(axis=1))),
        "log of sums": (lambda x: nn.logsumexp(x, axis=1), logsumexp_by_hand),
        "standardise": (normalised(jnp, 0), normalised(da, 0)),
        "layer norm": (normalised(jnp, 1), normalised(da, 1)),
        "scale by range": (
            lambda x: (x - x.min(0)) / (x.max(0) - x.min(0)),
            lambda x: (x - x.min(axis=0)) / (x.max(axis=0) - x.min(axis=0)),
        ),
        "softmax": (lambda x: nn.softmax(x), softmax_by_hand),
        "gelu": (lambda x: nn.gelu(x), gelu_by_hand),
        "polynomial": (
            lambda x: ((x * 2 + 1) * x - 3) * x + 4,
            lambda x: ((x * np.float32(2) + 1) * x - 3) * x + 4,
        ),
        "sine and cosine": (lambda x: jnp.sin(x) * jnp.cos(2 * x), lambda x: da.sin(x) * da.cos(2 * x)),
        "clip": (lambda x: jnp.clip(x, 0.2, 0.8), lambda x: da.clip(x, np.float32(0.2), np.float32(0.8))),
        "where": (lambda x: jnp.where(x > 0.5, x, -x), lambda x: da.where(x > 0.5, x, -x)),
        "count": (lambda x: (x > 0.5).sum(0), lambda x: (x > 0.5).sum(axis=0)),
        "product with a matrix": (lambda x: x @ WEIGHTS, lambda x: x @ da.from_array(WEIGHTS)),
        "two layers": (lambda x: nn.relu(x @ WEIGHTS) @ WEIGHTS, by_blocks(layer)),
        "Gram matrix": (lambda x: x.T @ x, lambda x: x.T @ x),
        "covariance": (
            lambda x: jnp.cov(x, rowvar=False),
            lambda x: (x - x.mean(axis=0)).T @ (x - x.mean(axis=0)) / (len(x) - 1),
        ),
        "power iteration": (power(jnp), power(da)),
        "k-means": (k_means, k_means_by_hand),
        "transpose": (lambda x: x.T, lambda x: x.T),
        "reverse": (lambda x: x[::-1], lambda x: x[::-1]),
        "roll": (lambda x: x + jnp.roll(x, 1, 0), lambda x: x + da.roll(x, 1, 0)),
        "every other row": (lambda x: x[::2], lambda x: x[::2]),
        "differences": (lambda x: jnp.diff(x, axis=0), lambda x: da.diff(x, axis=0)),
        "second differences": (lambda x: jnp.diff(x, n=2, axis=0), lambda x: da.diff(x, n=2, axis=0)),
        "rows by numbers": (
            lambda x: x[jnp.asarray(row_numbers(len(x)))],
            lambda x: x[row_numbers(len(x))],
        ),
        "orthogonal columns": (lambda x: abs(jnp.linalg.qr(x)[0]), lambda x: abs(da.linalg.qr(x)[0])),
        "moving mean": (moving_of(jnp), windows(1)(moving)),
        "heat": (heat(jnp), heat(da)),
        "stencil": (inner, inner),
        "halves joined": (
            lambda x: jnp.concatenate([x[len(x) // 2 :], x[: len(x) // 2]]),
            lambda x: da.concatenate([x[len(x) // 2 :], x[: len(x) // 2]]),
        ),
        "triangle": (lambda x: jnp.tril(x), da.tril),
        "running sum": (lambda x: jnp.cumsum(x, 0), lambda x: da.cumsum(x, axis=0)),
        "running maximum": (
            lambda x: lax.cummax(x, 0),
            lambda x: da.reductions.cumreduction(np.maximum.accumulate, np.maximum, -np.inf, x, axis=0),
        ),
        "sort of rows": (lambda x: jnp.sort(x, axis=1), by_blocks(lambda x: np.sort(x, axis=1))),
        "median of rows": (lambda x: jnp.median(x, axis=1), lambda x: da.median(x, axis=1)),
        "sort of columns": (
            lambda x: jnp.sort(x, axis=0),
            lambda x: x.rechunk((-1, 16)).map_blocks(np.sort, axis=0, dtype=np.float32),
        ),
        "median of columns": (
            lambda x: jnp.median(x, axis=0),
            lambda x: x.rechunk((-1, 16)).map_blocks(np.median, axis=0, drop_axis=0, dtype=np.float32),
        ),
        "order of rows": (
            lambda x: jnp.argsort(x, axis=1),
            lambda x: x.map_blocks(lambda b: np.argsort(b, axis=1, kind="stable"), dtype=np.int64),
        ),
        "percentiles of rows": (
            lambda x: jnp.percentile(x, jnp.asarray(PERCENTS), axis=1),
            lambda x: (
                x.map_blocks(
                    lambda b: np.percentile(b, PERCENTS, axis=1).T.astype(np.float32),
                    dtype=np.float32,
                    chunks=(x.chunks[0], 3),
                ).T
            ),
        ),
        "largest of rows": (lambda x: lax.top_k(x, 5)[0], lambda x: da.topk(x, 5, axis=1)),
        "Fourier transform of rows": (lambda x: jnp.abs(jnp.fft.rfft(x)), lambda x: abs(da.fft.rfft(x))),
        "histogram": (
            lambda x: jnp.histogram(x, BINS, (0, 1))[0],
            lambda x: da.histogram(x, BINS, (0, 1))[0],
        ),
        "interpolation": (
            lambda x: jnp.interp(x, LEVELS, HEIGHTS),
            by_blocks(lambda x: np.interp(x, LEVELS, HEIGHTS).astype(np.float32)),
        ),
        "places in a table": (
            lambda x: jnp.searchsorted(LEVELS, x).sum(1),
            lambda x: x.map_blocks(lambda b: np.searchsorted(LEVELS, b), dtype=np.int64).sum(axis=1),
        ),
    }
    lines: dict[str, Pair] = {
        "products with the next, line": (lagged, lagged),
        "running sum, line": (lambda x: jnp.cumsum(x), lambda x: da.cumsum(x, axis=0)),
        "weights by places, line": (
            lambda x: jnp.arange(x.size, dtype=x.dtype) / x.size * x,
            # NumPy counts on in float32 by differences, which are 0 or 2 above 2**24
            lambda x: da.arange(x.size, chunks=x.chunks).astype(x.dtype) / np.float32(x.size) * x,
        ),
    }
    return table | lines


def row_numbers(rows: int) -> np.ndarray:
    """Return the numbers of an eighth of all rows, in any order and with repetitions."""
    return np.random.default_rng(6).integers(0, rows, rows // 8, np.int32)


def moving_of(m: Any) -> Callable[[Any], Any]:
    """The mean of each row and its neighbours."""
    return lambda x: (m.roll(x, 1, 0) + x + m.roll(x, -1, 0)) / 3


def shape_of(name: str, size: int) -> tuple[int, ...]:
    """Return the shape of a program's array of so many bytes."""
    return (size // 4,) if name.endswith("line") else (size // (4 * COLUMNS), COLUMNS)

"""Kernels of scientific programs: each in JAX as its users write it, by hand in NumPy, and by hand as loops for Numba.

Functions named ``.._in_loops`` are compiled by Numba before they are timed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import fori_loop

from xla2py.benchmarks.cpu_kit.program import integers, kernel, normal, uniform

f32 = np.float32


def sweep(lower: Any, diagonal: Any, upper: Any, x: Any) -> Any:
    """Solve tridiagonal systems, one for each row of x."""
    n = len(diagonal)

    def forth(i: Any, state: Any) -> Any:
        ratios, x = state
        pivot = diagonal[i] - lower[i] * ratios[i - 1]
        ratios = ratios.at[i].set(upper[i] / pivot)
        return ratios, x.at[:, i].set((x[:, i] - lower[i] * x[:, i - 1]) / pivot)

    def back(k: Any, x: Any) -> Any:
        i = n - 2 - k
        return x.at[:, i].add(-ratios[i] * x[:, i + 1])

    ratios = jnp.zeros(n).at[0].set(upper[0] / diagonal[0])
    ratios, x = fori_loop(1, n, forth, (ratios, x.at[:, 0].divide(diagonal[0])))
    return fori_loop(0, n - 1, back, x)


def sweep_by_hand(lower: Any, diagonal: Any, upper: Any, x: Any) -> Any:
    n, x = len(diagonal), x.copy()
    ratios = np.zeros(n, f32)
    ratios[0] = upper[0] / diagonal[0]
    x[:, 0] /= diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * ratios[i - 1]
        ratios[i] = upper[i] / pivot
        x[:, i] = (x[:, i] - lower[i] * x[:, i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[:, i] -= ratios[i] * x[:, i + 1]
    return x


def sweep_in_loops(lower: Any, diagonal: Any, upper: Any, x: Any) -> Any:
    n, x = len(diagonal), x.copy()
    ratios, pivots = np.zeros(n, f32), np.zeros(n, f32)
    pivots[0] = diagonal[0]
    ratios[0] = upper[0] / diagonal[0]
    for i in range(1, n):
        pivots[i] = diagonal[i] - lower[i] * ratios[i - 1]
        ratios[i] = upper[i] / pivots[i]
    for row in range(x.shape[0]):
        x[row, 0] /= pivots[0]
        for i in range(1, n):
            x[row, i] = (x[row, i] - lower[i] * x[row, i - 1]) / pivots[i]
        for i in range(n - 2, -1, -1):
            x[row, i] -= ratios[i] * x[row, i + 1]
    return x


def cholesky_by_rows(a: Any) -> Any:
    n = len(a)
    places = jnp.arange(n)

    def row(i: Any, lower: Any) -> Any:
        def entry(j: Any, lower: Any) -> Any:
            before = places < j
            dot = jnp.where(before, lower[i], 0) @ jnp.where(before, lower[j], 0)
            return lower.at[i, j].set((a[i, j] - dot) / lower[j, j])

        lower = fori_loop(0, i, entry, lower)
        rest = a[i, i] - jnp.sum(jnp.where(places < i, lower[i], 0) ** 2)
        return lower.at[i, i].set(jnp.sqrt(rest))

    return fori_loop(0, n, row, jnp.zeros_like(a))


def cholesky_by_rows_by_hand(a: Any) -> Any:
    lower = np.zeros_like(a)
    for i in range(len(a)):
        for j in range(i):
            lower[i, j] = (a[i, j] - lower[i, :j] @ lower[j, :j]) / lower[j, j]
        lower[i, i] = np.sqrt(a[i, i] - lower[i, :i] @ lower[i, :i])
    return lower


def cholesky_by_rows_in_loops(a: Any) -> Any:
    lower = np.zeros_like(a)
    for i in range(len(a)):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = np.sqrt(total) if i == j else total / lower[j, j]
    return lower


def eliminate(a: Any) -> Any:
    """LU without pivoting, in place of the matrix."""
    n = len(a)

    def column(k: Any, a: Any) -> Any:
        def row(i: Any, a: Any) -> Any:
            factor = a[i, k] / a[k, k]
            changed = jnp.where(jnp.arange(n) > k, a[i] - factor * a[k], a[i])
            return a.at[i].set(changed).at[i, k].set(factor)

        return fori_loop(k + 1, n, row, a)

    return fori_loop(0, n, column, a)


def eliminate_by_hand(a: Any) -> Any:
    a = a.copy()
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a


def eliminate_in_loops(a: Any) -> Any:
    a = a.copy()
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def orthonormal(rows: Any) -> Any:
    """Modified Gram-Schmidt of the rows."""

    def one(i: Any, q: Any) -> Any:
        v = fori_loop(0, i, lambda j, v: v - (q[j] @ v) * q[j], q[i])
        return q.at[i].set(v / jnp.linalg.norm(v))

    return fori_loop(0, len(rows), one, rows)


def orthonormal_by_hand(rows: Any) -> Any:
    q = rows.copy()
    for i in range(len(q)):
        v = q[i].copy()
        for j in range(i):
            v -= (q[j] @ v) * q[j]
        q[i] = v / np.linalg.norm(v)
    return q


def orthonormal_in_loops(rows: Any) -> Any:
    q = rows.copy()
    count, width = q.shape
    for i in range(count):
        for j in range(i):
            dot = f32(0)
            for k in range(width):
                dot += q[j, k] * q[i, k]
            for k in range(width):
                q[i, k] -= dot * q[j, k]
        square = f32(0)
        for k in range(width):
            square += q[i, k] * q[i, k]
        norm = np.sqrt(square)
        for k in range(width):
            q[i, k] /= norm
    return q


def viterbi(scores: Any, transitions: Any) -> Any:
    count = len(scores)

    def forth(t: Any, state: Any) -> Any:
        best, came_from = state
        every = best[:, None] + transitions
        return every.max(0) + scores[t], came_from.at[t].set(every.argmax(0).astype(jnp.int32))

    def back(k: Any, path: Any) -> Any:
        t = count - 1 - k
        return path.at[t - 1].set(came_from[t, path[t]])

    start = (scores[0], jnp.zeros(scores.shape, jnp.int32))
    best, came_from = fori_loop(1, count, forth, start)
    path = jnp.zeros(count, jnp.int32).at[-1].set(best.argmax().astype(jnp.int32))
    return fori_loop(0, count - 1, back, path)


def viterbi_by_hand(scores: Any, transitions: Any) -> Any:
    count = len(scores)
    best, came_from = scores[0], np.zeros(scores.shape, np.int32)
    for t in range(1, count):
        every = best[:, None] + transitions
        came_from[t] = every.argmax(0)
        best = every.max(0) + scores[t]
    path = np.zeros(count, np.int32)
    path[-1] = best.argmax()
    for t in range(count - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path


def viterbi_in_loops(scores: Any, transitions: Any) -> Any:
    count, states = scores.shape
    best, following = scores[0].copy(), np.empty(states, f32)
    came_from = np.zeros((count, states), np.int32)
    for t in range(1, count):
        for j in range(states):
            top, where = best[0] + transitions[0, j], 0
            for i in range(1, states):
                value = best[i] + transitions[i, j]
                if value > top:
                    top, where = value, i
            came_from[t, j] = where
            following[j] = top + scores[t, j]
        best[:] = following
    path = np.zeros(count, np.int32)
    path[count - 1] = np.argmax(best)
    for t in range(count - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path


def filtered(motion: Any, observe: Any, noise: Any, observed: Any) -> Any:
    """The log likelihood of observations, by a Kalman filter."""

    def step(state: Any, y: Any) -> Any:
        mean, cov = state
        mean, cov = motion @ mean, motion @ cov @ motion.T + noise
        spread = observe @ cov @ observe.T + 0.5 * jnp.eye(2)
        inverse = jnp.linalg.inv(spread)
        rest = y - observe @ mean
        gain = cov @ observe.T @ inverse
        mean, cov = mean + gain @ rest, cov - gain @ observe @ cov
        return (mean, cov), -0.5 * (rest @ inverse @ rest + jnp.linalg.slogdet(spread)[1])

    start = jnp.zeros(4), jnp.eye(4)
    return jax.lax.scan(step, start, observed)[1].sum()


def filtered_by_hand(motion: Any, observe: Any, noise: Any, observed: Any) -> Any:
    mean, cov, total = np.zeros(4, f32), np.eye(4, dtype=f32), f32(0)
    for y in observed:
        mean, cov = motion @ mean, motion @ cov @ motion.T + noise
        spread = observe @ cov @ observe.T + f32(0.5) * np.eye(2, dtype=f32)
        inverse = np.linalg.inv(spread)
        rest = y - observe @ mean
        gain = cov @ observe.T @ inverse
        mean, cov = mean + gain @ rest, cov - gain @ observe @ cov
        total += f32(-0.5) * (rest @ inverse @ rest + np.linalg.slogdet(spread)[1])
    return total


def filtered_in_loops(motion: Any, observe: Any, noise: Any, observed: Any) -> Any:
    mean, cov, total = np.zeros(4, f32), np.eye(4).astype(f32), f32(0)
    for t in range(observed.shape[0]):
        mean, cov = motion @ mean, motion @ cov @ motion.T + noise
        spread = observe @ cov @ observe.T + f32(0.5) * np.eye(2).astype(f32)
        det = spread[0, 0] * spread[1, 1] - spread[0, 1] * spread[1, 0]
        inverse = np.empty((2, 2), f32)
        inverse[0, 0], inverse[1, 1] = spread[1, 1] / det, spread[0, 0] / det
        inverse[0, 1], inverse[1, 0] = -spread[0, 1] / det, -spread[1, 0] / det
        rest = observed[t] - observe @ mean
        gain = cov @ observe.T @ inverse
        mean, cov = mean + gain @ rest, cov - gain @ (observe @ cov)
        total += f32(-0.5) * (rest @ (inverse @ rest) + np.log(abs(det)))
    return total


filtered_gradient = jax.grad(filtered, (0, 2))


def aligned(first: Any, second: Any) -> Any:
    """The table of Smith and Waterman."""
    m, n = len(first), len(second)

    def row(i: Any, table: Any) -> Any:
        def entry(j: Any, table: Any) -> Any:
            same = jnp.where(first[i - 1] == second[j - 1], 3.0, -3.0)
            either = jnp.maximum(table[i - 1, j], table[i, j - 1]) - 2
            return table.at[i, j].set(jnp.maximum(jnp.maximum(table[i - 1, j - 1] + same, either), 0))

        return fori_loop(1, n + 1, entry, table)

    return fori_loop(1, m + 1, row, jnp.zeros((m + 1, n + 1)))


def aligned_by_hand(first: Any, second: Any) -> Any:
    m, n = len(first), len(second)
    table = np.zeros((m + 1, n + 1), f32)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            same = 3 if first[i - 1] == second[j - 1] else -3
            either = max(table[i - 1, j], table[i, j - 1]) - 2
            table[i, j] = max(table[i - 1, j - 1] + same, either, 0)
    return table


def relaxed(u: Any, source: Any) -> Any:
    """Twenty rounds of Gauss and Seidel, red and black, with a mirror at the right."""

    def around(u: Any, i: int, j: int) -> Any:
        rows, columns = slice(i, -1, 2), slice(j, -1, 2)
        total = u[i - 1 : -2 : 2, columns] + u[i + 1 :: 2, columns] + u[rows, j - 1 : -2 : 2] + u[rows, j + 1 :: 2]
        return u.at[rows, columns].set(0.25 * (total - source[rows, columns]))

    def step(_: Any, u: Any) -> Any:
        for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
            u = around(u, i, j)
        return u.at[:, -1].set(u[:, -2])

    return fori_loop(0, 20, step, u)


def relaxed_by_hand(u: Any, source: Any) -> Any:
    u = u.copy()
    for _ in range(20):
        for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
            rows, columns = slice(i, -1, 2), slice(j, -1, 2)
            total = u[i - 1 : -2 : 2, columns] + u[i + 1 :: 2, columns] + u[rows, j - 1 : -2 : 2] + u[rows, j + 1 :: 2]
            u[rows, columns] = f32(0.25) * (total - source[rows, columns])
        u[:, -1] = u[:, -2]
    return u


def relaxed_in_loops(u: Any, source: Any) -> Any:
    u = u.copy()
    rows, columns = u.shape
    for _ in range(20):
        for colour in range(2):
            for i in range(1, rows - 1):
                for j in range(1 + (i + 1 + colour) % 2, columns - 1, 2):
                    total = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                    u[i, j] = f32(0.25) * (total - source[i, j])
        for i in range(rows):
            u[i, columns - 1] = u[i, columns - 2]
    return u


def sparse_product(starts: Any, columns: Any, values: Any, x: Any) -> Any:
    """A matrix in rows of CSR times a vector."""
    places = jnp.arange(len(values))
    products = values * x[columns]

    def row(i: Any, y: Any) -> Any:
        inside = (places >= starts[i]) & (places < starts[i + 1])
        return y.at[i].set(jnp.sum(jnp.where(inside, products, 0)))

    count = len(starts) - 1
    return fori_loop(0, count, row, jnp.zeros(count))


def sparse_product_by_hand(starts: Any, columns: Any, values: Any, x: Any) -> Any:
    products = values * x[columns]
    y = np.zeros(len(starts) - 1, f32)
    for i in range(len(y)):
        y[i] = products[starts[i] : starts[i + 1]].sum()
    return y


def sparse_product_in_loops(starts: Any, columns: Any, values: Any, x: Any) -> Any:
    y = np.zeros(len(starts) - 1, f32)
    for i in range(len(y)):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


def neuron(current: Any, rates: Any, steps: int) -> Any:
    """The last voltages of cells with four gates."""

    def step(state: Any, _: Any) -> Any:
        v, m, h, n, p = state
        m = m + 0.01 * (jax.nn.sigmoid(v * rates[0]) - m)
        h = h + 0.01 * (jax.nn.sigmoid(-v * rates[1]) - h)
        n = n + 0.01 * (jax.nn.sigmoid(v * rates[2]) - n)
        p = p + 0.01 * (jnp.tanh(v * rates[3]) - p)
        v = v + 0.01 * (current - m**3 * h * (v - 0.5) - n**4 * (v + 0.7) - p * v)
        return (v, m, h, n, p), v

    start = (jnp.zeros_like(current),) * 5
    return jax.lax.scan(step, start, None, length=steps)[1][-1].sum()


def neuron_gradient(current: Any, rates: Any) -> Any:
    return jax.grad(partial(neuron, steps=500), (0, 1))(current, rates)


def substituted(lower: Any, b: Any) -> Any:
    """Solve a lower triangular system."""
    places = jnp.arange(len(b))

    def one(i: Any, x: Any) -> Any:
        return x.at[i].set((b[i] - jnp.sum(jnp.where(places < i, lower[i] * x, 0))) / lower[i, i])

    return fori_loop(0, len(b), one, jnp.zeros_like(b))


def substituted_by_hand(lower: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - (lower[i, :i] * x[:i]).sum()) / lower[i, i]
    return x


def substituted_in_loops(lower: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for i in range(len(b)):
        total = b[i]
        for k in range(i):
            total -= lower[i, k] * x[k]
        x[i] = total / lower[i, i]
    return x


def _positive(size: int) -> Any:
    x = normal(size, size)()
    return x @ x.T / f32(size) + np.eye(size, dtype=f32)


def _dominant(size: int) -> Any:
    return normal(size, size)() + f32(2 * size) * np.eye(size, dtype=f32)


def _starts(rows: int, count: int) -> Any:
    inner = np.sort(np.random.default_rng(3).integers(0, count, rows - 1))
    return np.array([0, *inner, count], np.int32)


PROGRAMS = [
    kernel("tridiagonal sweep", sweep, sweep_by_hand, sweep_in_loops, normal(200), uniform(200, low=4, high=5),
           normal(200), normal(100, 200)),
    kernel("Cholesky by rows", cholesky_by_rows, cholesky_by_rows_by_hand, cholesky_by_rows_in_loops,
           partial(_positive, 60)),
    kernel("LU by rows", eliminate, eliminate_by_hand, eliminate_in_loops, partial(_dominant, 60)),
    kernel("Gram-Schmidt", orthonormal, orthonormal_by_hand, orthonormal_in_loops, normal(40, 100)),
    kernel("Viterbi with pointers", viterbi, viterbi_by_hand, viterbi_in_loops, normal(300, 16), normal(16, 16)),
    kernel("Kalman likelihood", filtered, filtered_by_hand, filtered_in_loops, normal(4, 4, scale=0.3),
           normal(2, 4), partial(_positive, 4), normal(200, 2)),
    kernel("Kalman gradient", filtered_gradient, None, None, normal(4, 4, scale=0.3), normal(2, 4),
           partial(_positive, 4), normal(200, 2)),
    kernel("Smith-Waterman", aligned, aligned_by_hand, aligned_by_hand, integers(80, below=4), integers(100, below=4)),
    kernel("red-black Gauss-Seidel", relaxed, relaxed_by_hand, relaxed_in_loops, normal(128, 128), normal(128, 128)),
    kernel("CSR product", sparse_product, sparse_product_by_hand, sparse_product_in_loops, partial(_starts, 500, 5000),
           integers(5000, below=400), normal(5000), normal(400)),
    kernel("neuron gradient", neuron_gradient, None, None, uniform(8), uniform(4)),
    kernel("forward substitution", substituted, substituted_by_hand, substituted_in_loops, partial(_dominant, 200),
           normal(200)),
]  # fmt: skip

"""Kernels of graphs, sequences and matrices in loops, at two sizes each.

Functions named ``.._in_loops`` are compiled by Numba before they are timed.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import fori_loop, scan, while_loop

from xla2py.benchmarks.cpu_kit.program import at_sizes, integers, normal, uniform

f32 = np.float32


def distances(weights: Any) -> Any:
    """Floyd and Warshall's shortest paths."""
    return fori_loop(0, len(weights), lambda k, d: jnp.minimum(d, d[:, k, None] + d[k]), weights)


def distances_by_hand(weights: Any) -> Any:
    d = weights.copy()
    for k in range(len(d)):
        np.minimum(d, d[:, k, None] + d[k], out=d)
    return d


def distances_in_loops(weights: Any) -> Any:
    d, n = weights.copy(), len(weights)
    for k in range(n):
        for i in range(n):
            first = d[i, k]
            for j in range(n):
                d[i, j] = min(d[i, j], first + d[k, j])
    return d


def primes(numbers: Any) -> Any:
    """Which of the numbers from 0 on are prime; all are true at first."""
    n = len(numbers)
    places = jnp.arange(n)

    def strike(i: Any, is_prime: Any) -> Any:
        return jnp.where(is_prime[i] & (places >= i * i) & (places % i == 0), False, is_prime)

    return fori_loop(2, int(n**0.5) + 1, strike, numbers & (places >= 2))


def primes_by_hand(numbers: Any) -> Any:
    n = len(numbers)
    is_prime = numbers.copy()
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return is_prime


def knapsack(sizes: Any, values: Any, room: Any) -> Any:
    """The greatest value for each room up to ``len(room) - 1``."""
    places = jnp.arange(len(room))

    def item(best: Any, one: Any) -> Any:
        size, value = one
        taken = jnp.where(places >= size, best[jnp.maximum(places - size, 0)] + value, 0)
        return jnp.maximum(best, taken), None

    return scan(item, room, (sizes, values))[0]


def knapsack_by_hand(sizes: Any, values: Any, room: Any) -> Any:
    best = room.copy()
    for size, value in zip(sizes.tolist(), values, strict=True):
        best[size:] = np.maximum(best[size:], best[: len(best) - size] + value)
    return best


def knapsack_in_loops(sizes: Any, values: Any, room: Any) -> Any:
    best = room.copy()
    for k in range(len(sizes)):
        for r in range(len(best) - 1, sizes[k] - 1, -1):
            best[r] = max(best[r], best[r - sizes[k]] + values[k])
    return best


def ranks(sources: Any, targets: Any, degrees: Any) -> Any:
    """Twenty rounds of PageRank."""
    n = len(degrees)

    def step(_: Any, rank: Any) -> Any:
        return 0.15 / n + 0.85 * jax.ops.segment_sum((rank / degrees)[sources], targets, n)

    return fori_loop(0, 20, step, jnp.full(n, 1 / n))


def ranks_by_hand(sources: Any, targets: Any, degrees: Any) -> Any:
    n = len(degrees)
    rank = np.full(n, 1 / n, f32)
    for _ in range(20):
        rank = f32(0.15 / n) + f32(0.85) * np.bincount(targets, (rank / degrees)[sources], n).astype(f32)
    return rank


def ranks_in_loops(sources: Any, targets: Any, degrees: Any) -> Any:
    n = len(degrees)
    rank, part = np.full(n, f32(1 / n)), np.empty(n, f32)
    for _ in range(20):
        for i in range(n):
            part[i] = f32(0.85) * rank[i] / degrees[i]
            rank[i] = f32(0.15 / n)
        for e in range(len(sources)):
            rank[targets[e]] += part[sources[e]]
    return rank


def clusters(points: Any, centres: Any) -> Any:
    """Ten rounds of k-means."""
    count = len(centres)

    def step(_: Any, centres: Any) -> Any:
        nearest = ((points[:, None] - centres) ** 2).sum(-1).argmin(1)
        one_hot = jax.nn.one_hot(nearest, count)
        return one_hot.T @ points / jnp.maximum(one_hot.sum(0), 1)[:, None]

    return fori_loop(0, 10, step, centres)


def clusters_by_hand(points: Any, centres: Any) -> Any:
    for _ in range(10):
        nearest = ((points[:, None] - centres) ** 2).sum(-1).argmin(1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, points)
        counts = np.bincount(nearest, minlength=len(centres))
        centres = sums / np.maximum(counts, 1).astype(f32)[:, None]
    return centres


def clusters_in_loops(points: Any, centres: Any) -> Any:
    centres = centres.copy()
    count, width = centres.shape
    for _ in range(10):
        sums, counts = np.zeros_like(centres), np.zeros(count, f32)
        for i in range(len(points)):
            least, nearest = f32(np.inf), 0
            for c in range(count):
                far = f32(0)
                for k in range(width):
                    far += (points[i, k] - centres[c, k]) ** 2
                if far < least:
                    least, nearest = far, c
            counts[nearest] += f32(1)
            for k in range(width):
                sums[nearest, k] += points[i, k]
        for c in range(count):
            for k in range(width):
                centres[c, k] = sums[c, k] / max(counts[c], f32(1))
    return centres


def smoothed(moves: Any, scores: Any) -> Any:
    """The probabilities of a hidden chain's states, forwards and backwards."""

    def forth(a: Any, s: Any) -> Any:
        a = jax.nn.logsumexp(a[:, None] + moves, axis=0) + s
        return a, a

    def back(b: Any, s: Any) -> Any:
        return jax.nn.logsumexp(moves + s + b, axis=1), b

    _, a = scan(forth, jnp.zeros(len(moves)), scores)
    _, b = scan(back, jnp.zeros(len(moves)), scores, reverse=True)
    return jax.nn.softmax(a + b, axis=1)


def smoothed_by_hand(moves: Any, scores: Any) -> Any:
    a, b = np.empty_like(scores), np.empty_like(scores)
    now = np.zeros(len(moves), f32)
    for t, s in enumerate(scores):
        every = now[:, None] + moves
        top = every.max(0)
        a[t] = now = np.log(np.exp(every - top).sum(0)) + top + s
    now = np.zeros(len(moves), f32)
    for t in range(len(scores) - 1, -1, -1):
        b[t] = now
        every = moves + scores[t] + now
        top = every.max(1)
        now = np.log(np.exp(every - top[:, None]).sum(1)) + top
    every = a + b
    every = np.exp(every - every.max(1, keepdims=True))
    return every / every.sum(1, keepdims=True)


def smoothed_in_loops(moves: Any, scores: Any) -> Any:
    count, n = scores.shape
    out, now, following = np.empty_like(scores), np.zeros(n, f32), np.empty(n, f32)
    for t in range(count):
        for j in range(n):
            top, total = f32(-np.inf), f32(0)
            for i in range(n):
                top = max(top, now[i] + moves[i, j])
            for i in range(n):
                total += np.exp(now[i] + moves[i, j] - top)
            following[j] = np.log(total) + top + scores[t, j]
        now, following = following, now
        out[t] = now
    now[:] = 0
    for t in range(count - 1, -1, -1):
        out[t] += now
        for i in range(n):
            top, total = f32(-np.inf), f32(0)
            for j in range(n):
                top = max(top, moves[i, j] + scores[t, j] + now[j])
            for j in range(n):
                total += np.exp(moves[i, j] + scores[t, j] + now[j] - top)
            following[i] = np.log(total) + top
        now, following = following, now
        top, total = np.max(out[t]), f32(0)
        for j in range(n):
            out[t, j] = np.exp(out[t, j] - top)
            total += out[t, j]
        out[t] /= total
    return out


def attended(queries: Any, keys: Any, values: Any) -> Any:
    """Causal attention, row by row."""
    places = jnp.arange(len(keys))

    def row(t: Any, out: Any) -> Any:
        scores = jnp.where(places <= t, keys @ queries[t], -jnp.inf)
        return out.at[t].set(jax.nn.softmax(scores) @ values)

    return fori_loop(0, len(queries), row, jnp.zeros_like(values))


def attended_by_hand(queries: Any, keys: Any, values: Any) -> Any:
    out = np.empty_like(values)
    for t, query in enumerate(queries):
        scores = keys[: t + 1] @ query
        weights = np.exp(scores - scores.max())
        out[t] = weights @ values[: t + 1] / weights.sum()
    return out


def attended_in_loops(queries: Any, keys: Any, values: Any) -> Any:
    count, width = queries.shape
    out, weights = np.empty_like(values), np.empty(count, f32)
    for t in range(count):
        top, total = f32(-np.inf), f32(0)
        for s in range(t + 1):
            score = f32(0)
            for k in range(width):
                score += keys[s, k] * queries[t, k]
            weights[s] = score
            top = max(top, score)
        out[t] = 0
        for s in range(t + 1):
            weight = np.exp(weights[s] - top)
            total += weight
            for k in range(width):
                out[t, k] += weight * values[s, k]
        out[t] /= total
    return out


def reflected(a: Any) -> Any:
    """The triangle of a QR factorisation by reflections."""
    places = jnp.arange(len(a))

    def column(k: Any, a: Any) -> Any:
        x = jnp.where(places >= k, a[:, k], 0)
        size = jnp.sqrt((x * x).sum())
        v = x.at[k].add(jnp.where(x[k] < 0, -size, size))
        return a - 2 / (v @ v) * jnp.outer(v, v @ a)

    return fori_loop(0, a.shape[1], column, a)


def reflected_by_hand(a: Any) -> Any:
    a = a.copy()
    for k in range(a.shape[1]):
        v = a[k:, k].copy()
        size = np.sqrt(v @ v)
        v[0] += -size if v[0] < 0 else size
        a[k:] -= np.outer(f32(2) / (v @ v) * v, v @ a[k:])
    return a


def reflected_in_loops(a: Any) -> Any:
    a = a.copy()
    n, m = a.shape
    v, dots = np.empty(n, f32), np.empty(m, f32)
    for k in range(m):
        square = f32(0)
        for i in range(k, n):
            v[i] = a[i, k]
            square += v[i] * v[i]
        size = np.sqrt(square)
        v[k] += -size if v[k] < 0 else size
        square = f32(0)
        dots[:] = 0
        for i in range(k, n):
            square += v[i] * v[i]
            for j in range(m):
                dots[j] += v[i] * a[i, j]
        for i in range(k, n):
            for j in range(m):
                a[i, j] -= f32(2) / square * v[i] * dots[j]
    return a


def scattered(rows: Any, columns: Any, values: Any, x: Any) -> Any:
    """A matrix in coordinates times a vector, with as many rows as columns."""
    return jnp.zeros_like(x).at[rows].add(values * x[columns])


def scattered_by_hand(rows: Any, columns: Any, values: Any, x: Any) -> Any:
    return np.bincount(rows, values * x[columns], len(x)).astype(f32)


def scattered_in_loops(rows: Any, columns: Any, values: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    for k in range(len(rows)):
        y[rows[k]] += values[k] * x[columns[k]]
    return y


def warped(a: Any, b: Any) -> Any:
    """The cost of dynamic time warping, row by row."""

    def row(above: Any, value: Any) -> Any:
        def entry(left: Any, three: Any) -> Any:
            cost, up, corner = three
            best = cost + jnp.minimum(jnp.minimum(up, corner), left)
            return best, best

        corners = jnp.concatenate([jnp.full(1, jnp.inf), above[:-1]])
        return scan(entry, jnp.float32(jnp.inf), (abs(value - b), above, corners))[1], None

    first = jnp.cumsum(abs(a[0] - b))
    return scan(row, first, a[1:])[0][-1]


def warped_by_hand(a: Any, b: Any) -> Any:
    above = np.cumsum(abs(a[0] - b)).tolist()
    for value in a[1:]:
        costs, left = abs(value - b).tolist(), np.inf
        corners, now = [np.inf, *above[:-1]], []
        for cost, up, corner in zip(costs, above, corners, strict=True):
            left = cost + min(up, corner, left)
            now.append(left)
        above = now
    return f32(above[-1])


def warped_in_loops(a: Any, b: Any) -> Any:
    above = np.cumsum(np.abs(a[0] - b))
    for i in range(1, len(a)):
        corner, left = f32(np.inf), f32(np.inf)
        for j in range(len(b)):
            left = abs(a[i] - b[j]) + min(above[j], corner, left)
            corner, above[j] = above[j], left
    return above[-1]


def roots(a: Any, b: Any) -> Any:
    """Kepler's equation for many orbits, until all have converged."""

    def step(state: Any) -> Any:
        x, _ = state
        change = (x - b * jnp.sin(x) - a) / (1 - b * jnp.cos(x))
        return x - change, abs(change).max()

    return while_loop(lambda state: state[1] > 1e-5, step, (a, jnp.float32(1)))[0]


def roots_by_hand(a: Any, b: Any) -> Any:
    x, most = a.copy(), 1.0
    while most > 1e-5:
        change = (x - b * np.sin(x) - a) / (1 - b * np.cos(x))
        x -= change
        most = abs(change).max()
    return x


def roots_in_loops(a: Any, b: Any) -> Any:
    x = np.empty_like(a)
    for i in range(len(a)):
        at, change = a[i], f32(1)
        while abs(change) > f32(1e-5):
            change = (at - b[i] * np.sin(at) - a[i]) / (f32(1) - b[i] * np.cos(at))
            at -= change
        x[i] = at
    return x


def network(rates: Any, kicks: Any) -> Any:
    """A chain of reactions whose state is a list of sixty numbers."""

    def step(state: Any, kick: Any) -> Any:
        flows = [rates[k] * jnp.tanh(state[k]) for k in range(60)]
        return [state[k] + 0.1 * (flows[k - 1] - flows[k]) + (kick if k == 0 else 0) for k in range(60)], state[59]

    return scan(step, [jnp.float32(0)] * 60, kicks)[1]


def network_by_hand(rates: Any, kicks: Any) -> Any:
    state, last = np.zeros(60, f32), np.empty_like(kicks)
    for t, kick in enumerate(kicks):
        last[t] = state[59]
        flows = rates * np.tanh(state)
        state = state + f32(0.1) * (np.roll(flows, 1) - flows)
        state[0] += kick
    return last


def network_in_loops(rates: Any, kicks: Any) -> Any:
    state, flows, last = np.zeros(60, f32), np.empty(60, f32), np.empty_like(kicks)
    for t in range(len(kicks)):
        last[t] = state[59]
        for k in range(60):
            flows[k] = rates[k] * np.tanh(state[k])
        for k in range(60):
            state[k] += f32(0.1) * (flows[k - 1] - flows[k])
        state[0] += kicks[t]
    return last


PROGRAMS = [
    *at_sizes("shortest paths", distances, distances_by_hand, distances_in_loops, (20, 200),
              lambda n: (uniform(n, n),)),
    *at_sizes("primes", primes, primes_by_hand, primes_by_hand, (1_000, 100_000),
              lambda n: (lambda: np.ones(n, bool),)),
    *at_sizes("knapsack", knapsack, knapsack_by_hand, knapsack_in_loops, (100, 5_000),
              lambda n: (integers(40, below=60), uniform(40), normal(n, scale=0))),
    *at_sizes("PageRank", ranks, ranks_by_hand, ranks_in_loops, (100, 20_000),
              lambda n: (integers(5 * n, below=n), integers(5 * n, below=n), uniform(n, low=1, high=9))),
    *at_sizes("k-means", clusters, clusters_by_hand, clusters_in_loops, (100, 5_000),
              lambda n: (normal(n, 4), normal(8, 4))),
    *at_sizes("hidden chain", smoothed, smoothed_by_hand, smoothed_in_loops, (4, 32),
              lambda n: (normal(n, n), normal(200, n))),
    *at_sizes("attention by rows", attended, attended_by_hand, attended_in_loops, (32, 256),
              lambda n: (normal(n, 32, scale=0.3), normal(n, 32), normal(n, 32))),
    *at_sizes("QR by reflections", reflected, reflected_by_hand, reflected_in_loops, (10, 80),
              lambda n: (normal(n, n),)),
    *at_sizes("COO product", scattered, scattered_by_hand, scattered_in_loops, (100, 20_000),
              lambda n: (integers(8 * n, below=n), integers(8 * n, below=n), normal(8 * n), normal(n))),
    *at_sizes("time warping", warped, warped_by_hand, warped_in_loops, (20, 300), lambda n: (normal(n), uniform(n))),
    *at_sizes("Kepler's equation", roots, roots_by_hand, roots_in_loops, (100, 10_000),
              lambda n: (uniform(n, high=6), uniform(n, high=0.8))),
    *at_sizes("sixty numbers", network, network_by_hand, network_in_loops, (20, 1_000),
              lambda n: (uniform(60), normal(n))),
]  # fmt: skip

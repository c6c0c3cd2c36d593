"""Kernels whose every value needs the one before: triangles, backward sweeps, filters and automata, at two sizes each.

Functions named ``.._in_loops`` are compiled by Numba before they are timed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import fori_loop, scan

from xla2py.benchmarks.cpu_kit.program import at_sizes, integers, normal, uniform

f32 = np.float32
c64 = np.complex64


def chained(sizes: Any) -> Any:
    """The least cost of a chain of matrix products, by its length."""
    n = len(sizes) - 1
    places = jnp.arange(n)

    def longer(length: Any, cost: Any) -> Any:
        def start(i: Any, cost: Any) -> Any:
            j = i + length
            right = jnp.roll(cost[:, j], -1)
            every = cost[i] + right + sizes[i] * jnp.roll(sizes, -1)[:n] * sizes[j + 1]
            return cost.at[i, j].set(jnp.where((places >= i) & (places < j), every, jnp.inf).min())

        return fori_loop(0, n - length, start, cost)

    return fori_loop(1, n, longer, jnp.zeros((n, n)))[0, n - 1]


def chained_by_hand(sizes: Any) -> Any:
    n = len(sizes) - 1
    cost = np.zeros((n, n), f32)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            every = cost[i, i:j] + cost[i + 1 : j + 1, j] + sizes[i] * sizes[i + 1 : j + 1] * sizes[j + 1]
            cost[i, j] = every.min()
    return cost[0, n - 1]


def chained_in_loops(sizes: Any) -> Any:
    n = len(sizes) - 1
    cost = np.zeros((n, n), f32)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            least = f32(np.inf)
            for k in range(i, j):
                least = min(least, cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1])
            cost[i, j] = least
    return cost[0, n - 1]


def predicted(r: Any) -> Any:
    """Levinson and Durbin's coefficients of a linear predictor."""
    n = len(r) - 1
    places = jnp.arange(n + 1)

    def order(m: Any, state: Any) -> Any:
        a, error = state
        inside = (places >= 1) & (places < m)
        rest = r[m] + jnp.sum(jnp.where(inside, a * r[(m - places) % (n + 1)], 0))
        reflection = -rest / error
        a = a + reflection * jnp.where(inside, a[(m - places) % (n + 1)], 0)
        return a.at[m].set(reflection), error * (1 - reflection**2)

    return fori_loop(1, n + 1, order, (jnp.zeros(n + 1).at[0].set(1), r[0]))[0]


def predicted_by_hand(r: Any) -> Any:
    a, error = np.zeros_like(r), r[0]
    a[0] = 1
    for m in range(1, len(r)):
        reflection = -(r[m] + a[1:m] @ r[m - 1 : 0 : -1]) / error
        a[1:m] += reflection * a[m - 1 : 0 : -1]
        a[m] = reflection
        error *= 1 - reflection**2
    return a


def predicted_in_loops(r: Any) -> Any:
    a, before, error = np.zeros_like(r), np.zeros_like(r), r[0]
    a[0] = 1
    for m in range(1, len(r)):
        rest = r[m]
        for k in range(1, m):
            rest += a[k] * r[m - k]
        reflection = -rest / error
        before[:m] = a[:m]
        for k in range(1, m):
            a[k] += reflection * before[m - k]
        a[m] = reflection
        error *= f32(1) - reflection * reflection
    return a


def ladder(inductances: Any, capacities: Any, frequencies: Any) -> Any:
    """The impedance of a ladder of coils and condensers at each frequency, one number at a time."""

    def at(frequency: Any) -> Any:
        def rung(load: Any, part: Any) -> Any:
            inductance, capacity = part
            return 1j * frequency * inductance + 1 / (1j * frequency * capacity + 1 / load), None

        return scan(rung, jnp.complex64(1), (inductances, capacities))[0]

    return jax.lax.map(at, frequencies)


def ladder_by_hand(inductances: Any, capacities: Any, frequencies: Any) -> Any:
    found = np.empty(len(frequencies), c64)
    for k, frequency in enumerate(frequencies.tolist()):
        load = 1 + 0j
        for inductance, capacity in zip(inductances.tolist(), capacities.tolist(), strict=True):
            load = 1j * frequency * inductance + 1 / (1j * frequency * capacity + 1 / load)
        found[k] = load
    return found


def ladder_in_loops(inductances: Any, capacities: Any, frequencies: Any) -> Any:
    found = np.empty(len(frequencies), c64)
    for k in range(len(frequencies)):
        load, turn = c64(1), c64(1j) * frequencies[k]
        for i in range(len(inductances)):
            load = turn * inductances[i] + c64(1) / (turn * capacities[i] + c64(1) / load)
        found[k] = load
    return found


def substituted_back(upper: Any, b: Any) -> Any:
    """Solve an upper triangular system for many right sides, from the last row on."""
    n = len(b)
    places = jnp.arange(n)

    def row(k: Any, x: Any) -> Any:
        i = n - 1 - k
        return x.at[i].set((b[i] - jnp.where(places > i, upper[i], 0) @ x) / upper[i, i])

    return fori_loop(0, n, row, jnp.zeros_like(b))


def substituted_back_by_hand(upper: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for i in range(len(b) - 1, -1, -1):
        x[i] = (b[i] - upper[i, i + 1 :] @ x[i + 1 :]) / upper[i, i]
    return x


def substituted_back_in_loops(upper: Any, b: Any) -> Any:
    n, m = b.shape
    x = np.zeros_like(b)
    for i in range(n - 1, -1, -1):
        x[i] = b[i]
        for k in range(i + 1, n):
            for j in range(m):
                x[i, j] -= upper[i, k] * x[k, j]
        x[i] /= upper[i, i]
    return x


def adapted(x: Any, wanted: Any) -> Any:
    """The errors of a filter of 16 taps that learns by least mean squares."""

    def step(taps: Any, t: Any) -> Any:
        window = jax.lax.dynamic_slice(x, (t,), (16,))
        error = wanted[t] - taps @ window
        return taps + 0.01 * error * window, error

    return scan(step, jnp.zeros(16), jnp.arange(len(wanted)))[1]


def adapted_by_hand(x: Any, wanted: Any) -> Any:
    taps, errors = np.zeros(16, f32), np.empty_like(wanted)
    for t in range(len(wanted)):
        window = x[t : t + 16]
        errors[t] = wanted[t] - taps @ window
        taps += f32(0.01) * errors[t] * window
    return errors


def adapted_in_loops(x: Any, wanted: Any) -> Any:
    taps, errors = np.zeros(16, f32), np.empty_like(wanted)
    for t in range(len(wanted)):
        error = wanted[t]
        for k in range(16):
            error -= taps[k] * x[t + k]
        for k in range(16):
            taps[k] += f32(0.01) * error * x[t + k]
        errors[t] = error
    return errors


def automaton(cells: Any, steps: int) -> Any:
    """Rule 110 on a circle."""

    def step(cells: Any, _: Any) -> Any:
        left, right = jnp.roll(cells, 1), jnp.roll(cells, -1)
        following = ((110 >> (4 * left + 2 * cells + right)) & 1).astype(jnp.int8)
        return following, following.sum(dtype=jnp.int32)

    return scan(step, cells, None, length=steps)


def automaton_by_hand(cells: Any, steps: int) -> Any:
    rule = np.array([0, 1, 1, 1, 0, 1, 1, 0], np.int8)
    counts = np.empty(steps, np.int32)
    for t in range(steps):
        cells = rule[4 * np.roll(cells, 1) + 2 * cells + np.roll(cells, -1)]
        counts[t] = cells.sum()
    return cells, counts


def automaton_in_loops(cells: Any) -> Any:
    cells, following = cells.copy(), np.empty_like(cells)
    n, counts = len(cells), np.zeros(100, np.int32)
    for t in range(100):
        for i in range(n):
            last, right = cells[i - 1], cells[i + 1 if i + 1 < n else 0]
            following[i] = (110 >> (4 * last + 2 * cells[i] + right)) & 1
            counts[t] += following[i]
        cells, following = following, cells
    return cells, counts


def edited(first: Any, second: Any) -> Any:
    """The distance of two words, in a row that is changed in place."""
    m = len(second)

    def letter(i: Any, row: Any) -> Any:
        def entry(j: Any, state: Any) -> Any:
            row, corner = state
            above = row[j + 1]
            same = corner + (first[i] != second[j])
            best = jnp.minimum(jnp.minimum(above, row[j]) + 1, same)
            return row.at[j + 1].set(best), above

        return fori_loop(0, m, entry, (row.at[0].set(i + 1), row[0]))[0]

    return fori_loop(0, len(first), letter, jnp.arange(m + 1))[m]


def edited_by_hand(first: Any, second: Any) -> Any:
    first, second = first.tolist(), second.tolist()
    row = list(range(len(second) + 1))
    for i, a in enumerate(first):
        corner, row[0] = row[0], i + 1
        for j, b in enumerate(second):
            above = row[j + 1]
            row[j + 1] = min(above + 1, row[j] + 1, corner + (a != b))
            corner = above
    return np.int32(row[-1])


def edited_in_loops(first: Any, second: Any) -> Any:
    row = np.arange(len(second) + 1).astype(np.int32)
    for i in range(len(first)):
        corner, row[0] = row[0], i + 1
        for j in range(len(second)):
            above = row[j + 1]
            row[j + 1] = min(min(above, row[j]) + 1, corner + (first[i] != second[j]))
            corner = above
    return row[-1]


def inverted(a: Any) -> Any:
    """The inverse by Gauss and Jordan, without pivots."""
    n = len(a)

    def column(k: Any, a: Any) -> Any:
        pivot = a[k, k]
        a = a.at[k].divide(pivot).at[k, k].set(1 / pivot)

        def row(i: Any, a: Any) -> Any:
            factor = a[i, k]
            changed = a[i].at[k].set(0) - factor * a[k]
            return a.at[i].set(jnp.where(i == k, a[i], changed))

        return fori_loop(0, n, row, a)

    return fori_loop(0, n, column, a)


def inverted_by_hand(a: Any) -> Any:
    a = a.copy()
    for k in range(len(a)):
        pivot = a[k, k]
        a[k] /= pivot
        a[k, k] = 1 / pivot
        for i in range(len(a)):
            if i != k:
                factor = a[i, k]
                a[i, k] = 0
                a[i] -= factor * a[k]
    return a


def _lags(count: int) -> Any:
    return (0.9 ** np.arange(count) + 0.1 * (np.arange(count) == 0)).astype(f32)


def _upper(size: int) -> Any:
    return np.triu(normal(size, size)() * f32(0.1)) + f32(4) * np.eye(size, dtype=f32)


def _dominant(size: int) -> Any:
    return normal(size, size)() + f32(2 * size) * np.eye(size, dtype=f32)


PROGRAMS = [
    *at_sizes("matrix chain", chained, chained_by_hand, chained_in_loops, (12, 60),
              lambda n: (uniform(n + 1, low=1, high=9),)),
    *at_sizes("Levinson-Durbin", predicted, predicted_by_hand, predicted_in_loops, (16, 200),
              lambda n: (partial(_lags, n),)),
    *at_sizes("ladder of filters", ladder, ladder_by_hand, ladder_in_loops, (10, 100),
              lambda n: (uniform(20, low=0.1, high=1), uniform(20, low=0.1, high=1), uniform(n, low=0.1, high=3))),
    *at_sizes("backward substitution", substituted_back, substituted_back_by_hand, substituted_back_in_loops, (16, 100),
              lambda n: (partial(_upper, n), normal(n, 8))),
    *at_sizes("adaptive filter", adapted, adapted_by_hand, adapted_in_loops, (100, 5_000),
              lambda n: (normal(n + 15), normal(n))),
    *at_sizes("automaton", partial(automaton, steps=100), partial(automaton_by_hand, steps=100), automaton_in_loops,
              (64, 2_000), lambda n: (integers(n, below=2, dtype=np.int8),)),
    *at_sizes("edit distance", edited, edited_by_hand, edited_in_loops, (12, 200),
              lambda n: (integers(n, below=4), integers(n + 3, below=4))),
    *at_sizes("Gauss-Jordan inverse", inverted, inverted_by_hand, inverted_by_hand, (8, 50),
              lambda n: (partial(_dominant, n),)),
]  # fmt: skip

"""Programs with scans along an axis that is cut, and near misses; what they give by NumPy and XLA."""

from functools import cache

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp, lax
from xla2py.tests.targets.running import leaves, on_numpy

dask = pytest.importorskip("dask", reason="Dask is not installed")

import dask.array as da  # noqa: E402

N = 40


def moving_average(x):
    def step(mean, row):
        mean = 0.9 * mean + 0.1 * row
        return mean, mean

    return lax.scan(step, jnp.zeros(x.shape[1:], x.dtype), x)


def recurrent(x, h, w_in, w_state, bias, reverse=False):
    def step(h, row):
        h = jnp.tanh(row @ w_in + h @ w_state + bias)
        return h, h

    return lax.scan(step, h, x, reverse=reverse)


def recurrent_backwards(x, h, w_in, w_state, bias):
    return recurrent(x, h, w_in, w_state, bias, reverse=True)


def both_ways(x, h, w_in, w_state, bias):
    return recurrent(x, h, w_in, w_state, bias)[1] + recurrent_backwards(x, h, w_in, w_state, bias)[1]


def two_layers(x, h, w_in, w_state, bias):
    _, first = recurrent(x, h, w_in, w_state, bias)
    return recurrent(first @ w_in.T, h, w_in, w_state, bias)


def gated(x, h, w_in, w_state, b_in, b_state):
    def step(h, row):
        r_in, z_in, n_in = jnp.split(row @ w_in + b_in, 3)
        r_state, z_state, n_state = jnp.split(h @ w_state + b_state, 3)
        r, z = jax.nn.sigmoid(r_in + r_state), jax.nn.sigmoid(z_in + z_state)
        h = (1 - z) * jnp.tanh(n_in + r * n_state) + z * h
        return h, (h, r.sum())

    return lax.scan(step, h, x)


def descent(x, y, w):
    def loss(w, x, y):
        return jnp.mean((x @ w - y) ** 2)

    def step(w, batch):
        value, gradient = jax.value_and_grad(loss)(w, *batch)
        return w - 0.01 * gradient, value

    return lax.scan(step, w, (x, y))


def epochs(x, y, w):
    return lax.fori_loop(0, 3, lambda _, w: descent(x, y, w)[0], w)


def filtered(z, f, h, q, r, m, p):
    def step(carry, z):
        m, p = carry
        m, p = f @ m, f @ p @ f.T + q
        gain = jnp.linalg.solve(h @ p @ h.T + r, h @ p).T
        m, p = m + gain @ (z - h @ m), p - gain @ h @ p
        return (m, p), (m, jnp.trace(p))

    return lax.scan(step, (m, p), z)


def without_rows(x):
    def step(x, _):
        x = 3.7 * x * (1 - x)
        return x, x

    return lax.scan(step, x, None, length=N)


def numbered(x):
    def body(i, carry):
        total, out = carry
        total = total + i * x[i]
        return total, out.at[i].set(total + 2 * i)

    return lax.fori_loop(0, N, body, (jnp.zeros(x.shape[1:]), jnp.zeros_like(x)))


def numbers_beside(x):
    return lax.scan(lambda total, row: (total + row[0] * row[1], total), jnp.zeros(x.shape[1:]), (x, jnp.arange(N)))


def rows_alone(x):
    return lax.map(lambda row: jnp.sort(row) * row.sum(), x)


def along_the_second_axis(x):
    def step(total, column):
        return total + column, jnp.tanh(total)

    return lax.scan(step, jnp.zeros(x.shape[0]), jnp.moveaxis(x, 1, 0))


def nested(x):
    def outer(total, row):
        def inner(total, element):
            return jnp.sin(total + element), total

        total, seen = lax.scan(inner, total, row)
        return total, seen

    return lax.scan(outer, jnp.float32(0), x)


def prepared(x):
    """The rows are computed, from sums over all of them too."""
    return moving_average((x - x.mean(axis=0)) / x.std(axis=0))


def branching(x):
    def step(total, row):
        total = lax.cond(row[0] > 0, lambda: total + row, lambda: total * 0.5)
        return total, total.astype(jnp.int32)

    return lax.scan(step, jnp.zeros(x.shape[1:]), x)


def sorted_before(x):
    return moving_average(jnp.sort(x, axis=0))


def summed_behind(x):
    total, means = moving_average(x)
    return total, means.sum(axis=0), means * 2


def several_types(x, codes):
    def step(carry, row):
        count, best = carry
        values, code = row
        count = count + code
        return (count, jnp.maximum(best, values)), (count % 3 == 0, values > best, code.astype(jnp.uint8))

    return lax.scan(step, (jnp.int32(0), jnp.full(x.shape[1:], -jnp.inf)), (x, codes))


F32 = np.float32
PROGRAMS = {
    moving_average: [(N, 6)],
    recurrent: [(N, 6), (8,), (6, 8), (8, 8), (8,)],
    recurrent_backwards: [(N, 6), (8,), (6, 8), (8, 8), (8,)],
    both_ways: [(N, 6), (8,), (6, 8), (8, 8), (8,)],
    two_layers: [(N, 6), (8,), (6, 8), (8, 8), (8,)],
    gated: [(N, 6), (8,), (6, 24), (8, 24), (24,), (24,)],
    descent: [(N, 16, 5), (N, 16), (5,)],
    epochs: [(N, 16, 5), (N, 16), (5,)],
    filtered: [(N, 2), (4, 4), (2, 4), (4, 4), (2, 2), (4,), (4, 4)],
    without_rows: [(6,)],
    numbered: [(N, 6)],
    numbers_beside: [(N, 6)],
    rows_alone: [(N, 6)],
    along_the_second_axis: [(6, N)],
    nested: [(N, 6)],
    prepared: [(N, 6)],
    branching: [(N, 6)],
    sorted_before: [(N, 6)],
    summed_behind: [(N, 6)],
    several_types: [(N, 6), (N,)],
}


def inputs(function):
    numbers = np.random.default_rng(0)
    made = [0.3 * numbers.standard_normal(shape, F32) for shape in PROGRAMS.get(function, [(N, 6)])]
    if function is filtered:
        made[2:5] = [made[2], np.eye(4, dtype=F32), np.eye(2, dtype=F32)]
        made[6] = np.eye(4, dtype=F32)
    if function is several_types:
        made[1] = numbers.integers(0, 9, N, np.int32)
    return made


@cache
def as_text(function):
    return jax.jit(function).lower(*inputs(function)).as_text("hlo", debug_info=True)


def emitted(function, **settings):
    return xla2py.emit(as_text(function), "dask", **settings)


def computed(main, arguments, **chunks):
    with np.errstate(all="ignore"):
        lazy = leaves(main(*arguments, **chunks))
        assert all(isinstance(leaf, da.Array) for leaf in lazy)
        found = dask.compute(*lazy, scheduler="sync")
    for leaf, value in zip(lazy, found, strict=True):
        assert (leaf.dtype, leaf.shape) == (value.dtype, value.shape)
    return list(found)


@cache
def expected(function):
    arguments = inputs(function)
    on_xla = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(function)(*arguments))]
    return on_numpy(as_text(function), arguments), on_xla


def reads_the_row_before(x):
    return lax.fori_loop(1, N, lambda i, out: out.at[i].set(0.5 * out[i - 1] + x[i]), x)


def reads_two_rows(x):
    def body(i, carry):
        total, out = carry
        total = total + x[i] * x[N - 1 - i]
        return total, out.at[i].set(total)

    return lax.fori_loop(0, N, body, (jnp.zeros(x.shape[1:]), jnp.zeros_like(x)))


def writes_backwards(x):
    return lax.fori_loop(0, N, lambda i, out: out.at[N - 1 - i].set(jnp.tanh(x[i])), jnp.zeros_like(x))


def every_second_row(x):
    return lax.fori_loop(0, N // 2, lambda i, total: total + x[2 * i], jnp.zeros(x.shape[1:]))


def reads_all_rows_too(x):
    return lax.scan(lambda total, row: (total + row * x.mean(axis=0) + x[3], None), jnp.zeros(x.shape[1:]), x)[0]


def stops_by_its_values(x):
    def body(state):
        i, total = state
        return i + 1, total + x[i]

    return lax.while_loop(lambda state: (state[0] < N) & (state[1][0] < 2), body, (0, jnp.zeros(x.shape[1:])))


NEAR_MISSES = [reads_the_row_before, reads_two_rows, writes_backwards, every_second_row, stops_by_its_values]

"""Changes of arrays at places with steps, and those that a kernel of a compiled loop writes where they belong."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numpy_fast import as_in_xla

jnp, lax = jax.numpy, jax.lax
X = np.random.default_rng(8).normal(size=(10, 8)).astype(np.float32)
ORDER = np.array([3, 1, 0, 2, 2, 7, 5, 6], np.int32)

STEPS = {
    "every second": (lambda x: x.at[1:-1:2].set(x[:-2:2] * 0.5), "[1:9:2] = "),
    "of a column": (lambda x: x.at[::2, 1].add(x[1, :5]), "[::2, 1] = "),
    "of both axes": (lambda x: x.at[1:8:3, ::2].multiply(x[:3, :4]), "[1::3, ::2] = "),
    "the least": (lambda x: x.at[::3].min(0.25), "[::3] = "),
    "behind an axis": (lambda x: jnp.stack([x, x]).at[:, 1:-1:2, ::2].set(x[1:-1:2, ::2]), "[:, 1:9:2, ::2] = "),
    "in a loop": (lambda x: lax.fori_loop(0, 5, lambda k, x: x.at[1:-1:2].add(x[:-2:2] * k), x), "[1:9:2] += "),
    "one column": (lambda x: lax.fori_loop(0, 7, lambda k, x: x.at[:, k].add(x[:, k + 1] * 2), x), "x[:, i] += "),
    "of zeros": (lambda x: lax.fori_loop(0, 7, lambda k, c: c + jnp.zeros(8).at[k].add(x[0, k]), x[1]), "[i] += "),
    # near misses
    "places that run over": (lambda x: x.at[jnp.arange(5) * 3].add(x[:5], mode="drop"), "scatter_at("),
    "places that are there twice": (lambda x: x.at[jnp.arange(8) // 2].add(x[:8]), "np.add.at("),
    "places that fall": (lambda x: x.at[9 - jnp.arange(4)].set(x[:4]), "] = "),
    "a diagonal": (lambda x: x.at[jnp.arange(8), jnp.arange(8)].set(0), "] = 0"),
    "a counter that runs over": (lambda x: lax.fori_loop(0, 9, lambda k, x: x.at[:, k + 1].add(x[:, 0]), x), ""),
}  # fmt: skip


@pytest.mark.parametrize("style", ["readable", "fast"])
@pytest.mark.parametrize("name", STEPS)
def test_places_with_steps_are_slices(name, style):
    function, wanted = STEPS[name]
    source = as_in_xla(function, X, style=style).source
    assert wanted in source or style == "fast"


def rounds(step):
    return lambda x: lax.fori_loop(0, 7, lambda i, x: step(x, i, jnp.asarray(ORDER)), x)


WRITTEN = {
    "the next column": (lambda x, i, _: x.at[:, i + 1].set((x[:, i + 1] - x[:, i]) / 3), "x[j, i + 1] = "),
    "the row of a counter": (lambda x, i, _: x.at[i].set(jnp.sin(x[i])), "x[i, j] = sin_f32("),
    "a row of two others": (lambda x, i, _: x.at[i + 1].set(x[i] * x[i + 2]), "x[i + 1, j] = "),
    "a row by its sum": (lambda x, i, _: x.at[i + 1].set(x[i] / x[i].sum()), "x[i + 1, j] = "),
    "every second row": (lambda x, i, _: x.at[1:9:2].set(x[:8:2] * 0.5 + x[2::2] + x[1:9:2]), "x[2 * i + 1, j] = "),
    "one colour": (lambda x, i, _: x.at[1:9:2, ::2].set(x[1:9:2, 1::2] + i), "x[2 * j + 1, 2 * k] = "),
    "a half of the other": (lambda x, i, _: x.at[:5].set(jnp.sin(x[5:]) + i), "x[j, k] = sin_f32(x[j + 5, k])"),
    "all but an edge": (lambda x, i, _: x.at[1:, :-1].add(jnp.cos(x[1:, :-1]) * i), "x[j + 1, k] = "),
    "a mirror": (lambda x, i, _: x.at[:, -1].set(x[:, -2]), "copy_into(x[:, 7], x[:, 6])"),
    # near misses: the kernel would read what it has changed
    "a column moved by one": (lambda x, i, _: x.at[1:, 2].set(x[:-1, 2]).at[0, 1].add(i), ""),
    "a column of itself": (lambda x, i, _: x.at[:, 2].set(x[::-1, 2]), ""),
    "the row before": (lambda x, i, _: x.at[1:].set(x[:-1] * 2), ""),
    "every second from the next": (lambda x, i, _: x.at[:8:2].set(x[2::2] * 2), ""),
    "a half that overlaps": (lambda x, i, _: x.at[:6].set(jnp.sin(x[4:]) + i), ""),
    "every third and every second": (lambda x, i, _: x.at[:6:2].set(x[:9:3] * 2), ""),
    "the other way round in its place": (lambda x, i, _: x.at[2:8].set(x[7:1:-1] * 2), ""),
    "columns as rows": (lambda x, i, _: x.at[:8].set(x[:8].T * 0.5), ""),
    "the other way round": (lambda x, i, _: x.at[:, i].set(x[::-1, i] * 2), ""),
    "a row at a computed place": (lambda x, i, order: x.at[i].set(jnp.sin(x[order[i]]) + x[i]), ""),
    "a row by its own sum": (lambda x, i, _: x.at[i].set(x[i] / x[i].sum()), ""),
    "a row by one of its numbers": (lambda x, i, _: x.at[i].set(x[i] - x[i, 3]), ""),
    "the old array is read later": (lambda x, i, _: x.at[i].set(jnp.sin(x[i])) * 0.5 + x * 0.1, ""),
    "its sum is read later": (lambda x, i, _: x.at[i].set(jnp.sin(x[i])).at[i + 1].set(x.sum(0) * 0.1), ""),
    "a row that is there twice": (lambda x, i, _: x.at[i].set(x[i + 1] * 2).at[i + 1].set(x[i] * 0.5), ""),
    "running sums": (lambda x, i, _: x.at[i].set(jnp.cumsum(x[i]) * 0.1), ""),
    "numbers of the author": (lambda x, i, order: _with_own_names(x, i), ""),
}  # fmt: skip


def _with_own_names(x, i):
    k = x[:4, None, :4] * x[None, :4, :4]
    k = jnp.sin(k.sum(-1))
    return x.at[i, :4].set(k[i % 4])


@pytest.mark.parametrize("name", WRITTEN)
def test_kernels_write_where_their_results_belong(name):
    step, wanted = WRITTEN[name]
    source = as_in_xla(rounds(step), X, tolerance=1e-5).source
    assert wanted in source


def inner(step, then, *more):
    """For each i, change a vector (and ``more``) at data's places in a loop of its own, ``then`` once after that."""

    def whole(x):
        def row(i, state):
            x, *others = state
            y = lax.fori_loop(0, i, lambda k, y: step(y, k, i, jnp.asarray(ORDER)), x)
            return then(y, i, x, *others)

        return lax.fori_loop(0, 8, row, (x[0], *(make(x) for make in more)))

    return whole


def swapped(y, k, i, order):
    return y.at[order[k] - 4].add(y[i])


AFTER = {
    "the array of its round": (inner(swapped, lambda y, i, x: (y.at[jnp.argmax(y)].set(0.5),)), True),
    # near misses
    "the old one is read later": (inner(swapped, lambda y, i, x: (y.at[jnp.argmax(y)].set(0.5) + x,)), False),
    "another carry gets it": (
        inner(swapped, lambda y, i, x, z: (z, y.at[jnp.argmax(y)].set(0.5)), lambda x: x[1]),
        False,
    ),
    "both carries get it": (
        inner(swapped, lambda y, i, x, z: ((w := y.at[jnp.argmax(y)].set(z[0])), w * 0.5), lambda x: x[1]),
        True,
    ),
    "the changed one is read later": (
        inner(swapped, lambda y, i, x: (jnp.where(y.at[jnp.argmax(y)].set(0.5).sum() > 1, y, -y),)),
        False,
    ),
}


@pytest.mark.parametrize("name", AFTER)
def test_an_array_that_an_inner_loop_changed_is_changed_on(name):
    function, is_changed = AFTER[name]
    rounds_of = as_in_xla(function, X, style="fast").source.split("def main")[0].split("for i in range(8):")[1]
    assert (".copy()" not in rounds_of) == is_changed

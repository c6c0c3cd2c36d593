"""Reads at places that count up or down along an interval of positions: slices, and indices without guards."""

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.passes.raising import ROUNDED, assert_agrees, hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.running import on_dask, on_device, uneven

lax = jax.lax
A = np.float32([1, -2, 3, 0.5, 4, -1])
B = np.float32([2, 1, np.nan, 5, -np.inf, 7])


def sums(term, mask, start=0, stop=6):
    """``c[i]``: the sum of what ``term(i, k, a, b, c)`` has where ``mask(i, k)`` holds."""

    def program(a, b):
        def step(i, c):
            k = jnp.arange(6)
            return c.at[i].set(jnp.where(mask(i, k), term(i, k, a, b, c), 0).sum())

        return lax.fori_loop(start, stop, step, b * 2)

    return program


def up_to(i, k):
    return k <= i


SLICES = {
    "down": (sums(lambda i, k, a, b, c: a * b[i - k], up_to), "(a[: i + 1] * b[i::-1]).sum()"),
    "down to 1": (sums(lambda i, k, a, b, c: a * b[i - k], lambda i, k: k < i), "(a[:i] * b[i:0:-1]).sum()"),
    "down, around": (sums(lambda i, k, a, b, c: a * b[(i - k) % 6], up_to), "(a[: i + 1] * b[i::-1]).sum()"),
    "down, clipped": (
        sums(lambda i, k, a, b, c: a * b[jnp.clip(i - k, 0, 5)], up_to),
        "(a[: i + 1] * b[i::-1]).sum()",
    ),
    "of what was made": (
        sums(lambda i, k, a, b, c: a * c[i - k], lambda i, k: (k >= 1) & (k <= i), 1),
        "(a[1 : i + 1] * updated[i - 1 :: -1]).sum()",
    ),
    "up": (
        sums(lambda i, k, a, b, c: a[k - i + 5], lambda i, k: k < i, 0, 5),
        "a[5 - i : 5].sum()",
    ),
    "rolled": (sums(lambda i, k, a, b, c: jnp.roll(c, -1), lambda i, k: k < i, 0, 6), "[1 : i + 1].sum()"),
}


@pytest.mark.parametrize("name", SLICES)
def test_what_is_read_in_order_is_a_slice(name):
    program, part = SLICES[name]
    assert_all(program, part)


def test_a_column_is_read_where_it_begins_later():
    def program(a, b):
        def step(i, m):
            column = jnp.roll(m[:, i + 1], -1)
            return m.at[i, i + 1].set(jnp.where(jnp.arange(6) <= i, m[i] + column, jnp.inf).min())

        return lax.fori_loop(0, 5, step, a[:, None] * b)

    assert_all(program, "[1 : i + 2, i + 1]).min()")


NO_SLICES = {
    "before the start": sums(lambda i, k, a, b, c: a * b[i - k - 1], up_to),
    "behind the end": sums(lambda i, k, a, b, c: a * b[i - k + 1], up_to),
    "behind the end, in order": sums(lambda i, k, a, b, c: a * b[k + i], up_to),
    "every other": sums(lambda i, k, a, b, c: a * b[k * 2], lambda i, k: k * 2 <= i),
    "twice the counter": sums(lambda i, k, a, b, c: a * b[i * 2 - k], up_to),
    "of another size": sums(lambda i, k, a, b, c: a * jnp.concatenate([b, c])[i - k], up_to),
    "at places of data": sums(lambda i, k, a, b, c: a * b[a[0].astype(int) - k], up_to),
    "rolled beyond the end": sums(lambda i, k, a, b, c: jnp.roll(c, -2), lambda i, k: k < i),
    "the whole": sums(lambda i, k, a, b, c: a * b[i - k], lambda i, k: k <= i + 7),
}


@pytest.mark.parametrize("name", NO_SLICES)
def test_what_is_read_elsewhere_is_no_slice(name):
    assert "::-1]" not in assert_all(NO_SLICES[name])


def assert_all(program, part=""):
    """Compare all styles and targets; return the body of the readable module, which has a part."""
    text = hlo(program, A, B)
    body = main(text)
    assert part in body
    expected = np.asarray(jax.jit(program)(A, B))
    assert_agrees(text, A, B, without="interval_masks", budget=ROUNDED)
    results = [emit(text, style="fast", debug=True).load().main(A, B)]
    results += [on_device(text, [A, B])[0], on_dask(text, [A, B], uneven)[0]]
    for found in results:
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    return body


def test_indices_in_compiled_loops_need_no_guard():
    series = hlo(SLICES["down"][0], A, B)
    assert "b[i4(i4(i) - i4(j))]" in emit(series, style="fast").source
    before = hlo(NO_SLICES["before the start"], A, B)
    assert " < 0 else " in emit(before, style="fast").source


def predicted(a, b):
    """A linear predictor, whose coefficients are read twice in reverse order."""

    def step(i, c):
        k = jnp.arange(6)
        inside, back = (k >= 1) & (k < i), (i - k) % 6
        size = a[i] + jnp.where(inside, c * b[back], 0).sum()
        return (c + size * jnp.where(inside, c[back], 0)).at[i].set(size)

    return lax.fori_loop(1, 6, step, a * 2)


def test_masks_and_places_are_computed_where_they_are_used():
    assert "(c[1:i] * b[i - 1 : 0 : -1]).sum()" in assert_all(predicted).replace("updated", "c")
    loops = emit(hlo(predicted, A, B), style="fast").source.split("def main")[0]
    assert "for j in range(1, i):" in loops and "b[i4(i4(i) - i4(j))]" in loops
    assert "np.empty(6, np.int32)" not in loops and "np.bool_" not in loops  # no array of them

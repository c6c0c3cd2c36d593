"""Loops whose counters start or stop where other counters say, and what follows for places in arrays."""

import numpy as np
import pytest

from xla2py import emit, from_jax
from xla2py.tests.passes.raising import hlo, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.running import on_dask, on_device, uneven

lax = jax.lax
N = 5
X = np.random.default_rng(0).normal(size=(N, N)).astype(np.float32)


def rows(body):
    """Call ``body(i, x)`` for each row."""
    return lambda x: lax.fori_loop(0, N, body, x)


def within(start, stop, step):
    """Call ``step(i, j, x)`` for each row and for j from ``start(i)`` to ``stop(i)``."""
    return rows(lambda i, x: lax.fori_loop(start(i), stop(i), lambda j, x: step(i, j, x), x))


above = within(lambda i: i + 1, lambda i: N, lambda i, j, x: x.at[i, j].set(x[j, i] * j))
below = within(lambda i: 0, lambda i: i, lambda i, j, x: x.at[i, j].set(x[j, i] * (i - j)))
turned = within(lambda i: 0, lambda i: i, lambda i, j, x: x.at[i, i - 1 - j].set(x[i - j, i]))
empty = within(lambda i: i, lambda i: i - 2, lambda i, j, x: x.at[i, j].set(1))
band = within(lambda i: i - 1, lambda i: i + 2, lambda i, j, x: x.at[i, j].set(1))
over = within(lambda i: i, lambda i: i + 3, lambda i, j, x: x.at[i, j].set(1))
read_over = within(lambda i: 0, lambda i: i + 2, lambda i, j, x: x.at[i, 0].set(x[j, j]))
triple = rows(
    lambda i, x: lax.fori_loop(
        i + 1,
        N,
        lambda j, x: lax.fori_loop(i, j, lambda k, x: x.at[j, i].set(x[j, k] + x[j - k, k]), x),
        x,
    )
)

sums = rows(
    lambda i, x: lax.fori_loop(
        0,
        4 - i,
        lambda j, x: lax.fori_loop(j, i + j + 1, lambda k, x: x.at[j, i + j + 1].add(x[k, j] + x[k + 1, i + j + 1]), x),
        x,
    )
)


@rows
def down(i, x):
    return lax.while_loop(
        lambda s: s[0] >= i, lambda s: (s[0] - 1, s[1].at[i, s[0]].set(s[1][s[0], i] + 1)), (N - 1, x)
    )[1]


@rows
def counted_on(i, x):
    j, x = lax.while_loop(lambda s: i > s[0], lambda s: (s[0] + 1, s[1].at[i, s[0]].set(7)), (2, x))
    return x.at[i, 0].set(j)


SHORT = np.int8  # a type whose limits counters reach
near = within(lambda i: i, lambda i: jnp.minimum(N, i + 3), lambda i, j, x: x.at[i, j].set(x[j, i] * j))
around = within(
    lambda i: jnp.maximum(i - 2, 0), lambda i: jnp.minimum(i + 2, N), lambda i, j, x: x.at[i, j].add(x[j, j])
)
few = within(lambda i: 0, lambda i: jnp.minimum(3, N - i), lambda i, j, x: x.at[i, N - 1 - j].add(x[i + j, j]))
within_limits = within(
    lambda i: jnp.clip(i - 1, 0, N - 1), lambda i: jnp.clip(i + 2, 0, N), lambda i, j, x: x.at[j].add(x[i])
)
halves = within(lambda i: i // 2, lambda i: i - i % 2, lambda i, j, x: x.at[i, j].set(x[j, i] + 1))
never = within(lambda i: jnp.maximum(i, 3), lambda i: jnp.minimum(i, 2), lambda i, j, x: x.at[i, j].set(1))
beyond = within(lambda i: i, lambda i: jnp.maximum(i + 2, 4), lambda i, j, x: x.at[i, j].set(1))
wraps = within(
    lambda i: i.astype(SHORT), lambda i: jnp.minimum(i.astype(SHORT) + SHORT(124), SHORT(4)), lambda i, j, x: x + j
)


@rows
def down_to_the_larger(i, x):
    return lax.while_loop(
        lambda s: s[0] >= jnp.maximum(i - 2, 0), lambda s: (s[0] - 1, s[1].at[i, s[0]].add(s[1][s[0], i])), (i, x)
    )[1]


CASES = {
    "near": (near, "in range(i, min(i + 3, 5)):"),
    "around": (around, "in range(max(i - 2, 0), min(i + 2, 5)):"),
    "few": (few, "in range(min(5 - i, 3)):"),
    "within limits": (within_limits, "in range(max(0, i - 1), min(5, i + 2)):"),
    "halves": (halves, "in range(i // 2, i - i % 2):"),
    "never": (never, "return x"),
    "beyond": (beyond, "in range(i, max(i + 2, 4)):"),
    "wraps": (wraps, "in range(i, number):"),
    "down to the larger": (down_to_the_larger, "in range(i, max(i - 2, 0) - 1, -1):"),
    "above": (above, "in range(i + 1, 5):"),
    "below": (below, "in range(i):"),
    "turned": (turned, "x[i, i - j - 1] = x[i - j, i]"),
    "empty": (empty, "in range(i, i - 2):"),
    "triple": (triple, "in range(i, j):"),
    "sums": (sums, "in range(j, i + j + 1):"),
    "down": (down, "in range(4, i - 1, -1):"),
    "counted on": (counted_on, "in range(2, i):"),
    "band": (band, "in range(i - 1, i + 2):"),
    "over": (over, "in range(i, i + 3):"),
    "read over": (read_over, "in range(i + 2):"),
}


@pytest.mark.parametrize("name", CASES)
def test_ranges_between_other_counters(name):
    function, line = CASES[name]
    text = hlo(function, X)
    lines = main(text)
    assert line in lines
    runs_over = name in ("band", "over", "read over", "beyond")
    assert runs_over == any(word in lines for word in ("clip", "scatter_at", " if ", "min(j, 4)"))
    expected = np.asarray(jax.jit(function)(X))
    for style in ("readable", "fast"):
        np.testing.assert_array_equal(emit(text, style=style).load().main(X.copy()), expected, style)
    np.testing.assert_array_equal(emit(text, disable_passes=["loops"]).load().main(X.copy()), expected)
    np.testing.assert_array_equal(on_device(text, [X])[0], expected)
    np.testing.assert_array_equal(on_dask(text, [X], uneven)[0], expected)


def of_data(use, *, last=False):
    """Call ``use(i, s, x)`` for each i from ``n[0]`` to ``n[1]``, or until and with it."""

    def whole(n, x):
        def is_on(s):
            return s[0] <= n[1] if last else s[0] < n[1]

        return lax.while_loop(is_on, lambda s: (s[0] + n.dtype.type(1), *use(*s)), (n[0], jnp.float32(0), x))

    return whole


gathers = of_data(lambda i, s, x: (s + x[i, 0], x))
scatters = of_data(lambda i, s, x: (s, x.at[i].add(i)))
both = of_data(lambda i, s, x: (s + x[i, 1], x.at[i, 1].set(s)))
until = of_data(lambda i, s, x: (s + x[i, 0], x), last=True)
PAIRS = [(0, 3), (2, 2), (4, 1), (-9, 9), (-7, -2)]

GIVEN = {  # with a number that is no place; the last is a near miss: its counter may wrap around
    "gathers": (gathers, "in range(int(n[0]), int(n[1])):", "x[min(max(i, -5), 4), 0]"),
    "scatters": (scatters, "in range(int(n[0]), int(n[1])):", "if -5 <= i < 5:"),
    "both": (both, "in range(int(n[0]), int(n[1])):", "if -5 <= i < 5:"),
    "until": (until, "while total <= n[1]:", "x[min(max(int(total), -5), 4), 0]"),
}


@pytest.mark.parametrize("kind", (np.int8, np.int32, np.uint8))
@pytest.mark.parametrize("name", GIVEN)
def test_ranges_that_data_give(name, kind):
    """An empty range, one below the array, over its end, and to the limits of its type."""
    function, *lines = GIVEN[name]
    text = hlo(function, np.zeros(2, kind), X).replace("Arg_0.1", "n").replace("Arg_1.1", "x")
    assert kind is not np.int32 or all(line in main(text) for line in lines), main(text)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max - (name == "until")
    mains = [emit(text, style=style).load().main for style in ("readable", "fast")]
    for pair in [*PAIRS, (low, low + 2), (high - 2, high)]:
        n = np.array(np.clip(pair, low, high), kind)
        expected = jax.jit(function)(n, X)
        for found in [run(n, X.copy()) for run in mains] + [on_device(text, [n, X]), on_dask(text, [n, X], uneven)]:
            for own, same in zip(found, expected, strict=True):
                np.testing.assert_array_equal(own, np.asarray(same))
                assert np.asarray(own).dtype == same.dtype


def test_a_device_waits_for_bounds_that_are_named_after_a_function():
    def counted(n, x):
        return lax.fori_loop(jnp.minimum(n, 3), jnp.maximum(n, 4), lambda i, x: x + i, x)

    program = from_jax(lambda *given: (counted(*given), given[0] + 1), np.int32(5), X)
    module = emit(program, "cupy")
    assert "counted_number = int(cp.minimum(" in module.source
    found = on_device(program, [np.int32(5), X], module)
    np.testing.assert_allclose(found[0], X + 7, rtol=1e-6)


def test_places_of_the_largest_are_bounded_where_their_type_reaches():
    text = "ENTRY e {{ x = f32[{0}] parameter(0) ROOT t = (f32[1], s32[1]) topk(x), k=1, largest=true }}"
    for size in (2**31, 10**12):
        assert "top_k(x, 1)" in main(text.format(size))

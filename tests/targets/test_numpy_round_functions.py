"""Loops that Numba compiles as a whole, with calls of random numbers, scatters, searches and orders in their rounds."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.templates.prelude import keys
from xla2py.templates.prelude.ordering import search_sorted, top_k
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numba_prelude import numba_prelude
from xla2py.tests.targets.numpy_fast import assert_as_in_xla, is_of_loops, kernels
from xla2py.tests.whole import much
from xla2py.transpile.emission.module.generated import GeneratedModule

jnp, lax = jax.numpy, jax.lax
ordering, rounds = map(numba_prelude, ("ordering", "rounds"))
RNG = np.random.default_rng(21)
KEY = np.array([7, 2**31 + 3], np.uint32)
FLOATS = np.array([3, -0.0, np.nan, 0.0, 3, -np.inf, np.inf, -np.nan, -1, 3, np.nan, -0.0], np.float32)


def compiled(function: Callable[..., Any], *arguments: Any, tolerance: float = 2e-6) -> GeneratedModule:
    """The module of a function whose loop is one of Numba's and gives what XLA gives."""
    module = xla2py.emit(xla2py.from_jax(function, *arguments), style="fast", format=False, checks=False, debug=True)
    loops = filter(is_of_loops, kernels(module))
    assert any(re.search(rf"(=|return) {name}\(", module.source) for name in loops)
    assert_as_in_xla(module, function, arguments, tolerance)
    return module


def same_bits(made: Any, expected: Any) -> bool:
    return made.dtype == expected.dtype and made.tobytes() == expected.tobytes()


# -- random numbers


def test_small_arrays_of_random_numbers_are_those_of_the_shared_prelude():
    for key in (KEY, np.zeros(2, np.uint32)):
        assert same_bits(rounds.compiled_split(key, 3), keys.split_key(key, 3))
        assert same_bits(rounds.compiled_fold_in(key, np.int32(-5)), keys.fold_in(key, np.int32(-5)))
        for shape in ((5,), (1,), (0,), (2, 3)):
            assert same_bits(rounds.small_bits(key, shape), keys.random_bits(key, shape))
            assert same_bits(rounds.small_uniform(key, shape, -2, 0.5), keys.random_uniform(key, shape, -2, 0.5))
            np.testing.assert_allclose(rounds.small_normal(key, shape), keys.random_normal(key, shape), 1e-5, 1e-6)
        assert rounds.one_word(key) == keys.random_bits(key, ())
        assert rounds.one_uniform(key, 3, 4) == keys.random_uniform(key, (), 3, 4)
        assert rounds.one_normal(key) == pytest.approx(keys.random_normal(key, ()), rel=1e-5)


def test_a_walk_draws_in_its_rounds():
    def metropolis(key, x):
        def step(carry, key):
            x, energy, taken = carry
            first, second = jax.random.split(key)
            moved = x + 0.5 * jax.random.normal(first, x.shape)
            new = 0.5 * (moved * moved).sum()
            goes = jax.random.uniform(second) < jnp.exp(energy - new)
            chosen = jax.random.bits(first, (3,))
            return (jnp.where(goes, moved, x), jnp.where(goes, new, energy), taken + goes), (x, chosen)

        split = jax.random.split(jax.random.wrap_key_data(key), 30)
        return lax.scan(step, (x, 0.5 * (x * x).sum(), 0), split)

    module = compiled(metropolis, KEY, RNG.normal(size=4).astype(np.float32), tolerance=1e-4)
    assert "one_uniform(" in module.source
    assert "small_normal(" in module.source


# -- scatters


def updated(function: Callable[..., Any], x: np.ndarray, *places: np.ndarray) -> str:
    """The lines of a loop that applies ``function(x, round, *places)`` twelve times, with all its loops in it."""
    program = lambda x, *places: lax.fori_loop(0, 12, lambda k, x: function(x, k, *places), x)  # noqa: E731
    source = compiled(program, x, *places, tolerance=1e-5).source
    lines = source.split("\ndef main")[0]
    assert "scatter" not in lines
    return lines


ROWS, COLUMNS = RNG.integers(-9, 9, (2, 30)).astype(np.int32)
ARRAYS = {
    "f4": RNG.normal(size=(5, 6)).astype(np.float32),
    "u1": RNG.integers(0, 255, (5, 6)).astype(np.uint8),
    "i8": RNG.integers(-9, 9, (5, 6)),
    "c8": (RNG.normal(size=(5, 6)) + 1j * RNG.normal(size=(5, 6))).astype(np.complex64),
    "bf16": RNG.normal(size=(5, 6)).astype(jnp.bfloat16),
    "rows": RNG.normal(size=(5, 6, 3)).astype(np.float32),
}
METHODS = ["set", "add", "mul", "min", "max"]
PAIRS = [(kind, method) for kind in ARRAYS for method in METHODS]
COMBINED_BY_NUMPY = {("c8", "min"), ("c8", "max"), *(("bf16", method) for method in METHODS[1:])}
UPDATES = [pair for pair in PAIRS if pair not in COMBINED_BY_NUMPY]


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        pytest.param(*pair, marks=[pytest.mark.compiled] * (pair[0] == "bf16"))
        for pair in much([pair for pair in UPDATES if pair[0] == "f4" or pair[1] == "set"], UPDATES)
    ],
)
def test_updates_at_two_indices_are_lines_of_the_loop(method, kind):
    """One after the other: to the same place, outside, and where numbers wrap or are NaN."""
    x = ARRAYS[kind].copy()
    if kind == "f4":
        x[1, 2], x[2, 3] = np.nan, -0.0

    def function(x, k, rows, columns):
        values = x[(columns + k) % 5, rows % 6]
        return getattr(x.at[rows + k - 3, columns], method)(values, mode="drop")

    with jax.enable_x64(kind == "i8"):
        lines = updated(function, x, ROWS, COLUMNS)
    assert "if 0 <= " in lines


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k, i, j: x.at[i[:, None], j[None, :]].add(1.5),
        lambda x, k, i, j: x.at[i, :, j[0]].set(x[j, :, 1] * 0.5),
        lambda x, k, i, j: x.at[i, j, i].max(0.25),
        lambda x, k, i, j: x.at[:, i].add(x[:, j] * 0.1),
        lambda x, k, i, j: x.at[i[k], j[k]].set(x[j[k], i[k]]),
        lambda x, k, i, j: x.at[i[k]].min(x[j[k]] * 0.9),
        lambda x, k, i, j: x.at[k % 4, k % 3].add(x[i[0], j[1]]),
        lambda x, k, i, j: x.at[i[:4]].set(x[::-1][:4]),
        lambda x, k, i, j: x.at[i[:5]].add(x),
        lambda x, k, i, j: x.at[jnp.abs(i) % 5, jnp.abs(j) % 5].add(x[1, 2]).at[i[2]].add(0.5 * x[i[k]]),
        lambda x, k, i, j: jnp.zeros_like(x).at[i].add(0.1 * x[j]) + 0.9 * x,
    ],
)
def test_updates_of_all_forms_are_lines_of_the_loop(function):
    """Also with values that are parts of the array, as it was before."""
    updated(function, RNG.normal(size=(5, 5, 5)).astype(np.float32), ROWS, COLUMNS)


def test_an_update_copies_no_large_array():
    x = np.zeros((9, 400), np.float32)
    lines = updated(lambda x, k, i: x.at[i[k]].add(jnp.sin(x[k % 9])), x, ROWS)
    assert ".copy()" not in lines
    assert ".copy()" not in updated(lambda x, k, i: x.at[i[k], 5].set(x[i[k + 1], 6]), x, ROWS)


def test_a_solver_goes_through_its_stages_until_no_number_changes():
    """Loops in loops that end by themselves, rows stored at a number of the round, and the truth of any element."""
    weights = np.tril(RNG.normal(size=(4, 4)), -1).astype(np.float32)

    def solve(x):
        def stage(state):
            k, slopes, _ = state
            at = x_of(state)
            return k + 1, slopes.at[jnp.where(k < 0, k + 4, k)].set(jnp.sin(at)), at

        def x_of(state):
            return state[2] + 0.1 * (jnp.asarray(weights)[jnp.clip(state[0], 0, 3)] @ state[1])

        def step(state):
            count, x, _ = state
            _, _, new = lax.while_loop(lambda s: s[0] < 4, stage, (count % 2, jnp.zeros((4, 3)), x))
            return count + 1, jnp.where(jnp.isnan(new).any(), x, new * 0.9), new

        goes_on = lambda s: (s[0] < 40) & ~(jnp.abs(s[1]) < 1e-2).all()  # noqa: E731
        return lax.while_loop(goes_on, step, (0, x, x))

    module = compiled(solve, np.array([1, -2, 0.5], np.float32), tolerance=1e-5)
    assert "copy_into(slopes[i], sin)" in module.source
    assert ".any()" in module.source
    assert ".all()" in module.source


def test_numbers_of_the_round_are_divided_and_rows_are_added_there():
    def divided(x):
        return lax.fori_loop(0, 30, lambda i, a: a.at[i % 9].set(jnp.sin(a[i // 4]) * (i // 3)), x)

    def added(x):
        step = lambda i, a: a.at[(i * 5 + 2) % 9].add(jnp.sin(a[i % 9]))  # noqa: E731
        return lax.fori_loop(0, 30, step, x)

    x = RNG.normal(size=(9, 4)).astype(np.float32)
    assert "% 9] =" in compiled(divided, x, tolerance=1e-5).source
    assert "[(5 * i + 2) % 9], total)" in compiled(added, x, tolerance=1e-5).source


def test_arrays_made_of_one_number_have_its_type():
    """Numba computes integers of 32 bits in 64."""

    def step(_, carry):
        a, b, array = carry
        return b, a ^ b, jnp.concatenate([array[1:], (a ^ b)[None]])

    def last(_, carry):
        a, b, _ = carry
        return b, a ^ b, (a ^ b)[None]

    numbers = np.int32(5), np.int32(-9)
    compiled(lambda *given: lax.fori_loop(0, 9, step, given), *numbers, np.arange(4, dtype=np.int32))
    compiled(lambda *given: lax.fori_loop(0, 9, last, given), *numbers, np.zeros(1, np.int32))


# -- searches and orders


def test_searches_are_those_of_the_shared_prelude():
    table = np.array([-np.inf, -1, 0, 0, 2, np.nan], np.float32)
    for values in (FLOATS, FLOATS.reshape(3, 4).T, FLOATS[:1]):
        assert same_bits(rounds.search_before(table, values), search_sorted(table, values))
        assert same_bits(rounds.search_behind(table, values), search_sorted(table, values, side="right"))
    assert same_bits(
        rounds.search_before(np.arange(5), np.arange(-1, 7)), search_sorted(np.arange(5), np.arange(-1, 7))
    )


@pytest.mark.parametrize("largest", [True, False])
def test_the_first_k_are_those_of_the_shared_prelude(largest):
    """To the bit: NaN with signs, zeros with signs, and equal numbers."""
    for x, k in ((FLOATS, 5), (FLOATS.reshape(3, 4), 4), (FLOATS.reshape(3, 2, 2), 1), (FLOATS[:1], 1)):
        made, expected = ordering.top_k_by_heap(x, k, largest), top_k(x, k, largest)
        assert all(map(same_bits, made, expected))
    for kind in much(("u4",), ("i1", "i4", "u4")):
        x = np.array([[5, 0, 5, 0, 9], [1, 1, 1, 1, 1]]).astype(kind)
        x[0, 1], x[0, 3] = np.iinfo(kind).max, np.iinfo(kind).min
        for k in (1, 4, 5):
            made, expected = ordering.top_k_of_integers_by_heap(x, k, largest), top_k(x, k, largest)
            assert all(map(same_bits, made, expected))


def test_a_beam_is_sorted_cut_and_searched_in_rounds():
    def beam(scores, costs):
        def step(scores, cost):
            best, places = lax.top_k((scores[:, None] + cost).reshape(-1), 4)
            ordered = jnp.sort(best * jnp.array([1, -1, 2, -2]))
            return best - best[0], (places, jnp.searchsorted(ordered, scores), ordered)

        return lax.scan(step, scores, costs)

    costs = RNG.integers(-3, 3, (9, 4, 5)).astype(np.float32)
    source = compiled(beam, costs[0, :, 0], costs).source
    assert all(f"{name}(" in source for name in ("top_k_by_heap", "small_sort", "search_before"))


# -- what else a round may have


def test_the_head_of_a_loop_reduces():
    def roots(x):
        def goes_on(carry):
            y, i = carry
            return (jnp.abs(y * y - x).max() > 1e-4) & (i < 40)

        return lax.while_loop(goes_on, lambda c: (0.5 * (c[0] + x / c[0]), c[1] + 1), (x + 1, 0))

    compiled(roots, RNG.uniform(1, 9, 30).astype(np.float32))
    y, count = (
        xla2py.emit(xla2py.from_jax(roots, np.full(3, np.nan, np.float32)), style="fast")
        .load()
        .main(np.full(3, np.nan, np.float32))
    )
    assert np.isnan(y).all()
    assert count == 0  # NaN is not greater


def test_norms_are_sums_of_rounds():
    def power(matrix, x):
        return lax.fori_loop(0, 30, lambda _, x: (matrix @ x) / jnp.linalg.norm(matrix @ x), x)

    matrix = RNG.uniform(0, 1, (6, 6)).astype(np.float32)
    assert "linalg" not in compiled(power, matrix, matrix[0], tolerance=1e-5).source


def test_reshapes_of_what_is_not_side_by_side():
    def turned(x):
        def step(i, x):
            flat = x.T.reshape(-1)
            return 0.5 * x + flat.reshape(x.shape) * flat[i]

        return lax.fori_loop(0, 5, step, x)

    x = RNG.normal(size=(3, 4)).astype(np.float32)
    module = compiled(turned, x, tolerance=1e-5)
    made = module.load(keep_compiled=False).main(np.asfortranarray(x))
    np.testing.assert_allclose(made, jax.jit(turned)(x), 1e-5, 1e-5)

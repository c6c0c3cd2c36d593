"""Scatters, windows, searches and random numbers as loops of Numba: what the shared prelude gives, to the bit."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

import xla2py
from xla2py.templates.dask.loops.generators import threefry_2x32 as threefry_2x32_of_blocks
from xla2py.templates.prelude.indexing import scatter_at
from xla2py.templates.prelude.keys import random_bits, random_uniform
from xla2py.templates.prelude.ordering import search_sorted
from xla2py.templates.prelude.random import philox_bits, threefry_2x32
from xla2py.templates.prelude.windows import reduce_window, select_and_scatter
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numba_prelude import numba_prelude
from xla2py.tests.whole import crossed, much
from xla2py.transpile.equivalence.reference.xla import run_hlo

generators, scatters, windows = map(numba_prelude, ("generators", "scatters", "windows"))
RNG = np.random.default_rng(5)
EDGES = np.array([-(2**31), -1, 0, 1, 2, 5, 6, 2**31 - 1], np.int32)


@pytest.mark.parametrize(("combine", "kind"), crossed(scatters.COMBINERS, ["f4", "i4", "u8"]))
def test_scatters_take_updates_one_after_the_other(combine, kind):
    """Also to the same place; those outside are left out."""
    index = np.concatenate([EDGES, RNG.integers(-2, 8, 24).astype(np.int32)])
    values = RNG.integers(-5, 200, (32, 3)).astype(kind)
    x = RNG.integers(0, 100, (6, 3)).astype(kind)
    if kind == "f4":
        values[9], x[1, 0], values[:4, 1] = np.nan, -0.0, -np.inf
    else:
        values[4:9] = np.iinfo(kind).max  # sums and products wrap
    before = x.copy()
    with np.errstate(all="ignore"):
        expected = scatter_at(x, index, values, combine)
        made = scatters.scatter_in_order(x, index, values, combine)
    assert np.array_equal(made.view(f"u{made.itemsize}"), expected.view(f"u{made.itemsize}")) or kind == "f4"
    assert np.array_equal(made, expected, equal_nan=kind == "f4")
    assert np.array_equal(x, before, equal_nan=kind == "f4")


def test_scatters_of_several_indices_and_of_broadcast_values():
    x = np.zeros((4, 5), np.float32)
    i, j = np.array([[0], [3], [-1]]), np.array([0, 4, 5, 2])
    for values in (np.float32(2), np.arange(4, dtype=np.float32)):
        assert np.array_equal(
            scatters.scatter_in_order(x, (i, j), values, np.add), scatter_at(x, (i, j), values, np.add)
        )
    assert scatters.scatter_in_order(x, (i, j), np.float32(2), np.add).sum() == 12


def test_scatters_of_a_program_give_what_xla_gives():
    def scattered(x, places, updates):
        return x.at[places].add(updates), x.at[places, 1].max(updates[:, 0]), x.at[places].set(updates[:1])

    x = RNG.normal(size=(40, 8)).astype(np.float32)
    places, updates = RNG.integers(-60, 60, 5000), RNG.normal(size=(5000, 8)).astype(np.float32)
    arguments = x, places.astype(np.int32), updates
    module = xla2py.emit(xla2py.from_jax(scattered, *arguments), style="fast")
    assert module.source.count("scatter_in_order(") == 4
    for leaf, expected in zip(
        module.load(keep_compiled=False).main(*arguments), jax.jit(scattered)(*arguments), strict=True
    ):
        np.testing.assert_allclose(leaf, expected, rtol=1e-5, atol=1e-5)


def test_random_numbers_are_those_of_the_shared_prelude():
    count = much(500, 5000)
    for key in (np.array([0, 42], np.uint32), np.array([2**32 - 1, 2**31], np.uint32)):
        assert np.array_equal(generators.compiled_bits(key, (7, much(70, 700))), random_bits(key, (7, much(70, 700))))
        assert np.array_equal(generators.compiled_uniform(key, (count,), -1, 3), random_uniform(key, (count,), -1, 3))


@pytest.mark.parametrize(
    ("keys", "words"), crossed([(), (1,), (1, 1), (3, 1), (1, 4), (3, 4), (2, 3, 1)], [(3, 4), (), (4,), (3, 1)])
)
def test_ciphers_of_blocks_have_a_key_for_each_pair_or_one_for_all(keys, words):
    arguments = [RNG.integers(0, 2**32, size, np.uint32) for size in (keys, keys, words, words)]
    arguments = [np.asarray(each, np.uint32) for each in arguments]
    made, expected = threefry_2x32_of_blocks(*arguments), threefry_2x32(*arguments)
    for one, other in zip(made, expected, strict=True):
        assert (one.dtype, one.shape) == (np.uint32, other.shape)
        assert np.array_equal(one, other)


@pytest.mark.parametrize("state", [(5, 2**64 - 3), (5, 2**64 - 3, 2**64 - 1), (2**63 + 7, 2**35 + 1, 2**50 + 3)])
@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "f4", "f8", "u8"])
def test_bits_of_philox_are_those_of_the_shared_prelude(dtype, state):
    """The counter carries into its second word; the last numbers fill no block."""
    given = np.array(state, np.uint64)
    for made, expected in zip(
        generators.compiled_philox(given, (3, 7), dtype), philox_bits(given, (3, 7), dtype), strict=True
    ):
        assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
        assert made.tobytes() == expected.tobytes()


def test_a_generator_of_hlo_is_a_loop_where_it_gives_many_numbers():
    text = """ENTRY main { state = u64[3] parameter(0)
      ROOT r = (u64[3], u32[SIZE]) rng-bit-generator(state), algorithm=rng_philox }"""
    state = np.array([1, 2**64 - 5, 9], np.uint64)
    few, many = (xla2py.emit(text.replace("SIZE", size), style="fast") for size in ("99", "70,71"))
    assert "njit" not in few.source
    assert "= compiled_philox(state, (70, 71), np.uint32)" in many.source
    made = many.load(keep_compiled=False).main(state)
    for one, expected in zip(made, run_hlo(text.replace("SIZE", "70,71"), state), strict=True):
        assert np.array_equal(one, expected)


def test_a_program_draws_what_xla_draws():
    def drawn(key):
        key = jax.random.wrap_key_data(key)
        return jax.random.bits(key, (60, 100)), jax.random.uniform(key, (5000,)), jax.random.normal(key, (5000,))

    key = np.array([3, 9], np.uint32)
    module = xla2py.emit(xla2py.from_jax(drawn, key), style="fast")
    bits, uniform, normal = module.load(keep_compiled=False).main(key)
    expected = jax.jit(drawn)(key)
    assert "threefry_loop" in module.source
    assert np.array_equal(bits, expected[0])
    assert np.array_equal(uniform, expected[1])
    np.testing.assert_allclose(normal, expected[2], rtol=1e-5, atol=1e-6)


def test_the_inverse_error_function_joins_what_is_around_it():
    def quantiles(x):
        return jax.lax.erf_inv(x) * 2 + x

    x = np.concatenate([np.linspace(-1, 1, 4200), [np.nan, 2, -3, 0.99999994, -0.0]]).astype(np.float32)
    module = xla2py.emit(xla2py.from_jax(quantiles, x), style="fast")
    assert "erf_inv_f32(x[i])" in module.source
    with np.errstate(all="ignore"):
        made = module.load(keep_compiled=False).main(x)
    np.testing.assert_allclose(made, jax.jit(quantiles)(x), rtol=2e-6)


GEOMETRIES = [  # window, strides, padding, dilation
    ((1, 2, 3, 1), (1, 2, 2, 1), None, None),
    ((1, 3, 3, 1), None, ((0, 0), (1, 1), (0, 2), (0, 0)), None),
    ((1, 1, 4, 1), (1, 1, 3, 1), ((0, 0), (0, 0), (3, 4), (0, 0)), None),
    ((1, 1, 2, 3), None, ((0, 0), (0, 0), (5, 0), (0, 4)), (1, 1, 2, 1)),
    ((2, 1, 2, 1), None, ((0, -1), (0, 0), (-2, 1), (0, 0)), None),
    ((1, 1, 1, 9), None, None, None),  # longer than the axis: none fits
    ((1, 1, 1, 1), (2, 1, 1, 1), None, None),
]


@pytest.mark.parametrize(("combine", "kind"), crossed(scatters.COMBINERS[1:], ["i1", "u8", "f4"]))
def test_pools_are_those_of_the_shared_prelude(combine, kind):
    """To the bit, with NaN and zeros with signs, beyond edges and where numbers wrap."""
    x = RNG.integers(-3, 120, (3, 5, 6, 4)).astype(kind)
    if kind == "f4":
        x[0, 0], x[1, 2, 3], x[2, 1] = -0.0, np.nan, -np.inf
    least, most = (-np.inf, np.inf) if kind == "f4" else (np.iinfo(kind).min, np.iinfo(kind).max)
    init = {np.add: 0, np.multiply: 1, np.maximum: least, np.minimum: most}[combine]
    for window, strides, padding, dilation in GEOMETRIES:
        sizes = {"strides": strides, "padding": padding, "window_dilation": dilation}
        with np.errstate(all="ignore"):
            expected = reduce_window(x, x.dtype.type(init), combine, window, **sizes)
            made = windows.compiled_pool(x, x.dtype.type(init), combine, window, **sizes)
        assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
        assert np.array_equal(np.signbit(made), np.signbit(expected)) or np.isnan(expected).any()
        assert np.array_equal(made, expected, equal_nan=kind == "f4")


@pytest.mark.parametrize("kind", ["f4", "i2"])
def test_pools_of_nothing_are_empty_or_what_they_begin_with(kind):
    for shape, padding in (((0, 4, 4), None), ((2, 0, 4), ((0, 0), (2, 2), (0, 0)))):
        x = np.zeros(shape, kind)
        arguments = x, x.dtype.type(-7), np.maximum, (1, 2, 2)
        assert np.array_equal(
            windows.compiled_pool(*arguments, padding=padding), reduce_window(*arguments, padding=padding)
        )


@pytest.mark.parametrize("kind", ["f4", "i4"])
def test_gradients_of_pools_are_those_of_the_shared_prelude(kind):
    """A window chooses the first of equal elements and the last NaN; one of padding alone chooses none."""
    x = RNG.integers(-2, 3, (3, 6, 7, 4)).astype(kind)
    if kind == "f4":
        x[0, 2], x[1, 1:3, 4] = np.nan, -np.inf
    for window, strides, padding, dilation in GEOMETRIES:
        if dilation is None and (padding is None or min(map(min, padding)) >= 0):
            sizes = {"strides": strides, "padding": padding}
            counts = reduce_window(x, x.dtype.type(0), np.add, window, **sizes).shape
            source = RNG.integers(-9, 9, counts).astype(kind)
            expected = select_and_scatter(x, source, window, **sizes)
            made = windows.compiled_pool_gradient(x, source, window, **sizes)
            assert np.array_equal(made, expected)


@pytest.mark.parametrize(("kind", "side"), crossed(["f4", "f8", "i4", "u1"], ["left", "right"]))
def test_searches_are_those_of_the_shared_prelude(kind, side):
    """The searches agree in tables that are not sorted, too, and among NaN."""
    values = RNG.integers(0, 200, (much(10, 50), 50)).astype(kind)
    for size in (1, 2, 7, 100):
        table = np.sort(RNG.integers(0, 200, size).astype(kind))
        tables = [table, table[::-1]]
        if table.dtype.kind == "f":
            values[:3, :9] = [[np.nan], [np.inf], [-0.0]]
            tables += [np.append(table, [np.nan] * 3), np.append(-0.0, table), np.full(3, np.nan, kind)]
        for each in tables:
            assert np.array_equal(windows.compiled_search(each, values, side), search_sorted(each, values, side))


def test_windows_and_searches_of_a_program_give_what_xla_gives():
    def computed(images, change, table):
        pooled, back = jax.vjp(pool, images)
        sums = jax.lax.reduce_window(images, np.float32(0), jax.lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
        return pooled, back(change)[0], sums, jax.numpy.searchsorted(table, images, side="right")

    def pool(images):
        return jax.lax.reduce_window(images, -np.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")

    images = RNG.normal(size=(4, 17, 16, 8)).astype(np.float32)
    arguments = images, RNG.normal(size=(4, 9, 8, 8)).astype(np.float32), np.sort(images.reshape(-1)[:4500])
    module = xla2py.emit(xla2py.from_jax(computed, *arguments), style="fast")
    for name in ("compiled_pool(", "compiled_pool_gradient(", "compiled_search("):
        assert module.source.count(name) == (2 + (name == "compiled_pool(")), name
    made = module.load(keep_compiled=False).main(*arguments)
    for leaf, expected in zip(made, jax.jit(computed)(*arguments), strict=True):
        np.testing.assert_allclose(leaf, expected, rtol=1e-5, atol=1e-5)


def test_means_of_blocks_are_one_pass():
    def blocks(x):
        return x.reshape(8, 16, 2, 16, 2, 4).mean((2, 4))

    x = RNG.normal(size=(8, 32, 32, 4)).astype(np.float32)
    module = xla2py.emit(xla2py.from_jax(blocks, x), style="fast")
    assert module.source.count("@njit") == 1
    np.testing.assert_allclose(module.load(keep_compiled=False).main(x), jax.jit(blocks)(x), rtol=1e-6, atol=1e-6)

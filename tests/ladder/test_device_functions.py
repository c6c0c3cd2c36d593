"""CuPy's own ways of what the shared prelude has for the CPU: one kernel each, and the same values as XLA."""

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.tests.ladder.running import checked, needs_compiler
from xla2py.tests.recording.lazy_jax import jax, jnp, lax

pytestmark = needs_compiler
GENERATOR = np.random.default_rng(4)
KEY = np.array([3, 2**32 - 5], np.uint32)
NAN = np.float32(np.nan)
ODD = np.array([[3, NAN, -0.0, 0.0, -np.inf, 1, -NAN, 3], [0.0, -0.0, 2, np.inf, 1e-30, -1e-30, 2, -7]], np.float32)
WHOLE = np.array([[5, -(2**31), 2**31 - 1, 5, 0], [1, 1, -1, 0, -1]], np.int32)


def compared(function, *arguments, launches, helper, exact=True):
    """The module of a JAX function gives what JAX does, with as many launches, by a function of CuPy's prelude."""
    emitted = xla2py.emit(xla2py.from_jax(function, *arguments), "cupy")
    assert f"{helper}(" in emitted.source[: emitted.source.index("def check_arguments")]
    expected = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    found = checked(emitted, list(arguments))
    found = list(found) if isinstance(found, tuple) else [found]
    for one, other in zip(expected, found, strict=True):
        expected_array = np.asarray(one)
        assert (expected_array.dtype, expected_array.shape) == (other.dtype, other.shape)
        if exact:
            np.testing.assert_array_equal(np.signbit(expected_array.astype(float)), np.signbit(other.astype(float)))
            np.testing.assert_array_equal(expected_array, other)
        else:
            np.testing.assert_allclose(expected_array.astype(float), other.astype(float), 2e-6, 1e-6)
    assert launches in (None, costs_of(emitted.load, arguments).launches)
    return emitted


@pytest.mark.parametrize(
    ("function", "helper", "exact"),
    [
        (lambda key: jax.random.bits(key, (5, 7)), "random_bits", True),
        (lambda key: jax.random.uniform(key, (5, 7)), "random_uniform", True),
        (lambda key: jax.random.uniform(key, (), minval=-1, maxval=3), "random_uniform", True),
        (lambda key: jax.random.normal(key, (300,)), "random_normal", False),
        (lambda key: jax.random.split(key, 3), "split_key", True),
        (lambda key: jax.random.fold_in(key, 9), "fold_in", True),
    ],
)
def test_random_numbers_are_one_kernel(function, helper, exact):
    compared(function, KEY, launches=1, helper=helper, exact=exact)


def test_the_number_of_a_round_is_folded_in():
    def summed(key):
        start = np.zeros(4, np.uint32)
        return lax.fori_loop(0, 3, lambda i, total: total + jax.random.bits(jax.random.fold_in(key, i), (4,)), start)

    compared(summed, KEY, launches=10, helper="fold_in")


@pytest.mark.parametrize("x", [ODD, WHOLE, ODD.astype(np.float16), WHOLE.astype(np.int8), WHOLE.view(np.uint32)])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_are_sorted_at_once(x, axis):
    launches = 2 - axis  # columns are copied to rows
    compared(lambda x: jnp.sort(x, axis), x, launches=launches, helper="sort_rows", exact=x.dtype.kind != "f")
    compared(lambda x: jnp.argsort(x, axis), x, launches=launches, helper="argsort_rows")


@pytest.mark.parametrize("columns", [2, 8, 17, 128, 300, 2048, 4096, 4097])
def test_rows_of_any_length_are_sorted(columns):
    x = GENERATOR.integers(-50, 50, (3, columns)).astype(np.float32)
    x[0, columns // 2] = NAN
    rows, launches = ("long_rows", 3) if columns > 4096 else ("rows", 1)
    compared(lambda x: jnp.sort(x, -1), x, launches=launches, helper=f"sort_{rows}")
    compared(lambda x: jnp.argsort(x, -1), x, launches=launches, helper=f"argsort_{rows}")


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_are_sorted_by_keys(axis):
    x, y = ODD.astype(ml_dtypes.bfloat16), WHOLE.astype(np.int8)
    compared(lambda x: jnp.argsort(x, axis), x, launches=None, helper="argsort_rows")
    compared(lambda x: jnp.sort(x, axis), x, launches=None, helper="sort_rows_by_keys", exact=False)
    several = {"launches": None, "helper": "sort_rows_by_keys", "exact": False}
    compared(lambda x, y: lax.sort((x, y, x), axis, num_keys=2), x[:, :5], y, **several)


@pytest.mark.parametrize("columns", [400, 5000])
def test_many_of_a_row_are_its_first_in_order(columns):
    x = GENERATOR.integers(-50, 50, (3, columns)).astype(np.float32)
    compared(lambda x: lax.top_k(x, 300), x, launches=1 if columns == 400 else 3, helper="top_k")


def test_wide_numbers_are_not_sorted_by_rows():
    with jax.enable_x64(True):
        emitted = xla2py.emit(xla2py.from_jax(lambda x: jnp.sort(x, -1), WHOLE.astype(np.float64)), "cupy")
    assert "cp.sort(x)" in emitted.source


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_search_is_one_kernel(side):
    table = np.sort(GENERATOR.normal(size=37).astype(np.float32))
    for values in (np.append(table[::3], [np.inf, -np.inf, NAN]).astype(np.float32), table[4]):
        compared(
            lambda table, x: jnp.searchsorted(table, x, side=side, method="scan"),
            table,
            np.asarray(values),
            launches=2,
            helper="search_sorted",
        )


TABLE = GENERATOR.normal(size=(9, 4)).astype(np.float32)
PLACES = np.array([3, 3, 0, 8, 3, 5], np.int32)
UPDATES = GENERATOR.normal(size=(6, 4)).astype(np.float32)


@pytest.mark.parametrize("width", [1, 3, 4, 12])  # rows of fours are added by fours
def test_sums_by_segment_are_one_kernel(width):
    updates = GENERATOR.normal(size=(6, width)).astype(np.float32)
    compared(
        lambda x, at: jax.ops.segment_sum(x, at, 9), updates, PLACES, launches=2, helper="scatter_sum", exact=False
    )


def test_what_does_not_fit_is_left_out():
    places = np.array([3, -1, 9, 2**31 - 1, -(2**31), 3], np.int32)
    compared(
        lambda t, x, at: lax.scatter_add(t, at[:, None], x, lax.ScatterDimensionNumbers((1,), (0,), (0,)), mode="drop"),
        TABLE,
        UPDATES,
        places,
        launches=2,
        helper="scatter_add",
        exact=False,
    )


def test_pairs_of_places_are_one_number():
    columns = np.array([0, 3, 1, 1, 3, 2], np.int32)
    compared(
        lambda t, at, columns: t.at[at, columns].set(7, mode="drop", unique_indices=True),
        TABLE,
        PLACES,
        columns,
        launches=11,
        helper="scatter_set",
    )


def test_narrow_floats_are_added_in_float32():
    emitted = xla2py.emit(
        xla2py.from_jax(lambda x, at: jax.ops.segment_sum(x, at, 9), UPDATES.astype(jnp.bfloat16), PLACES), "cupy"
    )
    exact = np.zeros((9, 4), np.float32)
    np.add.at(exact, PLACES, UPDATES.astype(jnp.bfloat16).astype(np.float32))
    np.testing.assert_array_equal(checked(emitted, [UPDATES.astype(jnp.bfloat16), PLACES]), exact.astype(jnp.bfloat16))


@pytest.mark.parametrize(("segments", "helper"), [("segment_max", "scatter_max"), ("segment_min", "scatter_min")])
@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "u4", jnp.bfloat16])
def test_extremes_by_segment_are_one_kernel(segments, helper, dtype):
    updates = (UPDATES * 9).astype("i4").astype(dtype) if np.dtype(dtype).kind in "iu" else UPDATES.astype(dtype)
    launches = {4: 4, 2: 6}[updates.itemsize]  # a number and its comparison, or infinities; a copy, or casts
    compared(lambda x, at: getattr(jax.ops, segments)(x, at, 9), updates, PLACES, launches=launches - 1, helper=helper)


def test_extremes_are_not_a_number_where_one_is_not():
    updates = np.where(UPDATES > 1, NAN, UPDATES)
    compared(lambda t, at, x: t.at[at].max(x), TABLE, PLACES, updates, launches=5, helper="scatter_max", exact=False)
    with jax.enable_x64(True):
        wide = [TABLE.astype(np.float64), PLACES, updates.astype(np.float64)]
        compared(lambda t, at, x: t.at[at].min(x, mode="drop"), *wide, launches=5, helper="scatter_min", exact=False)


def test_other_combiners_go_by_sorted_rows():
    emitted = xla2py.emit(xla2py.from_jax(lambda x, at: jax.ops.segment_prod(x, at, 9), UPDATES, PLACES), "cupy")
    assert "combine_in_parallel" in emitted.source


def test_a_cumulative_sum_of_a_vector_is_a_scan():
    assert "x.cumsum()" in xla2py.emit(xla2py.from_jax(lambda x: jnp.cumsum(x) + 1, TABLE[0]), "cupy").source
    assert "axis=0" in xla2py.emit(xla2py.from_jax(lambda x: jnp.cumsum(x, 0) + 1, TABLE), "cupy").source

"""Loops that Numba compiles as one function: where they stand, and the numbers that they carry."""

import re

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.tests.counted_loops import counted_loop
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numpy_fast import as_in_xla, differences, is_of_loops, kernels, rounds

jnp, lax = jax.numpy, jax.lax
RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(2, 12)).astype(np.float32)


def test_a_loop_of_no_round_gives_arrays_of_its_own():
    def search(x, y, left):
        return lax.while_loop(lambda c: c[1] > 0, lambda c: (c[0] + y * y, c[1] - 1), (x, left))[0]

    module = as_in_xla(search, X, Y, np.float32(0))
    made = module.load(keep_compiled=False).main(X, Y, np.float32(0))
    assert len(kernels(module)) == 1
    assert not np.shares_memory(made, X)


def test_sums_of_counters_are_given_to_loops_in_short_ones():
    def shaken(x):
        def outer(i, x):
            def middle(j, x):
                return lax.fori_loop(0, 5, lambda k, x: x.at[i + j + k].add(x[0]), jnp.sort(x))

            return lax.fori_loop(0, 3, middle, jnp.sort(x))

        return lax.fori_loop(0, 3, outer, x)

    module = xla2py.emit(xla2py.from_jax(shaken, X), style="fast", disable_passes=["whole_functions"])
    assert "_loop(" in module.source
    np.testing.assert_allclose(module.load(keep_compiled=False).main(X), jax.jit(shaken)(X), rtol=1e-5)


def test_arrays_are_turned_in_branches():
    def turned(x):
        def step(i, x):
            return lax.cond(x[i, 0] > 0, lambda x: x.T, lambda x: x.at[i].add(1), x)

        return lax.fori_loop(0, 6, step, x)

    assert "copy_into(x, x.T.copy())" in as_in_xla(turned, RNG.normal(size=(6, 6)).astype(np.float32)).source


def test_rows_are_read_and_written_where_they_are():
    def smoothed(rows):
        def step(mean, row):
            mean = 0.9 * mean + 0.1 * row
            return mean, jnp.abs(row - mean)

        return lax.scan(step, rows[0] * 2, rows)

    lines = rounds(as_in_xla(smoothed, RNG.normal(size=(8, 5)).astype(np.float32)))
    assert "magnitudes[i, j] = " in lines
    assert "rows[i, j]" in lines


@pytest.mark.compiled
def test_constants_are_written_into_an_array_of_narrow_numbers():
    """No operation of the body has the array's type."""

    def filled(x, n):
        return lax.fori_loop(0, 8, lambda i, c: (c[0].at[i].set(-3), c[1] * 2 + i), (x, n))

    x, n = np.ones(8, ml_dtypes.float4_e2m1fn), np.int32(1)
    module = xla2py.emit(xla2py.from_jax(filled, x, n), style="fast", format=False, checks=False)
    assert kernels(module) == ["n_loop"]
    made = module.load(keep_compiled=False).main(x, n)
    assert all(np.array_equal(*pair) for pair in zip(made, jax.jit(filled)(x, n), strict=True))


def test_short_loops_take_their_size_from_an_argument():
    """LLVM writes out those of a number, before it looks for steps to do at once."""

    def forward(scores, x):
        def step(state, row):
            state = jax.nn.logsumexp(state[:, None] + scores, axis=0) + row
            return state, state * 2

        return lax.scan(step, x[0], x)

    for n in (3, 12, 70):
        scores, x = RNG.normal(size=(n, n)).astype(np.float32), RNG.normal(size=(5, n)).astype(np.float32)
        lines = rounds(as_in_xla(forward, scores, x, tolerance=1e-5))
        assert ("for k in range(scores.shape[1]):" in lines) is (n == 12)
        assert ("range(x.shape[1]):" in lines) is (n == 12)
        assert f"for j in range({n}):" in lines


def test_rounds_of_each_element_stand_in_short_loops():
    def powers(x, y):
        return lax.fori_loop(0, 6, lambda _, z: z * z * 0.5 + y, x)

    x, y = RNG.uniform(size=(2, 3, 12)).astype(np.float32)
    source = as_in_xla(powers, x, y, style="fused").source
    assert re.search(r"for j in range\([xy].shape\[1\]\):", source)
    assert "for step in range(6):" in source


# -- loops as HLO has them

ROUNDS = counted_loop(
    5,
    {"s": "f32[]", "x": "f32[8]", "rows": "f32[5,8]"},
    """
    tenth = f32[] constant(0.1)
    u = f32[] multiply(s, tenth)
    new_s = f32[] add(u, tenth)
    vs = f32[8] broadcast(new_s), dimensions={}
    z = s32[] constant(0)
    row = f32[1,8] dynamic-slice(rows, i, z), dynamic_slice_sizes={1,8}
    flat = f32[8] reshape(row)
    y = f32[8] multiply(x, vs)
    new_x = f32[8] add(y, flat)
    new = f32[1,8] reshape(new_x)
    new_rows = f32[5,8] dynamic-update-slice(rows, new, i, z)
    """,
    given="s = f32[] parameter(0)  x = f32[8] parameter(1)  rows = f32[5,8] parameter(2)",
    behind="ROOT r = (f32[], f32[8], f32[5,8]) tuple(s_end, x_end, rows_end)",
)


def test_a_loop_is_one_function():
    module = xla2py.emit(ROUNDS, style="fast", format=False, checks=False)
    assert any(map(is_of_loops, kernels(module)))
    main = module.source[module.source.index("def main(") :]
    assert "for " not in main[: main.index("return")]
    rng = np.random.default_rng(1)
    arguments = [rng.normal(size=shape).astype(np.float32) for shape in ((), (8,), (5, 8))]
    before = [array.copy() for array in arguments]
    assert differences(ROUNDS, arguments, module) == []
    assert all(map(np.array_equal, arguments, before))  # what the caller has is not written into


def test_numbers_of_a_loop_keep_their_types():
    """Numba would count in float64, and integers beyond 32 bits."""
    text = counted_loop(
        40,
        {"a": "u32[]", "x": "f32[]"},
        """
        m = u32[] constant(1664525)
        c = u32[] constant(1013904223)
        am = u32[] multiply(a, m)
        new_a = u32[] add(am, c)
        bf = f32[] convert(new_a)
        third = f32[] constant(0.333)
        xs = f32[] multiply(x, third)
        new_x = f32[] add(xs, bf)
        """,
        given="a = u32[] parameter(0)  x = f32[] parameter(1)",
        behind="ROOT r = (u32[], f32[]) tuple(a_end, x_end)",
    )
    module = xla2py.emit(text, style="fast", format=False, checks=False)
    assert len(kernels(module)) == 1
    assert differences(text, [np.uint32(7), np.float32(1.5)], module) == []
    made = module.load(keep_compiled=False).main(np.uint32(7), np.float32(1.5))
    assert [type(each) for each in made] == [np.uint32, np.float32]


def test_unsigned_numbers_of_a_loop_meet_no_signed_constants():
    """Numba would make floats of the two."""
    text = counted_loop(
        40,
        {"a": "u8[]", "b": "u8[]", "c": "u8[]"},
        """
        bit = u8[] constant(64)
        new_b = u8[] or(c, bit)
        new_c = u8[] maximum(c, b)
        new_a = u8[] xor(a, new_c)
        """,
        given="a = u8[] parameter(0)  b = u8[] copy(a)  c = u8[] copy(a)",
        behind="ROOT r = u8[] copy(a_end)",
    )
    assert differences(text, [np.uint8(5)]) == []


def test_a_loop_reads_one_element_of_what_it_begins_with():
    def doubled(x):
        return lax.fori_loop(0, 3, lambda i, total: total * 2 + x[1] - x, x)

    assert kernels(as_in_xla(doubled, X)) == ["loop_kernel"]


def test_a_loop_with_what_numba_lacks_stays_where_it_is():
    text = ROUNDS.replace("f32[8] multiply(x, vs)", "f32[8] reduce-precision(x), exponent_bits=5, mantissa_bits=2")
    module = xla2py.emit(text.replace("f32", "f64"), style="fast", format=False)
    assert "njit" not in module.source


def test_an_inner_loop_that_writes_into_what_a_round_computed():
    """The next round writes into the same array before it has read it."""

    def turns(x, y):
        def step(_, x):
            return lax.fori_loop(0, 5, lambda i, x: x.at[i % 12].set(y[i]), jnp.roll(x, 1))

        return lax.fori_loop(0, 6, step, x)

    as_in_xla(turns, X, Y, style="fused")


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "int4"])
def test_loops_that_carry_narrow_numbers(kind):
    """Arrays are bits there, and numbers of them wide: where one is taken out of an array, put in, or fills one."""
    dtype = np.dtype(getattr(ml_dtypes, kind))

    def turns(x, rows, scale):
        def step(carry, row):
            x, half, scale = carry
            x = jnp.where(x < row, x, jnp.roll(x, 1)) - half * scale
            scale = jnp.where(x[3] < scale, x[3], scale)
            half = half.at[2].set(scale) + jnp.full(12, scale)
            return (x, half, scale), (scale, x, half[1:4])

        return lax.scan(step, (x, jnp.zeros(12, dtype), scale), rows)

    x, rows = (2 * X).astype(dtype), RNG.normal(size=(9, 12)).astype(dtype)
    program, arguments = xla2py.from_jax(turns, x, rows, dtype.type(1.5)), (x, rows, dtype.type(1.5))
    module = xla2py.emit(program, style="fast", format=False)
    assert rounds(module)
    made, expected = (
        jax.tree.leaves(each.load(keep_compiled=False).main(*arguments)) for each in (module, xla2py.emit(program))
    )  # XLA need not round between operations
    for leaf, like in zip(made, expected, strict=True):
        assert leaf.dtype == dtype
        assert leaf.tobytes() == like.tobytes()


@pytest.mark.compiled
def test_what_a_round_makes_wide_to_store_it_is_wide():
    """A store of NumPy converts by itself, one of bits would not."""

    def turns(x, rows):
        def step(x, row):
            x = jnp.roll(x, 1) + row
            return x, x[::-1].astype(jnp.float32)

        return lax.scan(step, x, rows)

    x, rows = X.astype(np.float16), RNG.normal(size=(9, 12)).astype(np.float16)
    as_in_xla(turns, x, rows, tolerance=0)


def test_bounds_of_loops_are_sums_of_counters():
    """The cheapest order of a chain of products: the counters of three loops make the bounds and the places."""

    def function(p):
        def longer(length, least):
            def begin(i, least):
                def split(k, best):
                    return jnp.minimum(
                        best, least[i, k] + least[k + 1, i + length] + p[i] * p[k + 1] * p[i + length + 1]
                    )

                return least.at[i, i + length].set(lax.fori_loop(i, i + length, split, jnp.inf))

            return lax.fori_loop(0, 7 - length, begin, least)

        return lax.fori_loop(1, 7, longer, jnp.zeros((7, 7)))

    assert "range(j, i + j + 1)" in rounds(as_in_xla(function, abs(X[:8])))


PRODUCTS = {  # and the most terms that are written out
    "of a matrix and a vector": (lambda a, x: a @ x, 32),
    "of a vector and a matrix": (lambda a, x: x @ a, 16),
    "of a vector and a transposed matrix": (lambda a, x: x @ a.T, 16),
    "of two vectors": (lambda a, x: (a[1] @ x) * a[0], 32),
    "of matrices": (lambda a, x: ((a * x) @ a)[0], 8),
}


@pytest.mark.parametrize("kind", ["f4", "f8", "c8"])
@pytest.mark.parametrize(("product", "most"), PRODUCTS.values(), ids=[*PRODUCTS])
def test_products_of_few_terms_are_written_out(product, most, kind):
    """A call of BLAS takes longer than they."""
    with jax.enable_x64(kind == "f8"):
        for size, sign in ((most, ""), (most + 1, " @ ")):
            a, x = (RNG.normal(size=shape).astype(kind) / size for shape in ((size, size), (size,)))
            a[2, 1] = np.inf if sign else np.nan
            module = as_in_xla(
                lambda a, x: lax.fori_loop(0, 5, lambda i, x: product(a, x) + i, x), a, x, tolerance=1e-5
            )
            assert (" @ " in rounds(module)) == bool(sign)


def test_counters_beside_what_is_folded_are_numbers_of_the_library():
    def function(x):
        return lax.fori_loop(0, 4, lambda i, x: x + (lax.clz(jnp.int32(7)) + i), x)

    x = np.ones(3, np.float32)
    module = xla2py.emit(xla2py.from_jax(function, x), debug=True)
    assert "x + (np.int32(29) + i).astype(np.float32)" in module.source
    np.testing.assert_array_equal(module.load().main(x), jax.jit(function)(x))


def test_places_that_an_iteration_reads_and_writes_stay_counts():
    """Reads get places of their own where these are counted; ``i + 6`` is a Python int in both."""

    def moved(x):
        return lax.scan(lambda c, i: (c.at[i + 6].set(c[2]).at[2].set(c[i + 6]), c[0]), x, jnp.arange(6))

    as_in_xla(jax.vmap(moved), np.stack([X[:6], Y[:6]]))


@pytest.mark.parametrize("shape, element", [((3,), "weights[j]"), ((2, 1), "weights[i, 0]"), ((2, 3), "weights[i, j]")])
def test_what_is_added_to_rows_is_computed_along_its_own_axes(shape, element):
    def added(x, weights):
        def step(k, carry):
            x, weights = carry
            return x.at[jnp.argsort(jnp.sin(x[:, 0]))[:2]].add(weights * 2.5), weights + 1

        return lax.fori_loop(0, 4, step, (x, weights))

    weights = Y[: np.prod(shape)].reshape(shape)
    assert f"{element} * f4(2.5)" in as_in_xla(added, X.reshape(4, 3), weights).source

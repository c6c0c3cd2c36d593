"""Modules for any size hold where axes are longer than at the sizes that their texts were made at first."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.lazy_jax import jax, jnp, lax
from xla2py.transpile.array.graph import Graph
from xla2py.transpile.hlo.element_types import S32


def masked(x):
    return jnp.where(jnp.arange(len(x)) < 100, x, 0.0)


def block(x):
    return jnp.where(jnp.arange(len(x)) // 64 == 1, 2 * x, x)


def few(x):
    return jnp.where(jnp.arange(len(x)) < 15, x, 0.0)


def narrow(x):
    return jnp.arange(len(x), dtype=jnp.int8) + jnp.int8(1)


def cubes(x):
    return lax.fori_loop(0, len(x), lambda i, total: total + i * i * i, jnp.int32(0)) + x.astype(jnp.int32)


def clamped(x):
    return x[jnp.minimum(jnp.arange(len(x)), 50)]


def capped(x):
    return x[: min(len(x), 100)].sum()


def hundredth(x):
    return x[: len(x) // 100 + 1].sum() * (2 * len(x) - 1)


@pytest.mark.parametrize(
    "function, least", [(masked, 2), (few, 2), (block, 2), (cubes, 2), (clamped, 52), (capped, 101), (hundredth, 100)]
)
def test_what_positions_are_compared_with_counts_at_large_sizes(function, least):
    module = xla2py.emit(xla2py.from_jax(function, xla2py.array("N")))
    assert module.sizes == {"N": range(least, 2**63)}
    main = module.load().main
    for size in (least, least + 1, 150, 1500):
        x = np.arange(size, dtype=np.float32) % 7
        with np.errstate(over="ignore"):  # integers wrap around as XLA's do
            found = main(x)
        np.testing.assert_array_equal(found, jax.jit(function)(x), err_msg=f"{size}")


def test_rows_of_floats_have_one_form_however_long():
    def numbered(x):
        return x.reshape(-1) + jnp.arange(x.size, dtype=jnp.float32)

    module = xla2py.emit(xla2py.from_jax(numbered, xla2py.array("N, N")))
    assert module.sizes == {"N": range(2, 2**63)} and "np.arange(n * n, dtype=np.float32)" in module.source
    x = np.zeros((4200, 4200), np.float32)  # 17,640,000 numbers, of which not all are floats
    some = jax.jit(lambda x: numbered(x)[::4099])(x)
    np.testing.assert_array_equal(module.load().main(x)[::4099], some)


def test_positions_that_a_narrow_type_does_not_hold_wrap_around():
    def beside(x):
        return x, narrow(x)

    main = xla2py.emit(xla2py.from_jax(beside, xla2py.array("N"))).load().main
    for size in (2, 128, 300):
        x = np.zeros(size, np.float32)
        np.testing.assert_array_equal(main(x)[1], jax.jit(narrow)(x))


def test_functions_that_fail_at_large_sizes_have_the_text_of_small_ones():
    def small(x):
        if len(x) > 300:
            raise MemoryError
        return jnp.sin(x)

    assert "return np.sin(x)" in xla2py.emit(xla2py.from_jax(small, xla2py.array("N"))).source


@pytest.mark.parametrize("opcode", ["arange", "argmax", "argsort"])
def test_positions_reach_as_far_as_sizes_do(opcode):
    for reach, last in ((0, 4), (1000, 1000)):
        graph = Graph(reach)
        if opcode == "arange":
            node = graph.add(opcode, element_type=S32, stop=5)
        else:
            x = graph.parameter((5,), S32, graph.root)
            node = graph.add(opcode, (x,), element_type=S32, axis=0)
        assert node.interval == (0, last)


def test_what_is_raised_by_how_much_there_is_has_one_text():
    def recurrent(x, w):
        return lax.scan(lambda h, row: (jnp.tanh(row @ w + h),) * 2, jnp.zeros(w.shape[1]), x)[1]

    def solved(a, b):
        return jax.scipy.linalg.solve_triangular(a, b, lower=True)

    source = xla2py.emit(xla2py.from_jax(recurrent, xla2py.array("T, D"), xla2py.array("D, K"))).source
    assert source.index("x @ w") < source.index("for i in range(t)")
    source = xla2py.emit(xla2py.from_jax(solved, xla2py.array("N, N"), xla2py.array("N, K"))).source
    assert "SOLVE_BLOCK" in source and '"N": range(2, 2**63)' in source


def test_lines_are_as_short_as_the_names_of_sizes_let_them():
    def spread(image):
        flat = jnp.clip(image, 0, 255).reshape(-1)
        counts = jnp.zeros(256, jnp.int32).at[flat].add(1)
        return jnp.cumsum(counts).astype(jnp.float32) / flat.size

    source = xla2py.emit(xla2py.from_jax(spread, xla2py.array("HEIGHT, WIDTH", "int32"))).source
    body = source[source.index("def main") : source.index("dtype_name = ")]
    assert "reshape(-1)" in body and body.count("(\n") == 0
    assert "/ (height * width)\n" in body  # a comment would be too much

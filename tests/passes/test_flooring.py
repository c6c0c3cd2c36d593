"""``//`` and ``%`` by a positive number, and operations on constants: worked out while a program is lowered."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, assert_agrees, cases, entry, hlo, lacks, main, optimised
from xla2py.tests.recording.lazy_jax import jax, jnp

ENDS = [np.iinfo(np.int32).min, np.iinfo(np.int32).max]
X = np.array([*range(-9, 10), *ENDS], np.int32)
BYTES = np.arange(-128, 128, dtype=np.int8)
SMALL = tuple(array.ravel() for array in np.meshgrid(X[:6], np.array([-3, -1, 2, 5], np.int32)))
FLOATS = np.array([-7.5, -3, -0.0, 0, 7.5, np.nan, np.inf], np.float32)


def assert_exact(text, *inputs):
    assert_agrees(text, *inputs, without="flooring", budget=EXACT)


test_integers = cases("flooring", budget=EXACT)(
    (lambda x: x // 2, X, "return x // 2"),
    (lambda x: x // 7, BYTES, "return x // 7"),
    (lambda x: x // 1, X, "return x"),
    (lambda x: x % 7, BYTES, "return x % 7"),
    (lambda x: jnp.divmod(x, 5), X, "return x // 5, x % 5"),
    (lambda x: x + jnp.arange(21) // 2, X, "return x + np.arange(21, dtype=np.int32) // 2"),
    (lambda x: x[:0] // 3, X, "return np.zeros(0, dtype=np.int32)"),
    (lambda x: x * (x // 3)[:, None], X, "return x * (x // 3)[:, None]"),
    (lambda x: jax.lax.rem(x, 1), X, "return np.zeros(21, dtype=np.int32)"),
    (lambda x: jax.lax.rem(x, -1), X, "return np.zeros(21, dtype=np.int32)"),
    (lambda x: x + jnp.int32(-7) // jnp.int32(2), X, "return x - 4"),
    (lambda x: x + jnp.int32(-7) % jnp.int32(4), X, "return x + 1"),
    (lambda x: x + jnp.sign(jnp.int32(-3)), X, "return x - 1"),
    (lambda x: x + jnp.where(jnp.int32(3) > 2, jnp.maximum(jnp.int32(5), 4), 0), X, "return x + 5"),
)


def in_loop(function):
    return lambda x, n: jax.lax.fori_loop(0, 5, lambda i, total: total + function(i, n), x)


test_counters_of_loops_by_unknown_numbers = cases("flooring", budget=EXACT)(
    (in_loop(lambda i, n: i // n), (X, np.int32(-2)), "int_divide(value, n)"),
    (in_loop(jax.lax.rem), (X, np.int32(0)), "int_remainder(np.int32(i), n)"),
    (in_loop(jax.lax.shift_right_logical), (X, np.int32(1)), "shift_right_logical(np.int32(i), n)"),
)


@pytest.mark.parametrize("divisor", [3, 8, 2**30])
@pytest.mark.parametrize(("function", "expected"), [(jnp.floor_divide, "x // {}"), (jnp.mod, "x % {}")])
def test_after_optimisation(function, expected, divisor):
    text = optimised(lambda x: function(x, divisor), X)
    assert main(text) == f"return {expected.format(divisor)}"
    assert "np.where" in main(text, disable_passes=["flooring"])
    assert_exact(text, X)


test_cut_by_a_power_of_2 = cases(
    "flooring", claims=[lacks("np.where"), "int_divide(x, ", "int_remainder(x, "], budget=EXACT, forms=(optimised,)
)(
    *(
        (lambda x: (jax.lax.div(x, jnp.asarray(4, x.dtype)), jax.lax.rem(x, jnp.asarray(4, x.dtype))), x)
        for x in (X, BYTES)
    )
)

test_other_masks_and_shifts = cases("flooring", X, claims=[lacks("int_", "%")], budget=EXACT)(
    lambda x: jnp.where(x < 0, -(jnp.where(x < 0, -x, x) & 6), jnp.where(x < 0, -x, x) & 6),
    lambda x: jnp.where(x < 0, -(jnp.where(x < 1, -x, x) & 7), jnp.where(x < 1, -x, x) & 7),
    lambda x: jnp.where(x < 1, -(jnp.where(x < 1, -x, x) & 7), jnp.where(x < 1, -x, x) & 7),
    lambda x: jnp.where(x < 0, jnp.where(x < 0, -x, x) & 7, -(jnp.where(x < 0, -x, x) & 7)),
    lambda x: jnp.where(x < 0, -(jnp.where(x < 0, -x, x) >> 3), jnp.where(x < 0, -x, x) >> 3),  # of -2**31: not,
)


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8])
@pytest.mark.parametrize("form", [hlo, optimised])
def test_remainders_by_what_may_be_0(dtype, form):
    ends = np.iinfo(dtype)
    x, y = (
        array.ravel() for array in np.meshgrid(*[np.array([ends.min, 0, 1, 2, 5, 7, ends.max, -1]).astype(dtype)] * 2)
    )
    text = form(lambda x, y: x % y, x, y)
    assert main(text) == "return x % y"
    assert_agrees(text, x, y, without="remainders", budget=EXACT)
    assert "x % y" not in xla2py.emit(text, "cupy").source


test_other_remainders = cases("remainders", *SMALL, claims=["int_remainder"], budget=EXACT)(
    lambda x, y: jax.lax.rem(x, y),
    lambda x, y: jax.lax.rem(x, jnp.where(y == 0, 1, y)),
    lambda x, y: jax.lax.rem(x, jnp.where(y == 0, 2, y)) % 7,
)

test_what_constants_and_signs_prove = cases("flooring", X, budget=EXACT)(
    (lambda x: x % 3, FLOATS, "rest = np.fmod(x, 3)\nreturn np.where(rest < 0, rest + 3, rest)"),
    (lambda x: jnp.negative(-x), "return x"),
    (lambda x: (x < 0) & (x != 0) | (x < 0) & (x != 1), "x != 1", lacks("x != 0")),
)

test_other_quotients_are_cut = cases("flooring", X, claims=["int_divide", lacks("//")], budget=EXACT)(
    lambda x: x // -2,
    lambda x: x // x[::-1],
    lambda x: jax.lax.div(x, 2),
    lambda x: jnp.where((jnp.sign(x) != 1) & (jax.lax.rem(x, 3) != 0), jax.lax.div(x, 2) - 1, jax.lax.div(x, 2)),
    lambda x: jnp.where((jnp.sign(x) != 1) & (jax.lax.rem(x, 2) != 1), jax.lax.div(x, 2) - 1, jax.lax.div(x, 2)),
    lambda x: jnp.where((jnp.sign(x) != 1) & (jax.lax.rem(x, 2) != 0), jax.lax.div(x, 2) - 2, jax.lax.div(x, 2)),
    lambda x: jnp.where((jnp.sign(x) != -1) & (jax.lax.rem(x, 2) != 0), jax.lax.div(x, 2) - 1, jax.lax.div(x, 2)),
)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: (x % 3) * y + x, "x % 3"),
        (lambda x, y: (x // 3) * y + x, "x // 3"),
        (lambda x, y: (x + y) * (jnp.arange(21) % 4), "% 4"),
    ],
)
def test_kernels_in_cpp_would_cut(function, expected):
    source = xla2py.emit(hlo(function, X, X), "cupy", style="fast").source
    is_in_kernel = expected not in source[source.index("def main") :]
    assert expected in source and is_in_kernel == expected.startswith("%")


@pytest.mark.parametrize(
    ("element_type", "operation", "expected"),
    [
        ("s32", "remainder(-7, 3)", "-1"),
        ("s32", "remainder(7, -3)", "1"),
        ("s32", "remainder(-2147483648, -1)", "0"),
        ("s32", "remainder(7, 0)", None),
        ("s32", "divide(-7, 2)", "-3"),
        ("s32", "divide(7, 0)", None),
        ("s32", "divide(-2147483648, -1)", None),
        ("u32", "divide(4294967295, 2)", "2147483647"),
        ("s32", "sign(-5)", "-1"),
        ("f32", "sign(-0)", "-0.0"),
        ("f32", "sign(nan)", "np.nan"),
        ("f32", "sign(-inf)", "-1"),
        ("f32", "remainder(-7, 2)", "-1"),
        ("f32", "remainder(7, 0)", "np.nan"),
        ("f32", "round-nearest-even(2.5)", "2"),
        ("f32", "round-nearest-even(-0.25)", "-0.0"),
        ("f32", "round-nearest-afz(2.5)", "3"),
        ("f32", "round-nearest-afz(-0.5)", "-1"),
        ("f32", "round-nearest-afz(0.49999997)", "0"),
        ("f32", "round-nearest-afz(-0.25)", "-0.0"),
        ("s32", "shift-left(3, 4)", "48"),
        ("s32", "shift-right-arithmetic(-9, 1)", "-5"),
        ("s32", "shift-right-logical(-1, 28)", "15"),
        ("s32", "shift-left(3, 40)", None),
    ],
)
def test_constants(element_type, operation, expected):
    name, _, operands = operation.rstrip(")").partition("(")
    numbers = [f"n{k} = {element_type}[] constant({value})" for k, value in enumerate(operands.split(", "))]
    text = entry(*numbers, f"r = {element_type}[] {name}({', '.join(f'n{k}' for k in range(len(numbers)))})")
    if expected is None:  # XLA's own compiler divides by 0 here, and dies
        left = main(text, disable_passes=["constants"])
        assert "divide" in left or "remainder" in left or "<<" in left
    else:
        dtype = {"s32": "int32", "u32": "uint32", "f32": "float32"}[element_type]
        assert_exact(text)
        assert main(text) == f"return np.{dtype}({expected})"


def test_a_kernel_multiplies_by_what_is_left():
    function = lambda x, y: y * (x % np.uint32(3))  # noqa: E731
    text = hlo(function, X.astype(np.uint32), X.astype(np.uint32))
    assert "y * (x % 3u)" in xla2py.emit(text, "cupy", style="fast").source


DIVIDENDS = np.float32([0, -0.0, 1, -1, 4, -4, 1e30, -1e30, np.inf, -np.inf, np.nan, 3.9999998, -1e-30, 5.5, -5.5])
DIVISORS = np.float32([4, -4, 0.3, np.inf, -np.inf, 0, np.nan])
DIVIDED = tuple(array.ravel() for array in np.meshgrid(DIVIDENDS, DIVISORS))

test_remainders_of_floats_where_0_needs_no_sign = cases("remainders", *DIVIDED, budget=EXACT, forms=(hlo, optimised))(
    (lambda x, y: x % 4 - 2, "return np.mod(x, 4) - 2"),
    (lambda x, y: (x + 2) % 6.5 - 3.25, "return np.mod(x + 2, 6.5) - 3.25"),
    (lambda x, y: x % y - 2, "return np.mod(x, y) - 2"),
    (lambda x, y: x % y > 2, "return np.mod(x, y) > 2"),
    (lambda x, y: abs(x % 4 * 6 - 3) - 1, "np.abs(np.mod(x, 4) * 6 - 3) - 1"),
    (lambda x, y: x % 4 * -0.5 / 3 > 0, "np.mod(x, 4)"),
    (lambda x, y: jnp.floor(x % 4 * 6), "np.floor(np.mod(x, 4) * 6)"),
    (lambda x, y: jnp.ceil((x % y) / 4), "np.mod(x, y)"),
    (lambda x, y: (x % 4 * 6).astype(jnp.int32), "np.mod(x, 4) * 6"),
    # near-misses: one sees the sign of 0, or the remainder itself; there is no such number
    (lambda x, y: x % 4, "np.fmod"),
    (lambda x, y: 1 / (x % y), "np.fmod"),
    (lambda x, y: jnp.copysign(y, x % 4 * 6), "np.fmod"),
    (lambda x, y: 1 / jnp.floor(x % 4), "np.fmod"),
    (lambda x, y: 1 / (x % 4 * 6) + (x % 4 - 2), "np.fmod"),
    (lambda x, y: jax.lax.rem(x, jnp.float32(4)) * (x % 4 - 2), "np.fmod"),
    (lambda x, y: x % -4 - 2, "np.fmod"),
)

"""The pass ``constants`` works out what depends on no argument: numbers and short tables; structure stays."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, ROUNDED, assert_agrees, cases, entry, hlo, lacks, main
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.passes.constants.rounded import rounded

X = np.arange(4, dtype=np.float32)


def agrees(function, *arguments, budget=EXACT):
    assert_agrees(hlo(function, *arguments), *arguments, without="constants", budget=budget)


X23 = np.arange(6, dtype=np.float32).reshape(2, 3)
THIRDS = "c = f32[] constant(0.5)", "f = f32[4] broadcast(c), dimensions={}"
COLUMN = (
    "c = f32[] constant(0.5)",
    "d = f32[2] broadcast(c), dimensions={}",
    "f = f32[2,3] broadcast(d), dimensions={0}",
)

test_constants = cases("constants", X, budget=EXACT)(
    (lambda x: x * jnp.array([1, 2, 3, 4.0]) ** 2, "return x * np.array([1, 4, 9, 16], dtype=np.float32)"),
    (lambda x: x + jnp.cumsum(jnp.ones(4))[2]),
    (lambda x: x[jnp.array([3, 1]) - 1], "return x[[2, 0]]"),
    (lambda x: x * jnp.isfinite(jnp.array([1.0, jnp.inf, 2, 3]))),
    (lambda x: jnp.where(jnp.arange(4) < 9, x, 0), "return x"),
    (lambda x: jnp.where((jnp.array([3.0, 1, 0, 2]) < 9)[:, None], x, 9), "np.broadcast_to(x, (4, 4))"),
    (lambda x: jnp.repeat(x[:1], jnp.array([3]), total_repeat_length=3), lacks("where")),
    (lambda x: x + (jnp.arange(4) * 0 + 2), "return x + 2"),
    (lambda x: x + jnp.ones((2, 4)).sum(0), "return x + 2"),
    (lambda x: x + jnp.full(3, 1.5).sum(), "return x + 4.5"),
    (entry("x = f32[4] parameter(0)", *THIRDS, "y = f32[4] multiply(f, x)"), "return 0.5 * x"),
    (entry("x = f32[2,3] parameter(0)", *COLUMN, "y = f32[2,3] multiply(f, x)"), X23, "return 0.5 * x"),
    (lambda x: x * jnp.zeros((4, 0)).dot(jnp.ones(0)), "return x * 0"),
    (lambda x: jnp.repeat(x, np.array([1, 2, 0, 1])), "return x[[0, 1, 1, 3]]"),
    (lambda x: x * jnp.arange(4).at[1].set(7)[jnp.array([3, 1, 0, 0])]),
    (lambda x: x + jnp.cumprod(jnp.array([2, -3, 4, 5]))),
    (lambda x: x + jnp.zeros(4, int).at[jnp.array([1, 1, 3, -1])].add(jnp.array([5, 6, 7, 8]))),
    (lambda x: x + jnp.zeros(4, int).at[jnp.array([1, 9, 3, -9])].max(jnp.array([5, 6, 7, 8]))),
    (lambda x: jnp.take(x, jnp.cumsum(jnp.array([0, 5, -7])))),  # outside: NaN
    (lambda x: x + jnp.nextafter(jnp.float32(1), jnp.float32(jnp.inf)), "return x + 1.0000001"),
)

test_structure_and_long_tables_stay = cases("constants", X)(
    (lambda x: x * jnp.arange(64.0)[:, None], "np.arange(64"),
    (lambda x: jnp.eye(16)[:, :4] * x, "np.eye("),
    (lambda x: x + (jnp.arange(400)[:, None] % 7).astype(jnp.float32) ** 3, "np.arange(400"),
)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint32, np.int32])
def test_shifts_of_constants(dtype):
    """An arithmetic shift repeats the first bit of numbers without a sign, too."""
    first_bit = dtype(np.iinfo(dtype).max // 2 + 1)
    for shift in (jax.lax.shift_right_arithmetic, jax.lax.shift_right_logical, jax.lax.shift_left):
        agrees(lambda x, shift=shift: x + shift(jnp.full(4, first_bit), dtype(2)), np.zeros(4, dtype))


@pytest.mark.parametrize("function", [jnp.cosh, jnp.sinh, lambda z: z * jnp.angle(jnp.complex64(1 + 2j))])
def test_parts_of_complex_numbers(function):
    """Programs of them are as short as those of real numbers."""
    z = np.complex64([0.5 - 1j, 2 + 3j, -0.25j, 1])
    assert ".imag" not in main(hlo(function, z)) and main(hlo(function, z)).count("\n") < 4
    agrees(function, z, budget=ROUNDED)


NUMBERS = "x = f32[3] parameter(0)", "c = f32[3] constant({1, 2, 3})"
test_what_processors_round_differently_stays = cases("constants", X[:3])(
    (entry(*NUMBERS, "e = f32[3] exponential(c)", "y = f32[3] add(x, e)"), "np.exp(np.array([1, 2, 3]")
)


def scalar(opcode, *numbers):
    names = "abc"[: len(numbers)]
    constants = [f"{name} = f32[] constant({number})" for name, number in zip(names, numbers, strict=True)]
    return entry("x = f32[3] parameter(0)", *constants, f"e = f32[] {opcode}({', '.join(names)})", *SCALED)


SCALED = ("s = f32[3] broadcast(e), dimensions={}", "y = f32[3] multiply(x, s)")

test_functions_of_numbers_are_worked_out = cases("constants", X[1:])(
    (scalar("exponential", "1"), "return x * 2.7182817"),
    (scalar("log-plus-one", "0.2"), "return x * 0.18232156"),
    (scalar("sine", "3.1415927"), "return x * -8.742278e-8"),
    (scalar("power", "0.5", "1.5"), "return x * 0.35355338"),
    (scalar("log", "0"), "return x * -np.inf"),
    (scalar("atan2", "1", "-1"), "return x * 2.3561945"),
    (scalar("log", "-1"), lacks("np.nan")),  # no numbers
    (scalar("power", "-2", "0.5"), lacks("np.nan")),
    scalar("log", "nan"),
)


def double(opcode, *numbers):
    return scalar(opcode, *numbers).replace("f32", "f64")


test_functions_of_float64_are_worked_out_in_decimals = cases("constants", np.linspace(-2, 2, 3))(
    (double("exponential", "1"), "return x * 2.718281828459045"),
    (double("exponential-minus-one", "1e-5"), "return x * 1.0000050000166668e-5"),
    (double("log", "0.1"), "return x * -2.3025850929940455"),
    (double("log-plus-one", "0.2"), "return x * 0.18232155679395465"),
    (double("log-plus-one", "1e-300"), "return x * 1e-300"),
    (double("power", "0.5", "1.5"), "return x * 0.3535533905932738"),
    (double("log", "0"), "np.log(np.float64(0))"),
    (double("log-plus-one", "-0"), "return x * -0.0"),
    (double("sine", "0"), "return x * 0"),
    (double("exponential", "1000"), "np.exp(np.float64(1000))"),
    (double("power", "-2", "0.5"), "np.float64(-2)"),
    (double("sine", "3"), "np.sin(np.float64(3))"),
)


def test_what_is_rounded_in_doubt_stays():
    middle = np.float64(1) + 2.0**-24  # between two numbers of float32
    assert rounded(lambda x: x + 2.0**-24, [np.float32(1)]) is None
    assert rounded(lambda x: x + 2.0**-22, [np.float32(1)]) == np.float32(middle + 2.0**-22)
    assert rounded(np.exp, [np.float64(1)]) is None


@pytest.mark.texts_of("0.10")
def test_densities_of_given_parameters_have_numbers_of_them():
    """``lgamma`` of a number, and the sum of two that nobody else reads."""

    def program(x):
        weights = jnp.array([2.5, 3.5])
        return x * (jax.lax.lgamma(jnp.float32(4.5)) - jax.lax.lgamma(weights).sum()) - jnp.log1p(jnp.float32(0.25))

    assert main(hlo(program, X)) == "return x * 0.9680815 - 0.22314355"
    agrees(program, X, budget=ROUNDED)


@pytest.mark.parametrize(
    ("number", "converted", "expected"),
    [
        ("4.5", "f32", "return x * 2.4537365"),
        ("2", "f32", "return x * 0"),
        ("4.5", "f64", "x * lgamma(np.float64(4.5))"),
    ],
)
def test_numbers_that_are_computed_in_float64_and_cut_are_known(number, converted, expected):
    call = 'l = f64[] custom-call(n), custom_call_target="chlo.lgamma"'
    text = entry(
        *(f"x = {converted}[4] parameter(0)", f"n = f64[] constant({number})", call),
        *([f"c = {converted}[] convert(l)"] if converted != "f64" else []),
        f"r = {converted}[4] broadcast({'l' if converted == 'f64' else 'c'}), dimensions={{}}",
        f"y = {converted}[4] multiply(x, r)",
    )
    assert expected in main(text)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("start", [0, 1, 2, 9])
def test_an_update_of_a_constant_by_a_constant(start, size):
    text = entry(
        *("x = f32[6] parameter(0)", "z = f32[] constant(0)", "zeros = f32[6] broadcast(z), dimensions={}"),
        *(f"t = f32[{size}] constant({{{', '.join('1234'[:size])}}})", f"squares = f32[{size}] multiply(t, t)"),
        *(f"q = s32[] constant({start})", "u = f32[6] dynamic-update-slice(zeros, squares, q)", "y = f32[6] add(x, u)"),
    )
    x = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(xla2py.emit(text).load().main(x), run_hlo_in_child(text, x)[0])
    assert main(text).startswith("return x + np.array(")


def test_numbers_are_compared_in_their_total_order():
    text = entry(
        "a = f32[] constant(-0)", "b = f32[] constant(0)", "y = pred[] compare(a, b), direction=LT, type=TOTALORDER"
    )
    assert xla2py.emit(text).load().main()


def test_a_table_that_is_read_elsewhere_stays_beside_its_sum():
    text = entry(
        *("x = f32[2] parameter(0)", "c = f32[2] constant({-1, 1})", "e = f32[2] exponential(c)"),
        *("z = f32[] constant(0)", "t = f32[] reduce(e, z), dimensions={0}, to_apply=add"),
        *("s = f32[2] broadcast(t), dimensions={}", "p = f32[2] multiply(x, e)", "y = f32[2] divide(p, s)"),
        functions="add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }",
    )
    assert "np.exp(np.array([-1, 1]" in main(text) and ".sum()" in main(text)
    assert_agrees(text, X[:2], without="constants")


ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }"


def summed(numbers):
    given = "x = f32[] parameter(0)", f"c = f32[3] constant({{{numbers}}})", "z = f32[] constant(0)"
    return entry(
        *given, "s = f32[] reduce(c, z), dimensions={0}, to_apply=add", "y = f32[] multiply(x, s)", functions=ADD
    )


test_sums_whose_order_or_sign_may_matter_stay = cases("constants", np.float32(1.5), claims=[".sum()"])(
    *map(summed, ("0.1, 1.5, 2", "-0, -0, -0", "16777216, 1, 1", "inf, 1, 1", "nan, 1, 2"))
)


SPECIAL = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 3e9, -3e9, 1e-30], np.float32)


def special(*lines):
    given = "x = f32[] parameter(0)", f"c = f32[10] constant({{{', '.join(map(str, SPECIAL))}}})"
    return entry(*given, *lines, f"t = ({lines[-1].split()[2]}, f32[]) tuple(y, x)")


TURNED = "r = f32[10] reverse(c), dimensions={0}"
test_special_floats_are_those_of_hlo = cases("constants", np.float32(1), budget=EXACT)(
    special("y = s32[10] convert(c)"),
    special("y = u8[10] convert(c)"),
    special("y = f32[10] sign(c)"),
    special("y = f32[10] round-nearest-afz(c)"),
    special("y = pred[10] is-finite(c)"),
    special("y = s32[10] bitcast-convert(c)"),
    special(TURNED, "y = f32[10] maximum(c, r)"),
    special(TURNED, "y = f32[10] subtract(c, r)"),
    special(TURNED, "y = pred[10] compare(c, r), direction=LE"),
    special(TURNED, "y = f32[10] remainder(c, r)"),
)


@pytest.mark.parametrize(
    "opcode", ["divide", "remainder", "shift-left", "shift-right-logical", "shift-right-arithmetic"]
)
def test_integers_at_their_limits(opcode):
    low = np.iinfo(np.int32).min
    a, b = [low, low, 7, -7, -7, 5, 1, -1], [-1, 2, 0, 2, -2, 33, 31, 31]
    operation = f"y = s32[8] {opcode}(a, b)"
    expected = run_hlo_in_child(
        entry("a = s32[8] parameter(0)", "b = s32[8] parameter(1)", operation), np.int32(a), np.int32(b)
    )
    constant = [f"{name} = s32[8] constant({{{', '.join(map(str, x))}}})" for name, x in (("a", a), ("b", b))]
    found = xla2py.emit(entry(*constant, operation)).load().main()  # XLA dies of constants that are divided by 0
    np.testing.assert_array_equal(found, expected[0], strict=True)


def with_zeros(function):
    return lambda x: function(x, jax.vmap(lambda place: place * 0.0)(jnp.arange(4.0)))


test_numbers_that_change_nothing_are_left_out = cases("constants", np.float32([0, -0.0, np.nan, np.inf]), budget=EXACT)(
    (with_zeros(lambda x, zeros: x - zeros), "return x"),
    (with_zeros(lambda x, zeros: x * (zeros + 1)), "return x"),
    (with_zeros(lambda x, zeros: x / (zeros + 1)), "return x"),
    (with_zeros(lambda x, zeros: x - -zeros), "x - -0.0"),  # which is +0 where x is -0
    (with_zeros(lambda x, zeros: x - zeros[0] * jnp.inf), "np.nan"),
)


def with_zero(*lines):
    """``0 * c`` of a constant, which is 0 only when that is worked out, added to what these lines call y."""
    zeros = ("c = f32[6] iota(), iota_dimension=0", "n = f32[6] multiply(c, c)", "zeros = f32[6] subtract(n, n)")
    halves = ("half = f32[] constant(0.5)", "h = f32[6] broadcast(half), dimensions={}")
    return entry("x = f32[6] parameter(0)", *halves, *zeros, *lines, "z = f32[6] add(y, zeros)")


ZEROS = np.float32([0.5, -0.5, 0, -0.0, np.inf, np.nan])
test_a_zero_that_is_worked_out_is_not_added_to_what_is_never_minus_zero = cases("constants", ZEROS)(
    (with_zero("y = f32[6] add(x, h)"), "return x + 0.5"),
    (with_zero("y = f32[6] subtract(x, h)"), "return x - 0.5"),
    (with_zero("y = f32[6] multiply(x, h)"), "return x * 0.5 + 0"),
)


def sum_of(count, number):
    """``x`` and the sum of equal numbers."""
    add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }"
    lines = (f"n = f32[] constant({number})", f"ns = f32[{count}] broadcast(n), dimensions={{}}")
    total = "total = f32[] reduce(ns, zero), dimensions={0}, to_apply=add"
    total = ("zero = f32[] constant(0)", total, "totals = f32[6] broadcast(total), dimensions={}")
    return entry("x = f32[6] parameter(0)", *lines, *total, "y = f32[6] multiply(x, totals)", functions=add)


test_a_few_equal_numbers_are_added_up = cases("constants", ZEROS)(
    (sum_of(12, 0.1), "return x * 1.2"), (sum_of(65, 0.1), "np.full(65"), (sum_of(65, 0.5), "return x * 32.5")
)


test_multiples_of_the_identity_stay = cases("constants", X23[:, :2])(
    (lambda x: x + 1e-9 * jnp.eye(2), "return x + np.eye(2, dtype=np.float32) * 1e-9"),
    (lambda x: x + 0.5 * jnp.eye(2), "return x + np.eye(2, dtype=np.float32) * 0.5"),
    (lambda x: x * (1 - jnp.eye(2)), "return x * np.array([[0, 1], [1, 0]], dtype=np.float32)"),
)


def test_divisions_of_negative_constants_are_rounded_down():
    def program(x):
        places = jax.numpy.arange(4) - 1
        return x + places % 4, x + places // 4

    x = np.int32([10, 20, 30, 40])
    first, second = xla2py.emit(xla2py.from_jax(program, x)).load().main(x)
    np.testing.assert_array_equal(first, np.add(x, [3, 0, 1, 2]))
    np.testing.assert_array_equal(second, np.add(x, [-1, 0, 0, 0]))

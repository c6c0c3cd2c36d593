"""The style ``fast`` of NumPy: integers wrap around, floats keep their type and their order, as HLO says."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.tests.ladder.fast_programs import COMBINERS, program
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.numpy_fast import as_in_xla, assert_as_in_xla, differences, emitted, kernels, results, rounds
from xla2py.tests.whole import crossed, much
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

TABLE = np.arange(24, dtype=np.float32).reshape(4, 6) - 7
INTEGERS = np.array([-(2**31), -7, -1, 0, 1, 5, 2**31 - 1], np.int32)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("s32[7] multiply(s, x)", "i4("),
        ("s32[7] subtract(s, y)", "i4("),
        ("s32[7] negate(s)", "i4(-"),
        ("s32[7] maximum(s, y)", "max("),
    ],
)
def test_integers_wrap_in_every_step(expression, said):
    lines = program(
        "x = s32[7] parameter(0)", "y = s32[7] parameter(1)", "s = s32[7] add(x, y)", f"ROOT r = {expression}"
    )
    assert differences(lines, [INTEGERS, INTEGERS[::-1].copy()]) == []
    assert said in emitted(lines).source


CHOSEN = [
    *("select(less, mixed, fives)", "maximum(mixed, fives)", "minimum(masked, mixed)"),
    *("clamp(five, mixed, x)", "select(less, masked, shifted)"),
]


@pytest.mark.parametrize(("expression", "kind"), crossed(CHOSEN, ["u64", "u8", "u32", "u16"]))
def test_numbers_without_a_sign_never_become_floats(expression, kind):
    """Numba joins an int64 and a uint64 to a float64."""
    lines = program(
        *(f"x = {kind}[7] parameter(0)", f"y = {kind}[7] parameter(1)", f"five = {kind}[] constant(5)"),
        *(f"fives = {kind}[7] broadcast(five), dimensions={{}}", f"mixed = {kind}[7] xor(x, y)"),
        *(f"masked = {kind}[7] and(x, fives)", f"shifted = {kind}[7] shift-right-logical(mixed, masked)"),
        *("less = pred[7] compare(x, y), direction=LT", f"chosen = {kind}[7] {expression}"),
        *(f"times = {kind}[7] multiply(chosen, x)", f"ROOT r = {kind}[7] xor(times, y)"),
    )
    largest = np.iinfo(ELEMENT_TYPES[kind].dtype).max
    x = np.array([0, 1, 5, largest // 3, largest // 2 + 1, largest - 1, largest], ELEMENT_TYPES[kind].dtype)
    assert differences(lines, [x, x[::-1].copy()]) == []


@pytest.mark.parametrize("step", ["add(x, ones)", "subtract(x, least)", "multiply(x, sevens)"])
def test_numbers_of_64_bits_wrap_around(step):
    """LLVM is told that int64 does not, and would take ``x + 1 > x`` for true."""
    lines = program(
        *("x = s64[7] parameter(0)", "one = s64[] constant(1)", "ones = s64[7] broadcast(one), dimensions={}"),
        *("seven = s64[] constant(7)", "sevens = s64[7] broadcast(seven), dimensions={}"),
        *("low = s64[] constant(-9223372036854775808)", "least = s64[7] broadcast(low), dimensions={}"),
        *("zero = s64[] constant(0)", "zeros = s64[7] broadcast(zero), dimensions={}", f"y = s64[7] {step}"),
        *("size = s64[7] abs(y)", "masked = s64[7] and(size, sevens)", "after = pred[7] compare(y, x), direction=GT"),
        "falls = pred[7] compare(y, zeros), direction=LT",
        "ROOT r = (s64[7], pred[7], pred[7]) tuple(masked, after, falls)",
    )
    bounds = np.iinfo(np.int64)
    x = np.array([0, 1, -1, bounds.max // 5, bounds.max - 1, bounds.max, bounds.min], np.int64)
    assert differences(lines, [x]) == []


def test_a_product_of_32_bits_without_a_sign_wraps_around():
    lines = program(
        *("x = u32[4] parameter(0)", "most = u32[] constant(4294967291)", "k = u32[4] broadcast(most), dimensions={}"),
        *("y = u32[4] multiply(x, k)", "three = u32[] constant(3)", "threes = u32[4] broadcast(three), dimensions={}"),
        "ROOT r = u32[4] divide(y, threes)",
    )
    assert differences(lines, [np.array([0, 1, 2**31 + 5, 2**32 - 1], np.uint32)]) == []


def test_floats_stay_floats_of_their_type():
    """Numba computes float32 with a Python number or an integer in float64."""
    text = program(
        "x = f32[64] parameter(0)",
        "n = s32[64] iota(), iota_dimension=0",
        "f = f32[64] convert(n)",
        "c = f32[] constant(0.1)",
        "d = f32[64] broadcast(c), dimensions={}",
        "a = f32[64] multiply(x, d)",
        "b = f32[64] add(a, f)",
        "e = f32[64] divide(b, d)",
        "ROOT r = f32[64] subtract(e, x)",
    )
    x = np.linspace(-3, 9, 64, dtype=np.float32)
    (made,) = results(emitted(text), [x])
    tenth = np.float32(0.1)
    assert np.abs(made - ((x * tenth + np.arange(64, dtype=np.float32)) / tenth - x)).max() <= 2e-4
    assert "f64" not in emitted(text).source


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_extremes_keep_nan_of_either_sign(axis, sign):
    x = TABLE.copy()
    x[1, 2], x[2] = np.copysign(np.float32(np.nan), sign), -np.inf
    for opcode, start, reduce in (("maximum", "-inf", np.max), ("minimum", "inf", np.min)):
        line = f"f32[{x.shape[1 - axis]}]"
        text = program(
            "x = f32[4,6] parameter(0)",
            "y = f32[4,6] negate(x)",
            f"start = f32[] constant({start})",
            f"ROOT r = {line} reduce(y, start), dimensions={{{axis}}}, to_apply=extreme",
        ).replace("ENTRY", COMBINERS.replace("larger", "extreme").replace("maximum", opcode) + "ENTRY")
        (made,) = results(emitted(text), [x])
        assert np.array_equal(made, reduce(-x, axis=axis), equal_nan=True)


@pytest.mark.compiled
@pytest.mark.parametrize("bits", [32, 64])
def test_extremes_of_numbers_in_loops_keep_nan(bits):
    def function(x, y):
        def step(state, pair):
            low, high = state
            low = pair[0] + jnp.minimum(jnp.minimum(pair[1], low), 3)
            high = jnp.maximum(jnp.clip(high, pair[1], 5), pair[0])
            return (low, high), (low, high, jnp.maximum(low, high))

        return jax.lax.scan(step, (jnp.inf * x[0], -x[0]), (x, y))[1]

    rng = np.random.default_rng(0)
    with jax.enable_x64(bits == 64):
        for place, special in ((7, np.nan), (0, np.inf), (3, -np.inf), (8, 0.0)):
            x, y = rng.normal(size=(2, 9)).astype(f"f{bits // 8}")
            x[0], y[place] = abs(x[0]), special
            module = as_in_xla(function, x, y)
    assert "scalar_minimum(scalar_minimum(" in rounds(module) and "np.m" not in rounds(module)


def test_sums_of_two_numbers_are_not_reordered():
    """The error of a sum, which any other order of the operations makes 0."""
    text = program(
        "x = f32[512] parameter(0)",
        "y = f32[512] parameter(1)",
        "s = f32[512] add(x, y)",
        "b = f32[512] subtract(s, x)",
        "e = f32[512] subtract(y, b)",
        "zero = f32[] constant(0)",
        "ROOT r = f32[] reduce(e, zero), dimensions={0}, to_apply=sum",
    ).replace("ENTRY", COMBINERS + "ENTRY")
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=512).astype(np.float32) * scale for scale in np.float32([1000, 1]))
    (made,) = results(emitted(text), [x, y])
    expected = (y - ((x + y) - x)).sum()
    assert expected != 0
    assert abs(made - expected) <= 1e-6


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("exponent", [1.5, -1.5, 2.5])
def test_powers_of_halves(kind, exponent):
    dtype = ELEMENT_TYPES[kind].dtype
    numbers = [0, -0.0, 1, 2, 1e-30, 3e-39, 1e25, 1e30, 7.3, -1, -1e30, np.inf, -np.inf, np.nan]
    x = np.concatenate([np.array(numbers, dtype), np.random.default_rng(0).uniform(0, 100, 40).astype(dtype)])
    size = f"{kind}[{len(x)}]"
    text = program(
        f"x = {size} parameter(0)",
        f"y = {kind}[] constant({exponent})",
        *(f"z = {size} broadcast(y), dimensions={{}}", f"p = {size} power(x, z)", f"ROOT r = {size} add(p, x)"),
    )
    module = emitted(text)
    assert ("three_halves_power(" in module.source) == (exponent == 1.5)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), exponent).astype(dtype) + x
    np.testing.assert_allclose(results(module, [x])[0], expected, rtol=2 * np.finfo(dtype).eps)


@pytest.mark.compiled
@pytest.mark.parametrize("kind", much(["u64", "s4"], ["s8", "u16", "s32", "s64", "u64", "s4"]))
def test_integers_shift_by_any_amount_and_have_powers(kind):
    """Amounts that are negative or as large as the width, exponents that are negative; all of it joins one kernel."""
    bits, is_signed = ELEMENT_TYPES[kind].bits, ELEMENT_TYPES[kind].is_signed
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    numbers = [least, least + 1, most, most - 1, 0, 1, 2, 3, *([-1, -2, -3] if is_signed else [bits])]
    amounts = [0, 1, 2, bits - 1, min(bits, most), most, *([-1, least] if is_signed else [most - 1, 3])]
    dtype = ELEMENT_TYPES[kind].dtype
    x, n = (part.ravel() for part in np.meshgrid(np.array(numbers, dtype), np.array(amounts, dtype)))
    of_two = "shift-left shift-right-logical shift-right-arithmetic power mulhi".split()
    lines = [f"r{k} = {kind}[{len(x)}] {opcode}(x, n)" for k, opcode in enumerate(of_two)]
    lines += [f"r5 = {kind}[{len(x)}] popcnt(x)", f"r6 = {kind}[{len(x)}] count-leading-zeros(x)"]
    text = program(
        f"x = {kind}[{len(x)}] parameter(0)",
        f"n = {kind}[{len(x)}] parameter(1)",
        *lines,
        f"ROOT r = ({', '.join([f'{kind}[{len(x)}]'] * 7)}) tuple({', '.join(f'r{k}' for k in range(7))})",
    )
    module = emitted(text)
    assert len(kernels(module)) >= 1 and "int_power(x, n)" not in module.source.split("def main")[1].split("def ")[0]
    expected = xla2py.emit(text).load().main(x, n)
    assert [np.array_equal(one, same) for one, same in zip(results(module, [x, n]), expected, strict=True)] == [
        True
    ] * 7


def of_bits(x, n):
    """The bits of floats, floats of bits, and Python's quotients and remainders of them."""
    bits, signed = jax.lax.bitcast_convert_type(x, jnp.int32), jax.lax.bitcast_convert_type(n, jnp.int32)
    uniform = jax.lax.bitcast_convert_type((n >> 9) | jnp.uint32(0x3F800000), jnp.float32) - 1
    return (bits & 0x7FFFFF) + 1, uniform * 2 + x, signed // 3 - signed % 7, n // 3 + n % 7, signed % 8 + signed // 8


def test_bits_are_numbers_of_another_type_and_quotients_those_of_python():
    x = np.array([0, -0.0, 1.5, np.inf, -np.inf, -2, 3e30, 7], np.float32)
    n = np.array([0, 1, 2**31, 2**32 - 1, 5, 9, 2**31 - 1, 2**31 + 1], np.uint32)
    module = xla2py.emit(xla2py.from_jax(of_bits, x, n), style="fused", format=False, checks=False)
    main = module.source.split("def main")[1].split("def ")[0]
    assert "//" not in main and ".view(" not in main
    assert_as_in_xla(module, of_bits, (x, n), 0)


def test_truths_are_added_by_or_and_multiplied_by_and():
    lines = [f"{op} = pred[4] {op}(x, y)" for op in ("add", "multiply", "maximum", "minimum")]
    text = program(
        "x = pred[4] parameter(0)",
        "y = pred[4] parameter(1)",
        *lines,
        "ROOT r = (pred[4], pred[4], pred[4], pred[4]) tuple(add, multiply, maximum, minimum)",
    )
    x, y = np.array([0, 0, 1, 1], np.bool_), np.array([0, 1, 0, 1], np.bool_)
    assert len(kernels(emitted(text))) >= 1
    assert differences(text, [x, y]) == []


def elements(dtype, size, *operations):
    """A chain of operations of one operand on an array."""
    chain = [f"x{k + 1} = {dtype}[{size}] {each}(x{k})" for k, each in enumerate(operations)]
    return program(f"x0 = {dtype}[{size}] parameter(0)", *chain[:-1], f"ROOT {chain[-1]}")


@pytest.mark.parametrize(
    ("lines", "is_fused"),
    [
        (elements("f32", 5000, "negate", "sine", "abs"), False),
        (elements("f32", 5000, "negate", "sine", *["negate", "sqrt", "abs"] * 2), True),
        (elements("f32", 5000, "negate", "cbrt", "abs"), False),
        (elements("f64", 5000, "negate", "tan"), False),
        (elements("f64", 5000, "negate", "cbrt", "abs"), True),
        (elements("f64", 5000, "negate", "tan", "sqrt", "negate", "exponential"), True),
    ],
)
def test_functions_that_numpy_computes_faster_stay_its_own(lines, is_fused):
    x = np.linspace(-9, 9, 5000).astype(np.float64 if "f64" in lines else np.float32)
    assert differences(lines, [x], xla2py.emit(lines, style="fast")) == []
    assert bool(kernels(xla2py.emit(lines, style="fast"))) == is_fused


@pytest.mark.parametrize(("size", "is_small"), [(100, True), (5000, False)])
def test_functions_of_small_arrays_are_calls(size, is_small):
    lines = program(
        *(f"z = c64[{size}] parameter(0)", f"x = f32[{size}] real(z)", f"y = f32[{size}] imag(z)"),
        *(f"n = f32[{size}] negate(y)", f"c = c64[{size}] complex(x, n)", f"ROOT r = c64[{size}] multiply(c, c)"),
    )
    module = xla2py.emit(lines, style="fast")
    assert differences(lines, [np.linspace(-2, 2 + 1j, size, dtype=np.complex64)], module) == []
    assert ("np.conj(z)" in module.source or "z.conj()" in module.source) == is_small


REGISTERS = {
    "changed if true": (lambda c, k: jnp.where(c & 1 == 1, (c >> 1) ^ k, c >> 1), True),
    "changed if false": (lambda c, k: jnp.where(c & 1 == 0, c >> 1, k ^ (c >> 1)), True),
    "the other operand": (lambda c, k: jnp.where(c & 2 == 0, (c >> 1) ^ k, k), True),
    "another number": (lambda c, k: jnp.where(c & 1 == 1, (c >> 1) ^ k, c >> 2), False),
    "another operation": (lambda c, k: jnp.where(c & 1 == 1, (c >> 1) | k, c >> 1), False),
}


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", ["uint32", "int8"])
@pytest.mark.parametrize("form", REGISTERS)
def test_bits_that_are_chosen_are_added_to_those_of_every_round(form, dtype):
    """So LLVM computes several rounds at once."""
    step, is_added = REGISTERS[form]

    def register(data, k):
        return jax.lax.fori_loop(0, len(data) * 8, lambda i, c: step(c ^ data[i // 8], k), ~(k ^ k))

    info = np.iinfo(dtype)
    data = np.array([info.min, info.max, 3, 77], dtype)
    text = rounds(as_in_xla(register, data, np.array(info.max - 18, dtype)))
    assert (") ^ (" in text or "k ^ (" in text) == is_added


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.compiled
def test_numbers_in_compiled_loops_are_cut_to_integers_as_in_xla(dtype):
    ends = [np.nan, np.inf, -np.inf, 2.0**31, -(2.0**31), 2.0**31 - 1, 2.0**31 + 256, -(2.0**31) - 256, -0.5, 1e9, 0.99]
    lines = program(f"x = {dtype[0]}{dtype[5:]}[11] parameter(0)", "ROOT r = s32[11] convert(x)")
    module = emitted(lines)
    assert "scalar_to_int32(" in module.source
    assert differences(lines, [np.array(ends, dtype)], module) == []

"""Narrow floats in loops of Numba: rounded after every step, to the bit as in the readable style."""

import re

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

from numba import njit

import xla2py
from xla2py.templates.numpy.prelude import narrow, narrow_f8
from xla2py.templates.numpy.prelude.elements import scalar_reduce_precision
from xla2py.templates.prelude.floats import reduce_precision
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.targets.numpy_fast import emitted, kernels
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.equivalence.verdicts.comparison import compare
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

pytestmark = pytest.mark.compiled  # bits, of types that Numba gives them
KINDS = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
BYTES = "f8e3m4 f8e4m3 f8e4m3fn f8e4m3fnuz f8e4m3b11fnuz f8e5m2 f8e5m2fnuz".split()
BITS = np.arange(2**16, dtype=np.uint16)


def applied(function, numbers, dtype):
    return np.array([function(number) for number in numbers], dtype)


@pytest.mark.parametrize("name", KINDS)
def test_every_number_is_what_its_bits_say(name):
    numbers = applied(getattr(narrow, f"float_of_{name}"), BITS, np.float32)
    expected = BITS.view(KINDS[name]).astype(np.float32)
    assert np.array_equal(numbers, expected, equal_nan=True)
    assert np.array_equal(np.signbit(numbers), np.signbit(expected))
    again = applied(getattr(narrow, f"bits_of_{name}"), numbers, np.uint16)
    assert np.array_equal(again[~np.isnan(numbers)], BITS[~np.isnan(numbers)])
    assert np.isnan(again[np.isnan(numbers)].view(KINDS[name])).all()


@pytest.mark.parametrize("name", KINDS)
def test_numbers_are_rounded_to_the_next_one(name):
    """Halves go to even, what is too large is infinite; NaN of any payload stays NaN."""
    rng = np.random.default_rng(3)
    exact = BITS.view(KINDS[name]).astype(np.float32)
    halves = (exact.view(np.uint32) + np.uint32(0x8000 if name == "bf16" else 0x1000)).view(np.float32)
    small = rng.normal(size=4000).astype(np.float32) * np.float32(2.0**-16)
    numbers = np.concatenate([exact, halves, rng.integers(0, 2**32, 30000, np.uint32).view(np.float32), small])
    numbers = np.append(numbers, np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32))
    numbers = np.append(numbers, np.float32([65519.996, 65520, -65520, 3.4e38, 2.9802322e-08, 2.9802326e-08]))
    with np.errstate(all="ignore"):
        rounded, expected = applied(getattr(narrow, name), numbers, np.float32), numbers.astype(KINDS[name])
    assert np.array_equal(rounded, expected.astype(np.float32), equal_nan=True)
    is_number = ~np.isnan(numbers)
    assert np.array_equal(np.signbit(rounded[is_number]), np.signbit(numbers[is_number]))


@pytest.mark.parametrize("name", much(BYTES[2::3], BYTES))
def test_numbers_are_rounded_to_the_next_byte(name):
    """Every number of the kind, halves, numbers next to halves, all sizes; NaN, infinities and the sign of zero."""
    kind, floats = getattr(narrow_f8, name.upper()), getattr(narrow_f8, f"FLOATS_OF_{name.upper()}")

    @njit
    def bits_of(numbers, made):
        for k in range(len(numbers)):
            made[k] = narrow_f8.bits_of_f8(numbers[k], kind)

    exact = np.sort(floats[np.isfinite(floats)])
    halves = (exact[1:] + exact[:-1]) / 2
    beside = [np.nextafter(halves, np.float32(sign * np.inf)) for sign in (1, -1)]
    every = np.random.default_rng(3).integers(0, 2**32, 100000, np.uint32).view(np.float32)
    numbers = np.concatenate([exact, 1.07 * exact, halves, *beside, every, np.float32([-0.0, np.inf, -np.inf])])
    made = np.empty(len(numbers), np.uint8)
    bits_of(numbers, made)
    with np.errstate(all="ignore"):
        expected = numbers.astype(ELEMENT_TYPES[name].dtype)
    is_number = ~np.isnan(expected.astype(np.float32))
    assert np.array_equal(made[is_number], expected.view(np.uint8)[is_number])
    assert np.isnan(floats[made[~is_number]]).all()


@pytest.mark.parametrize("name", ["f4e2m1fn", "f8e8m0fnu"])
def test_numbers_are_rounded_to_the_next_of_few_bits(name):
    """Every number of the kind, halves, numbers next to halves, all sizes; NaN, infinities and the sign of zero."""
    bits_of = getattr(narrow_f8, f"bits_of_{name}")
    floats = getattr(narrow_f8, f"FLOATS_OF_{name.upper()}")[: 2 ** ELEMENT_TYPES[name].bits]
    exact = np.unique(floats[np.isfinite(floats)])
    halves = np.concatenate([exact[1:] / 2 + exact[:-1] / 2, np.float32([2.0**-127, 1.5 * 2.0**-127, 1.5 * 2.0**127])])
    beside = [np.nextafter(halves, np.float32(sign * np.inf)) for sign in (1, -1)]
    every = np.random.default_rng(3).integers(0, 2**32, 4000, np.uint32).view(np.float32)
    least = np.float32([1e-45, -1e-45, 0, -0.0, np.inf, -np.inf, np.nan])
    numbers = np.concatenate([exact, 1.07 * exact, halves, *beside, every, least])
    made = applied(bits_of, numbers, np.uint8)
    with np.errstate(all="ignore"):
        expected = numbers.astype(ELEMENT_TYPES[name].dtype)
    is_number = ~np.isnan(numbers)
    assert np.array_equal(made[is_number], expected.view(np.uint8)[is_number])
    assert np.array_equal(floats[made[~is_number]], expected[~is_number].astype(np.float32), equal_nan=True)


def test_float64_is_rounded_once():
    """A float64 next to the middle of two narrow numbers is not rounded as the middle, although its float32 is."""
    halves = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, 2.0**-25, 65520.0, 17.0, -19.0, 3.4e38, 1e300, np.inf, 0.0])
    numbers = np.concatenate([halves * (1 + step * 2.0**-50) for step in (-1, 0, 1)])
    numbers = np.concatenate([numbers, -numbers, [np.nan, 5e-324]])
    text = f"""ENTRY main {{ x = f64[{len(numbers)}] parameter(0)
      y = f16[{len(numbers)}] convert(x)  z = f8e4m3fn[{len(numbers)}] convert(x)
      ROOT r = (f16[{len(numbers)}], f8e4m3fn[{len(numbers)}]) tuple(y, z) }}"""
    module = emitted(text)
    assert kernels(module)
    half, byte = module.load(keep_compiled=False).main(numbers)
    with np.errstate(over="ignore"):  # XLA rounds to float16 twice, unless the processor does it
        assert np.array_equal(half, numbers.astype(np.float16), equal_nan=True)
    leaves = compare(run_hlo(text, numbers)[1:], [byte])
    assert [str(leaf) for leaf in leaves if not leaf.status.is_good] == []


@pytest.mark.parametrize("kind", much(["f8e4m3fnuz"], ["f8e3m4", "f8e4m3fnuz"]))
def test_whole_numbers_and_zeros_are_those_of_the_kind(kind):
    """The whole number above the largest is none; zero has no sign."""
    text = f"""ENTRY main {{
      x = {kind}[9] parameter(0)
      y = {kind}[9] ceil(x)
      one = {kind}[] constant(1)
      ones = {kind}[9] broadcast(one), dimensions={{}}
      z = {kind}[9] negate(y)
      w = {kind}[9] divide(ones, z)
      ROOT r = ({kind}[9], {kind}[9]) tuple(y, w)
    }}"""
    x = np.array([15.5, -15.5, 14.75, -0.25, 0.25, 0, -0.0, np.inf, np.nan]).astype(ELEMENT_TYPES[kind].dtype)
    module = emitted(text)
    assert kernels(module)
    with np.errstate(all="ignore"):
        for made, expected in zip(
            module.load(keep_compiled=False).main(x), xla2py.emit(text).load().main(x), strict=True
        ):
            assert np.array_equal(made.astype(np.float32), expected.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("kind", much(["f8e5m2"], ["f8e4m3fn", "f8e5m2"]))
def test_numbers_are_made_narrow_by_a_kernel(kind):
    """ml_dtypes makes them number by number."""
    text = f"ENTRY main {{ x = f32[8192] parameter(0)  ROOT r = {kind}[8192] convert(x) }}"
    module = xla2py.emit(text, style="fast")
    x = np.random.default_rng(0).normal(size=8192).astype(np.float32)
    assert len(kernels(module)) == 1
    made = module.load(keep_compiled=False).main(x)
    assert np.array_equal(made.view(np.uint8), x.astype(ELEMENT_TYPES[kind].dtype).view(np.uint8))


def program(kind: str) -> str:
    return f"""
    larger {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }}
    ENTRY main {{
      x = {kind}[40,6] parameter(0)
      y = {kind}[40,6] parameter(1)
      scale = {kind}[] parameter(2)
      half = {kind}[] constant(0.3)
      halves = {kind}[40,6] broadcast(half), dimensions={{}}
      scales = {kind}[40,6] broadcast(scale), dimensions={{}}
      product = {kind}[40,6] multiply(x, y)
      total = {kind}[40,6] add(product, halves)
      ratio = {kind}[40,6] divide(total, scales)
      is_less = pred[40,6] compare(ratio, y), direction=LT
      chosen = {kind}[40,6] select(is_less, x, ratio)
      turned = {kind}[6,40] transpose(chosen), dimensions={{1,0}}
      negative = {kind}[6,40] negate(turned)
      wide = f32[40,6] convert(chosen)
      size = f32[40,6] abs(wide)
      least = f32[] constant(-inf)
      peak = f32[40] reduce(size, least), dimensions={{1}}, to_apply=larger
      peaks = f32[40,6] broadcast(peak), dimensions={{0}}
      below = f32[40,6] subtract(size, peaks)
      narrow = {kind}[40,6] convert(below)
      sum = {kind}[40,6] add(narrow, x)
      ROOT r = ({kind}[6,40], {kind}[40,6], f32[40], {kind}[40,6]) tuple(negative, sum, peak, chosen)
    }}"""


def functions(kind: str) -> str:
    """Functions of one number, and of two, of which each is a result."""
    one = "logistic rsqrt sign round-nearest-afz erf tan sinh cosh acos asin asinh acosh atanh cbrt".split()
    shape = f"{kind}[64]"
    lines = [f"r{k} = {shape} {opcode}(x)" for k, opcode in enumerate(one)]
    lines += [
        f"a = {shape} atan2(x, y)",
        f"b = {shape} remainder(x, y)",
        "i = s16[64] convert(x)",
        "w = f64[64] convert(y)",
    ]
    results = ", ".join([f"r{k}" for k in range(len(one))] + ["a", "b", "i", "w"])
    shapes = ", ".join([shape] * (len(one) + 2) + ["s16[64]", "f64[64]"])
    body = "\n".join([f"x = {shape} parameter(0)", f"y = {shape} parameter(1)", *lines])
    return f"ENTRY main {{ {body}\n ROOT r = ({shapes}) tuple({results}) }}"


@pytest.mark.parametrize("kind", much(["bf16"], ["bf16", "f8e8m0fnu"]))
def test_functions_are_rounded_once(kind):
    text, rng = functions(kind), np.random.default_rng(2)
    dtype = ELEMENT_TYPES[kind].dtype
    x, y = (rng.normal(size=64).astype(np.float32) ** 3 for _ in range(2))
    x[:8] = 0, -0.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 1
    x, y = x.astype(dtype), y.astype(dtype)
    module = emitted(text)
    assert len(kernels(module)) == text.count("= ") - 3  # all but two parameters and the tuple
    with np.errstate(all="ignore"):
        made, expected = module.load(keep_compiled=False).main(x, y), xla2py.emit(text).load().main(x, y)
    leaves = compare(list(expected), list(made))
    assert [str(leaf) for leaf in leaves if not leaf.status.is_good] == []


# The other kinds of eight bits are other numbers in the same functions, those of sixteen bits are in other tests.
@pytest.mark.parametrize("kind", much(["bf16", "f8e4m3fn", "f4e2m1fn"], [*KINDS, *BYTES, "f4e2m1fn", "f8e8m0fnu"]))
def test_a_program_computes_what_the_readable_style_does(kind):
    text, rng = program(kind), np.random.default_rng(1)
    dtype = ELEMENT_TYPES[kind].dtype
    x, y = (rng.normal(size=(40, 6)).astype(dtype) for _ in range(2))
    x[0], y[1, 2], x[2, 3], y[3, 0], x[4] = -0.0, np.nan, np.inf, 0, {"bf16": 3e38, "f16": 6e4}.get(kind, 14)
    arguments = x, y, dtype.type(1.7)
    module = emitted(text)
    assert kernels(module)
    main = module.load(keep_compiled=False).main
    with np.errstate(all="ignore"):
        made = main(*arguments)
        expected = xla2py.emit(text).load().main(*arguments)
        transposed = main(x.T.copy().T, *arguments[1:])
    for leaf, same, again in zip(made, expected, transposed, strict=True):
        assert leaf.dtype == same.dtype
        assert np.array_equal(leaf.astype(np.float32), same.astype(np.float32), equal_nan=True)
        assert np.array_equal(leaf, again, equal_nan=True)
    assert f"def bits_of_{'f8' if kind in BYTES else kind}(" in module.source


def nibbles(bits: int) -> str:
    """Lines over ``x{bits}``, ``y{bits}``, ``z{bits}``, of which ``r{bits}_`` and a number are results."""
    s, u, n = f"s{bits}[16,16]", f"u{bits}[16,16]", bits
    return f"""
      one{n} = s{n}[] constant(1)
      ones{n} = {s} broadcast(one{n}), dimensions={{}}
      three{n} = u{n}[] constant(3)
      threes{n} = {u} broadcast(three{n}), dimensions={{}}
      product{n} = {s} multiply(x{n}, y{n})
      quotient{n} = {s} divide(product{n}, y{n})
      rest{n} = {s} remainder(x{n}, y{n})
      larger{n} = {s} maximum(quotient{n}, rest{n})
      shifted{n} = {s} shift-right-logical(larger{n}, ones{n})
      r{n}_1 = {s} add(shifted{n}, x{n})
      is_less{n} = pred[16,16] compare(r{n}_1, y{n}), direction=LT
      unsigned{n} = {u} convert(r{n}_1)
      parts{n} = {u} divide(threes{n}, z{n})
      r{n}_2 = {u} select(is_less{n}, unsigned{n}, parts{n})
      r{n}_3 = {s} convert(number)
      r{n}_4 = {u} convert(number)
      r{n}_5 = {s} convert(whole)
      wide{n} = f32[16,16] convert(r{n}_2)
      r{n}_6 = f32[16,16] multiply(wide{n}, number)
      r{n}_7 = {u} convert(is_less{n})
      alone{n} = {s} broadcast(w{n}), dimensions={{}}
      r{n}_8 = {s} subtract(alone{n}, r{n}_1)
    """


def test_integers_of_four_and_of_two_bits_wrap_around_and_saturate():
    """All pairs of numbers, with other bits in the rest of their bytes; results have none there."""
    names = [f"r{bits}_{k}" for bits in (4, 2) for k in range(1, 9)]
    kinds = {"2": "u{}", "4": "u{}", "6": "f32", "7": "u{}"}
    shapes = [kinds.get(name[3:], "s{}").format(name[1]) + "[16,16]" for name in names]
    text = f"""ENTRY main {{
      x4 = s4[16,16] parameter(0)  y4 = s4[16,16] parameter(1)  z4 = u4[16,16] parameter(2)  w4 = s4[] parameter(3)
      x2 = s2[16,16] parameter(4)  y2 = s2[16,16] parameter(5)  z2 = u2[16,16] parameter(6)  w2 = s2[] parameter(7)
      number = f32[16,16] parameter(8)  whole = s32[16,16] parameter(9)
      {nibbles(4)} {nibbles(2)}
      ROOT r = ({", ".join(shapes)}) tuple({", ".join(names)})
    }}"""
    number = np.linspace(-20, 20, 256, dtype=np.float32).reshape(16, 16)
    number[0, :4] = np.nan, np.inf, -np.inf, -0.0
    bits = np.arange(256, dtype=np.uint8).reshape(16, 16)
    arguments = []
    for signed, unsigned in ((ml_dtypes.int4, ml_dtypes.uint4), (ml_dtypes.int2, ml_dtypes.uint2)):
        turned = np.ascontiguousarray(bits.T)
        arguments += [bits.view(signed), turned.view(signed), turned.view(unsigned), signed(-2)]
    arguments += [number, (bits.astype(np.int32) - 99) * 12345]
    module = emitted(text)
    main = module.load(keep_compiled=False).main
    clean = [x.astype(np.int8).astype(x.dtype) if x.dtype.itemsize == 1 else x for x in arguments]
    made, expected = (main(*given) for given in (arguments, clean))
    leaves = compare(run_hlo(text, *clean), list(expected))
    assert [str(leaf) for leaf in leaves if not leaf.status.is_good] == []
    for leaf, same in zip(made, expected, strict=True):
        assert leaf.tobytes() == same.tobytes()
        assert leaf.dtype.name == "float32" or leaf.view(np.uint8).max() < 2 ** int(leaf.dtype.name.strip("uint"))
    assert "astype" not in re.search(r"def main.*?\n\n", module.source, re.DOTALL)[0]


@pytest.mark.parametrize("kind", much(["f8e8m0fnu"], ["bf16", "f16", "f8e5m2", "f8e8m0fnu"]))
def test_extremes_of_lines_join_what_is_around_them(kind):
    """NumPy looks at narrow numbers one by one."""
    text = f"""
    larger {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT c = {kind}[] maximum(a, b) }}
    smaller {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT c = {kind}[] minimum(a, b) }}
    ENTRY main {{
      x = {kind}[9,70] parameter(0)
      least = {kind}[] constant({"5e-39" if kind == "f8e8m0fnu" else "-inf"})
      most = {kind}[] constant({"1e38" if kind == "f8e8m0fnu" else "inf"})
      peak = {kind}[9] reduce(x, least), dimensions={{1}}, to_apply=larger
      peaks = {kind}[9,70] broadcast(peak), dimensions={{0}}
      ratio = {kind}[9,70] divide(x, peaks)
      low = {kind}[70] reduce(x, most), dimensions={{0}}, to_apply=smaller
      ROOT r = ({kind}[9,70], {kind}[70]) tuple(ratio, low)
    }}"""
    x = (np.abs(np.random.default_rng(4).normal(size=(9, 70))) + 0.1).astype(ELEMENT_TYPES[kind].dtype)
    x[2, 3], x[4, :] = np.nan, 1
    module = emitted(text)
    assert ".max(" not in module.source.split("def main")[1].split("def ")[0]
    with np.errstate(all="ignore"):
        leaves = compare(run_hlo(text, x), list(module.load(keep_compiled=False).main(x)))
    assert [str(leaf) for leaf in leaves if not leaf.status.is_good] == []


@pytest.mark.parametrize("exponent_bits, mantissa_bits", [(8, 7), (5, 10), (4, 3), (5, 2), (2, 0), (8, 23), (1, 5)])
def test_numbers_are_rounded_to_formats(exponent_bits, mantissa_bits):
    rng = np.random.default_rng(5)
    numbers = np.concatenate([rng.integers(0, 2**32, 5000, np.uint32).view(np.float32), BITS[::7].view(np.float16)])
    numbers = np.append(numbers, rng.normal(size=5000)).astype(np.float32)
    numbers = np.append(numbers, np.float32([0, -0.0, np.inf, -np.inf, np.nan, 65520, 240, 248, 1e-45]))
    made = applied(lambda x: scalar_reduce_precision(x, exponent_bits, mantissa_bits), numbers, np.float32)
    expected = reduce_precision(numbers, exponent_bits, mantissa_bits)
    assert np.array_equal(made, expected, equal_nan=True)
    assert np.array_equal(np.signbit(made), np.signbit(expected))


def test_rounding_joins_kernels():
    x = np.random.default_rng(6).normal(size=(64, 80)).astype(np.float32)

    def rounded(x):
        return jax.lax.reduce_precision(x * 2, 5, 3) + 1

    module = xla2py.emit(xla2py.from_jax(rounded, x), style="fast")
    assert len(kernels(module)) == 1 and "= reduce_precision(" not in module.source.split("def main")[1]
    assert np.array_equal(module.load().main(x), rounded(x))


@pytest.mark.parametrize("axis", [0, 1])
def test_the_largest_of_narrow_numbers_is_found(axis):
    """By the library, in a wider type: of equal numbers the first, and NaN before all others."""
    x = np.random.default_rng(7).integers(-7, 7, (70, 65)).astype(ml_dtypes.bfloat16)
    x[3, 5], x[9, 5:7] = np.nan, np.nan
    for find in (jax.numpy.argmax, jax.numpy.argmin):
        program = xla2py.from_jax(lambda x, find=find: find(x, axis), x)
        for style in ("readable", "fast"):
            module = xla2py.emit(program, style=style)
            assert "fold_axes" not in module.source
            assert np.array_equal(module.load().main(x), find(x, axis))

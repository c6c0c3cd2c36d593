"""Integer arithmetic of the prelude: XLA CPU is the judge, and Python's integers where XLA is wrong."""

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude import integers
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES, from_dtype

pytestmark = pytest.mark.filterwarnings("error")

INTEGERS = [t for t in ELEMENT_TYPES.values() if t.is_integral]
all_types = pytest.mark.parametrize("element_type", INTEGERS, ids=str)
types_of_xla = pytest.mark.parametrize("element_type", [t for t in INTEGERS if t.bits > 1], ids=str)

# opcode -> the expression that emitted code uses
BINARY = {
    "divide": integers.int_divide,
    "remainder": integers.int_remainder,
    "power": integers.int_power,
    "shift-right-logical": integers.shift_right_logical,
    "shift-right-arithmetic": integers.shift_right_arithmetic,
    "shift-left": lambda a, b: (a << b).astype(a.dtype),
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "maximum": lambda a, b: np.maximum(a, b).astype(a.dtype),
    "minimum": lambda a, b: np.minimum(a, b).astype(a.dtype),
    "and": lambda a, b: (a & b).astype(a.dtype),
    "or": lambda a, b: (a | b).astype(a.dtype),
    "xor": lambda a, b: (a ^ b).astype(a.dtype),
}
UNARY = {
    "popcnt": integers.popcount,
    "count-leading-zeros": integers.count_leading_zeros,
    "negate": lambda x: np.negative(x).astype(x.dtype),
    "not": lambda x: np.invert(x).astype(x.dtype),
    "abs": lambda x: np.abs(x).astype(x.dtype),
    "sign": lambda x: np.sign(x).astype(x.dtype),
}


def limits(element_type):
    bits = element_type.bits
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if element_type.is_signed else (0, 2**bits - 1)


def samples(element_type):
    """All values of narrow types; the edges and some random values of wide ones."""
    low, high = limits(element_type)
    if element_type.bits <= 4:
        return np.arange(low, high + 1).astype(element_type.dtype)
    edges = [low, low + 1, high, high - 1, high // 2, 0, 1, 2, 3, 7, element_type.bits - 1, element_type.bits]
    edges += [-1, -2, -3, -element_type.bits] if element_type.is_signed else []
    random = np.random.default_rng(element_type.bits).integers(low, high, 12, element_type.dtype, endpoint=True)
    return np.concatenate([np.array(edges, element_type.dtype), random])


def pairs(element_type):
    x = samples(element_type)
    return [side.ravel() for side in np.meshgrid(x, x, indexing="ij")]


@types_of_xla
def test_operations_of_two_agree_with_xla(element_type, xla_each):
    a, b = pairs(element_type)
    exponents = np.where(b > 63, b & 63, b) if element_type.bits >= 8 else b  # XLA's loop looks at six signed bits
    others = [opcode for opcode in BINARY if opcode != "power"]
    for opcodes, second in ((others, b), (["power"], exponents)):
        expected = xla_each([(opcode, f"{element_type}[{a.size}]") for opcode in opcodes], [a, second])
        for opcode, theirs in zip(opcodes, expected, strict=True):
            np.testing.assert_array_equal(BINARY[opcode](a, second), theirs, opcode, strict=True)


@types_of_xla
def test_operations_of_one_agree_with_xla(element_type, xla_each):
    x = samples(element_type)
    # XLA has no abs and sign for unsigned types, and counts the bits of s4 in s8
    opcodes = [opcode for opcode in UNARY if element_type.is_signed or opcode not in ("abs", "sign")]
    expected = xla_each([(opcode, f"{element_type}[{x.size}]") for opcode in opcodes], [x])
    for opcode, theirs in zip(opcodes, expected, strict=True):
        told = x >= 0 if (opcode, element_type.name) == ("popcnt", "s4") else ...
        np.testing.assert_array_equal(UNARY[opcode](x)[told], theirs[told], opcode, strict=True)


@all_types
def test_popcount_and_leading_zeros_by_definition(element_type):
    x = samples(element_type)
    digits = [f"{int(v) % 2**element_type.bits:0{element_type.bits}b}" for v in x]
    ones = np.array([d.count("1") for d in digits], np.int64).astype(element_type.dtype)
    zeros = np.array([len(d) - len(d.lstrip("0")) for d in digits], np.int64).astype(element_type.dtype)
    np.testing.assert_array_equal(integers.popcount(x), ones)
    np.testing.assert_array_equal(integers.count_leading_zeros(x), zeros)


@all_types
def test_power_by_definition(element_type):
    """Huge exponents too, for which XLA's result depends on whether it folds the constants."""
    base, exponent = pairs(element_type)
    modulus = 2**element_type.bits

    def power(a, n):
        if n < 0:
            return a ** (n % 2) if abs(a) == 1 else 0
        return pow(a, n, modulus)

    expected = [power(int(a), int(n)) % modulus for a, n in zip(base, exponent, strict=True)]
    actual = integers.int_power(base, exponent)
    np.testing.assert_array_equal([int(v) % modulus for v in actual], expected)


@all_types
def test_mulhi_by_definition(element_type):
    a, b = pairs(element_type)
    expected = [int(x) * int(y) >> element_type.bits for x, y in zip(a, b, strict=True)]
    actual = integers.mulhi(a, b)
    assert actual.dtype == element_type.dtype
    assert [int(v) for v in actual] == expected


def test_division_by_zero_and_of_the_smallest_integer():
    a = np.array([-128, 127, 0, -128], np.int8)
    b = np.array([-1, 0, 0, 0], np.int8)
    np.testing.assert_array_equal(integers.int_divide(a, b), np.int8([-128, -1, -1, -1]))
    np.testing.assert_array_equal(integers.int_remainder(a, b), np.int8([0, 127, 0, -128]))
    np.testing.assert_array_equal(integers.int_divide(np.uint8([200, 7]), np.uint8([0, 2])), np.uint8([255, 3]))


FUNCTIONS = [*BINARY.items(), ("mulhi", integers.mulhi)]


@all_types
@pytest.mark.parametrize("shapes", [((), ()), ((0,), (0,)), ((3,), ()), ((), (3,)), ((2, 1), (3,))], ids=str)
def test_shapes_broadcast_and_the_type_stays(shapes, element_type):
    one, two = (np.ones(shape, np.int8).astype(element_type.dtype) for shape in shapes)
    for name, function in FUNCTIONS:
        result = function(one, two)
        assert (result.shape, result.dtype) == (np.broadcast_shapes(*shapes), element_type.dtype), name


@all_types
def test_scalars_and_empty_arrays_keep_their_type(element_type):
    array = np.zeros((1, 0), element_type.dtype)
    for x in (array, np.zeros((), element_type.dtype), np.zeros(1, element_type.dtype)[0]):
        for made in (integers.popcount(x), integers.count_leading_zeros(x)):
            assert (made.shape, made.dtype) == (x.shape, element_type.dtype)


@pytest.mark.parametrize("narrow", [ml_dtypes.int2, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.uint4])
def test_astype_wraps_to_narrow_integers(narrow):
    """The recipe for narrow integers rests on this: compute in any NumPy integer type, then ``astype``."""
    bits = from_dtype(narrow).bits
    for wide in (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64):
        values = np.arange(-300, 300).astype(wide)
        np.testing.assert_array_equal(values.astype(narrow).astype(np.int64) % 2**bits, values % 2**bits)


@pytest.mark.parametrize("element_type", [t for t in INTEGERS if t.bits >= 8], ids=str)
def test_numpys_right_shift_is_that_of_the_types_own_signedness(element_type):
    a, b = pairs(element_type)
    function = integers.shift_right_arithmetic if element_type.is_signed else integers.shift_right_logical
    np.testing.assert_array_equal(a >> b, function(a, b))

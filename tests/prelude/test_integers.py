"""Integer arithmetic of the prelude beside its definitions; ``tests/operations`` compares it with XLA."""

import numpy as np
import pytest

from xla2py.templates.prelude import integers
from xla2py.tests.operations.definitions import integer_binary, integer_unary
from xla2py.tests.operations.values import limits
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

pytestmark = pytest.mark.filterwarnings("error")

INTEGERS = [t for t in ELEMENT_TYPES.values() if t.is_integral]
all_types = pytest.mark.parametrize("element_type", INTEGERS, ids=str)
BINARY = {
    "divide": integers.int_divide,
    "remainder": integers.int_remainder,
    "power": integers.int_power,
    "mulhi": integers.mulhi,
    "shift-right-logical": integers.shift_right_logical,
    "shift-right-arithmetic": integers.shift_right_arithmetic,
}
UNARY = {"popcnt": integers.popcount, "count-leading-zeros": integers.count_leading_zeros}


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


@all_types
def test_functions_are_their_definitions(element_type):
    """Huge exponents too, for which XLA's result depends on whether it folds the constants."""
    x, (a, b) = samples(element_type), pairs(element_type)
    for opcode, function in UNARY.items():
        np.testing.assert_array_equal(function(x), integer_unary(opcode)(x), opcode, strict=True)
    for opcode, function in BINARY.items():
        np.testing.assert_array_equal(function(a, b), integer_binary(opcode)(a, b), opcode, strict=True)

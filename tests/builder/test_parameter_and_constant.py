"""Parameters and constants."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from xla2py.transpile.hlo.builder import BF16, C64, F32, PRED, S4, S32, U8, XlaBuilder, make_shape
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.printer import print_module


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (True, "pred[]"),
        (3, "s32[]"),
        (2.5, "f32[]"),
        (1j, "c64[]"),
        (np.float64(2.5), "f64[]"),
        (np.arange(6).reshape(2, 3), "s64[2,3]"),
        (np.zeros((2, 0), np.uint8), "u8[2,0]"),
        (np.ones(3, ml_dtypes.bfloat16), "bf16[3]"),
    ],
)
def test_a_constant_has_the_type_of_its_value(value: object, shape: str) -> None:
    assert str(XlaBuilder("c").constant(value).shape) == shape


@pytest.mark.parametrize("type_", [BF16, "bf16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)])
def test_an_element_type_may_be_given_by_name_or_dtype(type_: object) -> None:
    assert str(XlaBuilder("c").constant([1, 2], type_).shape) == "bf16[2]"


@pytest.mark.parametrize(
    ("type_", "smallest", "largest"),
    [(F32, -np.inf, np.inf), (S32, -(2**31), 2**31 - 1), (U8, 0, 255), (S4, -8, 7), (PRED, False, True)],
)
def test_extreme_values(type_: object, smallest: object, largest: object) -> None:
    b = XlaBuilder("c")
    values = [b.min_value(type_), b.max_value(type_)]
    assert [op.instruction.attributes["literal"].item() for op in values] == [smallest, largest]


def test_every_real_type_has_extreme_values() -> None:
    b = XlaBuilder("c")
    for element_type in ELEMENT_TYPES.values():
        if not element_type.is_complex:
            low, high = (
                op.instruction.attributes["literal"] for op in (b.min_value(element_type), b.max_value(element_type))
            )
            assert low.dtype == high.dtype == element_type.dtype
            assert float(low) < float(high)


def test_parameters_keep_their_name_number_and_layout() -> None:
    b = XlaBuilder("p")
    b.parameter(1, make_shape(F32, [2, 3], [0, 1]), "my weights")
    b.parameter(0, make_shape(C64, []))
    text = print_module(b.build())
    assert "my_weights = f32[2,3]{0,1} parameter(1)" in text
    assert "p0 = c64[] parameter(0)" in text

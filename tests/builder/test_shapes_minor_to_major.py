"""The shapes seeds, "Minor-to-major dimension ordering": the 2 x 3 array a b c / d e f in both orders."""

from __future__ import annotations

import numpy as np
import pytest

from xla2py.tests.builder.worked import assert_equal
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.hlo.builder import (
    S8,
    XlaBuilder,
    is_major_to_minor,
    is_minor_to_major,
    major_to_minor,
    make_shape,
    parse_layout,
)
from xla2py.transpile.hlo.indexing import from_buffer, to_buffer
from xla2py.transpile.hlo.printer import print_module

LETTERS = np.frombuffer(b"abcdef", np.int8).reshape(2, 3)


@pytest.mark.parametrize(("order", "buffer"), [((0, 1), b"adbecf"), ((1, 0), b"abcdef")])
def test_the_array_of_the_seed(order: tuple[int, ...], buffer: bytes) -> None:
    shape = make_shape(S8, [2, 3], order)
    assert to_buffer(LETTERS, shape).tobytes() == buffer
    np.testing.assert_array_equal(from_buffer(np.frombuffer(buffer, np.int8), shape), LETTERS)


def test_dim_0_is_minor_or_major() -> None:
    row_major, column_major = parse_layout("{1,0}"), parse_layout("{0,1}")
    assert is_major_to_minor(row_major) and not is_minor_to_major(row_major)
    assert is_minor_to_major(column_major) and not is_major_to_minor(column_major)
    assert major_to_minor(column_major) == (1, 0)
    assert str(column_major) == "{0,1}"


def test_the_layout_does_not_change_the_values() -> None:
    b = XlaBuilder("layout")
    b.rev(b.parameter(0, make_shape(S8, [2, 3], [0, 1])), [0])
    text = print_module(b.build())
    assert "s8[2,3]{0,1} parameter(0)" in text
    assert_equal(LETTERS[::-1], run_hlo(text, LETTERS))

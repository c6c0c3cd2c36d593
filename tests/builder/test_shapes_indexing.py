"""The shapes seeds, "Indexing into arrays": IndexUtil's two directions for shapes that the builder takes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from xla2py.tests.builder.worked import check
from xla2py.transpile.hlo.builder import F32, S32, linear_index, make_shape, multi_index, parse_shape
from xla2py.transpile.hlo.source import XlaToPythonError


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_there_and_back_in_every_order(order: tuple[int, ...]) -> None:
    shape = make_shape(F32, [2, 3, 4], order)
    places = [linear_index(shape, index) for index in np.ndindex(2, 3, 4)]
    assert sorted(places) == list(range(24))
    assert [multi_index(shape, place) for place in places] == list(np.ndindex(2, 3, 4))


def test_numbers_of_the_array_of_the_seed() -> None:
    column_major = make_shape(F32, [2, 3], [0, 1])
    assert linear_index(column_major, (1, 2)) == 5
    assert multi_index(column_major, 3) == (1, 1)
    assert linear_index(parse_shape("f32[3,5]{1,0:T(2,2)}"), (2, 3)) == 17


def test_the_program_for_the_linear_index() -> None:
    expected = linear_index(make_shape(S32, [2, 3]), list(np.indices((2, 3)))).astype(np.int32)
    check(lambda b: b.iota(make_shape(S32, [2, 3]), 0) * 3 + b.iota(make_shape(S32, [2, 3]), 1), expected=expected)


def test_an_index_out_of_range() -> None:
    with pytest.raises(XlaToPythonError, match="XP58"):
        linear_index(make_shape(F32, [2, 3]), (2, 0))

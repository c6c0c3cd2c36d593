"""The broadcasting seed, "Formal definition"."""

from __future__ import annotations

import pytest

from xla2py.tests.builder.worked import build, check, filled
from xla2py.transpile.hlo.source import HloVerificationError


@pytest.mark.parametrize("dimension", range(4))
def test_a_vector_at_each_dimension(dimension: int) -> None:
    array = filled(2, 3, 4, 5)
    vector = filled(array.shape[dimension])
    expected = array + vector.reshape([n if d == dimension else 1 for d, n in enumerate(array.shape)])
    check(lambda b, x, v: b.add(x, v, [dimension]), array, vector, expected=expected)


@pytest.mark.parametrize("dimensions", [(2, 3), (1, 2), (0, 3)])
def test_a_matrix_at_two_dimensions(dimensions: tuple[int, int]) -> None:
    array = filled(2, 3, 4, 5)
    matrix = filled(*(array.shape[d] for d in dimensions))
    expected = array + matrix.reshape([n if d in dimensions else 1 for d, n in enumerate(array.shape)])
    check(lambda b, x, m: b.add(x, m, dimensions), array, matrix, expected=expected)


@pytest.mark.parametrize("dimensions", [(2, 0), (2, 2)])
def test_the_order_is_strictly_increasing(dimensions: tuple[int, int]) -> None:
    with pytest.raises(HloVerificationError, match="must be strictly increasing"):
        build(lambda b, x, m: b.add(x, m, dimensions), filled(2, 3, 2, 5), filled(2, 2))


def test_the_sizes_have_to_match() -> None:
    with pytest.raises(HloVerificationError, match=r"dimension 0 of f32.3. has 3 elements"):
        build(lambda b, x, v: b.add(x, v, [0]), filled(2, 3, 4, 5), filled(3))

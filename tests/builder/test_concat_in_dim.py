"""The ConcatInDim section of the operation-semantics seed."""

from __future__ import annotations

from xla2py.tests.builder.worked import check, s32


def test_concatenate_vectors() -> None:
    arrays = (s32(2, 3), s32(4, 5), s32(6, 7))
    check(lambda b, *parts: b.concat_in_dim(parts, 0), *arrays, expected=s32(2, 3, 4, 5, 6, 7))


def test_concatenate_matrices() -> None:
    a, c = s32([1, 2], [3, 4], [5, 6]), s32([[7, 8]])
    check(lambda b, x, y: b.concat_in_dim([x, y], 0), a, c, expected=s32([1, 2], [3, 4], [5, 6], [7, 8]))

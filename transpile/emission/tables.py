"""The text of the numbers in a table: both ends if they are evenly spaced, else as many per line as fit."""

from __future__ import annotations

from textwrap import wrap

import numpy as np

from ..array.node import Constant
from .layout import Layout
from .literals import number
from .texts import nested_text

_FEWEST_SPACED = 8  # numbers; shorter tables are written in full
_INDENT = 4


def evenly_spaced(array: np.ndarray, namespace: str) -> tuple[str, str] | None:
    """Return the texts of the first and the last number if ``np.linspace`` gives the same bits, or None."""
    if array.ndim != 1 or array.size < _FEWEST_SPACED or array.dtype.kind != "f":
        return None
    if array[0] == array[-1] or not np.isfinite(array[[0, -1]]).all():
        return None
    texts = number(array[0], namespace), number(array[-1], namespace)
    first, last = map(float, texts)
    some = np.array([1, array.size // 2])  # compared first, as a table may be large
    expected = some * ((last - first) / (array.size - 1)) + first
    if not np.array_equal(expected.astype(array.dtype), array[some]):
        return None
    spaced = np.linspace(first, last, array.size, dtype=array.dtype)
    return texts if spaced.tobytes() == array.tobytes() else None


def filled_rows(constant: Constant, namespace: str, layout: Layout) -> list[str]:
    """Return the lines of a row, or of rows, that are too long for a line each; none for other tables."""
    array = constant.array
    if array.ndim not in (1, 2) or not array.size:
        return []
    texts = [nested_text(Constant.of(row), namespace) for row in np.atleast_2d(array)]
    if array.ndim == 1:
        texts = [text.strip("[]") for text in texts]
    if max(map(len, texts)) <= layout.line_length - 2 * _INDENT - 2:
        return []
    wide = layout.line_length - _INDENT
    return [line for text in texts for line in wrap(text + ",", wide, subsequent_indent=" " * (array.ndim - 1))]

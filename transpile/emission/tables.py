"""How the numbers of a table are written: by both ends where they are evenly spaced, else as many in a line as fit."""

from __future__ import annotations

from textwrap import wrap

import numpy as np

from ..array.node import Constant
from .expression import WIDTH
from .literals import number
from .texts import nested_text

_FEWEST_SPACED = 8  # numbers; fewer are read at once
_INDENT = 4


def evenly_spaced(array: np.ndarray, namespace: str) -> tuple[str, str] | None:
    """Return the texts of the first and the last of numbers that ``np.linspace`` gives bit by bit, or None."""
    if array.ndim != 1 or array.size < _FEWEST_SPACED or array.dtype.kind != "f" or not np.isfinite(array).all():
        return None
    first, last = (number(array[end], namespace) for end in (0, -1))
    spaced = np.linspace(float(first), float(last), array.size, dtype=array.dtype)
    return (first, last) if spaced.tobytes() == array.tobytes() and first != last else None


def filled_rows(constant: Constant, namespace: str) -> list[str]:
    """Return the lines of a row, or of rows, that are too long for one line each; none for other tables."""
    array = constant.array
    if array.ndim not in (1, 2) or not array.size:
        return []
    texts = [nested_text(Constant.of(row), namespace) for row in np.atleast_2d(array)]
    if array.ndim == 1:
        texts = [text.strip("[]") for text in texts]
    if max(map(len, texts)) <= WIDTH - 2 * _INDENT - 2:
        return []
    wide = WIDTH - _INDENT
    return [line for text in texts for line in wrap(text + ",", wide, subsequent_indent=" " * (array.ndim - 1))]

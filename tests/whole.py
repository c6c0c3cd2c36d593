"""How much the tests prove: samples in ``make test``, and in ``make prove`` everything (``--whole``).

What only ``make prove`` does has the mark ``whole``; ``make test`` says at its end how many tests of which files that
are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import product
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
VARIABLE = "XLA2PY_WHOLE"  # in the environment, so that the processes of the tests have it, too


def is_whole() -> bool:
    """Tell whether everything is proven."""
    return bool(os.environ.get(VARIABLE))


def much(sample: T, whole: T) -> T:
    """Return what is taken for a sample, or for all."""
    return whole if is_whole() else sample


def crossed(*columns: Iterable[Any]) -> list[Any]:
    """All combinations of some values; a sample has each of the first column once, with the others' in turn."""
    first, *others = map(list, columns)
    rest = list(product(*others))
    sample = [(one, *rest[k % len(rest)]) for k, one in enumerate(first)]
    rows = much(sample, list(product(first, *others)))
    return [pytest.param(*row, id=_named(row)) for row in rows]


def _named(value: Any) -> str:
    """Return the part of a test's name that stands for a value. It is the same in each process."""
    if isinstance(value, tuple):
        return "-".join(map(_named, value))
    return getattr(value, "__name__", None) or getattr(value, "name", None) or str(value)

"""How much the tests prove: samples in ``make test``, and in ``make prove`` everything (``--whole``).

What only ``make prove`` does has the mark ``whole``; ``make test`` says at its end how many tests of which files that
are.
"""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
VARIABLE = "XLA2PY_WHOLE"  # in the environment, so that the processes of the tests have it, too


def is_whole() -> bool:
    """Tell whether everything is proven."""
    return bool(os.environ.get(VARIABLE))


def much(sample: T, whole: T) -> T:
    """Return what is taken for a sample, or for all."""
    return whole if is_whole() else sample

"""Functions of two numbers, which take a tenth of the time of NumPy's ufuncs."""

from typing import Any


def larger_of(x: Any, y: Any) -> Any:
    """Return ``np.maximum`` of two numbers: NaN if one is."""
    return x if x >= y else y if y > x else x + y


def smaller_of(x: Any, y: Any) -> Any:
    """Return ``np.minimum`` of two numbers: NaN if one is."""
    return x if x <= y else y if y < x else x + y


def number_within(x: Any, low: Any, high: Any) -> Any:
    """Return ``np.clip`` of a number: NaN if one is."""
    return smaller_of(larger_of(x, low), high)

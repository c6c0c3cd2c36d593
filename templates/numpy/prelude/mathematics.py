"""Building blocks of the elementary functions that loops of Numba call.

They have no branches, so that LLVM computes many numbers at once. Sums must keep their
order, hence flags of their own. ``error_model`` is NumPy's: 1 / 0 is infinite.
"""

from typing import Any

from numba import njit

elementary = njit(
    error_model="numpy", fastmath={"contract"}, forceinline=True, nogil=True
)


@elementary
def polynomial(x: Any, coefficients: tuple[Any, ...]) -> Any:
    """Return the polynomial of ``x`` with these coefficients, highest power first."""
    total = coefficients[0]
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total

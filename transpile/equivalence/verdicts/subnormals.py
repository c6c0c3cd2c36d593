"""Subnormal numbers as zeros, in operands and results: what XLA's CPU backend sets its threads to, and NumPy does not.

The switch is two bits of the control register of the vector unit, which the C library's floating-point environment
holds a copy of.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# By machine: where the register is in fenv_t, as the number of a 32-bit word, and the bits. Linux, all C libraries.
_REGISTERS = {
    "x86_64": (7, 0x8040),  # MXCSR: flush to zero, denormals are zero
    "aarch64": (0, 1 << 24),  # FPCR: flush to zero
}
_WORDS = 32  # more than fenv_t has


@contextmanager
def flushed() -> Iterator[None]:
    """Have subnormal numbers be zeros in this thread inside of the block; no change where the machine is unknown."""
    register = _REGISTERS.get(platform.machine()) if sys.platform == "linux" else None
    library = ctypes.CDLL(ctypes.util.find_library("m")) if register else None
    if register is None or library is None:
        yield
        return
    before, changed = ((ctypes.c_uint32 * _WORDS)() for _ in range(2))
    library.fegetenv(before)
    library.fegetenv(changed)
    word, bits = register
    changed[word] |= bits
    library.fesetenv(changed)
    try:
        yield
    finally:
        library.fesetenv(before)

"""Flushes subnormal operands and results to zero, as XLA's CPU backend does in its threads, and NumPy does not.

The mode is two bits of the vector unit's control register, of which the C library's floating-point environment has a
copy.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# For each machine, the position of the register in fenv_t, in 32-bit words, and the bits. Linux, all C libraries.
_REGISTERS = {
    "x86_64": (7, 0x8040),  # MXCSR: flush to zero, denormals are zero
    "aarch64": (0, 1 << 24),  # FPCR: flush to zero
}
_WORDS = 32  # more than fenv_t has


@contextmanager
def flushed() -> Iterator[None]:
    """Flush subnormal numbers to zero in this thread while the context is entered; no effect on unknown machines."""
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

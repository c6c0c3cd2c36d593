"""Advice for ``xla2py doctor``: settings with which modules for NumPy run faster on this machine."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from ...transpile.target import Library

_WIDE_KERNELS = frozenset(("SkylakeX", "Cooperlake", "SapphireRapids"))  # OpenBLAS kernels for AVX-512
_NAMES_OF_KERNELS = ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename")
_KEEPS_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184"}
_ABOUT_MEMORY = (*_KEEPS_MEMORY, "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")


def _advice() -> tuple[str, ...]:
    """Return all advice that applies here."""
    texts = (
        advice_on_numba(find_spec("numba") is not None),
        advice_on_kernels(_kernels(), _processor(), os.environ),
        advice_on_memory(platform.libc_ver()[0], os.environ),
    )
    return tuple(text for text in texts if text)


def advice_on_numba(is_installed: bool) -> str:
    """Return how to install Numba; "" if it is installed."""
    return "" if is_installed else "--style fast needs Numba: pip install 'xla2py[fast]'"


def advice_on_kernels(kernels: str, processor: frozenset[str], environment: Mapping[str, str]) -> str:
    """Return how to choose wider kernels; "" unless OpenBLAS's kernels do not use the processor's AVX-512."""
    if not kernels or kernels in _WIDE_KERNELS or "avx512f" not in processor:
        return ""
    is_asked_for = "OPENBLAS_CORETYPE" in environment
    way = "unset OPENBLAS_CORETYPE" if is_asked_for else "set OPENBLAS_CORETYPE=SkylakeX before Python starts"
    return f"NumPy's OpenBLAS multiplies by its kernels for {kernels}, and the processor has AVX-512: {way}"


def advice_on_memory(libc: str, environment: Mapping[str, str]) -> str:
    """Return how to keep freed memory; "" unless the C library returns each large array to the system when it is
    freed.
    """
    if libc != "glibc" or any(name in environment for name in _ABOUT_MEMORY):
        return ""
    settings = " ".join(f"{name}={value}" for name, value in _KEEPS_MEMORY.items())
    return f"glibc gives freed arrays back to the system, and clears the next: set {settings} before Python starts"


def _kernels() -> str:
    """Return the name of the kernels that NumPy's OpenBLAS selected; "" if it cannot be found out."""
    spec = find_spec("numpy")
    if spec is None or spec.origin is None:
        return ""
    for path in sorted(Path(spec.origin).parents[1].glob("numpy.libs/*openblas*")):
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for name in _NAMES_OF_KERNELS:
            function = getattr(library, name, None)
            if function is not None:
                function.restype = ctypes.c_char_p
                return (function() or b"").decode()
    return ""


def _processor() -> frozenset[str]:
    """Return the features of the processor, as Linux lists them; none on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.split(":")[1] for line in lines if line.startswith("flags")), "").split())


LIBRARY = Library(advice=_advice)

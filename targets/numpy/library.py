"""Advice on how this machine runs modules for NumPy faster, for ``xla2py doctor``."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from ...transpile.target import Library

_WIDE_KERNELS = frozenset(("SkylakeX", "Cooperlake", "SapphireRapids"))  # OpenBLAS's for AVX-512
_NAMES_OF_KERNELS = ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename")
_KEEPS_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184"}
_ABOUT_MEMORY = (*_KEEPS_MEMORY, "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")


def _advice() -> tuple[str, ...]:
    """All that holds here."""
    texts = (
        advice_on_numba(find_spec("numba") is not None),
        advice_on_kernels(_kernels(), _processor()),
        advice_on_memory(platform.libc_ver()[0], os.environ),
    )
    return tuple(text for text in texts if text)


def advice_on_numba(is_installed: bool) -> str:
    """Empty where the style ``fast`` works."""
    return "" if is_installed else "--style fast needs Numba: pip install 'xla2py[fast]'"


def advice_on_kernels(kernels: str, processor: frozenset[str]) -> str:
    """Empty unless OpenBLAS, whose kernels have a name, leaves half of the processor unused."""
    if not kernels or kernels in _WIDE_KERNELS or "avx512f" not in processor:
        return ""
    return (
        f"NumPy's OpenBLAS multiplies by its kernels for {kernels}, and the processor has AVX-512: "
        "set OPENBLAS_CORETYPE=SkylakeX before Python starts"
    )


def advice_on_memory(libc: str, environment: Mapping[str, str]) -> str:
    """Empty unless the C library gives each large array that is freed back to the system."""
    if libc != "glibc" or any(name in environment for name in _ABOUT_MEMORY):
        return ""
    settings = " ".join(f"{name}={value}" for name, value in _KEEPS_MEMORY.items())
    return f"glibc gives freed arrays back to the system, and clears the next: set {settings} before Python starts"


def _kernels() -> str:
    """Return what the OpenBLAS beside NumPy calls the kernels it picked, or nothing where there is none that tells."""
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
    """Return the features of the processor, as Linux lists them."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.split(":")[1] for line in lines if line.startswith("flags")), "").split())


LIBRARY = Library(advice=_advice)

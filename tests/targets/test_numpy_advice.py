"""What ``xla2py doctor`` advises for modules for NumPy."""

import pytest

from xla2py.targets.numpy import library
from xla2py.targets.numpy.library import advice_on_kernels, advice_on_memory, advice_on_numba
from xla2py.transpile.target import load_target

WIDE = frozenset(("fma", "avx2", "avx512f"))


@pytest.mark.parametrize("kernels", ["Haswell", "Zen"])
def test_narrow_kernels_on_a_wide_processor(kernels):
    text = advice_on_kernels(kernels, WIDE, {})
    assert kernels in text and "set OPENBLAS_CORETYPE=SkylakeX" in text
    assert "unset OPENBLAS_CORETYPE" in advice_on_kernels(kernels, WIDE, {"OPENBLAS_CORETYPE": kernels})


@pytest.mark.parametrize(
    ("kernels", "processor"),
    [("SkylakeX", WIDE), ("Cooperlake", WIDE), ("Haswell", frozenset(("avx2",))), ("", WIDE), ("Haswell", frozenset())],
)
def test_kernels_that_are_right_or_unknown(kernels, processor):
    assert advice_on_kernels(kernels, processor, {}) == ""


def test_glibc_is_told_to_keep_memory():
    assert "MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=" in advice_on_memory("glibc", {"PATH": "/bin"})


@pytest.mark.parametrize(
    ("libc", "environment"),
    [("", {}), ("musl", {}), ("glibc", {"MALLOC_MMAP_MAX_": "0"}), ("glibc", {"LD_PRELOAD": "libjemalloc.so"})],
)
def test_other_allocators_are_left_alone(libc, environment):
    assert advice_on_memory(libc, environment) == ""


def test_a_missing_numba_is_told():
    assert "pip install 'xla2py[fast]'" in advice_on_numba(False)
    assert advice_on_numba(True) == ""


def test_doctor_gives_all_advice(monkeypatch, xla2py):
    monkeypatch.setattr(library, "_kernels", lambda: "Haswell")
    monkeypatch.setattr(library, "_processor", lambda: WIDE)
    monkeypatch.setattr(library, "find_spec", lambda name: None)
    code, out, _ = xla2py("doctor")
    assert code == 0 and "kernels for Haswell" in out and "Numba" in out


def test_without_numpy_beside_it_nothing_is_known_of_kernels(monkeypatch):
    monkeypatch.setattr(library, "find_spec", lambda name: None)
    assert library._kernels() == ""


def test_what_is_asked_of_this_machine_is_answered():
    assert isinstance(library._kernels(), str) and isinstance(library._processor(), frozenset)
    assert all(isinstance(text, str) for text in load_target("numpy").library.advice())

"""Emitted code gives what GPUs and TPUs computed for the programs by which JAX tests that it still reads old exports.

Each is a portable artifact of StableHLO with its inputs and outputs; JAX's wheel has them.
"""

from __future__ import annotations

import pkgutil
import runpy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import xla2py

_DATA = "jax._src.internal_test_util.export_back_compat_test_data"
# Kernels in machine code, a program that waits for a partitioner, and sizes that only a caller knows.
_OTHERS = ("pallas", "mosaic", "triton", "stablehlo_dynamic", "tpu_stablehlo_dynamic", "tpu_Sharding", "export_with")


def _records(found: Mapping[str, Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if "mlir_module_serialized" in found:
        yield name, found
        return
    for key, value in found.items():
        yield from _records(value, f"{name}-{key}")


def _files() -> Iterator[str]:
    package = pytest.importorskip(_DATA)
    for file in pkgutil.iter_modules(package.__path__):
        if not file.name.startswith((*_OTHERS, "cpu_")):
            yield file.name


def records(file: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield name and contents of the programs in a file, which is not imported: all that import holds is 100 MB."""
    for name, value in runpy.run_module(f"{_DATA}.{file}").items():
        if name.startswith("data"):
            yield from _records(value, f"{file}-{name}")


def _adjoint(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, -1, -2).conj()


# Bases are only determined up to phases: what they make together is not.
_REBUILT: dict[str, Callable[..., np.ndarray]] = {
    "eigh": lambda v, w: (v * w[..., None, :]) @ _adjoint(v),
    "svd": lambda u, s, vh: u[..., :, : s.shape[-1]] @ (s[..., None] * vh[..., : s.shape[-1], :]),
}


@pytest.mark.parametrize("file", list(_files()))
def test_results_are_those_recorded(file):
    for name, record in records(file):
        results = xla2py.emit(record["mlir_module_serialized"]).load().main(*record["inputs"])
        ours = results if isinstance(results, tuple) else (results,)
        theirs = tuple(map(np.asarray, record["expected_outputs"]))
        assert [(a.dtype, a.shape) for a in ours] == [(a.dtype, a.shape) for a in theirs], name
        for kind, rebuilt in _REBUILT.items():
            if kind in name.lower() and len(ours) > 1:
                ours, theirs = (rebuilt(*ours),), (rebuilt(*theirs),)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4, err_msg=name)

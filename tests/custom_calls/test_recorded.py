"""Emitted code gives what GPUs and TPUs computed for the programs by which JAX tests that it still reads old exports.

Each is a portable artifact of StableHLO with its inputs and outputs; JAX's wheel has them.
"""

from __future__ import annotations

import importlib
import pkgutil
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


def recorded() -> Iterator[Any]:
    package = pytest.importorskip(_DATA)
    for file in pkgutil.iter_modules(package.__path__):
        if file.name.startswith((*_OTHERS, "cpu_")):
            continue
        module = importlib.import_module(f"{_DATA}.{file.name}")
        for name, value in vars(module).items():
            if name.startswith("data"):
                for case, record in _records(value, f"{file.name}-{name}"):
                    yield pytest.param(record, id=case)


def _adjoint(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, -1, -2).conj()


# Bases are only determined up to phases: what they make together is not.
_REBUILT: dict[str, Callable[..., np.ndarray]] = {
    "eigh": lambda v, w: (v * w[..., None, :]) @ _adjoint(v),
    "svd": lambda u, s, vh: u[..., :, : s.shape[-1]] @ (s[..., None] * vh[..., : s.shape[-1], :]),
}


@pytest.mark.parametrize("record", list(recorded()))
def test_results_are_those_recorded(record, request):
    results = xla2py.emit(record["mlir_module_serialized"]).load().main(*record["inputs"])
    ours = results if isinstance(results, tuple) else (results,)
    theirs = tuple(map(np.asarray, record["expected_outputs"]))
    assert [(a.dtype, a.shape) for a in ours] == [(a.dtype, a.shape) for a in theirs]
    for kind, rebuilt in _REBUILT.items():
        if kind in request.node.name.lower() and len(ours) > 1:
            ours, theirs = (rebuilt(*ours),), (rebuilt(*theirs),)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)

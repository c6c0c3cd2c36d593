"""CuPy on a GPU, or its twin on the CPU: what the steps of the kit work on."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from xla2py.transpile.equivalence.verdicts.comparison import flatten
from xla2py.transpile.hlo.carriers import as_declared

Record = dict[str, Any]


class Device:
    """CuPy on the GPU, or its twin."""

    def __init__(self, twin: bool) -> None:
        self.is_twin = twin
        self.blocks, self.calls = (1, 1) if twin else (5, 20)  # of calls that are timed, and calls in each

    @contextlib.contextmanager
    def active(self) -> Iterator[Any]:
        """The module ``cupy``."""
        if self.is_twin:
            from xla2py.targets.cupy.twin.modules import twin

            with twin():
                yield sys.modules["cupy"]
        else:
            import cupy

            yield cupy

    @contextlib.contextmanager
    def nccl(self) -> Iterator[Any]:
        """The module ``cupyx.distributed``."""
        if self.is_twin:
            from xla2py.tests.ladder.nccl import Nccl, distributed

            with distributed(Nccl()) as module:
                yield module
        else:
            import cupyx.distributed

            yield cupyx.distributed

    def given(self, arguments: Any) -> Any:
        """Host arrays as arguments of ``main``."""
        if self.is_twin:
            from xla2py.targets.cupy.twin.modules import to_device

            return to_device(list(arguments))
        from xla2py.targets.cupy import on_device

        return [on_device(array) for array in arguments]

    def taken(self, results: Any) -> list[np.ndarray]:
        """Results of ``main`` as host arrays."""
        return [leaf.on_host if self.is_twin else leaf.get() for _, leaf in flatten(results)]

    def run(self, emitted: Any, arguments: Any, function: str = "main") -> list[np.ndarray]:
        """The results of an emitted module on host arrays, on the host; the second of two runs of a graph."""
        with self.active(), np.errstate(all="ignore"):
            call = getattr(emitted.load(), function)
            results = [call(*self.given(arguments)) for _ in range(1 if function == "main" else 2)][-1]
            return as_declared(self.taken(results), emitted.program.original.entry.root.shape)

    def of_jax(self) -> Any:
        """The same device of JAX; None where it has none."""
        try:
            import jax

            return jax.devices("cpu" if self.is_twin else "gpu")[0]
        except (ImportError, RuntimeError):
            return None

    def is_lost(self) -> bool:
        """Tell whether an error has made the GPU useless to this process."""
        if self.is_twin:
            return False
        import cupy

        try:
            cupy.cuda.Device().synchronize()
        except cupy.cuda.runtime.CUDARuntimeError:
            return True
        return False


def why_no_device() -> str:
    """Return what is missing for a run on a GPU, or nothing where all is there."""
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
    except ImportError as error:
        return f"CuPy cannot be imported ({error}): pip install '.[cupy]'"
    except Exception as error:
        return f"CuPy finds no GPU ({error})"
    return "" if count else "CuPy finds no GPU"

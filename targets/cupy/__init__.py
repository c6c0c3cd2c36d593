"""The CuPy target: the shared macros on ``cp`` where CuPy and HLO agree, and no statement that waits for the device."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...transpile.array.support import Features
from ...transpile.hlo.carriers import carried
from ...transpile.hlo.element_types import ELEMENT_TYPES, from_dtype
from ...transpile.target import TEMPLATES, Graphs, Target, Twin
from .captures import cannot_be_captured, captured_product
from .functions import own_function
from .fusion import KERNELS
from .library import LIBRARY
from .packages import CUDNN
from .refusals import refuses

# The dtypes of CuPy 14; of those of ml_dtypes, only bfloat16.
HELD = frozenset("pred s8 s16 s32 s64 u8 u16 u32 u64 bf16 f16 f32 f64 c64 c128".split())
# What replicas have in common with those of modules for NumPy: their arrays choose the library of each function.
_RUNTIME = (
    "replica",
    "replica_collectives",
    "replica_mpi",
    "replica_mpi_files",
    "replica_snapshots",
    "replica_threads",
)
LACKING = frozenset(ELEMENT_TYPES) - HELD


def held(array: Any) -> Any:
    """Return a NumPy array in a dtype that CuPy has: narrow types in their carriers."""
    return carried(array) if from_dtype(array.dtype).name in LACKING else array


def on_device(array: Any) -> Any:
    """Return a copy of a NumPy array on the current device. Raises CuPy's exception if there is no device."""
    found = held(array)
    # For a 0-d array, CuPy fills the array with the number, which loses the sign of -0.
    return import_module("cupy").asarray(found) if found.ndim else import_module("cupy").asarray(found[None])[0]


def _missing() -> str:
    """Return what prevents CuPy from running here, or "". "" also if CuPy is not installed: then there is no twin
    either.
    """
    try:
        return "" if import_module("cupy").cuda.runtime.getDeviceCount() else "no GPU"
    except ImportError:
        return ""
    except Exception:  # a missing, old or broken driver may raise anything
        return "no GPU"


def _of_twin(name: str, module: str = "modules") -> Callable[..., Any]:
    """Return a function of the twin whose module is imported at the first call, since the import needs CuPy."""
    return lambda *arguments: getattr(import_module(f"{__name__}.twin.{module}"), name)(*arguments)


TARGET = Target(
    name="cupy",
    title="CuPy",
    namespace="cp",
    imports=("import cupy as cp",),
    macros=TEMPLATES / "cupy",
    refuses=refuses,
    features=Features(
        elements_are_numbers=False,
        slices_are_fast=False,  # each slice is a launch; one launch reduces all lines
        starts_are_free=False,
        narrow_products=("gemm", "contract"),  # by cuBLAS, in tensor cores
        has_linear_recurrences=True,
        operations_are_passes=False,  # one launch computes many operations
    ),
    largest_folded=0,  # each call of cp.array(..) in a function copies from the host
    prelude=(TEMPLATES / "cupy" / "prelude",),
    helpers_of=dict.fromkeys((*_RUNTIME, "shards"), "numpy"),
    own_function=own_function,
    packages={"cudnn": CUDNN},
    adopt=on_device,
    lacks=LACKING,
    runners={"run_local": "InThreads", "run_nccl": "OverNccl", "run_mpi": "OnDevices"},
    kernels=KERNELS,
    graphs=Graphs(cannot_be_captured, captured_product, TEMPLATES / "cupy" / "prelude" / "graphs"),
    precisions=("float32", "tf32"),
    twin=Twin(_missing, _of_twin("twin"), _of_twin("to_device"), _of_twin("to_host"), _of_twin("costs_of", "costs")),
    library=LIBRARY,
)

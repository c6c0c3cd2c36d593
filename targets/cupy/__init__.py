"""The CuPy target: the shared text on ``cp``, where CuPy means by it what HLO means, and nothing that waits for the
device."""

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

# The dtypes of CuPy 14; bfloat16 is the only one of ml_dtypes.
HELD = frozenset("pred s8 s16 s32 s64 u8 u16 u32 u64 bf16 f16 f32 f64 c64 c128".split())
LACKING = frozenset(ELEMENT_TYPES) - HELD


def held(array: Any) -> Any:
    """A NumPy array in a dtype that CuPy has: narrow types in their carriers."""
    return carried(array) if from_dtype(array.dtype).name in LACKING else array


def on_device(array: Any) -> Any:
    """A copy of a NumPy array on the current device. Raises what CuPy raises where there is none."""
    found = held(array)
    # CuPy fills an array of one number with it, and loses the sign of -0.
    return import_module("cupy").asarray(found) if found.ndim else import_module("cupy").asarray(found[None])[0]


def _missing() -> str:
    """Return what CuPy lacks to run here, or nothing; without CuPy itself there is no twin either."""
    try:
        return "" if import_module("cupy").cuda.runtime.getDeviceCount() else "no GPU"
    except ImportError:
        return ""
    except Exception:  # what a driver that is missing, too old or broken raises
        return "no GPU"


def _of_twin(name: str, module: str = "modules") -> Callable[..., Any]:
    """A function of the twin, which is imported when it is called: it needs CuPy."""
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
        slices_are_fast=False,  # a kernel for each, where one reduces all lines
        starts_are_free=False,
        narrow_products=("gemm", "contract"),  # by cuBLAS, in tensor cores
        has_linear_recurrences=True,
        operations_are_passes=False,  # which are many at once
    ),
    largest_folded=0,  # every cp.array(..) in a function copies from the host again
    prelude=(TEMPLATES / "cupy" / "prelude",),
    own_function=own_function,
    packages={"cudnn": CUDNN},
    adopt=on_device,
    lacks=LACKING,
    runners=("run_local", "run_nccl"),
    kernels=KERNELS,
    graphs=Graphs(cannot_be_captured, captured_product, TEMPLATES / "cupy" / "prelude" / "graphs"),
    precisions=("float32", "tf32"),
    twin=Twin(_missing, _of_twin("twin"), _of_twin("to_device"), _of_twin("to_host"), _of_twin("costs_of", "costs")),
    library=LIBRARY,
)

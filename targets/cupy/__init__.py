"""The CuPy target: the shared text on ``cp``, where CuPy means by it what HLO means, and nothing that waits for the
device."""

from importlib import import_module
from typing import Any

from ..base import Target
from .functions import own_function
from .refusals import refuses


def on_device(array: Any) -> Any:
    """A copy of a NumPy array on the current device. Raises what CuPy raises where there is none."""
    return import_module("cupy").asarray(array)


TARGET = Target(
    name="cupy",
    title="CuPy",
    namespace="cp",
    imports=("import cupy as cp",),
    folder="cupy",
    refuses=refuses,
    largest_folded=0,  # every cp.array(..) in a function copies from the host again
    prelude="cupy/prelude",
    own_function=own_function,
    adopt=on_device,
)

"""The CuPy target: the shared text on ``cp``, where CuPy means by it what HLO means, and nothing that waits for the
device."""

from ..base import Target
from .refusals import refuses

TARGET = Target(
    name="cupy",
    title="CuPy",
    namespace="cp",
    imports=("import cupy as cp",),
    folder="cupy",
    refuses=refuses,
    largest_folded=0,  # every cp.array(..) in a function copies from the host again
)

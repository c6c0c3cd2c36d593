"""Special functions, in one kernel each."""

import cupy as cp

from .device import INVERSE_ERF

erf_inv = cp.ElementwiseKernel(
    "float32 x", "float32 y", "y = inverse_erf(x)", "erf_inv", preamble=INVERSE_ERF
)

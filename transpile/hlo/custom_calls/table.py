"""The table of custom calls, one row per target; imported only for programs with custom calls."""

from __future__ import annotations

from .block_scaling import BLOCK_SCALING
from .call import CustomCall
from .callbacks import CALLBACKS
from .convolutions import CONVOLUTIONS
from .functions import FUNCTIONS
from .gpu_lapack import gpu_lapack_calls
from .lapack import lapack_calls
from .matrix_products import MATRIX_PRODUCTS
from .orders import ORDERS
from .others import OTHERS
from .sparse import SPARSE
from .special_functions import SPECIAL_CALLS
from .tpu_lapack import TPU_LAPACK
from .xla_library import XLA_LIBRARY

CUSTOM_CALLS: dict[str, CustomCall] = {
    **OTHERS,
    **CALLBACKS,
    **FUNCTIONS,
    **SPECIAL_CALLS,
    **XLA_LIBRARY,
    **ORDERS,
    **dict(lapack_calls()),
    **dict(gpu_lapack_calls()),
    **TPU_LAPACK,
    **SPARSE,
    **MATRIX_PRODUCTS,
    **CONVOLUTIONS,
    **BLOCK_SCALING,
}

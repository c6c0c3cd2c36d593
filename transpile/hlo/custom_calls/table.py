"""The table of custom calls, one row per target; imported only for programs with custom calls."""

from __future__ import annotations

from .block_scaling import BLOCK_SCALING
from .call import CustomCall
from .callbacks import CALLBACKS
from .functions import FUNCTIONS
from .gpu_lapack import GPU_LAPACK
from .lapack import lapack_calls
from .matrix_products import MATRIX_PRODUCTS
from .orders import ORDERS
from .others import OTHERS
from .special_functions import SPECIAL_CALLS

CUSTOM_CALLS: dict[str, CustomCall] = {
    **OTHERS,
    **CALLBACKS,
    **FUNCTIONS,
    **SPECIAL_CALLS,
    **ORDERS,
    **dict(lapack_calls()),
    **GPU_LAPACK,
    **MATRIX_PRODUCTS,
    **BLOCK_SCALING,
}

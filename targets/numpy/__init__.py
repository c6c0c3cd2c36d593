"""The NumPy target, which supports everything: with NumPy alone (ml_dtypes for narrow types), or with loops in
Numba.
"""

from ...transpile.target import TEMPLATES, Target
from .functions import own_function, readable_function
from .kernels import KERNELS
from .library import LIBRARY
from .packages import SCIPY

TARGET = Target(
    name="numpy",
    title="NumPy",
    namespace="np",
    imports=(
        *("import numpy as np", "from numba import njit", "from numba import prange"),
        *("import scipy.fft", "import scipy.special"),
    ),
    macros=TEMPLATES / "numpy",
    prelude=(TEMPLATES / "numpy" / "prelude",),
    own_function=own_function,
    readable_function=readable_function,
    packages={"scipy": SCIPY},
    kernels=KERNELS,
    library=LIBRARY,
)

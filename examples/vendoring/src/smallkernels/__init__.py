"""Three kernels that were written in JAX and run on NumPy alone."""

from .attention import main as attention
from .convolution import main as convolution
from .posterior import main as posterior

__all__ = ["attention", "convolution", "posterior"]

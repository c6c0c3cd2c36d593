"""XLA HLO programs as readable, standalone Python for NumPy, CuPy and Dask.

``__all__`` lists the public names. In addition, each installed target is a decorator with its own name, such as
``xla2py.numpy``: it turns a JAX function into a function of that array library. Most names are imported on first use,
so ``import xla2py`` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .transpile import errors
from .transpile.collection import collection_paused
from .transpile.version import VERSION

if TYPE_CHECKING:
    from .transpile.emission import GeneratedModule as GeneratedModule, emit as emit
    from .transpile.equivalence.checking import check as check
    from .transpile.equivalence.reports.results import CheckReport as CheckReport
    from .transpile.frontends import array as array, from_jax as from_jax, load as load
    from .transpile.hlo.builder import XlaBuilder as XlaBuilder
    from .transpile.hlo.ir import HloModule as HloModule
    from .transpile.vendoring.packages import package as package

__version__ = VERSION

_HOME = {
    "CheckReport": ".transpile.equivalence.reports.results",
    "GeneratedModule": ".transpile.emission",
    "HloModule": ".transpile.hlo.ir",
    "XlaBuilder": ".transpile.hlo.builder",
    "array": ".transpile.frontends",
    "check": ".transpile.equivalence.checking",
    "emit": ".transpile.emission",
    "from_jax": ".transpile.frontends",
    "load": ".transpile.frontends",
    "package": ".transpile.vendoring.packages",
}

__all__ = [
    "CheckReport",
    "GeneratedModule",
    "HloModule",
    "XlaBuilder",
    "__version__",
    "array",
    "check",
    "emit",
    "errors",
    "from_jax",
    "load",
    "package",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        with collection_paused(lives_on=True):
            globals()[name] = getattr(import_module(_HOME[name], __name__), name)
        return globals()[name]
    found = None if name.startswith("_") else import_module(".transpile.array_functions", __name__).decorator(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return __all__

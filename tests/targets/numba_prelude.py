"""The functions of ``templates/numpy/prelude``, whose modules Numba compiles: as plain Python where samples are enough.

``make prove`` compiles them. In ``make test`` only those are compiled that tests with the mark ``compiled`` call.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

import numba
import pytest

from xla2py.templates.numpy import prelude
from xla2py.tests.whole import much

_PLAIN = f"{prelude.__name__}_as_plain_python"


def numba_prelude(name: str) -> ModuleType:
    """Return a module of the prelude, or a copy of it whose functions are not compiled."""
    if _PLAIN not in sys.modules:
        sys.modules[_PLAIN] = ModuleType(_PLAIN)
        sys.modules[_PLAIN].__path__ = prelude.__path__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.core.config, "DISABLE_JIT", much(True, False))
        return import_module(f"{much(_PLAIN, prelude.__name__)}.{name}")

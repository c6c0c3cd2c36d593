"""Emitted functions of Numba run as plain Python, but in tests with the mark ``compiled`` and in ``make prove``.

The marked tests have every operation, element type and form of loop between them. What only compiling shows is which
types Numba gives to numbers, and what it refuses.
"""

import sys

import pytest

from xla2py.tests.whole import is_whole
from xla2py.transpile.emission.module.generated import GeneratedModule


@pytest.fixture(autouse=True)
def plain_functions(request, monkeypatch):
    if not is_whole() and not request.node.get_closest_marker("compiled"):
        monkeypatch.setattr(GeneratedModule, "load", _loaded_plainly(GeneratedModule.load))


def _loaded_plainly(load):
    def loaded(self, **options):
        with pytest.MonkeyPatch.context() as patch:
            if "numba" in sys.modules:
                patch.setattr("numba.core.config.DISABLE_JIT", True)
            return load(self, **options)

    return loaded

"""What tests of targets share."""

import sys

import pytest

from xla2py.tests.whole import is_whole


@pytest.fixture(autouse=True, scope="module")
def no_calls_from_c():
    """Numba compiles each function for calls from C, too, in a seventh of its time; nothing here calls from there."""
    with pytest.MonkeyPatch.context() as patch:
        if "numba" in sys.modules and not is_whole():
            patch.setattr("numba.core.lowering.Lower.create_cfunc_wrapper", lambda self: None)
        yield

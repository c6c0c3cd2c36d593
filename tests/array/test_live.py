"""Nodes in place of others: what becomes equal to another on the way goes with it."""

import numpy as np

import xla2py


def test_a_user_that_becomes_what_is_replaced_goes_with_it():
    """Magnitudes of magnitudes: without the inner one, the outer one is the inner one."""
    text = (
        "ENTRY e { x = f32[3] parameter(0)  s = f32[3] multiply(x, x)  a = f32[3] abs(s)  b = f32[3] abs(a)  "
        "c = f32[3] abs(b)  d = f32[3] add(b, c)  ROOT r = (f32[3], f32[3]) tuple(d, c) }"
    )
    emitted = xla2py.emit(text)
    assert "abs" not in emitted.source[emitted.source.index("def main") :].split("def check_arguments")[0]
    x = np.float32([-1, 2, -3])
    for expected, found in zip((2 * x * x, x * x), emitted.load().main(x), strict=True):
        np.testing.assert_array_equal(expected, found)

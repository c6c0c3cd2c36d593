"""Convolutions on CuPy: a kernel lays all windows side by side, in as many parts as there is memory for."""

from dataclasses import replace

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("cupy", reason="CuPy is not installed")

from jax import lax  # noqa: E402

import xla2py  # noqa: E402
from xla2py.targets.cupy.twin.costs import costs_of  # noqa: E402
from xla2py.tests.ladder.running import checked, needs_compiler  # noqa: E402

GENERATOR = np.random.default_rng(3)
pytestmark = needs_compiler


def numbers(*shape):
    return GENERATOR.normal(size=shape).astype(np.float32)


def convolved(strides, padding, **options):
    numbered = {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), **options}
    return lambda x, kernel: lax.conv_general_dilated(x, kernel, strides, padding, **numbered)


def gradients(x, kernel):
    return jax.grad(lambda *given: (convolved((2, 2), "SAME")(*given) ** 2).sum(), (0, 1))(x, kernel)


@pytest.mark.parametrize(
    ("function", "shapes", "launches"),
    [
        (convolved((1, 1), "SAME"), ((2, 9, 8, 3), (3, 3, 3, 4)), 2),
        (convolved((2, 1), "SAME", feature_group_count=2), ((2, 7, 8, 6), (3, 3, 3, 4)), 5),
        (convolved((1, 1), "SAME", feature_group_count=6), ((2, 7, 8, 6), (3, 3, 1, 6)), None),
        (convolved((2, 2), [(1, 2), (-1, 1)], rhs_dilation=(2, 1)), ((2, 9, 8, 6), (3, 2, 6, 4)), 2),
        (convolved((1, 1), [(1, 2), (2, 1)], lhs_dilation=(2, 3)), ((2, 5, 4, 3), (3, 3, 3, 4)), None),
        (convolved((2, 1), [(1, 2), (2, 1)], lhs_dilation=(2, 3)), ((2, 5, 4, 3), (3, 3, 3, 4)), None),
        (convolved((1, 1), "VALID"), ((2, 5, 4, 3), (1, 1, 3, 4)), 1),
        (convolved((2, 2), "VALID"), ((2, 5, 4, 3), (1, 1, 3, 4)), None),
        (convolved((1, 1), [(1, 1), (0, 0)]), ((2, 5, 4, 3), (1, 1, 3, 4)), 2),
        (convolved((1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")), ((2, 3, 9, 8), (4, 3, 3, 3)), 3),
        (convolved((1,), "VALID", dimension_numbers=("NCW", "OIW", "NCW")), ((2, 3, 9), (4, 3, 9)), 3),
        (gradients, ((2, 9, 8, 3), (3, 3, 3, 4)), None),
    ],
)
def test_convolutions(function, shapes, launches):
    arguments = [numbers(*shape) for shape in shapes]
    module = xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style="fast")
    expected = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    for bytes_of_columns in ("1 << 28", "1 << 9", "1"):
        given = replace(
            module, source=module.source.replace("COLUMN_BYTES = 1 << 28", f"COLUMN_BYTES = {bytes_of_columns}")
        )
        found = checked(given, arguments)
        for one, other in zip(expected, found if isinstance(found, tuple) else [found], strict=True):
            np.testing.assert_allclose(other, one, 1e-4, 1e-4)
    assert launches in (None, costs_of(module.load, arguments).launches)

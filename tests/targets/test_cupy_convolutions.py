"""Convolutions on CuPy: a kernel lays all windows side by side, but for those that products read in place."""

from dataclasses import replace

import ml_dtypes  # noqa: F401 - names of dtypes
import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.targets.cupy.twin.costs import costs_of
from xla2py.tests.ladder.running import checked, needs_compiler
from xla2py.tests.recording.lazy_jax import jax, lax
from xla2py.tests.whole import crossed, much

GENERATOR = np.random.default_rng(3)
pytestmark = needs_compiler


def numbers(*shape):
    return GENERATOR.normal(size=shape).astype(np.float32)


def convolved(strides, padding, **options):
    numbered = {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), **options}
    return lambda x, kernel: lax.conv_general_dilated(x, kernel, strides, padding, **numbered)


def gradients(strides, **options):
    def function(x, kernel):
        return jax.grad(lambda *given: (convolved(strides, "SAME", **options)(*given) ** 2).sum(), (0, 1))(x, kernel)

    return function


IMAGES_FIRST = {"dimension_numbers": ("NCHW", "OIHW", "NCHW")}
CASES = [
    (convolved((1, 1), "SAME"), ((2, 9, 8, 3), (3, 3, 3, 4)), 2),
    (convolved((2, 1), "SAME", feature_group_count=2), ((2, 7, 8, 6), (3, 3, 3, 4)), 2),
    (convolved((1, 1), "SAME", feature_group_count=6), ((2, 7, 8, 6), (3, 3, 1, 6)), 1),
    (convolved((1, 1), "SAME", feature_group_count=8), ((2, 7, 8, 8), (3, 3, 1, 8)), 1),
    (convolved((1, 1), "SAME", feature_group_count=8), ((2, 7, 8, 8), (3, 3, 1, 16)), 1),
    (convolved((1, 2), "SAME", feature_group_count=3), ((2, 7, 8, 3), (3, 3, 1, 6)), 1),
    (convolved((1, 1), "VALID"), ((2, 7, 8, 1), (3, 2, 1, 6)), 1),
    (convolved((1, 1), "SAME", feature_group_count=2), ((2, 9, 10, 2), (9, 9, 1, 4)), 2),
    (convolved((2, 2), [(1, 2), (-1, 1)], rhs_dilation=(2, 1)), ((2, 9, 8, 6), (3, 2, 6, 4)), 2),
    (convolved((1, 2), [(1, 2), (-1, 1)], rhs_dilation=(1, 3)), ((2, 9, 8, 6), (3, 2, 6, 4)), 2),
    (convolved((1, 1), [(1, 2), (2, 1)], lhs_dilation=(2, 3)), ((2, 5, 4, 3), (3, 3, 3, 4)), 17),
    (convolved((2, 1), [(1, 2), (2, 1)], lhs_dilation=(2, 3)), ((2, 5, 4, 3), (3, 3, 3, 4)), 4),
    (convolved((1, 1), "VALID"), ((2, 5, 4, 3), (1, 1, 3, 4)), 1),
    (convolved((2, 2), "VALID"), ((2, 5, 4, 3), (1, 1, 3, 4)), 2),
    (convolved((1, 1), [(1, 1), (0, 0)]), ((2, 5, 4, 3), (1, 1, 3, 4)), 2),
    (convolved((1, 1), [(0, -1), (0, 0)]), ((2, 5, 4, 3), (1, 1, 3, 4)), 1),
    (convolved((1, 1), "SAME", **IMAGES_FIRST), ((2, 3, 9, 8), (4, 3, 3, 3)), 2),
    (convolved((1, 1), "VALID", **IMAGES_FIRST), ((2, 3, 9, 8), (4, 3, 1, 1)), 1),
    (convolved((1,), "VALID", dimension_numbers=("NCW", "OIW", "NCW")), ((2, 3, 9), (4, 3, 9)), 2),
    (convolved((2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")), ((2, 90, 5), (7, 5, 3)), 2),
    (
        convolved((1, 2, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")),
        ((2, 5, 6, 7, 2), (3, 2, 3, 2, 3)),
        2,
    ),
    (convolved((), "VALID", dimension_numbers=("NC", "IO", "NC")), ((5, 3), (3, 4)), 1),
    (convolved((1, 1), "VALID"), ((2, 9, 8, 6), (8, 7, 6, 4)), 2),
    (gradients((1, 1)), ((2, 9, 8, 3), (3, 3, 3, 4)), 7),
    (gradients((1, 1)), ((4, 24, 16, 8), (3, 3, 8, 16)), 10),  # sums of the kernel's in three parts
    (gradients((2, 2)), ((2, 9, 8, 3), (3, 3, 3, 4)), None),
    (gradients((2, 1), rhs_dilation=(1, 2)), ((3, 9, 8, 3), (3, 2, 3, 4)), None),
    (gradients((1, 1), feature_group_count=2), ((2, 9, 8, 4), (3, 3, 2, 6)), None),
    (gradients((2, 1), feature_group_count=4), ((2, 9, 8, 4), (3, 3, 1, 4)), None),
    (gradients((1, 1), **IMAGES_FIRST), ((2, 3, 9, 8), (4, 3, 3, 3)), None),
]
# Narrow floats take some cases: the type changes the text of kernels, not the layout of windows.
TYPED = [(*case, "float32") for case in CASES] + [(*case, "bfloat16") for case in CASES[:: much(9, 3)]]
SIZES = [("1 << 28", "32", "512"), ("1 << 28", "1", "4"), ("1 << 9", "1", "512"), ("1", "32", "4")]


@pytest.mark.parametrize(("case", "sizes"), crossed(TYPED, SIZES))
def test_convolutions(case, sizes):
    function, shapes, launches, dtype = case
    arguments = [numbers(*shape).astype(dtype) for shape in shapes]
    module = xla2py.emit(xla2py.from_jax(function, *arguments), "cupy", style="fast")
    expected = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    tolerance = 1e-4 if dtype == "float32" else 2e-2
    bytes_of_columns, rows, terms = sizes
    source = module.source.replace("COLUMN_BYTES = 1 << 28", f"COLUMN_BYTES = {bytes_of_columns}")
    source = source.replace("FEW_ROWS = 32", f"FEW_ROWS = {rows}")
    given = replace(module, source=source.replace("LEAST_TERMS = 512", f"LEAST_TERMS = {terms}"))
    found = checked(given, arguments)
    for one, other in zip(expected, found if isinstance(found, tuple) else [found], strict=True):
        scale = max(1.0, float(np.abs(np.asarray(one, np.float64)).max()))
        wide = (np.asarray(each, np.float64) / scale for each in (other, one))
        np.testing.assert_allclose(*wide, tolerance, tolerance)
    if dtype == "float32":
        assert launches in (None, costs_of(module.load, arguments).launches)

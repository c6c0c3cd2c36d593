"""Convolution: XLA CPU is the judge."""

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.convolution import convolution, integer_convolution
from xla2py.tests.whole import crossed

pytestmark = pytest.mark.filterwarnings("error")
rng = np.random.default_rng(11)


def small(shape, dtype=np.float32):
    """Integers, so that sums are exact in any order."""
    return np.asarray(rng.integers(-3, 4, shape)).astype(dtype)


def dim_labels(layout, spatial):
    """``b01f_01io->b01f`` for ``NHWC,HWIO->NHWC``."""
    digits = {letter: str(k) for k, letter in enumerate(spatial)}
    names = digits | {"N": "b", "C": "f", "I": "i", "O": "o"}
    return "".join(names.get(letter, letter) for letter in layout.replace(",", "_"))


def window_text(window, strides, padding, input_dilation, kernel_dilation, reverse_kernel):
    parts = {"size": window, "stride": strides, "lhs_dilate": input_dilation, "rhs_dilate": kernel_dilation}
    parts["pad"] = padding and [f"{low}_{high}" for low, high in padding]
    parts["rhs_reversal"] = reverse_kernel and [int(reverse) for reverse in reverse_kernel]
    return "{" + " ".join(f"{name}={'x'.join(map(str, values))}" for name, values in parts.items() if values) + "}"


def check(agrees, x, kernel, layout="NHWC,HWIO->NHWC", dtype=None, rtol=0, **options):
    spatial = [letter for letter in layout.split(",")[0] if letter not in "NC"]
    axes_kernel = layout.split(",")[1].split("->")[0]
    window = [kernel.shape[axes_kernel.index(letter)] for letter in spatial]
    names = ("strides", "padding", "input_dilation", "kernel_dilation", "reverse_kernel")
    attributes = {"window": window_text(window, *map(options.get, names))} if spatial else {}
    attributes["dim_labels"] = dim_labels(layout, spatial)
    attributes["feature_group_count"] = options.get("feature_groups", 1)
    attributes["batch_group_count"] = options.get("batch_groups", 1)
    ours = convolution(x, kernel, layout=layout, dtype=dtype, **options)
    agrees(ours, "convolution", [x, kernel], rtol=rtol, **attributes)
    if x.dtype.kind in "iu":
        again = integer_convolution(x, kernel, layout=layout, dtype=dtype, **options)
        assert again.dtype == ours.dtype
        np.testing.assert_array_equal(again, ours)


OPTIONS = [
    {},
    {"strides": (2, 1)},
    {"padding": ((1, 1), (0, 2))},
    {"padding": ((-1, 2), (1, -2))},
    {"input_dilation": (2, 3)},
    {"input_dilation": (2, 3), "padding": ((1, 3), (2, -4))},
    {"input_dilation": (4, 1), "padding": ((-3, 0), (0, 1)), "reverse_kernel": (True, True)},
    {"kernel_dilation": (2, 1)},
    {"reverse_kernel": (True, False)},
    {"strides": (3, 2), "padding": ((2, 3), (-1, 4)), "input_dilation": (2, 1), "kernel_dilation": (1, 2)},
    {"strides": (2, 2), "input_dilation": (3, 2), "padding": ((1, 0), (2, 2)), "reverse_kernel": (True, True)},
]


@pytest.mark.parametrize(("options", "groups"), crossed(OPTIONS, [(1, 1), (2, 1), (4, 1), (1, 2), (1, 4)]))
def test_windows_and_groups(agrees, options, groups):
    feature_groups, batch_groups = groups
    x, kernel = small((4, 7, 8, 4)), small((3, 2, 4 // feature_groups, 8))
    before = x.copy(), kernel.copy()
    check(agrees, x, kernel, feature_groups=feature_groups, batch_groups=batch_groups, **options)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(kernel, before[1])


@pytest.mark.parametrize("column_bytes", [1, 1500, 1 << 18])
@pytest.mark.parametrize(
    "options",
    [
        {"padding": ((1, 1), (1, 1))},
        {"kernel_dilation": (1, 2), "padding": ((0, 0), (5, 2))},
        {"strides": (2, 1), "padding": ((2, 0), (1, 1))},
        {"padding": ((0, -1), (0, 0)), "layout": "CHWN,IHWO->HWNC"},
    ],
    ids=str,
)
def test_windows_that_are_larger_than_the_result(agrees, monkeypatch, column_bytes, options):
    monkeypatch.setattr("xla2py.templates.prelude.convolution.COLUMN_BYTES", column_bytes)
    shape = (5, 7, 6, 3) if "layout" in options else (3, 7, 6, 5)
    check(agrees, small(shape), small((5, 6, 5, 4)), **options)


def test_zeros_between_elements_meet_nothing(agrees):
    """So infinite taps give no NaN there."""
    x, kernel = small((1, 4, 4, 2)), small((3, 3, 2, 2))
    x[x == 0], kernel[1, 1, 0, 0] = 1, np.inf
    for padding in (None, ((1, 1), (1, 1))):
        check(agrees, x, kernel, input_dilation=(2, 2), padding=padding)


@pytest.mark.parametrize("letters", ["W", "HW", "DHW"])
def test_one_channel_is_summed_up_row_by_row(agrees, monkeypatch, letters):
    monkeypatch.setattr("xla2py.templates.prelude.convolution.COLUMN_BYTES", 1)
    x, kernel = small((2, *(7, 5, 6)[: len(letters)], 1)), small((*(3, 2, 2)[: len(letters)], 1, 1))
    layout = f"N{letters}C,{letters}IO->N{letters}C"
    check(agrees, x, kernel, layout, strides=(2, 1, 1)[: len(letters)])


@pytest.mark.parametrize("column_bytes", [1, 300, 1 << 18])
@pytest.mark.parametrize("features", [1, 3, 6])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strides": (2, 3)},
        {"strides": (3, 1), "kernel_dilation": (2, 2)},
        {"strides": (2, 2), "kernel_dilation": (3, 1), "padding": ((4, 3), (0, 1))},
        {"strides": (5, 5)},
    ],
    ids=str,
)
def test_each_channel_by_itself(agrees, monkeypatch, column_bytes, features, options):
    monkeypatch.setattr("xla2py.templates.prelude.convolution.COLUMN_BYTES", column_bytes)
    groups = min(features, 3)
    x, kernel = small((2, 11, 9, groups)), small((3, 2, 1, features))
    check(agrees, x, kernel, feature_groups=groups, **options)


@pytest.mark.parametrize("features", [1, 4])
def test_no_number_reaches_windows_that_it_is_not_in(agrees, features):
    x, kernel = small((2, 9, 9, features)), small((3, 3, 1, features))
    x[0, 4, 4], x[0, 8, 8], x[1, 0, 0] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        check(agrees, x, kernel, feature_groups=features)
        check(agrees, x, kernel, feature_groups=features, strides=(2, 2), padding=((1, 1), (1, 1)))


def test_windows_that_are_left_out_do_not_warn():
    x, kernel = np.ones((1, 4, 4, 1), np.float32), np.ones((2, 2, 1, 1), np.float32)
    x[0, 0, -1] = x[0, 1, 0] = np.inf  # these meet across the edge only
    kernel[0, 0] = -1
    assert np.isinf(convolution(x, kernel)).sum() == 3


@pytest.mark.parametrize(
    "layout, shape, kernel_shape, options",
    [
        ("NC,IO->NC", (3, 4), (4, 5), {}),
        ("CN,OI->NC", (4, 3), (6, 2), {"feature_groups": 2}),
        ("NWC,WIO->NWC", (2, 9, 3), (4, 3, 5), {"strides": (2,), "padding": ((3, 1),)}),
        ("NDHWC,DHWIO->NDHWC", (2, 4, 5, 6, 2), (2, 3, 2, 2, 3), {"strides": (1, 2, 2), "kernel_dilation": (2, 1, 3)}),
    ],
)
def test_any_number_of_spatial_dimensions(agrees, layout, shape, kernel_shape, options):
    check(agrees, small(shape), small(kernel_shape), layout, **options)


@pytest.mark.parametrize(
    "shape, kernel_shape, options",
    [
        ((0, 5, 5, 2), (2, 2, 2, 3), {}),
        ((2, 0, 5, 2), (2, 2, 2, 3), {"padding": ((2, 1), (0, 0))}),
        ((2, 1, 1, 1), (1, 1, 1, 1), {}),
        ((2, 1, 1, 1), (3, 3, 1, 1), {"padding": ((1, 1), (1, 1))}),
        ((2, 5, 5, 0), (2, 2, 0, 3), {}),
        ((1, 2, 2, 1), (3, 3, 1, 2), {}),
    ],
)
def test_few_elements(agrees, shape, kernel_shape, options):
    check(agrees, small(shape), small(kernel_shape), **options)


@pytest.mark.parametrize("feature_groups", [1, 4])
@pytest.mark.parametrize(
    "dtype, result, rtol",
    [
        (np.int8, np.int32, 0),
        (np.int8, np.int8, 0),
        (np.uint8, np.uint8, 0),
        (np.int32, np.int32, 0),
        (np.float16, np.float16, 2**-10),
        (ml_dtypes.bfloat16, ml_dtypes.bfloat16, 2**-7),
        (ml_dtypes.bfloat16, np.float32, 1e-6),
        (ml_dtypes.float8_e4m3fn, np.float32, 1e-6),
        (np.float64, np.float64, 1e-13),
        (np.complex64, np.complex64, 1e-6),
    ],
)
def test_element_types(agrees, dtype, result, rtol, feature_groups):
    x, kernel = small((2, 6, 6, 4)), small((3, 3, 4 // feature_groups, 4))
    if np.dtype(dtype).kind in "iu":
        x, kernel = x.astype(np.int64) * 40, kernel.astype(np.int64) * 33
    else:
        x, kernel = np.abs(x) * np.float32(0.7) + 1, np.abs(kernel) + 1
    options = {"dtype": result, "rtol": rtol, "feature_groups": feature_groups}
    check(agrees, x.astype(dtype), kernel.astype(dtype), **options)

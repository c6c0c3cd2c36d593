"""Window reductions, select-and-scatter and scans: XLA CPU is the judge."""

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.windows import blend, cumulative, fold_windows, reduce_window, select_and_scatter

pytestmark = pytest.mark.filterwarnings("error")
rng = np.random.default_rng(3)


def random(shape, dtype=np.float32):
    return np.asarray(rng.integers(-9, 10, shape)).astype(dtype)


def region(body, element_type, name="region", result=None):
    scalar = f"{element_type}[]"
    parameters = f"a = {scalar} parameter(0)  b = {scalar} parameter(1)"
    return f"{name} {{ {parameters}  ROOT r = {result or scalar} {body} }}\n"


def window_text(window, strides=None, padding=None, base_dilation=None, window_dilation=None):
    names = {"stride": strides, "lhs_dilate": base_dilation, "rhs_dilate": window_dilation}
    parts = [f"size={'x'.join(map(str, window))}"]
    parts += [f"{name}={'x'.join(map(str, values))}" for name, values in names.items() if values]
    parts += [f"pad={'x'.join(f'{low}_{high}' for low, high in padding)}"] if padding else []
    return "{" + " ".join(parts) + "}"


def attributes(options, body, element_type, **more):
    return {"window": window_text(**options), "to_apply": "region", "computations": region(body, element_type), **more}


WINDOWS = [
    {"window": (2, 3)},
    {"window": (2, 2), "strides": (2, 2)},
    {"window": (3, 3), "strides": (2, 1), "padding": ((1, 1), (0, 2))},
    {"window": (2, 1), "padding": ((-1, 2), (3, -2))},
    {"window": (3, 2), "base_dilation": (2, 3)},
    {"window": (2, 3), "window_dilation": (3, 2)},
    {"window": (3, 2), "strides": (3, 2), "padding": ((2, 1), (0, 3)), "base_dilation": (3, 1)},
    {"window": (2, 2), "padding": ((0, -1), (1, 2)), "base_dilation": (2, 2), "window_dilation": (2, 3)},
    {"window": (1, 1)},
    {"window": (1, 1), "strides": (2, 3), "padding": ((1, 0), (0, 1))},
    {"window": (7, 8)},
    {"window": (9, 3), "padding": ((8, 0), (0, 0))},
]


@pytest.mark.parametrize("size", [9, 13, 16, 31, 40])
@pytest.mark.parametrize("stride, dilation", [(1, 1), (2, 1), (1, 3), (3, 2)])
def test_long_windows(agrees, size, stride, dilation):
    x, init = random((2, 130)), np.float32(0)
    options = {"window": (1, size), "strides": (1, stride), "window_dilation": (1, dilation)}
    options["padding"] = ((0, 0), (size - 1, 2))
    expected = attributes(options, "add(a, b)", "f32")
    agrees(reduce_window(x, init, np.add, **options), "reduce-window", [x, init], **expected)


def test_low_precision_sums_round_once():
    x = (rng.random((64, 64)) + 0.5).astype(ml_dtypes.bfloat16)
    total = reduce_window(x, 0, np.add, (64, 64))
    assert total.item() == x.astype(np.float32).sum().astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("name, neutral", [("add", 0), ("add", -0.0), ("maximum", -np.inf)])
def test_reduce_window_of_nan_and_signed_zeros(agrees, name, neutral):
    x, init, options = np.float32([-0.0, -0.0, np.nan, 1, np.inf, np.inf]), np.float32(neutral), {"window": (2,)}
    ours = reduce_window(x, init, getattr(np, name), **options)
    agrees(ours, "reduce-window", [x, init], **attributes(options, f"{name}(a, b)", "f32"))
    np.testing.assert_array_equal(np.signbit(ours), np.signbit(fold_windows(x, init, getattr(np, name), **options)))


# ---------------------------------------------------------------- any function
@pytest.mark.parametrize("options", WINDOWS, ids=lambda options: window_text(**options))
def test_fold_windows_uses_an_init_that_is_not_neutral_once(agrees, options):
    x, init = random((7, 8)), np.float32(2.5)
    agrees(
        fold_windows(x, init, np.add, **options), "reduce-window", [x, init], **attributes(options, "add(a, b)", "f32")
    )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 13])
def test_cumulative(agrees, n, reverse):
    x, init = random((3, n)), np.float32(2)
    options = {"window": (1, max(n, 1)), "padding": ((0, 0), (max(n - 1, 0), 0)[:: -1 if reverse else 1])}
    expected = attributes(options, "add(a, b)", "f32")
    agrees(cumulative(x, init, np.add, axis=1, reverse=reverse), "reduce-window", [x, init], **expected)


def test_cumulative_keeps_the_order_of_a_function_that_does_not_commute():
    slopes, offsets = random((2, 9))

    def compose(slope, offset, next_slope, next_offset):
        return next_slope * slope, next_slope * offset + next_offset

    at_two, value = [], 3 * 2.0 + 1
    for slope, offset in zip(slopes, offsets, strict=True):
        value = slope * value + offset
        at_two.append(value)
    slopes, offsets = cumulative((slopes, offsets), (np.float32(3), np.float32(1)), compose)
    np.testing.assert_allclose(slopes * 2 + offsets, at_two, rtol=1e-5)


# ---------------------------------------------------------------- select-and-scatter
@pytest.mark.parametrize(
    "options",
    [
        {"window": (2, 2), "strides": (2, 2)},
        {"window": (3, 3), "strides": (2, 1), "padding": ((1, 1), (1, 2))},
        {"window": (2, 3)},
        {"window": (1, 1)},
        {"window": (2, 2), "padding": ((-1, 1), (0, -2))},
        {"window": (2, 2), "strides": (3, 3)},
    ],
    ids=lambda options: window_text(**options),
)
@pytest.mark.parametrize("direction, select", [("GE", np.greater_equal), ("LE", np.less_equal), ("GT", np.greater)])
def test_select_and_scatter(agrees, options, direction, select):
    x, init = rng.integers(0, 4, (6, 7)).astype(np.float32), np.float32(0.5)
    source = random(fold_windows(x, init, np.add, **options).shape)
    x[2, 3] = np.nan
    ours = select_and_scatter(x, source, init=init, select=select, **options)
    regions = region(f"compare(a, b), direction={direction}", "f32", "pick", "pred[]") + region(
        "add(a, b)", "f32", "put"
    )
    attributes = {"window": window_text(**options), "select": "pick", "scatter": "put", "computations": regions}
    agrees(ours, "select-and-scatter", [x, source, init], **attributes)


def test_select_and_scatter_with_any_functions_and_in_order(agrees):
    options = {"window": (3, 2), "strides": (1, 1), "padding": ((1, 0), (0, 1))}
    x = rng.permutation(25).reshape(5, 5).astype(np.float32) * np.float32(-0.5)
    x[::2] *= -1  # no two of one size: which of them XLA finds first depends on how it lays out its loops
    source, init = random((4, 5)), np.float32(1)
    ours = select_and_scatter(
        x, source, init=init, select=lambda a, b: a * a >= b * b, combine=lambda a, b: a * 0.5 - b, **options
    )
    regions = """
      pick { a = f32[] parameter(0)  b = f32[] parameter(1)  s = f32[] multiply(a, a)  t = f32[] multiply(b, b)
             ROOT r = pred[] compare(s, t), direction=GE }
      put { a = f32[] parameter(0)  b = f32[] parameter(1)  half = f32[] constant(0.5)  h = f32[] multiply(a, half)
            ROOT r = f32[] subtract(h, b) }
    """
    attributes = {"window": window_text(**options), "select": "pick", "scatter": "put", "computations": regions}
    agrees(ours, "select-and-scatter", [x, source, init], **attributes)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float32, np.uint64, np.complex64, np.complex128])
def test_blend_is_where(dtype):
    x, y, mask = random((5, 6), dtype), random((5, 6), dtype)[:, ::-1], rng.random((5, 6)) < 0.5
    assert blend(mask, x, y).tobytes() == np.where(mask, x, y).tobytes()
    assert blend(mask, x[0, 0], y).tobytes() == np.where(mask, x[0, 0], y).tobytes()


def test_blend_keeps_the_other_side_out():
    x, y = np.float32([np.nan, 1, -0.0, 5]), np.float32([2, np.inf, 3, -0.0])
    assert blend(np.array([False, True, True, False]), x, y).tobytes() == np.float32([2, 1, -0.0, -0.0]).tobytes()


def test_select_and_scatter_of_nothing():
    x, source = np.zeros((0, 4), np.float32), np.zeros((0, 2), np.float32)
    result = select_and_scatter(x, source, (1, 2), strides=(1, 2))
    assert result.shape == (0, 4)

"""The style ``fast`` of CuPy: reductions of rows and columns in kernels."""

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.tests.ladder.fast_programs import kernels, rows_of, softmax
from xla2py.tests.ladder.running import as_numpy, checked, needs_compiler, verdict
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.whole import much


@needs_compiler
@pytest.mark.parametrize(
    ("shape", "axis", "said"),
    [
        ((5, 3), 1, "row_max<4>"),
        ((2, 40), 1, "row_max<32>"),
        ((8, 64), 1, "int row = blockIdx.x * 4 + threadIdx.x / 32;"),
        ((6, 65), 1, "int column = k * 32 + threadIdx.x % 32;"),
        ((3, 31), 1, "int row = min((int)(blockIdx.x * 4 + threadIdx.x / 32), 2), column"),
        ((3, 224), 1, "k / 4 * 128 + threadIdx.x * 4 + k % 4;\n        if (column >= 224) continue;"),
        ((4, 512), 1, "exp[k] = expf(x_here[k] - peak);"),
        ((3, 768), 1, "row_max<96>"),
        ((2, 1023), 1, "k * 128 + threadIdx.x"),
        ((3, 1100), 1, "if (column >= 1100) continue;"),
        ((2, 2048), 1, "exp[k] = expf(x_here[k] - peak);"),
        ((2, 17000), 1, "for (int column = threadIdx.x; column < 17000; column += 1024)"),
        ((3, 40), 0, "exp[row] = expf(x_here[row] - peak);"),
        ((170, 40), 0, "column_max<32, 32>"),
        ((80, 64), 0, "int column = blockIdx.x * 32 + threadIdx.x % 32;\n    float peak"),
        ((9000, 3), 0, "for (int row = threadIdx.x / 4; row < 9000; row += 256)"),
    ],
)
def test_lines_are_one_kernel(shape, axis, said):
    text, x = softmax(*shape, axis), rows_of(shape)
    module = xla2py.emit(text, "cupy", style="fast")
    assert kernels(module) == ["ratio_kernel"]
    assert said in module.source
    assert verdict(module, [x], xla2py.emit(text).load().main(x)) == ""


def scaled(axes):
    def normalised(x, scale):
        return (x - x.mean(axes, keepdims=True)) / (x.std(axes, keepdims=True) + 1) * scale

    return normalised


def centred(axes):
    def normalised(x, scale):
        return (x - x.mean(axes, keepdims=True)) * scale, abs(x * 2).max(axes)

    return normalised


def normed(name, axes):
    return lambda x: (x - x.mean(axes, keepdims=True)) / getattr(jax.numpy, name)(x, axes, keepdims=True)


def both(x):
    rows = jax.nn.softmax(x, 1)
    return rows / rows.sum(0)


def apart(shape, axes):
    """The axes and the shapes of an array and of what is kept of it."""
    return axes, (shape, tuple(1 if axis in axes else size for axis, size in enumerate(shape)))


# What is computed of arrays of some shapes, what its text says, and how many kernels it has.
LINES = {
    "axes beside each other": [
        (scaled((1,)), ((3, 5, 7), (7,)), "int at = column / 7 * 35 + row * 7 + column % 7;", 1),
        (scaled((1, 2)), ((3, 40, 50), (50,)), "row_sum<256>", 1),
        (scaled((0, 1, 2)), ((2, 3, 600, 5), (5,)), "column_sum<128, 8>", 1),
        (scaled((0, 1, 2)), ((6, 1, 7), (7,)), "row_sum<32>", 1),
    ],
    "axes apart": [
        (centred(axes), shapes, said, None)
        for (axes, shapes), said in (
            (apart((3, 4, 5), (0, 2)), "int at = column / 5 * 20 + row * 5 + column % 5;"),
            (apart((2, 6, 5, 7), (0, 2, 3)), "int at = column / 35 * 210 + row * 35 + column % 35;"),
            (apart((2, 3, 30, 40), (0, 2, 3)), "for (int k = 0; k < 8; k++) {"),
            (apart((6, 5, 3, 4), (0, 2)), "int at = row / 3 * 60 + column / 4 * 12 + row % 3 * 4 + column % 4;"),
            (apart((4, 2, 3, 2, 5), (1, 3)), " / 15 * 60 + row / 2 * 30 + column / 5 % 3 * 10 + row % 2 * 5 + column"),
            (apart((3, 1, 4, 1, 5), (0, 1, 4)), "int at = column / 5 * 20 + row * 5 + column % 5;"),
            (apart((40, 3, 9000), (0, 2)), "peak_parts.max(axis=-1)"),
            (apart((20, 12, 30, 5), (0, 2)), "column_sum<32, 32>"),
        )
    ],
    "along other axes": [(both, ((4, 6),), "", 2)],
    "parts that the library reduces": [
        (lambda x: abs(x).sum(), ((600, 700),), "grid=(1, 52)", 1),
        (lambda x: abs(x).mean((1, 2)), ((3, 300, 900),), "blockIdx.y * 1024 + threadIdx.x; column < 270000; ", 1),
        (lambda x: abs(x).max(0), ((9000, 40),), "peak_parts_kernel(x).max(axis=-1)", 1),
        (lambda x: jax.nn.softmax(x).max(), ((60, 70),), "peak_parts_kernel(x).max()", 1),
        (lambda x: jax.nn.softmax(x, 1).mean((0, 1)), ((6, 70, 3),), "mean_parts_kernel(x).sum(axis=0)", 1),
        (
            lambda x: jax.nn.softmax(x, 1).sum((1, 2), keepdims=True),
            ((2, 3, 4),),
            "total_parts_kernel(x).sum(axis=-1, keepdims=True)",
            1,
        ),
    ],
    "variances of long lines": [
        (normed(name, axes), (shape,), "RowKernel(", None)
        for name in much(["std"], ["var", "std"])
        for shape, axes in (((600, 700), (0, 1)), ((9000, 40), (0,)), ((3, 700, 400), (1, 2)))
    ],
    "rows of a warp or less": [
        (lambda x: ((x * x).sum(1), abs(x).max(1)), (shape,), "RowKernel(", None)
        for shape in ((60, 16), (8, 8), (128, 2), *much((), ((64, 16), (32, 4), (7, 32), (5, 7))))
    ],
    "a reduction that must come first": [  # beside the lines that it reads a result of
        (function, ((5, 7), (5,), (3, 4)), "", None)
        for function in (
            lambda x, y, w: jax.numpy.where(y > 0, x.sum(1), w.sum()),
            lambda x, y, w: (x.max(1) * w.max() - y, w.max()),
            lambda x, y, w: (jax.numpy.where(y > 0, x.sum(1), w.sum()) * 2, x * w.sum()),
        )
    ],
}


@needs_compiler
@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, rows in LINES.items() for row in rows])
def test_lines_are_kernels(row):
    function, shapes, said, count = row
    arguments = [np.random.default_rng(k).normal(0.2, 1, shape).astype(np.float32) for k, shape in enumerate(shapes)]
    emitted = as_numpy(function, *arguments, format=False)
    assert said in emitted.source
    assert count is None or len(kernels(emitted)) == count
    assert ".var(" not in emitted.source and ".std(" not in emitted.source


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "int32", "bfloat16"])
@pytest.mark.parametrize("axis", [0, 1])
def test_lines_of_other_types(axis, dtype):
    def reduced(x):
        wide = x.astype("float32") if dtype == "bfloat16" else x
        extremes = wide.max(axis) - wide.min(axis) + (wide * 2).sum(axis) + (wide % 3).prod(axis)
        return extremes, (wide - 1).argmax(axis), (wide - 1).argmin(axis)

    with jax.enable_x64(True):
        x = np.asarray(np.arange(3300).reshape(2, 1650) * 7 % 101, dtype)
        x = x if axis else x.T.copy()
        emitted = as_numpy(reduced, x)
    assert not [name for name in ("max", "min", "sum", "prod", "argmax", "argmin") if f".{name}(" in emitted.source]


@needs_compiler
def test_results_have_names_of_their_own_in_memory():
    text, x = softmax(5, 3).replace("x = f32", "ratio_out = f32").replace("(x, ", "(ratio_out, "), rows_of((5, 3))
    assert verdict(xla2py.emit(text, "cupy", style="fast"), [x], xla2py.emit(text).load().main(x)) == ""


@needs_compiler
def test_sums_of_few_columns_are_shared_by_many_blocks():
    x = np.random.default_rng(13).normal(size=(9000, 40)).astype(np.float32)
    module = xla2py.from_jax(lambda x: x.sum(0), x)
    emitted = xla2py.emit(module, "cupy", style="fast", format=False)
    assert "grid=(2, 36)" in emitted.source
    assert "return total_parts_kernel(x).sum(axis=-1)" in emitted.source
    assert verdict(emitted, [x], x.astype(np.float64).sum(0).astype(np.float32)) == ""
    for few in ((1000, 40), (40, 9000), (2000, 64 * 264)):
        other = xla2py.from_jax(lambda x: x.sum(0), np.zeros(few, np.float32))
        assert kernels(xla2py.emit(other, "cupy", style="fast")) == []


@needs_compiler
def test_sums_of_the_same_columns_are_one_kernel():
    x, y = np.random.default_rng(14).normal(size=(2, 300, 40)).astype(np.float32)

    def sums(x, y):
        z = jax.nn.softmax(x)
        return z, z.sum(0), (z * y).sum(0), abs(y).sum(1)

    emitted = as_numpy(sums, x, y, format=False)
    assert "z_sum, total_2 = total_kernel_2(z, y)" in emitted.source


def test_lines_that_are_too_much_for_a_block_are_shared():
    source = xla2py.emit(softmax(2, 2**18 + 1), "cupy", style="fast").source
    assert "x.max(axis=-1, keepdims=True)" in source
    assert "grid=(2, 33)" in source
    assert "total_parts.sum(axis=-1)" in source


@needs_compiler
@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_sums_over_what_is_computed_of_complex_numbers(kind):
    x, y = np.random.default_rng(14).normal(size=(2, 3, 40))
    z = (x + 1j * y).astype(kind)
    with jax.enable_x64(True):
        emitted = as_numpy(lambda z: (abs(z * z).sum(1), (z + 1).imag.max(1)), z)
    assert "complex<" in emitted.source and "RowKernel(" in emitted.source


@needs_compiler
@pytest.mark.parametrize("length", [1, 3, 8, 16])
def test_a_thread_takes_a_short_row(length):
    """What is left of rows of a few elements is a number each: distances of all pairs of points."""
    x, y = (np.random.default_rng(k).standard_normal((33, length)).astype(np.float32) for k in (1, 2))

    def distances(x, y):
        return jax.numpy.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))

    module = xla2py.emit(xla2py.from_jax(distances, x, y), "cupy", style="fast", nested=False)
    np.testing.assert_allclose(checked(module, [x, y]), distances(x, y), 2e-6, 2e-6)
    assert "row_sum" not in module.source

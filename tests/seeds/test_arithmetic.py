"""Worked examples of the operation semantics: element-wise operations, dots, convolution, normalisation, transforms."""

import numpy as np
import pytest

from xla2py.tests.seeds.examples import check_emitted, check_xla, example

RANDOM = np.random.default_rng(0)


def floats(*sizes: int) -> np.ndarray:
    return RANDOM.standard_normal(sizes).astype(np.float32)


SELECTIONS = [
    example(
        "select between tuples, as XLA's builder writes it",
        """mask = pred[] parameter(0)
        a = s32[] constant(1)
        b = f32[2] constant({2, 3})
        c = s32[] constant(4)
        d = f32[2] constant({5, 6})
        first = s32[] select(mask, a, c)
        second = f32[2] select(mask, b, d)
        ROOT r = (s32[], f32[2]) tuple(first, second)""",
        (np.bool_(False),),
        (np.int32(4), np.float32([5, 6])),
    ),
]

ELEMENTWISE = [
    example(
        "sign keeps -0 and NaN",
        "x = f32[5] parameter(0)\nROOT r = f32[5] sign(x)",
        (np.float32([-3, -0.0, np.nan, 0, 3]),),
        np.float32([-1, -0.0, np.nan, 0, 1]),
    ),
    example(
        "sign: the bits of its zeros",
        "x = f32[2] parameter(0)\ns = f32[2] sign(x)\nROOT r = u32[2] bitcast-convert(s)",
        (np.float32([-0.0, 0]),),
        np.uint32([0x80000000, 0]),
    ),
    example(
        "remainder has the sign of the dividend and is smaller than the divisor",
        "x = f32[4] parameter(0)\ny = f32[4] parameter(1)\nROOT r = f32[4] remainder(x, y)",
        (np.float32([7, -7, 7, -7]), np.float32([3, 3, -3, -3])),
        np.float32([1, -1, 1, -1]),
    ),
    example(
        "round away from zero and to even",
        """x = f32[6] parameter(0)
        a = f32[6] round-nearest-afz(x)
        e = f32[6] round-nearest-even(x)
        ROOT r = (f32[6], f32[6]) tuple(a, e)""",
        (np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]),),
        (np.float32([-3, -2, -1, 1, 2, 3]), np.float32([-2, -2, -0.0, 0, 2, 2])),
    ),
    example(
        "reduce-precision to IEEE half",
        "x = f32[6] parameter(0)\nROOT r = f32[6] reduce-precision(x), exponent_bits=5, mantissa_bits=10",
        (np.float32([1.0004883, 1.0014648, 65519, 65520, -1e6, np.nan]),),
        np.float32([1, 1.0019531, 65504, np.inf, -np.inf, np.nan]),
    ),
    example(
        "reduce-precision wider than the type does nothing",
        "x = f32[2] parameter(0)\nROOT r = f32[2] reduce-precision(x), exponent_bits=11, mantissa_bits=52",
        (np.float32([0.1, 3e38]),),
        np.float32([0.1, 3e38]),
    ),
    example(
        "map",
        """a = f32[3] parameter(0)
        b = f32[3] parameter(1)
        c = f32[3] parameter(2)
        ROOT r = f32[3] map(a, b, c), dimensions={0}, to_apply=f""",
        (np.float32([1, 2, 3]), np.float32([10, 20, 30]), np.float32([2, 2, 2])),
        np.float32([12, 24, 36]),
        """f {
          x = f32[] parameter(0)
          y = f32[] parameter(1)
          z = f32[] parameter(2)
          s = f32[] multiply(x, z)
          ROOT r = f32[] add(s, y)
        }""",
    ),
]

DOTS = [
    example(
        "dot: matrix by vector",
        """x = f32[2,3] parameter(0)
        y = f32[3] parameter(1)
        ROOT r = f32[2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
        (np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([1, 0, 2])),
        np.float32([7, 16]),
    ),
    example(
        "dot: matrix by matrix",
        """x = f32[2,3] parameter(0)
        y = f32[3,2] parameter(1)
        ROOT r = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
        (np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([[1, 0], [0, 1], [1, 1]])),
        np.float32([[4, 5], [10, 11]]),
    ),
    example(
        "dot-general: [b0, b1, m, k] by [b0, b1, k, n]",
        """x = f32[2,3,4,5] parameter(0)
        y = f32[2,3,5,6] parameter(1)
        ROOT r = f32[2,3,4,6] dot(x, y), lhs_batch_dims={0,1}, rhs_batch_dims={0,1},
          lhs_contracting_dims={3}, rhs_contracting_dims={2}""",
        (x := floats(2, 3, 4, 5), y := floats(2, 3, 5, 6)),
        x @ y,
    ),
]


def convolve(image: np.ndarray, kernel: np.ndarray, stride: tuple[int, int], pad: list[tuple[int, int]]) -> np.ndarray:
    """The pseudo-code of the specification, with one loop for each of its variables."""
    (stride_y, stride_x), ((low_y, high_y), (low_x, high_x)) = stride, pad
    batches, features, height, width = image.shape
    outputs, _, size_y, size_x = kernel.shape
    rows = (height + low_y + high_y - size_y) // stride_y + 1
    columns = (width + low_x + high_x - size_x) // stride_x + 1
    output = np.zeros((batches, outputs, rows, columns), np.float32)
    for b, oz, oy, ox in np.ndindex(output.shape):
        value = 0.0
        for iz, ky, kx in np.ndindex(features, size_y, size_x):
            iy, ix = oy * stride_y + ky - low_y, ox * stride_x + kx - low_x
            if 0 <= iy < height and 0 <= ix < width:
                value += image[b, iz, iy, ix] * kernel[oz, iz, ky, kx]
        output[b, oz, oy, ox] = value
    return output


IMAGE, KERNEL = floats(2, 3, 6, 7), floats(4, 3, 3, 2)
X, SCALE, OFFSET, GRADIENT = floats(5, 3, 4, 2), floats(2), floats(2), floats(5, 3, 4, 2)
MEAN, VARIANCE = X.mean((0, 1, 2)), X.var((0, 1, 2))
EPSILON = 0.125
CENTERED = X - MEAN
SPREAD = VARIANCE + np.float32(EPSILON)
NORMALISED = SCALE * CENTERED / np.sqrt(SPREAD) + OFFSET
C, D = (GRADIENT * CENTERED / SPREAD).mean((0, 1, 2)), GRADIENT.mean((0, 1, 2))

NETWORKS = [
    example(
        "convolution: the pseudo-code, with stride and padding",
        """x = f32[2,3,6,7] parameter(0)
        k = f32[4,3,3,2] parameter(1)
        ROOT r = f32[2,4,4,10] convolution(x, k), window={size=3x2 stride=2x1 pad=1_2x2_2},
          dim_labels=bf01_oi01->bf01""",
        (IMAGE, KERNEL),
        convolve(IMAGE, KERNEL, (2, 1), [(1, 2), (2, 2)]),
    ),
    example(
        "convolution: padding (2, 3) in x puts two zeros left and three right",
        """x = f32[2,3,6,7] parameter(0)
        k = f32[4,3,3,2] parameter(1)
        ROOT r = f32[2,4,4,11] convolution(x, k), window={size=3x2 pad=0_0x2_3}, dim_labels=bf01_oi01->bf01""",
        (IMAGE, KERNEL),
        convolve(np.pad(IMAGE, [(0, 0), (0, 0), (0, 0), (2, 3)]), KERNEL, (1, 1), [(0, 0), (0, 0)]),
    ),
    example(
        "batch-norm-training",
        f"""x = f32[5,3,4,2] parameter(0)
        scale = f32[2] parameter(1)
        offset = f32[2] parameter(2)
        ROOT r = (f32[5,3,4,2], f32[2], f32[2]) batch-norm-training(x, scale, offset),
          epsilon={EPSILON}, feature_index=3""",
        (X, SCALE, OFFSET),
        (NORMALISED, MEAN, VARIANCE),
    ),
    example(
        "batch-norm-inference",
        f"""x = f32[5,3,4,2] parameter(0)
        scale = f32[2] parameter(1)
        offset = f32[2] parameter(2)
        mean = f32[2] parameter(3)
        variance = f32[2] parameter(4)
        ROOT r = f32[5,3,4,2] batch-norm-inference(x, scale, offset, mean, variance),
          epsilon={EPSILON}, feature_index=3""",
        (X, SCALE, OFFSET, MEAN, VARIANCE),
        NORMALISED,
    ),
    example(
        "batch-norm-grad",
        f"""x = f32[5,3,4,2] parameter(0)
        scale = f32[2] parameter(1)
        mean = f32[2] parameter(2)
        variance = f32[2] parameter(3)
        g = f32[5,3,4,2] parameter(4)
        ROOT r = (f32[5,3,4,2], f32[2], f32[2]) batch-norm-grad(x, scale, mean, variance, g), epsilon={EPSILON},
          feature_index=3""",
        (X, SCALE, MEAN, VARIANCE, GRADIENT),
        (
            SCALE / np.sqrt(SPREAD) * (GRADIENT - D - C * CENTERED),
            (GRADIENT * CENTERED / np.sqrt(SPREAD)).sum((0, 1, 2)),
            GRADIENT.sum((0, 1, 2)),
        ),
    ),
]

SIGNAL = floats(3, 16)
ODD = floats(3, 17)
HERMITIAN = np.float32([[4, 1, 0], [1, 5, 2], [0, 2, 6]])
LOWER = np.float32([[2, 0, 0], [1, 3, 0], [4, 5, 6]])
SOLUTION = np.float32([[1, 2], [3, 4], [5, 6]])

TRANSFORMS = [
    example(
        "fft: RFFT of 16",
        "x = f32[3,16] parameter(0)\nROOT r = c64[3,9] fft(x), fft_type=RFFT, fft_length={16}",
        (SIGNAL,),
        np.fft.rfft(SIGNAL).astype(np.complex64),
    ),
    example(
        "fft: RFFT of 17 has the shape of RFFT of 16",
        "x = f32[3,17] parameter(0)\nROOT r = c64[3,9] fft(x), fft_type=RFFT, fft_length={17}",
        (ODD,),
        np.fft.rfft(ODD).astype(np.complex64),
    ),
    example(
        "fft: IRFFT undoes both, given the length",
        """x = c64[3,9] parameter(0)
        y = c64[3,9] parameter(1)
        a = f32[3,16] fft(x), fft_type=IRFFT, fft_length={16}
        b = f32[3,17] fft(y), fft_type=IRFFT, fft_length={17}
        ROOT r = (f32[3,16], f32[3,17]) tuple(a, b)""",
        (np.fft.rfft(SIGNAL).astype(np.complex64), np.fft.rfft(ODD).astype(np.complex64)),
        (SIGNAL, ODD),
    ),
    example(
        "fft: several lengths are a cascade over the innermost axes",
        "x = c64[2,3,4] parameter(0)\nROOT r = c64[2,3,4] fft(x), fft_type=FFT, fft_length={3,4}",
        (z := (floats(2, 3, 4) + 1j * floats(2, 3, 4)).astype(np.complex64),),
        np.fft.fft(np.fft.fft(z, axis=2), axis=1).astype(np.complex64),
    ),
    example(
        "cholesky: a = l l^T, of which only the lower triangle is read",
        """x = f32[3,3] parameter(0)
        l = f32[3,3] cholesky(x), lower=true
        ROOT r = f32[3,3] dot(l, l), lhs_contracting_dims={1}, rhs_contracting_dims={1}""",
        (np.tril(HERMITIAN) + np.triu(np.full((3, 3), 99, np.float32), 1),),
        HERMITIAN,
    ),
    example(
        "cholesky: a = u^T u, of which only the upper triangle is read",
        """x = f32[3,3] parameter(0)
        u = f32[3,3] cholesky(x), lower=false
        ROOT r = f32[3,3] dot(u, u), lhs_contracting_dims={0}, rhs_contracting_dims={0}""",
        (np.triu(HERMITIAN) + np.tril(np.full((3, 3), 99, np.float32), -1),),
        HERMITIAN,
    ),
    example(
        "triangular-solve: a x = b",
        """a = f32[3,3] parameter(0)
        b = f32[3,2] parameter(1)
        ROOT r = f32[3,2] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false,
          transpose_a=NO_TRANSPOSE""",
        (LOWER + np.triu(np.full((3, 3), 99, np.float32), 1), LOWER @ SOLUTION),
        SOLUTION,
    ),
    example(
        "triangular-solve: x a^T = b",
        """a = f32[3,3] parameter(0)
        b = f32[2,3] parameter(1)
        ROOT r = f32[2,3] triangular-solve(a, b), left_side=false, lower=true, unit_diagonal=false,
          transpose_a=TRANSPOSE""",
        (LOWER, SOLUTION.T @ LOWER.T),
        SOLUTION.T.copy(),
    ),
]

EXAMPLES = SELECTIONS + ELEMENTWISE + DOTS + NETWORKS + TRANSFORMS


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_emitted(case):
    check_emitted(case)


@pytest.mark.parametrize("case", [case for case in EXAMPLES if not case.refused_by_xla], ids=lambda case: case.name)
def test_xla_agrees(case):
    check_xla(case)

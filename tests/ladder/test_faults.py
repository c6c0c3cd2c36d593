"""Faults sown into emitted modules, each of which the ladder must find without a GPU."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py  # noqa: E402
from xla2py.targets.cupy.twin.device_array import DeviceArray  # noqa: E402
from xla2py.targets.cupy.twin.host_kernels import OrderMatters, RawKernel  # noqa: E402
from xla2py.tests.ladder.running import needs_compiler, verdict  # noqa: E402
from xla2py.tests.operations.case import EXACT, shape_text  # noqa: E402

ROW = np.float32([3, np.nan, -1, 300])
WHOLE = np.int32([-(2**31), -7, 0, 7])
ROWS = """sum { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] multiply(a, b) }
"""
GATHER = "offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={2,3}"
SCATTER = (
    "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, "
    "to_apply=sum"
)
PLACES = np.int32([[0, 1], [2, 0], [-1, 0], [2, 0]])
LARGER = """larger { a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  wins = pred[] compare(a, b), direction=GT
  nan = pred[] compare(a, a), direction=NE
  better = pred[] or(wins, nan)
  equal = pred[] compare(a, b), direction=EQ
  earlier = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, earlier)
  first = pred[] or(better, tie)
  value = f32[] select(better, a, b)
  index = s32[] select(first, i, j)
  ROOT both = (f32[], s32[]) tuple(value, index) }
"""
PLACE = """lowest = f32[] constant(-inf)
  zero = s32[] constant(0)
  places = s32[4] iota(), iota_dimension=0
  ROOT r = (f32[], s32[]) reduce(x, places, lowest, zero), dimensions={0}, to_apply=larger"""

# The fault; computations; inputs x, y, z; the program's lines; what is written and what stands there instead.
FAULTS = {
    "unguarded shift": (
        "",
        (WHOLE, np.int32([1, 32, -1, 70])),
        "ROOT r = s32[4] shift-left(x, y)",
        ("(unsigned long long)amount < 8 * sizeof(T) ? T((unsigned long long)x << amount) : T(0)", "T(x << amount)"),
    ),
    "division without the rule for 0": (
        "",
        (WHOLE, np.int32([-1, 0, 3, -2])),
        "ROOT r = s32[4] divide(x, y)",
        ("b == T(0) ? T(-1) : ", "b == T(0) ? T(0) : "),
    ),
    "division without the rule for the lowest": (
        "",
        (WHOLE, np.int32([-1, 0, 3, -2])),
        "ROOT r = s32[4] remainder(x, y)",
        ("negates ? T(0)", "negates ? T(1)"),
    ),
    "conversion without the rule for NaN": ("", (ROW,), "ROOT r = s32[4] convert(x)", ("real != real ? Y(0) : ", "")),
    "conversion that wraps": ("", (ROW,), "ROOT r = s8[4] convert(x)", ("real >= bound ? most : ", "")),
    "clamp that loses NaN": (
        "",
        (ROW, np.float32(0), np.float32(1)),
        "ROOT r = f32[4] clamp(y, x, z)",
        ("cp.minimum(cp.maximum(x, y), z)", "cp.fmin(cp.fmax(x, y), z)"),
    ),
    "place of the largest without the rule for NaN": (LARGER, (ROW,), PLACE, (" | cp.isnan(x)", "")),
    "index that is not clamped": (
        "",
        (np.arange(12, dtype=np.float32).reshape(4, 3), np.int32([[3], [9]])),
        f"ROOT r = f32[2,2,3] gather(x, y), {GATHER}",
        ("cp.minimum(cp.maximum(y[:, 0], 0), 2)", "cp.maximum(y[:, 0], 0)"),
    ),
    "wrong row of a scatter": (
        ROWS,
        (np.arange(1, 7, dtype=np.int32).reshape(3, 2), PLACES, np.int32([2, 3, 5, 7])),
        f"ROOT r = s32[3,2] scatter(x, y, z), {SCATTER}",
        ("row = row * n + cp.where", "row = row + cp.where"),
    ),
    "update out of range that is not dropped": (
        ROWS,
        (np.arange(1, 7, dtype=np.int32).reshape(3, 2), PLACES, np.int32([2, 3, 5, 7])),
        f"ROOT r = s32[3,2] scatter(x, y, z), {SCATTER}",
        ("row = cp.where(inside, row, count).reshape(-1)", "row = row.reshape(-1)"),
    ),
    "hidden wait": (
        ROWS,
        (np.arange(1, 7, dtype=np.int32).reshape(3, 2), PLACES, np.int32([2, 3, 5, 7])),
        f"ROOT r = s32[3,2] scatter(x, y, z), {SCATTER}",
        ("while step < len(row):", "while step < int(row.max()):"),
    ),
    "literal that is a double": (
        "",
        (ROW.astype(np.float16),),
        "ROOT r = f16[4] logistic(x)",
        ("1.0f / (1.0f", "1.0 / (1.0f"),
    ),
    "name that CuPy lacks": ("", (ROW,), "ROOT r = f32[4] tanh(x)", ("cp.tanh(x)", "cp.tanhh(x)")),
    "keyword that CuPy lacks": (
        "",
        (np.int32([3, 1, 2, 5]),),
        "ROOT r = s32[4] sort(x), dimensions={0}, to_apply=less",
        ("cp.sort(x)", "cp.sort(x, stable=True)"),
    ),
}
LESS = "less { a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = pred[] compare(a, b), direction=LT }\n"

NUMBERS = np.float32([1.19, -2.6, 0.004, 1000, np.nan, np.inf, 15.9, 0])
F8, TINY = (numbers.astype(ml_dtypes.float8_e5m2) for numbers in (NUMBERS, NUMBERS * np.float32(2**-15)))
S4, FEW = (np.array(numbers, ml_dtypes.int4) for numbers in ([-8, -3, 0, 7], [1, 2, 1, 0]))
FAULTS |= {
    f"narrow types: {name}": ("", inputs, lines, change)
    for name, inputs, lines, change in [
        ("cut, not rounded", (NUMBERS,), "ROOT r = f8e4m3fn[8] convert(x)", ("(int)rint(", "(int)floor(")),
        ("too large", (NUMBERS,), "ROOT r = f8e4m3fn[8] convert(x)", ("if (size > most) return sign | above;", "")),
        ("NaN written", (NUMBERS,), "ROOT r = f8e3m4[8] convert(x)", ("if (x != x) return sign | none;", "")),
        ("infinity written", (NUMBERS,), "ROOT r = f8e5m2[8] convert(x)", ("if (fabs(x) >= 131072)", "if (false)")),
        ("exponent", (NUMBERS,), "ROOT r = f8e4m3[8] convert(x)", ("mantissa_bits) + steps", "mantissa_bits) | steps")),
        ("subnormals written", (NUMBERS,), "ROOT r = f8e4m3[8] convert(x)", ("max(ilogb(x), 1 - bias)", "ilogb(x)")),
        (
            "negative zero",
            (-NUMBERS,),
            "ROOT r = f8e5m2fnuz[8] convert(x)",
            ("size || above != 0x80 ?", "size || true ?"),
        ),
        ("powers of two", (NUMBERS,), "ROOT r = f8e8m0fnu[8] convert(x)", (">= 1.5) exponent++", ">= 1.5) exponent--")),
        (
            "flushed on the way",
            (np.float32([2.0**-127, 1e-40, 2.0**-149, 1]),),
            "ROOT r = f8e8m0fnu[4] convert(x)",
            ("size = exact(x)", "size = (double)x"),
        ),
        (
            "flushed in between",
            tuple(np.uint8(codes).view(ml_dtypes.float8_e8m0fnu) for codes in ([0, 1, 127, 254], [254, 127, 0, 9])),
            "ROOT r = f8e8m0fnu[4] multiply(x, y)",
            ("(from_float8_e8m0fnu(x) *", "(from_float8_e8m0fnu(x).astype(cp.float32) *"),
        ),
        ("infinity read", (F8,), "ROOT r = f32[8] convert(x)", ("size == inf ? 0x7f800000 : 0x7fc00000", "0x7fc00000")),
        ("subnormals read", (TINY,), "ROOT r = f32[8] convert(x)", ("else exponent = 1;", "")),
        ("sign read", (F8,), "ROOT r = f32[8] convert(x)", ("? -1.0f : 1.0f", "? 1.0f : 1.0f")),
        ("no wrap", (S4,), "ROOT r = s4[4] multiply(x, x)", ("wrap_int4(x * x)", "x * x")),
        (
            "wrap by too little",
            (S4,),
            "ROOT r = s4[4] multiply(x, x)",
            ("left_shift(x, 4) >> 4", "left_shift(x, 3) >> 3"),
        ),
        ("no saturation", (NUMBERS,), "ROOT r = s4[8] convert(x)", ("cp.minimum(cp.maximum(", "((")),
        ("sign in a logical shift", (S4, FEW), "ROOT r = s4[4] shift-right-logical(x, y)", (" & 15", " & 255")),
        (
            "packed at the wrong place",
            (S4,),
            "a = s4[2,2] reshape(x)\n  ROOT r = u8[2] bitcast-convert(a)",
            ("[0, 4]", "[0, 2]"),
        ),
    ]
}


def program(computations, inputs, lines):
    shapes = [shape_text(x) for x in inputs]
    parameters = "".join(f"  {name} = {shape} parameter({k})\n" for k, (name, shape) in enumerate(zip("xyz", shapes)))  # noqa: B905
    return f"HloModule m\n{LESS}{computations}ENTRY main {{\n{parameters}  {lines}\n}}\n"


@needs_compiler
@pytest.mark.parametrize("name", FAULTS)
def test_the_ladder_finds(name):
    computations, inputs, lines, (good, bad) = FAULTS[name]
    text = program(computations, inputs, lines)
    emitted = xla2py.emit(text, "cupy", format=False)
    expected = xla2py.emit(text, format=False).load().main(*inputs)
    budget = EXACT if name.startswith("narrow") else None
    assert verdict(emitted, inputs, expected, budget) == "", "the module is wrong without the fault"
    assert good in emitted.source
    assert verdict(replace(emitted, source=emitted.source.replace(good, bad)), inputs, expected, budget) != ""


SUM = r"""
extern "C" __global__ void block_sum(const float *x, float *total, int n) {
  __shared__ float part[8];
  float sum = 0.0f;
  for (int k = threadIdx.x; k < n; k += blockDim.x) sum += x[blockIdx.x * n + k];
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) { float all = 0.0f; for (int w = 0; w < 8; w++) all += part[w]; total[blockIdx.x] = all; }
}"""


@pytest.mark.parametrize(("grid", "block"), [((0,), (256,)), ((3,), (0,)), ((3,), (2048,))])
def test_launches_that_cuda_refuses(grid, block):
    x, total = DeviceArray(np.zeros((3, 1000), np.float32)), DeviceArray(np.zeros(3, np.float32))
    with pytest.raises(AssertionError, match="CUDA refuses"):
        RawKernel(SUM, "block_sum")(grid, block, (x, total, 1000))


@needs_compiler
@pytest.mark.parametrize(
    ("good", "bad", "error"),
    [
        ("", "", None),
        ("  __syncthreads();\n", "", OrderMatters),
        ("total[blockIdx.x] = all;", "total[0] = all + blockIdx.x;", None),
    ],
    ids=["as it is", "no barrier", "wrong index"],
)
def test_a_kernel_with_barriers_and_shuffles(good, bad, error):
    x = np.arange(3 * 1000, dtype=np.float32).reshape(3, 1000) % 7
    total = DeviceArray(np.zeros(3, np.float32))
    kernel = RawKernel(SUM.replace(good, bad), "block_sum")
    if error is not None:
        with pytest.raises(error):
            kernel((3,), (256,), (DeviceArray(x), total, 1000))
        return
    kernel((3,), (256,), (DeviceArray(x), total, 1000))
    assert (total.on_host.tolist() == x.sum(axis=1).tolist()) == (good == bad)

"""The style ``fast`` of CuPy without a GPU: kernels of fused operations, checked and run as the readable style is."""

from dataclasses import replace

import numpy as np
import pytest

jax = pytest.importorskip("jax")
cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py  # noqa: E402
from xla2py.targets.base import load_target  # noqa: E402
from xla2py.tests.ladder.device_compiler import ARCHITECTURES, compiled, elementwise_source, missing  # noqa: E402
from xla2py.tests.ladder.running import checked, failures, needs_compiler  # noqa: E402
from xla2py.tests.ladder.samples import WHOLE, sample  # noqa: E402
from xla2py.tests.ladder.test_compilation import MOST_REGISTERS, compilers  # noqa: E402
from xla2py.tests.ladder.test_faults import verdict  # noqa: E402
from xla2py.tests.operations.tables import cases_by_opcode  # noqa: E402
from xla2py.tests.test_examples import LOWER, assert_close, inputs  # noqa: E402
from xla2py.transpile.cli import run  # noqa: E402
from xla2py.transpile.equivalence.budgets import budget_for  # noqa: E402
from xla2py.transpile.errors import UsageError  # noqa: E402
from xla2py.transpile.hlo.opcodes import OPCODES  # noqa: E402

CUPY = load_target("cupy")
ALONE = replace(CUPY, kernels=replace(CUPY.kernels, least_saved=0))  # kernels of single operations, too
FUSED = sorted(opcode for opcode, spec in OPCODES.items() if spec.is_elementwise and opcode in cases_by_opcode())
MOVED = ["broadcast", "iota", "reverse", "slice", "transpose"]
CHECKED = (FUSED + MOVED)[:: 1 if WHOLE else 2]
NAMES = (
    LOWER.NAMES
    if WHOLE
    else [
        "black_scholes",
        "jacobi_stencil",
        "lstm",
        "mandelbrot",
        "rotary_embedding",
        "threefry_sampling",
        "transformer_block",
    ]
)
CHAOTIC = {"mandelbrot"}  # the last digit decides when a point escapes


def kernels(module):
    """The names of a module's kernels."""
    return [line.split()[0] for line in module.source.splitlines() if line.split()[1:2] == ["="] and "_kernel" in line]


@needs_compiler
def test_operations_in_kernels_do_what_xla_does():
    cases = [one for opcode in CHECKED for one in sample(opcode, 10**6 if WHOLE else 1)]
    wrong = list(failures(cases, target=ALONE, style="fast"))
    shown = "\n\n".join(map(str, wrong[:5]))
    assert not wrong, f"{len(wrong)} of {len(cases)} cases are wrong:\n{shown}"


@needs_compiler
@pytest.mark.parametrize("stage", LOWER.STAGES if WHOLE else ["before"])
@pytest.mark.parametrize("name", NAMES)
def test_examples_do_what_numpy_does(name, stage):
    module = xla2py.load(LOWER.hlo_file(name, stage))
    arguments = [array.copy() for array in inputs(name)]
    expected = xla2py.emit(module, format=False).load().main(*arguments)
    actual = checked(xla2py.emit(module, "cupy", format=False, style="fast"), arguments)
    if name in CHAOTIC:
        assert (expected != actual).mean() < 0.002
    else:
        assert_close(expected, actual, budget_for(module))


def program(*lines):
    return "HloModule m\nENTRY main {\n" + "\n".join(f"  {line}" for line in lines) + "\n}\n"


CHAIN = program(
    "x = f32[4,6] parameter(0)",
    "y = f32[6] parameter(1)",
    "one = f32[] constant(1)",
    "ones = f32[4,6] broadcast(one), dimensions={}",
    "row = f32[4,6] broadcast(y), dimensions={1}",
    "lifted = f32[4,6] add(x, ones)",
    "larger = f32[4,6] maximum(lifted, row)",
    "ROOT r = f32[4,6] multiply(larger, larger)",
)
ROW = np.float32([1, np.nan, 3, -1, 0, 9])
TABLE = np.arange(24, dtype=np.float32).reshape(4, 6) - 7


def test_a_chain_is_one_kernel():
    module = xla2py.emit(CHAIN, "cupy", style="fast")
    assert kernels(module) == ["square_kernel"]
    assert "return square_kernel(x, y)" in module.source
    assert "--style fast" in module.source


def test_one_operation_is_none():
    assert (
        kernels(xla2py.emit(program("x = f32[4] parameter(0)", "ROOT r = f32[4] tanh(x)"), "cupy", style="fast")) == []
    )


def test_what_is_read_elsewhere_is_a_result_too():
    text = program(
        "x = f32[4] parameter(0)",
        "a = f32[4] tanh(x)",
        "b = f32[4] negate(a)",
        "c = f32[4] exponential(b)",
        "ROOT r = (f32[4], f32[4]) tuple(a, c)",
    )
    source = xla2py.emit(text, "cupy", style="fast").source
    assert '"float32 tanh, float32 exp"' in source
    assert "tanh, exp = exp_kernel(x)" in source


def test_regions_do_not_wait_for_each_other():
    """``a`` and ``b`` could each join what waits for the other: the sum over both must come between."""
    text = program(
        "x = f32[4,4] parameter(0)",
        "a = f32[4,4] tanh(x)",
        "b = f32[4,4] negate(a)",
        "dot = f32[4,4] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "c = f32[4,4] add(a, dot)",
        "d = f32[4,4] sine(c)",
        "ROOT r = f32[4,4] multiply(d, b)",
    )
    module = xla2py.emit(text, "cupy", style="fast")
    assert len(kernels(module)) == 1
    assert np.allclose(xla2py.emit(text).load().main(TABLE[:, :4]), checked(module, [TABLE[:, :4]]), 1e-5)


def softmax(rows, columns, axis=1):
    shape, line = f"f32[{rows},{columns}]", f"f32[{(rows, columns)[1 - axis]}]"
    return program(
        f"x = {shape} parameter(0)",
        "lowest = f32[] constant(-inf)",
        "zero = f32[] constant(0)",
        f"peak = {line} reduce(x, lowest), dimensions={{{axis}}}, to_apply=larger",
        f"peaks = {shape} broadcast(peak), dimensions={{{1 - axis}}}",
        f"lower = {shape} subtract(x, peaks)",
        f"exp = {shape} exponential(lower)",
        f"total = {line} reduce(exp, zero), dimensions={{{axis}}}, to_apply=sum",
        f"totals = {shape} broadcast(total), dimensions={{{1 - axis}}}",
        f"ratio = {shape} divide(exp, totals)",
        f"ROOT r = ({shape}, {line}) tuple(ratio, total)",
    ).replace("ENTRY", COMBINERS + "ENTRY")


COMBINERS = """larger { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
"""


def rows_of(shape):
    x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    x[-1, shape[1] // 2] = np.nan
    return x


@needs_compiler
@pytest.mark.parametrize(
    ("shape", "axis", "said"),
    [
        ((5, 3), 1, "row_max<4>"),
        ((2, 40), 1, "row_max<64>"),
        ((3, 224), 1, "int row = blockIdx.x, column = threadIdx.x;\n    int at"),
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


@needs_compiler
@pytest.mark.parametrize(
    ("shape", "axes", "said"),
    [
        ((3, 5, 7), (1,), "int at = column / 7 * 35 + row * 7 + column % 7;"),
        ((3, 40, 50), (1, 2), "row_sum<256>"),
        ((2, 3, 600, 5), (0, 1, 2), "column_sum<128, 8>"),
        ((6, 1, 7), (0, 1, 2), "row_sum<64>"),
    ],
)
def test_axes_beside_each_other_are_lines(shape, axes, said):
    def normalised(x, scale):
        return (x - x.mean(axes, keepdims=True)) / (x.std(axes, keepdims=True) + 1) * scale

    arguments = [np.random.default_rng(5).normal(size=size).astype(np.float32) for size in (shape, shape[-1:])]
    module = xla2py.from_jax(normalised, *arguments)
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert len(kernels(emitted)) == 1
    assert said in emitted.source
    assert verdict(emitted, arguments, xla2py.emit(module).load().main(*arguments)) == ""


def test_axes_apart_are_left_to_the_library():
    module = xla2py.from_jax(lambda x: jax.numpy.tanh(x).sum((0, 2)), np.ones((3, 4, 5), np.float32))
    assert "RowKernel" not in xla2py.emit(module, "cupy", style="fast").source


@needs_compiler
def test_reductions_along_other_axes_are_other_kernels():
    def both(x):
        rows = jax.nn.softmax(x, 1)
        return rows / rows.sum(0)

    module = xla2py.from_jax(both, TABLE)
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert len(kernels(emitted)) == 2
    assert verdict(emitted, [TABLE], xla2py.emit(module).load().main(TABLE)) == ""


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
        module = xla2py.from_jax(reduced, x)
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert not [name for name in ("max", "min", "sum", "prod", "argmax", "argmin") if f".{name}(" in emitted.source]
    assert verdict(emitted, [x], xla2py.emit(module).load().main(x)) == ""


@needs_compiler
def test_results_have_names_of_their_own_in_memory():
    text, x = softmax(5, 3).replace("x = f32", "ratio_out = f32").replace("(x, ", "(ratio_out, "), rows_of((5, 3))
    assert verdict(xla2py.emit(text, "cupy", style="fast"), [x], xla2py.emit(text).load().main(x)) == ""


def test_long_chains_are_cut():
    links = [f"x{k} = f32[8] {'tanh' if k % 2 else 'negate'}(x{k - 1})" for k in range(1, 401)]
    module = xla2py.emit(
        program("x0 = f32[8] parameter(0)", *links, "ROOT r = f32[8] sine(x400)"), "cupy", style="fast"
    )
    assert 2 <= len(kernels(module)) <= 4


@needs_compiler
@pytest.mark.parametrize(
    ("function", "shape", "said"),
    [
        (lambda x: abs(x).sum(), (600, 700), "grid=(1, 13)"),
        (
            lambda x: abs(x).mean((1, 2)),
            (3, 300, 900),
            "int column = blockIdx.y * 1024 + threadIdx.x; column < 270000; ",
        ),
        (lambda x: abs(x).max(0), (9000, 40), "peak_parts.max(axis=0)"),
        (lambda x: jax.nn.softmax(x).max(), (60, 70), "peak_parts.max()"),
        (lambda x: jax.nn.softmax(x, 1).mean((0, 1)), (6, 70, 3), "mean_parts.sum(axis=0) / 420"),
        (
            lambda x: jax.nn.softmax(x, 1).sum((1, 2), keepdims=True),
            (2, 3, 4),
            "total_parts.sum(axis=-1, keepdims=True)",
        ),
    ],
)
def test_parts_of_reductions_are_reduced_by_the_library(function, shape, said):
    x = np.random.default_rng(8).normal(size=shape).astype(np.float32)
    module = xla2py.from_jax(function, x)
    emitted = xla2py.emit(module, "cupy", style="fast", format=False)
    assert said in emitted.source
    assert emitted.source.count("_kernel = RowKernel(") == 1
    assert verdict(emitted, [x], xla2py.emit(module).load().main(x)) == ""


def test_parts_of_what_is_no_sum_are_not_reduced():
    module = xla2py.from_jax(lambda x: abs(x).var(), np.ones((600, 700), np.float32))
    assert ".var()" in xla2py.emit(module, "cupy", style="fast").source


def test_lines_that_are_too_much_for_a_block_are_shared():
    source = xla2py.emit(softmax(2, 2**18 + 1), "cupy", style="fast").source
    assert "x.max(axis=-1, keepdims=True)" in source
    assert "grid=(2, 9)" in source
    assert "total_parts.sum(axis=0)" in source


def rotated(x, cosine, sine):
    half = x.shape[-1] // 2
    left, right = x[..., :half], x[..., half:]
    return jax.numpy.concatenate([left * cosine - right * sine, right * cosine + left * sine], -1)


def turned(x, cosine, sine):
    half = x.shape[-1] // 2
    return x * cosine[0, 0] + jax.numpy.concatenate([-x[..., half:], x[..., :half]], -1) * sine[0, 0]


def interleaved(x, cosine, sine):
    left, right = x[..., ::2], x[..., 1::2]
    return jax.numpy.stack([left * cosine - right * sine, right * cosine + left * sine], -1)


def laplacian(x, *_):
    roll = jax.numpy.roll
    return roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 1, 1) + roll(x, -1, 1) - x * 4


def nested(x, cosine, _):
    inner = jax.numpy.concatenate([x[:, :2] * cosine[0, 0], x[:, 1:] - 1], 1)
    return jax.numpy.concatenate([inner[::-1] * 2, x, x[:, 1:3]], 1) * 3


PLANE = np.random.default_rng(10).normal(size=(4, 6, 8)).astype(np.float32)
TURNS = [np.random.default_rng(11).normal(size=(6, 4)).astype(np.float32) for _ in range(2)]


@needs_compiler
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (rotated, "if (at % 8 < 4) {"),
        (turned, "float joined = at % 8 < 4 ? -x[at + 4] : x[at - 4];"),
        (interleaved, "if (at % 2 == 0) {"),
        (laplacian, "float rolled = at / 48 == 0 ? x[at + 144] : x[at - 48];"),
        (nested, "} else if ("),
    ],
)
def test_pieces_are_computed_where_they_are_needed(function, said):
    arguments = (PLANE, *TURNS)
    module = xla2py.from_jax(function, *arguments)
    given = arguments[: len(module.entry.parameters)]
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert emitted.source.count("_kernel = ") == 1
    assert said in emitted.source
    assert verdict(emitted, given, xla2py.emit(module).load().main(*given)) == ""


@needs_compiler
def test_what_is_in_several_pieces_is_stored():
    def both(x):
        shared = jax.numpy.tanh(x) * 2
        return jax.numpy.concatenate([shared, shared + 1])

    module = xla2py.from_jax(both, TABLE)
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert emitted.source.count("_kernel = ") == 2
    assert verdict(emitted, [TABLE], xla2py.emit(module).load().main(TABLE)) == ""


@needs_compiler
def test_pieces_and_lines_are_kernels_of_their_own():
    def normalised(x):
        joined = jax.numpy.concatenate([x * 2, x - 1], 1)
        return joined / joined.sum(1, keepdims=True) + jax.numpy.concatenate([x[:, 2:], x, x[:, :2]], 1)

    x = TABLE + 9
    module = xla2py.from_jax(normalised, x)
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert "conditional" not in emitted.source
    assert verdict(emitted, [x], xla2py.emit(module).load().main(x)) == ""


@needs_compiler
def test_a_loop_around_pieces_stays_a_loop():
    def drift(x, pieces):
        joined = lambda x: jax.numpy.concatenate([pieces * 2, pieces - 1]) + x  # noqa: E731
        return jax.lax.fori_loop(0, 3, lambda _, x: joined(x) * 0.5, x)

    arguments = np.float32([1, 2, 3, 4]), np.float32([5, 6])
    module = xla2py.from_jax(drift, *arguments)
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert verdict(emitted, arguments, xla2py.emit(module).load().main(*arguments)) == ""


def spring(x, v, stiffness):
    def step(i, state):
        x, v = state
        a = -stiffness * x - 0.1 * v + 0.01 * i
        return x + 0.05 * v, v + 0.05 * a

    return jax.lax.fori_loop(0, 7, step, (x, v))


def fibonacci(a, b):
    return jax.lax.fori_loop(0, 9, lambda _, pair: (pair[1], pair[0] + pair[1]), (a, b))[1]


@needs_compiler
@pytest.mark.parametrize(
    ("function", "arguments"),
    [(spring, (TABLE, TABLE / 2, ROW[:1] * 2)), (fibonacci, (np.int32([1, 2, 3]), np.int32([1, 1, 2**30])))],
)
def test_loops_of_a_kernel_are_in_it(function, arguments):
    module = xla2py.from_jax(function, *arguments)
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert "range(" not in emitted.source
    assert verdict(emitted, arguments, xla2py.emit(module).load().main(*arguments)) == ""
    fewer = replace(emitted, source=emitted.source.replace("step = 0;", "step = 1;"))
    assert verdict(fewer, arguments, xla2py.emit(module).load().main(*arguments)) != ""


def test_loops_whose_elements_read_each_other_stay_loops():
    def diffuse(x):
        return jax.lax.fori_loop(0, 4, lambda _, x: (x + x[::-1]) * 0.5, x)

    x = np.float32([1, 2, 3, 4])
    module = xla2py.from_jax(diffuse, x)
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert "for _ in range(4):" in emitted.source
    assert verdict(emitted, [x], xla2py.emit(module).load().main(x)) == ""


CHAIN_INPUTS = (np.where(TABLE == 2, np.float32(np.nan), TABLE), np.float32([1, 2, 3, -1, 0, 9]))
ROWS = softmax(3, 40)
# A softmax or a sum of exponentials is NaN also where its maximum has lost it; these are the extremes alone.
HOLES = np.random.default_rng(4).normal(size=(5, 40)).astype(np.float32)
HOLES[[0, 1, 2, 3], [0, 7, 20, 39]] = np.nan
EXTREMES = {name: (lambda x, name=name: getattr(jax.numpy.tanh(x), name)(axis=-1)) for name in ("max", "min", "argmax")}
BARRIER = "parts[threadIdx.x / 32] = x;\n        __syncthreads();"
FAULTS = {
    "wrong index": (CHAIN, CHAIN_INPUTS, "y[at % 6]", "y[at / 6]"),
    "no rule for NaN": (CHAIN, CHAIN_INPUTS, "a != a || a > b ? a : b", "a > b ? a : b"),
    "literal of double": (CHAIN, CHAIN_INPUTS, "x + 1.0f", "x + 1.0"),
    "a result that nobody writes": (CHAIN, CHAIN_INPUTS, "square = ", "float lost = "),
    "no barrier": (ROWS, (rows_of((3, 40)),), BARRIER, BARRIER.split("\n")[0]),
    "threads outside of the row take part": (ROWS, (rows_of((3, 40)),), "inside ? x : T(0)", "x"),
    "half of a row": (ROWS, (rows_of((3, 40)),), "row_max<64>", "row_max<32>"),
    "all threads write the row": (
        ROWS,
        (rows_of((3, 40)),),
        "threadIdx.x == 0) total_out[row]",
        "inside) ratio_out[row]",
    ),
}


FAULTS |= {
    f"no rule for NaN in the {name} of rows": (xla2py.from_jax(EXTREMES[name], HOLES), (HOLES,), good, bad)
    for name, good, bad in [
        ("max", "a != a || a > b ? a : b", "a > b ? a : b"),
        ("min", "a != a || a < b ? a : b", "a < b ? a : b"),
        ("argmax", "(tanh != tanh) | (tanh == peak)", "tanh == peak"),
    ]
}
# Rows of which a thread keeps some elements, rows that it reads again, columns.
LONG, VERY_LONG = (np.random.default_rng(6).normal(size=(2, columns)).astype(np.float32) for columns in (1100, 17000))
HIGH = np.random.default_rng(7).normal(size=(170, 40)).astype(np.float32)
NORMALISERS = [xla2py.from_jax(lambda x: jax.nn.logsumexp(x, 1), x) for x in (LONG, VERY_LONG)]
COLUMNS = xla2py.from_jax(lambda x: jax.nn.logsumexp(x, 0), HIGH)
WIDE = np.random.default_rng(9).normal(size=(600, 700)).astype(np.float32)
PARTS = xla2py.from_jax(lambda x: abs(x).sum(), WIDE)
TOGETHER = "parts[threadIdx.x] = x;\n    __syncthreads();"
FAULTS |= {
    f"long lines: {name}": (module, (x,), good, bad)
    for name, module, x, good, bad in [
        ("no barrier in rows", NORMALISERS[0], LONG, BARRIER, BARRIER.split("\n")[0]),
        ("wrong stride in rows", NORMALISERS[0], LONG, "k * 160 + threadIdx.x", "k * 159 + threadIdx.x"),
        ("tail of rows", NORMALISERS[0], LONG, "if (column >= 1100) continue;", ""),
        ("element that another keeps", NORMALISERS[0], LONG, "x_here[k] - ", "x_here[0] - "),
        ("wrong start", NORMALISERS[0], LONG, "total_2 = 0.0f;", "total_2 = 1.0f;"),
        ("own elements alone", NORMALISERS[0], LONG, "total_2 = row_sum<160>(total_2);", ""),
        ("wrong stride where read again", NORMALISERS[1], VERY_LONG, "column += 1024", "column += 1023"),
        ("tail where read again", NORMALISERS[1], VERY_LONG, "column < 17000", "column < 16000"),
        ("no barrier in columns", COLUMNS, HIGH, TOGETHER, TOGETHER.split("\n")[0]),
        ("wrong stride in columns", COLUMNS, HIGH, "row * 40 + column", "row * 39 + column"),
        ("wrong column", COLUMNS, HIGH, "threadIdx.x % 32", "threadIdx.x / 32"),
        ("tail of columns", COLUMNS, HIGH, "if (row >= 170) continue;", ""),
        ("column behind the last", COLUMNS, HIGH, ", 39)", ", 40)"),
        ("the same part in all blocks", PARTS, WIDE, "blockIdx.y * 1024 + threadIdx.x", "threadIdx.x"),
        ("parts that overlap", PARTS, WIDE, "column += 13312", "column += 12288"),
        ("parts in one place", PARTS, WIDE, "parts_out[blockIdx.y]", "parts_out[0]"),
        ("parts that nobody takes together", PARTS, WIDE, "parts.sum()", "parts.max()"),
        ("no rule for NaN in columns", xla2py.from_jax(lambda x: abs(x).max(0), HOLES), HOLES, "a != a || ", ""),
    ]
}
FAULTS |= {
    f"pieces: {name}": (xla2py.from_jax(function, *arguments), arguments, good, bad)
    for name, function, arguments, good, bad in [
        ("wrong place", rotated, (PLANE, *TURNS), "x[at - 4]", "x[at - 3]"),
        ("not turned round", laplacian, (PLANE,), "x[at + 144]", "x[at + 96]"),
        ("wrong piece", interleaved, (PLANE, *TURNS), "at % 2 == 0", "at % 2 == 1"),
    ]
}


@needs_compiler
@pytest.mark.parametrize("name", FAULTS)
def test_the_ladder_finds(name):
    text, arguments, good, bad = FAULTS[name]
    emitted = xla2py.emit(text, "cupy", style="fast", format=False)
    expected = xla2py.emit(text, format=False).load().main(*arguments)
    assert verdict(emitted, arguments, expected) == "", "the module is wrong without the fault"
    assert good in emitted.source
    assert verdict(replace(emitted, source=emitted.source.replace(good, bad)), arguments, expected) != ""


@compilers
def test_kernels_compile_for_gpus_and_spill_nothing(compiler):
    if missing(compiler):
        pytest.skip(missing(compiler))
    texts = [LOWER.hlo_file(name, "before").read_text() for name in ("attention", "cross_entropy", "lstm")]
    texts += [softmax(*shape) for shape in ((2, 2100), (3, 16384), (2, 17000), (170, 40, 0), (9000, 3, 0))]
    texts += [softmax(3, 16384).replace("f32", "f64"), softmax(170, 40, 0).replace("f32", "f64")]
    sources = []
    for text in texts:
        made = xla2py.emit(text, "cupy", style="fast").load()
        for key, kernel in vars(made).items():
            own = f" {key}_{len(sources)}("
            if isinstance(kernel, cupy.ElementwiseKernel):
                dtypes = tuple(np.dtype(parameter.dtype) for parameter in kernel.in_params)
                sources.append(elementwise_source(kernel, dtypes).replace(f" {key}(", own))
            elif type(kernel).__name__ == "RowKernel":
                sources.append(kernel.kernel.code.replace(f" {key}(", own))
    usage = compiled(sources, compiler)
    assert len(usage) == len(sources) * len(ARCHITECTURES) > 4
    assert [kernel for kernel in usage if kernel.spilled_bytes or kernel.registers > MOST_REGISTERS] == []


def test_metadata_does_not_become_code():
    place = 'metadata={op_name="a" source_file="x\\"\\"\\"\\nimport os\\\\" source_line=3}'
    text = program("x = f32[4] parameter(0)", f"a = f32[4] tanh(x), {place}", f"ROOT r = f32[4] negate(a), {place}")
    source = xla2py.emit(text, "cupy", style="fast").source
    assert kernels(xla2py.emit(text, "cupy", style="fast")) == ["negative_kernel"]
    assert "import os" not in source


def test_other_targets_refuse_the_style(tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(CHAIN)
    assert run(["emit", str(path), "-t", "numpy", "--style", "fast"]) == 2
    with pytest.raises(UsageError, match="Dask has no style"):
        xla2py.emit(CHAIN, "dask", style="fast")
    with pytest.raises(UsageError, match="there is no style"):
        xla2py.emit(CHAIN, "cupy", style="slow")

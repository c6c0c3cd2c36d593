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


def softmax(rows, columns):
    return program(
        f"x = f32[{rows},{columns}] parameter(0)",
        "lowest = f32[] constant(-inf)",
        "zero = f32[] constant(0)",
        f"peak = f32[{rows}] reduce(x, lowest), dimensions={{1}}, to_apply=larger",
        f"peaks = f32[{rows},{columns}] broadcast(peak), dimensions={{0}}",
        f"lower = f32[{rows},{columns}] subtract(x, peaks)",
        f"exp = f32[{rows},{columns}] exponential(lower)",
        f"total = f32[{rows}] reduce(exp, zero), dimensions={{1}}, to_apply=sum",
        f"totals = f32[{rows},{columns}] broadcast(total), dimensions={{0}}",
        f"ratio = f32[{rows},{columns}] divide(exp, totals)",
        f"ROOT r = (f32[{rows},{columns}], f32[{rows}]) tuple(ratio, total)",
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
@pytest.mark.parametrize("shape", [(5, 3), (2, 40), (3, 200)])
def test_rows_are_one_kernel(shape):
    text, x = softmax(*shape), rows_of(shape)
    module = xla2py.emit(text, "cupy", style="fast")
    assert kernels(module) == ["ratio_kernel"]
    assert verdict(module, [x], xla2py.emit(text).load().main(x)) == ""


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


def test_rows_longer_than_a_block_are_left_to_the_library():
    source = xla2py.emit(softmax(2, 1025), "cupy", style="fast").source
    assert "RowKernel" not in source
    assert ".max(" in source


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
        "inside && column == 0) total_out[row]",
        "inside) ratio_out[row]",
    ),
}


FAULTS |= {
    f"no rule for NaN in the {name} of rows": (
        xla2py.from_jax(EXTREMES[name], HOLES),
        (HOLES,),
        f"{rule} || {own}",
        own,
    )
    for name, rule, own in [
        ("max", "a != a", "a > b ? a : b"),
        ("min", "a != a", "a < b ? a : b"),
        ("argmax", "x != x", "x == largest ? column : WIDTH"),
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
    sources = []
    for name in ("attention", "lstm"):
        made = xla2py.emit(LOWER.hlo_file(name, "before").read_text(), "cupy", style="fast").load()
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

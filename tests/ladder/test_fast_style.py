"""The style ``fast`` of CuPy without a GPU: kernels of fused operations, checked and run as the readable style is."""

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py  # noqa: E402
from xla2py.targets.cupy.twin.device_array import DeviceArray  # noqa: E402
from xla2py.targets.cupy.twin.modules import to_host, twin  # noqa: E402
from xla2py.tests.ladder.device_compiler import SOME, compiled, elementwise_source, missing  # noqa: E402
from xla2py.tests.ladder.fast_programs import CHAIN, TABLE, kernels, program, softmax  # noqa: E402
from xla2py.tests.ladder.running import checked, failures, needs_compiler  # noqa: E402
from xla2py.tests.ladder.samples import CHAOTIC, sample  # noqa: E402
from xla2py.tests.ladder.test_compilation import MOST_REGISTERS, compilers  # noqa: E402
from xla2py.tests.operations.tables import cases_by_opcode  # noqa: E402
from xla2py.tests.recording.lazy_jax import jax, jnp  # noqa: E402
from xla2py.tests.test_examples import LOWER, assert_close, inputs  # noqa: E402
from xla2py.tests.whole import is_whole, much  # noqa: E402
from xla2py.transpile.cli import run  # noqa: E402
from xla2py.transpile.equivalence.verdicts.tolerances import budget_for  # noqa: E402
from xla2py.transpile.errors import UsageError  # noqa: E402
from xla2py.transpile.hlo.opcodes import OPCODES  # noqa: E402
from xla2py.transpile.target import load_target  # noqa: E402

CUPY = load_target("cupy")
FUSED = sorted(opcode for opcode, spec in OPCODES.items() if spec.is_elementwise and opcode in cases_by_opcode())
MOVED = ["broadcast", "iota", "reverse", "slice", "transpose"]
CHECKED = (FUSED + MOVED)[:: much(2, 1)]
NAMES = (
    LOWER.NAMES
    if is_whole()
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


@needs_compiler
def test_operations_in_kernels_do_what_xla_does():
    cases = [one for opcode in CHECKED for one in sample(opcode, much(1, 10**6))]
    wrong = list(failures(cases, target="cupy", style="fused"))
    shown = "\n\n".join(map(str, wrong[:5]))
    assert not wrong, f"{len(wrong)} of {len(cases)} cases are wrong:\n{shown}"


@needs_compiler
@pytest.mark.parametrize("stage", much(["before"], LOWER.STAGES))
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


def sliced(rows, columns):
    return program(
        f"x = f32[{rows},{columns}] parameter(0)",
        f"p = f32[{rows},16] slice(x), slice={{[0:{rows}],[{columns - 16}:{columns}]}}",
        f"q = f32[{rows},16] add(p, p)",
        f"ROOT r = f32[{rows},16] tanh(q)",
    )


def test_places_in_kernels_have_32_bits():
    """What is larger is left to the library, also where only a part of it is read."""
    assert "const float *__restrict__ x" in xla2py.emit(sliced(2**20, 2**11 - 1), "cupy", style="fast").source
    for text in (sliced(2**20, 2**11), sliced(2**20, 2**13), sliced(2**27, 17)):
        assert "_kernel" not in xla2py.emit(text, "cupy", style="fast").source


@needs_compiler
def test_an_argument_may_be_called_as_a_kernel_would_be():
    def shadowed(square_kernel, x):
        return jax.numpy.square(square_kernel + x)

    module = xla2py.from_jax(shadowed, TABLE, TABLE)
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert "return square_kernel_2(square_kernel, x)" in emitted.source
    assert_close(xla2py.emit(module).load().main(TABLE, TABLE), checked(emitted, [TABLE, TABLE]), budget_for(module))


@needs_compiler
def test_kernels_that_do_the_same_are_one():
    def twice(x, y):
        first = jax.numpy.tanh(x * 2 + y)
        second = jax.numpy.tanh(first @ x * 2 + y)
        return jax.numpy.tanh(second @ x * 3 + y)

    arguments = [TABLE[:, :4] / 9, TABLE[:, 1:5] / 9]
    module = xla2py.from_jax(twice, *arguments)
    emitted = xla2py.emit(module, "cupy", style="fast")
    assert emitted.source.count("ElementwiseKernel(") == 2
    assert emitted.source.count("= first_kernel(") == 2
    assert_close(xla2py.emit(module).load().main(*arguments), checked(emitted, arguments), budget_for(module))


@needs_compiler
@pytest.mark.parametrize("style", ["readable", "fast"])
def test_arguments_may_be_views_empty_or_numbers(style):
    """Turned round, cut and transposed as the user has them; of no elements; of no axes."""

    def program(x, y, scale):
        soft = jax.nn.softmax(x * scale + y[:, :1], axis=1)
        return soft, (soft.T * 2 + 1).sum(0), jax.numpy.tanh(scale) * 2 + 1, jax.numpy.pad(x * scale, 1)

    plane = np.random.default_rng(2).normal(size=(9, 14)).astype(np.float32)
    x, y, scale = plane[::-2, ::2].T, plane[::3, :7].T, np.asarray(np.float32(1.5))
    for given in ((x, y, scale), (x[:0], y[:0], scale)):
        module = xla2py.from_jax(program, *map(np.ascontiguousarray, given[:2]), scale)
        emitted = xla2py.emit(module, "cupy", style=style, format=False)
        with twin():
            found = to_host(emitted.load().main(*map(DeviceArray, given)))
        assert_close(xla2py.emit(module).load().main(*given), found, budget_for(module))


def test_what_places_have_in_common_is_named_and_lines_fit():
    text = LOWER.hlo_file("jacobi_stencil", "before").read_text()
    source = xla2py.emit(text, "cupy", style="fast", disable_passes=["whole_updates"]).source
    assert "int there = at / 58 * 60 + at % 58;" in source
    assert "temperature[there + 1] + temperature[there + 121]" in source
    assert max(len(line) for line in source.splitlines() if "temperature" in line) <= 88


def test_long_chains_are_cut():
    links = [f"x{k} = f32[8] {'tanh' if k % 2 else 'negate'}(x{k - 1})" for k in range(1, 401)]
    module = xla2py.emit(
        program("x0 = f32[8] parameter(0)", *links, "ROOT r = f32[8] sine(x400)"), "cupy", style="fast"
    )
    assert 2 <= len(kernels(module)) <= 4


def batch_norm(x):
    """Of images with their channels first: the axes are apart."""
    spread = jax.numpy.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5)
    return jax.numpy.pad((x - x.mean((0, 2, 3), keepdims=True)) / spread, ((0, 0), (0, 0), (1, 1), (1, 1)))


@compilers
def test_kernels_compile_for_gpus_and_spill_nothing(compiler):
    if missing(compiler):
        pytest.skip(missing(compiler))
    texts = [LOWER.hlo_file(name, "before").read_text() for name in ("attention", "cross_entropy", "lstm")]
    texts += [softmax(*shape) for shape in ((2, 2100), (3, 16384), (2, 17000), (170, 40, 0), (9000, 3, 0))]
    texts += [softmax(3, 16384).replace("f32", "f64"), softmax(170, 40, 0).replace("f32", "f64")]
    texts += [xla2py.from_jax(batch_norm, np.ones((8, 3, *plane), np.float32)) for plane in ((30, 40), (130, 140))]
    sources = []
    for text in texts:
        made = xla2py.emit(text, "cupy", style="fast").load()
        for key, kernel in vars(made).items():
            own = f" {key}_{len(sources)}("
            if isinstance(kernel, cupy.ElementwiseKernel):
                dtypes = tuple(np.dtype(parameter.dtype) for parameter in kernel.in_params)
                sources.append(elementwise_source(kernel, dtypes).replace(f" {key}(", own))
            elif type(kernel).__name__ in ("RowKernel", "WideKernel"):
                sources.append(kernel.kernel.code.replace(f" {key}(", own))
    usage = compiled(sources, compiler)
    assert len(usage) == len(sources) * len(SOME) > 4
    assert [kernel for kernel in usage if kernel.spilled_bytes or kernel.registers > MOST_REGISTERS] == []


def test_gradients_are_called_after_what_kernels_update():
    def step(params, momenta, x):
        def loss(params):
            hidden = jnp.tanh(x @ params["up"].astype(jnp.bfloat16))
            return ((hidden @ params["down"].astype(jnp.bfloat16)).astype(jnp.float32) ** 2).mean()

        momenta = jax.tree.map(lambda momentum, g: 0.9 * momentum + g, momenta, jax.grad(loss)(params))
        return jax.tree.map(lambda w, momentum: w - 0.1 * momentum, params, momenta), momenta

    params = {"up": np.zeros((8, 16), np.float32), "down": np.zeros((16, 8), np.float32)}
    program = xla2py.from_jax(step, params, params, np.zeros((4, 8), jnp.bfloat16))
    source = xla2py.emit(program, "cupy", style="fast").source
    assert "    d_down = hidden.T @ loss_gradient\n" in source
    assert 'update_kernel(\n        momenta["down"], d_down, params["down"]\n    )' in source


def test_metadata_does_not_become_code():
    place = 'metadata={op_name="a" source_file="x\\"\\"\\"\\nimport os\\\\" source_line=3}'
    text = program("x = f32[4] parameter(0)", f"a = f32[4] tanh(x), {place}", f"ROOT r = f32[4] negate(a), {place}")
    source = xla2py.emit(text, "cupy", style="fast").source
    assert kernels(xla2py.emit(text, "cupy", style="fast")) == ["negative_kernel"]
    assert "import os" not in source


def test_other_targets_refuse_the_style(tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(CHAIN)
    assert run(["emit", str(path), "-t", "array-api", "--style", "fast"]) == 2
    with pytest.raises(UsageError, match="has no style"):
        xla2py.emit(CHAIN, "array-api", style="fast")
    with pytest.raises(UsageError, match="there is no style"):
        xla2py.emit(CHAIN, "cupy", style="slow")

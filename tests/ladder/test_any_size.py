"""Modules of CuPy for any size, in both styles: on the twin, at sizes that no text was made for."""

import re

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py  # noqa: E402
from xla2py.targets.cupy.cuda.sizes import CUDA  # noqa: E402
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin  # noqa: E402
from xla2py.tests.ladder.device_compiler import COMPILERS, compiled, elementwise_source, missing  # noqa: E402
from xla2py.tests.ladder.running import needs_compiler  # noqa: E402
from xla2py.tests.recording.lazy_jax import jax, jnp  # noqa: E402
from xla2py.tests.whole import crossed  # noqa: E402
from xla2py.transpile.emission.any_size.expressions import ATOM, POWER, SUM, integer_expression  # noqa: E402
from xla2py.transpile.emission.any_size.kernel_strings import declaration  # noqa: E402
from xla2py.transpile.emission.layout import Layout  # noqa: E402
from xla2py.transpile.equivalence.inputs.generate import make_inputs, nest  # noqa: E402


def softmax(q, k):
    scores = q @ k.mT / jnp.sqrt(q.shape[-1])
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), -1)


def columns(x, scale):
    return (x - x.mean(0)) / (x.std(0) + 1) * scale * (1 / len(x))


def nearest(points, centers):
    return jnp.square(points[:, None] - centers).sum(-1).argmin(-1)


def stencil(x):
    inner = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * 0.25
    return jnp.tanh(x.at[1:-1, 1:-1].set(inner) - 0.5 * x.shape[0])


def chosen(labels, x):
    return jnp.where(labels < 0, labels + x.shape[1], labels) * 2 + x.shape[0], (x + x.shape[1] // 2).T.sum(1)


def above_noise(x):
    return x * (jnp.abs(x) > jnp.abs(x).max() * (jnp.finfo(x.dtype).eps * max(x.shape)))


PROGRAMS = {
    softmax: ("B, T, D", "B, T, D"),
    columns: ("N, D", "D"),
    nearest: ("N, D", "K, D"),
    stencil: ("H, W",),
    chosen: (("B", "int32"), "B, C"),
    above_noise: ("N, D",),
}


def witnesses(function):
    return xla2py.from_jax(function, *(xla2py.array(*[s] if isinstance(s, str) else s) for s in PROGRAMS[function]))


@needs_compiler
@pytest.mark.parametrize(("function", "style"), crossed(PROGRAMS, ["readable", "fast", "fused"]))
def test_values_are_those_of_numpy_at_each_size(function, style):
    programs = witnesses(function)
    emitted = xla2py.emit(programs, "cupy", style=style)
    for seed, more in enumerate((0, 2, 31)):
        sizes = {name: own[more + 3 * k * seed] for k, (name, own) in enumerate(emitted.sizes.items())}
        module = programs.at(sizes)
        arguments = nest([parameter.shape for parameter in module.entry.parameters], make_inputs(module, seed))
        expected = xla2py.emit(module, format=False, nested=False).load().main(*arguments)
        with twin():
            found = to_host(emitted.load().main(*to_device(list(arguments))))
        for one, other in zip(*(jax.tree_util.tree_leaves(each) for each in (found, expected)), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def source_of(kernel):
    """The CUDA C++ of a kernel of a module, which may have the name of another's."""
    if isinstance(kernel, cupy.ElementwiseKernel):
        text = elementwise_source(kernel, tuple(np.dtype(parameter.dtype) for parameter in kernel.in_params))
    else:
        text = kernel.kernel.code
    return text.replace('extern "C" ', "")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_kernels_compile_for_gpus_and_spill_nothing(compiler):
    if missing(compiler):
        pytest.skip(missing(compiler))
    sources = []
    for function in PROGRAMS:
        namespace = {"__name__": function.__name__}
        exec(xla2py.emit(witnesses(function), "cupy", style="fused").source, namespace)
        names = [name for name in namespace if name.endswith("_kernel")]
        sources += [source_of(namespace[name]) for name in names]
    usages = compiled(sources, compiler)
    assert len(sources) > len(PROGRAMS) and usages and not any(usage.spilled_bytes for usage in usages)


def test_kernels_are_handed_the_sizes_that_they_compute_with():
    source = xla2py.emit(witnesses(softmax), "cupy", style="fast").source
    assert "    long long b, long long t, long long d,\n" in source
    assert "for (long long column = threadIdx.x; column < t; column += 128) {" in source
    assert "scores[at] / sqrtf(d)" in source and "column <= row % t" in source
    assert "lines=lambda b, t, d: b * t," in source and "results=lambda b, t, d: [((b, t, t), cp.float32)]" in source
    assert re.search(r"\w+_kernel\(b, t, d, ", source)


def test_kernels_of_elements_have_sizes_among_their_arguments():
    source = xla2py.emit(witnesses(chosen), "cupy", style="fused").source
    assert re.search(r'"int64 b, int64 c, int32 labels",', source) and "labels + (int)c" in source
    assert "FREE_SIZE" not in source


def test_a_kernel_without_sizes_takes_none():
    emitted = xla2py.emit(
        xla2py.from_jax(lambda x: jnp.tanh(x) * 2 + jnp.cos(x), xla2py.array("N")), "cupy", style="fast"
    )
    assert "int64" not in emitted.source and "FREE_SIZE" not in emitted.source


@pytest.mark.parametrize(
    "lines, sizes, expected",
    [
        (['    "int64 FREE_SIZE, "', '    "float32 x",'], ["b", "t"], ['    "int64 b, int64 t, float32 x",']),
        (['    "int64 FREE_SIZE, "', '    "float32 x",'], [], ['    "float32 x",']),
        (['    "int64 FREE_SIZE",'], ["b"], ['    "int64 b",']),
        (['    "int64 FREE_SIZE",'], [], ['    "",']),
        (["    long long FREE_SIZE,"], ["b", "t"], ["    long long b, long long t,"]),
        (["    long long FREE_SIZE,", "    float *x"], [], ["    float *x"]),
        (["    lines=lambda FREE_SIZE: 4,"], ["b"], ["    lines=lambda b: 4,"]),
        (["    lines=lambda FREE_SIZE: 4,"], [], ["    lines=lambda: 4,"]),
        (["    x = y + (int)7 * (int)z;"], [], ["    x = y + 7 * (int)z;"]),
    ],
)
def test_declarations_take_what_a_kernel_needs(lines, sizes, expected):
    assert declaration(lines, sizes, Layout()) == expected


SIZES = {"n": (13, 18, 23), "m": (14, 25, 19)}


@pytest.mark.parametrize(
    "values, level, kind, before, text",
    [
        ((13, 18, 23), POWER, "f", "", "n"),
        ((6, 9, 11), SUM, "", "", "n / 2"),
        ((12, 17, 22), POWER, "", "", "(n - 1)"),
        ((12, 17, 22), SUM, "u", "", "(unsigned)(n - 1)"),
        ((13, 18, 23), SUM, "f", "bfloat16", "(float)n"),
    ],
)
def test_whole_numbers_in_kernels(values, level, kind, before, text):
    assert CUDA.integer(integer_expression(values, SIZES), level, kind, before) == text


@pytest.mark.parametrize(
    "number, level, kind, text",
    [
        (lambda n: n**0.5, ATOM, "f", "sqrtf(n)"),
        (lambda n: 1 / n, POWER, "f", "(1.0f / n)"),
        (lambda n: 0.5 * n, SUM, "f", "0.5f * n"),
        (lambda n: 1 / n**0.5, POWER, "f", "(float)(1.0 / sqrt((double)n))"),
        (lambda n: 1 / n, POWER, "", "(1.0 / n)"),
        (lambda n: 0.3 * n, SUM, "f", "(float)(0.3 * n)"),  # 0.3f * n rounds twice
        (lambda n: n**0.3, SUM, "f", None),
    ],
)
def test_other_numbers_in_kernels_round_as_in_python(number, level, kind, text):
    values = [float(np.float32(number(n)) if kind else number(n)) for n in SIZES["n"]]
    assert CUDA.real(values, SIZES, level, kind) == text

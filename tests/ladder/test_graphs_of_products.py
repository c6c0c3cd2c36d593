"""Products in graphs on the twin: cuBLAS is called past CuPy, on the captured stream, in memory of the graph."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py
from xla2py.targets.cupy.twin.cublas import CublasError
from xla2py.targets.cupy.twin.graphs import CaptureError
from xla2py.tests.ladder.costed_programs import PROGRAMS
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.ladder.static import problems
from xla2py.tests.ladder.test_graphs import begins, differences, program, replayed
from xla2py.tests.recording.lazy_jax import jax

__all__ = ["begins"]  # a fixture

FORMS = {
    "matrices": ("f32[4,6]", "f32[6,3]", "f32[4,3]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
    "turned": ("f32[4,6]", "f32[3,6]", "f32[4,3]", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
    "by a vector": ("f32[4,6]", "f32[6]", "f32[4]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
    "of a vector": ("f32[6]", "f32[6,3]", "f32[3]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
    "of vectors": ("f64[6]", "f64[6]", "f64[]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
    "a batch": (
        "f32[2,4,6]",
        "f32[2,6,3]",
        "f32[2,4,3]",
        "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    ),
    "several axes": (
        "f32[2,4,6,5]",
        "f32[5,2,3,6]",
        "f32[2,4,3]",
        "lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2,3}, rhs_contracting_dims={3,0}",
    ),
    "without a batch": (
        "f32[4,6,5]",
        "f32[5,6,3]",
        "f32[4,3]",
        "lhs_contracting_dims={1,2}, rhs_contracting_dims={1,0}",
    ),
    "bfloat16": ("bf16[4,6]", "bf16[6,3]", "bf16[4,3]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
    "float16": ("f16[4,6]", "f16[6,3]", "f32[4,3]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
    "nothing": ("f32[4,0]", "f32[0,3]", "f32[4,3]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
}
RNG = np.random.default_rng(8)


def text(name):
    a, b, result, numbers = FORMS[name]
    kind = result.split("[")[0]
    shape = result.removeprefix(kind)
    lines = (f"a = {a} parameter(0)", f"b = {b} parameter(1)", f"c = {result} dot(a, b), {numbers}")
    return program(*lines, f"ROOT r = {kind}{shape} tanh(c)")


def arguments(source):
    parameters = xla2py.load(source.encode()).entry.parameters
    shapes = [(p.array_shape.dimensions, p.array_shape.element_type.dtype) for p in parameters]
    return [RNG.normal(size=shape).astype(dtype) for shape, dtype in shapes]


@needs_compiler
@pytest.mark.parametrize("style", ["readable", "fast"])
@pytest.mark.parametrize("name", FORMS)
def test_products_are_captured(name, style):
    source = text(name)
    emitted = xla2py.emit(source.encode(), "cupy", style=style, graph=True)
    assert "gemm(" in emitted.source and problems(emitted.source) == []
    found, expected = replayed(emitted, arguments(source), arguments(source))
    assert differences(expected, found) == []
    assert name == "nothing" or differences(expected[0], found[1]) != []


def test_tf32_stays():
    emitted = xla2py.emit(text("matrices").encode(), "cupy", graph=True, precision="tf32")
    assert "gemm(a, b, tf32=True)" in emitted.source
    given = arguments(text("matrices"))
    found, expected = replayed(emitted, given, given)
    assert differences(expected, found) == []


def test_without_a_graph_nothing_is_called_past_cupy():
    source = xla2py.emit(text("matrices").encode(), "cupy", style="fast").source
    assert "a @ b" in source and "pathfinder" not in source


def test_batches_that_are_repeated_are_captured():
    numbers = "lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={2}"
    lines = (
        "a = f32[2,4,6] parameter(0)",
        "b = f32[2,5,6,3] parameter(1)",
        "c = f32[2,5,4,6] broadcast(a), dimensions={0,2,3}",
        f"ROOT r = f32[2,5,4,3] dot(c, b), {numbers}",
    )
    given = arguments(program(*lines))
    found, expected = replayed(xla2py.emit(program(*lines).encode(), "cupy", graph=True), given, given)
    assert differences(expected, found) == []


@needs_compiler
@pytest.mark.parametrize("name", ["attention, bfloat16", "MLP, training step", "convolution", "LSTM, 8 steps"])
def test_common_programs_are_captured(name):
    function, given = PROGRAMS[name]
    emitted = xla2py.emit(jax.jit(function).lower(*given), "cupy", style="fast", graph=True)
    assert problems(emitted.source) == []
    found, expected = replayed(emitted, given, given)
    assert differences(expected, found) == []


FAULTS = {
    "CuPy's own call": (
        '    call_cublas("cublasGemmStridedBatchedEx", handle, *arguments)\n',
        "    cp.cuda.cublas.gemmStridedBatchedEx(handle, *arguments)\n",
    ),
    "on another stream": ("handle, cp.cuda.get_current_stream().ptr)", "handle, 0)"),
    "in memory of all": (
        '"cublasSetWorkspace_v2", handle, workspace.data.ptr, workspace.nbytes',
        '"cublasSetStream_v2", handle, cp.cuda.get_current_stream().ptr',
    ),
    "in more memory than there is": ("workspace.nbytes)", "2 * workspace.nbytes)"),
    "the stream makes the handle forget": (
        '    call_cublas("cublasGemmStridedBatchedEx", handle, *arguments)\n',
        '    call_cublas("cublasSetStream_v2", handle, cp.cuda.get_current_stream().ptr)\n'
        '    call_cublas("cublasGemmStridedBatchedEx", handle, *arguments)\n',
    ),
    "addresses are cut": ("    function.argtypes = PARAMETERS[name]\n", ""),
    "distances are cut": ("c_int, c_int, c_longlong)", "c_int, c_int, c_int)"),
    "a parameter too few": ("*[c_int] * 3),", "*[c_int] * 2),"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_twin_finds(name):
    emitted = xla2py.emit(text("matrices").encode(), "cupy", graph=True)
    good, bad = FAULTS[name]
    assert good in emitted.source
    given = arguments(text("matrices"))
    with pytest.raises((CaptureError, CublasError)):
        replayed(replace(emitted, source=emitted.source.replace(good, bad)), given, given)

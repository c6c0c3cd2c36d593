"""The verifier of kernels finds what breaks a rule, and what fusion once got wrong."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.kernels.interpreter import element_of
from xla2py.transpile.array.program import roots
from xla2py.transpile.array.traversal import topological
from xla2py.transpile.compilation import compile
from xla2py.transpile.fuzzing.families import random_program
from xla2py.transpile.hlo.element_types import F64
from xla2py.transpile.kernels.index_maps import Index, Offset, Term
from xla2py.transpile.kernels.lines import Lines
from xla2py.transpile.kernels.verifier import InvalidKernelError, verify_kernel
from xla2py.transpile.options import FAST, Options
from xla2py.transpile.passes.fusion import regions
from xla2py.transpile.target import load_target

SLICED = (
    "ENTRY e { x = f32[4,5] parameter(0)  y = f32[4,3] slice(x), slice={[0:4],[2:5]}  z = f32[4,3] negate(y)  "
    "ROOT r = f32[4,3] exponential(z) }"
)
SUM = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
LINES = SUM + (
    "ENTRY e { x = f32[4,5] parameter(0)  zero = f32[] constant(0)  y = f32[4,5] exponential(x)  "
    "s = f32[4] reduce(y, zero), dimensions={1}, to_apply=sum  b = f32[4,5] broadcast(s), dimensions={0}  "
    "q = f32[4,5] divide(y, b)  ROOT r = (f32[4,5], f32[4]) tuple(q, s) }"
)
JOINED = (
    "ENTRY e { x = f32[4] parameter(0)  y = f32[4] negate(x)  z = f32[3] parameter(1)  w = f32[3] tanh(z)  "
    "ROOT r = f32[7] concatenate(y, w), dimensions={0} }"
)


def kernel_of(text):
    """The only kernel of a program."""
    program = compile(xla2py.load(text), load_target("cupy"), Options(style=FAST)).program
    (kernel,) = [
        n.parameters["kernel"] for f in program.functions for n in topological(roots(f)) if n.opcode == "kernel"
    ]
    verify_kernel(kernel)
    return kernel


def result(kernel):
    return kernel.function.results[-1]


def doubled(kernel):
    """What the result is computed of in float64, which its operation does not give."""
    graph, node = kernel.function.graph, result(kernel)
    (operand,) = node.operands
    wide = graph.typed(operand.opcode, operand.operands, operand.shape, F64)
    kernel.function.results = (graph.typed(node.opcode, (wide,), node.shape, node.element_type),)


def longer(kernel):
    kernel.loop, kernel.shapes = (5, 3), [(5, 3)]


def all_of_lines(kernel):
    kernel.of_lines.update(kernel.function.results)


def sorted_result(kernel):
    graph, node = kernel.function.graph, result(kernel)
    kernel.function.results = (graph.typed("sort", (node,), node.shape, node.element_type, axis=0),)


def read_behind(kernel):
    """Another place for what the result is computed of."""
    graph, (parameter,) = kernel.function.graph, kernel.function.parameters
    place = Offset(3, (Term(3, None, 5), Term(1, 3, 1)))
    read = graph.typed("read", (parameter,), kernel.loop, parameter.element_type, at=place, indices=())
    kernel.function.results = (graph.typed("negate", (read,), kernel.loop, read.element_type),)


FAULTS = {
    "an array given by element": (SLICED, lambda k: k.whole.clear(), "has no element for each"),
    "an array for an element": (SLICED, lambda k: k.shapes.__setitem__(0, (4, 5)), "stored as"),
    "a place behind the last": (SLICED, read_behind, r"reads places 3 to 20 of 20"),
    "a larger loop": (SLICED, longer, "reads places"),
    "a type that does not follow": (SLICED, doubled, "its type is not f32"),
    "an operation of whole arrays": (SLICED, sorted_result, "no such operation"),
    "an argument too many": (SLICED, lambda k: k.inputs.append(k.inputs[0]), "2 arrays are given for 1"),
    "no result": (SLICED, lambda k: k.outputs.clear(), "stand for 0 nodes"),
    "no lines": (LINES, lambda k: setattr(k, "lines", None), "it reduces, and has no lines"),
    "other lines": (LINES, lambda k: setattr(k, "lines", Lines.along((4, 6), (1,))), "not all of the loop's"),
    "lines the other way": (LINES, lambda k: setattr(k, "lines", Lines.along((4, 5), (0,))), "one for each line"),
    "a fold of elements": (LINES, lambda k: k.reductions.clear(), "differs between the elements of a line"),
    "a result of lines that has an element for each": (LINES, lambda k: k.of_lines.clear(), "is stored as (4,)"),
    "an element for a line": (LINES, all_of_lines, "differs between the elements"),
    "lines in another order": (
        LINES,
        lambda k: k.at.__setitem__(0, (Index(0, 1, 1), Index(0, 1, 0))),
        "in the order of lines",
    ),
    "a test too few": (
        JOINED,
        lambda k: result(k).parameters.__setitem__("tests", ()),
        "0 tests decide between 2 branches",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_verifier_finds(name):
    text, sow, message = FAULTS[name]
    kernel = kernel_of(text)
    sow(kernel)
    with pytest.raises(InvalidKernelError) as error:
        verify_kernel(kernel)
    assert message in str(error.value)


@pytest.mark.parametrize("seed", [8, 34, 95, 206, 471])
def test_faults_of_fusion_are_found_before_text_is_written(seed, monkeypatch):
    """Operations that take the lines of what they wait for."""
    module = xla2py.load(random_program("lines", seed).text)
    xla2py.emit(module, "cupy", style="fast", format=False)
    monkeypatch.setattr(regions, "_is_of_lines", lambda own, joined: True)
    with pytest.raises(InvalidKernelError):
        xla2py.emit(module, "cupy", style="fast", format=False)


def test_elements_of_lines_are_numbered_as_the_array_is():
    shape, axes = (2, 3, 4, 5), (1, 3)
    lines = Lines.along(shape, axes)
    found = [[element_of(lines, line, along) for along in range(lines.length)] for line in range(lines.count)]
    places = np.arange(120).reshape(shape).transpose(0, 2, 1, 3).reshape(lines.count, lines.length)
    assert found == places.tolist()

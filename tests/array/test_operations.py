"""The table of operations: types that follow, and what a row knows beside them."""

import ast
from pathlib import Path

import numpy as np
import pytest

from xla2py.transpile.array.graph import Graph
from xla2py.transpile.array.node import Constant, Slot
from xla2py.transpile.array.operations import OPERATIONS
from xla2py.transpile.array.program import Carry, Function, Loop
from xla2py.transpile.hlo.element_types import C64, C128, F16, F32, F64, PRED, S32, S64

CHECKOUT = Path(__file__).parents[2]


def array(graph, shape, element_type=F32, **more):
    return graph.parameter(shape, element_type, graph.root, **more)


def type_of(node):
    return node.shape, str(node.element_type)


@pytest.mark.parametrize(
    ("opcode", "shapes", "parameters", "expected"),
    [
        ("add", [(4, 1), (3,)], {}, (4, 3)),
        ("select", [(4, 1), (), (3,)], {}, (4, 3)),
        ("transpose", [(2, 3, 4)], {"axes": (2, 0, 1)}, (4, 2, 3)),
        ("getitem", [(5, 6, 7)], {"index": (1, ":", (None, None, -2))}, (6, 4)),
        ("getitem", [(5, 6), ()], {"index": ((Slot(1), 2), ":")}, (2, 6)),
        ("expand", [(5, 6)], {"index": (":", None, ":")}, (5, 1, 6)),
        ("sum", [(2, 3, 4)], {"axes": (0, 2)}, (3,)),
        ("max", [(2, 3, 4)], {"axes": (1,), "keepdims": True}, (2, 1, 4)),
        ("argmax", [(2, 3)], {"axis": 0}, (3,)),
        ("cumsum", [(2, 3)], {"axis": 0}, (2, 3)),
        ("concatenate", [(2, 3), (4, 3)], {"axis": 0}, (6, 3)),
        ("stack", [(2, 3), (2, 3)], {"axis": 1}, (2, 2, 3)),
        ("pad", [(2, 3), ()], {"widths": ((1, 0), (0, 2))}, (3, 5)),
        ("take", [(2, 3, 4), (5, 6)], {"axis": 1, "clamped": True}, (2, 5, 6, 4)),
        ("take_along_axis", [(2, 3), (2, 1)], {"axis": 1}, (2, 1)),
        ("advanced_index", [(2, 3, 4), (5, 1), (6,)], {"index": (Slot(1), Slot(2))}, (5, 6, 4)),
        ("setitem", [(2, 3), (), ()], {"index": (Slot(2), ":")}, (2, 3)),
        ("matmul", [(7, 2, 3), (3, 5)], {}, (7, 2, 5)),
        ("matmul", [(3,), (3,)], {}, ()),
        ("tensordot", [(2, 3), (3, 2, 4)], {"axes": ((0, 1), (1, 0))}, (4,)),
        ("einsum", [(2, 3), (3, 4)], {"subscripts": "ab,bc->ca"}, (4, 2)),
        ("diagonal", [(2, 3, 5)], {"offset": 1, "axes": {"axis1": 1, "axis2": 2}}, (2, 3)),
        ("fft", [(2, 8)], {"kind": "rfft", "lengths": (8,), "own_length": True}, (2, 5)),
        ("roll", [(2, 3)], {"shift": 1, "axis": 0}, (2, 3)),
    ],
)
def test_shapes_follow_from_operands_and_parameters(opcode, shapes, parameters, expected):
    graph = Graph()
    operands = tuple(array(graph, shape) for shape in shapes)
    given = {"element_type": S32} if opcode == "argmax" else {}
    assert graph.add(opcode, operands, **given, **parameters).shape == expected


@pytest.mark.parametrize(
    ("opcode", "types", "parameters", "expected"),
    [
        ("add", [F32, F32], {}, F32),
        ("add", [F16, F32], {}, F32),  # a convert that NumPy's promotion makes
        ("compare", [F32, F32], {"direction": "LT"}, PRED),
        ("select", [PRED, F64, F64], {}, F64),
        ("abs", [C64], {}, F32),
        ("real", [C128], {}, F64),
        ("any", [PRED], {"axes": ()}, PRED),
        ("var", [C64], {"axes": ()}, F32),
        ("fft", [F64], {"kind": "rfft", "lengths": (), "own_length": True}, C128),
    ],
)
def test_element_types_follow(opcode, types, parameters, expected):
    graph = Graph()
    operands = tuple(array(graph, (4,), element_type) for element_type in types)
    if opcode == "fft":
        parameters = {**parameters, "lengths": (4,)}
    assert graph.add(opcode, operands, **parameters).element_type is expected


def test_a_sum_may_accumulate_in_a_wider_type():
    graph = Graph()
    x = array(graph, (4,), F16)
    assert type_of(graph.add("sum", (x,), axes=(0,))) == ((), "f16")
    assert type_of(graph.add("sum", (x,), element_type=F32, axes=(0,))) == ((), "f32")


def test_intervals_follow():
    graph = Graph()
    x = array(graph, (4, 4), S32, interval=(0, 5))
    y = array(graph, (4, 4), S32, interval=(-3, 9))
    assert graph.add("add", (x, y)).interval == (-3, 14)
    assert graph.add("transpose", (y,), axes=(1, 0)).interval == (-3, 9)
    assert graph.add("concatenate", (x, y), axis=0).interval == (-3, 9)
    assert graph.add("max", (x,), axes=(0,)).interval == (0, 5)
    assert graph.add("sum", (x,), axes=(0,)).interval is None
    assert graph.add("arange", element_type=S32, stop=7).interval == (0, 6)
    assert graph.add("argsort", (x,), element_type=S64, axis=1).interval == (0, 3)


def test_arithmetic_of_python_ints_is_one():
    graph = Graph()
    number, array_of_numbers = graph.integer(3), array(graph, (4,), S32)
    total = graph.add("add", (number, graph.integer(4)), interval=(7, 7))
    assert total.is_python_int and total.element_type is None
    assert graph.add("multiply", (number, graph.literal(np.int32(2), S32)), element_type=S32).is_python_int
    mixed = graph.add("add", (number, array_of_numbers))
    assert not mixed.is_python_int and mixed.element_type is S32


def test_loops_calls_and_their_parts_have_the_types_of_what_they_hold():
    graph = Graph()
    x = array(graph, (2, 3), argument=0)
    inside = graph.root.child("loop")
    carry = Carry(x, graph.parameter((2, 3), F32, inside, carry=0))
    carry.following = carry.parameter
    loop = graph.add("loop", (x,), loop=Loop(inside, [carry], start=0, stop=3))
    assert loop.results == (((2, 3), F32),)
    assert type_of(graph.add("item", (loop,), index=0)) == ((2, 3), "f32")

    other = Graph()
    parameter = array(other, (2, 3), argument=0)
    one = Function(None, other, [parameter], other.add("sum", (parameter,), axes=(0,)))
    assert type_of(graph.add("call", (x,), function=one)) == ((3,), "f32")
    two = Function(None, other, [parameter], (one.results, parameter))
    assert graph.add("call", (x,), function=two).results == (((3,), F32), ((2, 3), F32))


def test_what_does_not_fit_is_refused():
    graph = Graph()
    x, y = array(graph, (2, 3)), array(graph, (4,))
    with pytest.raises(ValueError, match="do not broadcast"):
        graph.add("add", (x, y))
    with pytest.raises(ValueError, match="no order of the axes"):
        graph.add("transpose", (x,), axes=(0, 0))
    with pytest.raises(ValueError, match=r"add gives \(2, 3\), not \(3, 2\)"):
        graph.add("add", (x, x), shape=(3, 2))
    with pytest.raises(ValueError, match="gives f32, not f64"):
        graph.add("negate", (x,), element_type=F64)
    with pytest.raises(KeyError, match="transmogrify"):
        graph.add("transmogrify", (x,))


def test_every_operation_has_an_axis_map_or_no_operands():
    assert [name for name, row in OPERATIONS.items() if row.operands and row.axes is None and name != "empty"] == []


@pytest.mark.parametrize(
    ("opcode", "shapes", "parameters", "expected"),
    [
        ("add", [(4, 1), (3,)], {}, [(0, None), (1,)]),
        ("transpose", [(2, 3, 4)], {"axes": (2, 0, 1)}, [(1, 2, 0)]),
        ("reshape", [(2, 6, 5)], {"shape": (2, 2, 3, 5)}, [(0, None, 3)]),
        ("sum", [(2, 3, 4)], {"axes": (1,)}, [(0, None, 1)]),
        ("matmul", [(7, 2, 3), (3, 5)], {}, [(0, 1, None), (None, 2)]),
        ("concatenate", [(2, 3), (4, 3)], {"axis": 0}, [(None, 1), (None, 1)]),
        ("getitem", [(5, 6, 7)], {"index": (1, ":", (None, 3, None))}, [(None, 0, None)]),
        ("take", [(2, 3, 4), (5,)], {"axis": 1, "clamped": True}, [(0, None, 2), (1,)]),
    ],
)
def test_axis_maps(opcode, shapes, parameters, expected):
    graph = Graph()
    node = graph.add(opcode, tuple(array(graph, shape) for shape in shapes), **parameters)
    assert node.operation.axes(node) == expected


def test_constants_are_generated_and_views_are_views():
    graph = Graph()
    table = graph.add("array", element_type=F32, constant=Constant.of(np.ones((2, 3), np.float32)))
    assert table.shape == (2, 3)
    assert OPERATIONS["zeros"].is_generated and OPERATIONS["transpose"].is_view
    assert OPERATIONS["add"].is_commutative and not OPERATIONS["subtract"].is_commutative


# Why some operations are told their types and shapes, and do not infer them.
ASKED_FOR = "the type is what is asked for"
SIZES = "the sizes are what is asked for"
OUTSIDE = "what comes from outside of the function has the type that HLO says"
DEVICES = "what other devices send has the type that HLO says"
OPEN = "a target decides what its kernels and chunks give"
GIVEN = {
    "element_type": {
        **dict.fromkeys(("convert", "view", "scalar", "retype"), ASKED_FOR),
        **dict.fromkeys(("literal", "array", "arange", "range", "tri", "eye", "empty"), ASKED_FOR),
        **dict.fromkeys(("argmax", "argmin", "argsort"), "the type of indices is what is asked for"),
        "integer": "a Python int has none",
    },
    "shape": {
        **dict.fromkeys(("zeros", "ones", "full", "empty", "tri", "eye"), SIZES),
        **dict.fromkeys(("reshape", "broadcast_to"), SIZES),
        **dict.fromkeys(("prelude one_word", "prelude one_uniform", "prelude one_normal"), SIZES),
    },
    "both": {
        **dict.fromkeys(("parameter", "infeed", "from_host", "prelude call_back"), OUTSIDE),
        **dict.fromkeys(("outfeed", "send", "to_host"), "nothing comes of it"),
        "collective": DEVICES,
        **dict.fromkeys(("kernel", "read", "gather", "guarded_gather"), OPEN),
    },
}


def every_row():
    from xla2py.transpile.array.operations.functions import _library, _prelude
    from xla2py.transpile.target import load_target, target_names

    assert all(load_target(name) for name in target_names())  # which declares the rows of its prelude
    yield from OPERATIONS.items()
    yield from ((f"np.{name}", row) for name, row in _library().items())
    yield from ((f"prelude {name}", row) for name, row in _prelude().items())


@pytest.mark.parametrize("rule", ["shape", "element_type"])
def test_shapes_and_types_are_inferred_but_for_few(rule):
    given = {name for name, row in every_row() if getattr(row, rule) is None and row.results is None}
    assert given == GIVEN[rule].keys() | GIVEN["both"].keys()


def test_nobody_gives_a_shape_that_follows():
    """No call that adds a node of a known operation says its shape, but of those that it is asked for."""
    found = {
        node.args[0].value
        for folder in ("transpile", "targets")
        for path in (CHECKOUT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("graph.add", "graph.add_effect"))
        if node.args and isinstance(node.args[0], ast.Constant)
        if {"shape", "results"} & {keyword.arg for keyword in node.keywords}
    }
    # Calls of the user's own functions, of functions for arrays of any shapes, and parts of tuples that are arguments.
    assert found - {"prelude", "call", "item"} <= {*GIVEN["shape"], *GIVEN["both"]}
    assert len(found) > 5

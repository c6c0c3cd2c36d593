"""The table of operations: types that follow, and what a row knows beside them."""

import ast
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from xla2py.transpile.array.graph import Graph
from xla2py.transpile.array.node import Constant, Slot
from xla2py.transpile.array.operations import OPERATIONS
from xla2py.transpile.array.operations.functions import Signature, function_row
from xla2py.transpile.array.program import Carry, Function, Loop
from xla2py.transpile.hlo.element_types import C64, C128, F16, F32, F64, PRED, S32, S64, U32

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


def call(graph, function, *operands, opcode="prelude", arguments=(), **keywords):
    given = tuple(Slot(k) for k in range(len(operands))) + arguments
    return graph.add(opcode, operands, function=function, arguments=given, keywords=keywords)


def test_functions_of_the_prelude_have_rows_like_any_other():
    graph = Graph()
    x, a, b = array(graph, (4, 3)), array(graph, (2, 5, 5)), array(graph, (5, 3))
    assert type_of(call(graph, "erf", x)) == ((4, 3), "f32")
    assert call(graph, "erf", x).operation.is_elementwise
    assert call(graph, "complex_from_parts", x, x).element_type is C64
    assert call(graph, "to_int", x, arguments=(S32,)).element_type is S32
    assert type_of(call(graph, "random_bits", array(graph, (2,), U32), arguments=((7, 2),))) == ((7, 2), "u32")
    assert call(graph, "getrf", a).results == (((2, 5, 5), F32), ((2, 5), S32), ((2,), S32))
    assert type_of(call(graph, "triangular_solve", a, array(graph, (2, 5, 3)))) == ((2, 5, 3), "f32")
    assert call(graph, "matmul", a, b).shape == (2, 5, 3)
    assert call(graph, "logsumexp", x, axis=-1, keepdims=True).shape == (4, 1)


def test_functions_of_the_library_have_rows_too():
    graph = Graph()
    x = array(graph, (4, 3))
    assert type_of(call(graph, "hypot", x, array(graph, (3,)), opcode="library")) == ((4, 3), "f32")
    assert call(graph, "isclose", x, x, opcode="library").element_type is PRED
    assert call(graph, "linalg.norm", x, opcode="library", axis=(0, 1)).shape == ()
    assert call(graph, "linalg.slogdet", array(graph, (2, 3, 3)), opcode="library").results == (((2,), F32),) * 2


def test_a_function_without_a_row_takes_the_type_that_is_given():
    graph = Graph()
    made = graph.add("prelude", (), shape=(3,), element_type=F32, function="somebodys_own", arguments=(), keywords={})
    assert type_of(made) == ((3,), "f32") and not made.operation.is_elementwise


def test_signatures_are_those_of_generalised_ufuncs():
    signature = Signature("(m,n),(n)->(m,n),(k),()")
    graph = Graph()
    operands = array(graph, (6, 1, 4, 3)), array(graph, (2, 3))
    assert signature.shapes(operands) == [(6, 2, 4, 3), (6, 2, 3), (6, 2)]
    with pytest.raises(ValueError, match="axes n have 3 and 2"):
        signature.shapes((array(graph, (4, 3)), array(graph, (2,))))


@pytest.mark.parametrize(
    "path", sorted(CHECKOUT.glob("templates/**/rows.toml")), ids=lambda path: path.parent.parent.name
)
def test_every_row_is_of_a_function_that_stands_beside_it(path):
    defined = {
        name
        for module in (*path.parent.glob("*.py"), *(CHECKOUT / "templates" / "prelude").glob("*.py"))
        for name in re.findall(r"^(?:def |class )?(\w+)", module.read_text("utf-8"), re.MULTILINE)
    }
    assert set(tomllib.loads(path.read_text("utf-8"))) <= defined
    assert function_row("prelude", {"function": "softmax"}).default_names == ("weights",)


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


def test_every_prelude_function_that_passes_call_brings_a_row():
    defined = {
        statement.name
        for path in (CHECKOUT / "templates" / "prelude").glob("*.py")
        for statement in ast.parse(path.read_text("utf-8")).body
        if isinstance(statement, ast.FunctionDef)
    }
    rows = tomllib.loads((CHECKOUT / "templates" / "prelude" / "rows.toml").read_text("utf-8"))
    called = {
        word.value
        for path in (CHECKOUT / "transpile" / "passes").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and re.search(r"call|prelude|add$|elementwise$", ast.unparse(node.func))
        for word in (*node.args[:3], *(keyword.value for keyword in node.keywords if keyword.arg == "function"))
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    }
    assert len(called & defined) > 40
    assert (called & defined) - set(rows) == set()


@pytest.mark.parametrize(
    ("function", "shapes", "arguments", "expected"),
    [
        ("linspace", [], (0.0, 1.0, 5, F32), ((5,), "f32")),
        ("pivots_to_permutation", [(2, 3)], (Slot(0), 7), ((2, 7), "f32")),
        ("dynamic_slice", [(8, 9), ()], (Slot(0), (Slot(1),), (4, 9)), ((4, 9), "f32")),
        ("softmax", [(8, 9)], (Slot(0),), ((8, 9), "f32")),
    ],
)
def test_arguments_may_say_the_type(function, shapes, arguments, expected):
    graph = Graph()
    operands = tuple(array(graph, shape) for shape in shapes)
    assert type_of(graph.add("prelude", operands, function=function, arguments=arguments, keywords={})) == expected


def test_several_results_may_share_a_shape():
    graph = Graph()
    assert call(graph, "top_k", array(graph, (4, 9)), arguments=(3,)).results == (((4, 3), F32), ((4, 3), S32))

"""The rows of functions that are called by name: shapes and types that follow from the calls."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from xla2py.transpile.array.graph import Graph
from xla2py.transpile.array.node import Slot
from xla2py.transpile.array.operations.functions import Signature, function_row
from xla2py.transpile.array.program import Function
from xla2py.transpile.hlo.element_types import C64, F16, F32, F64, PRED, S32, U32

CHECKOUT = Path(__file__).parents[2]


def array(graph, shape, element_type=F32):
    return graph.parameter(shape, element_type, graph.root)


def type_of(node):
    return node.shape, str(node.element_type)


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


CONVOLUTION = {"padding": ((1, 1), (0, 0)), "strides": (2, 1), "layout": "NCHW,OIHW->NCHW"}
CONTRACTED = {"contracting": ((1,), (1,)), "dtype": F32}


@pytest.mark.parametrize(
    ("function", "shapes", "arguments", "keywords", "expected"),
    [
        ("take_or_fill", [(8, 9), (2, 3)], (), {"axis": 1}, (8, 2, 3)),
        ("get_or_fill", [(8, 9), (2, 1), (3,)], ((Slot(1), Slot(2)),), {}, (2, 3)),
        (
            "gather",
            [(8, 9, 5), (2, 1)],
            (Slot(0), Slot(1), (1, 4, 5)),
            {"offset_dims": (1, 2), "collapsed_slice_dims": (0,), "start_index_map": (0,)},
            (2, 4, 5),
        ),
        ("pad", [(8, 9), ()], (Slot(0), Slot(1), ((1, -2), (0, 3))), {"interior": (2, 0)}, (21, 12)),
        ("reduce_window", [(8, 9), ()], (Slot(0), Slot(1), None, (3, 2)), {"strides": (2, 1)}, (3, 8)),
        ("reduce_window", [(8,), ()], (Slot(0), Slot(1), None, (3,)), {"base_dilation": (2,)}, (13,)),
        ("convolution", [(2, 3, 8, 9), (7, 3, 3, 3)], (), CONVOLUTION, (2, 7, 4, 7)),
        ("convolution", [(2, 8, 6), (3, 3, 4)], (), {"feature_groups": 2}, (2, 6, 4)),
        ("integer_convolution", [(4, 8, 3), (3, 3, 6)], (), {"batch_groups": 2}, (2, 6, 6)),
        ("image_filter", [(2, 1, 8, 9), (1, 1, 3, 3)], (), {"channels_first": True}, (2, 1, 6, 7)),
        ("scaled_dot", [(2, 32), (3, 32), (2, 1), (3, 1)], (), CONTRACTED, (2, 3)),
        ("ragged_dot", [(8, 4), (2, 4, 5), (2,)], (), {**CONTRACTED, "ragged_axis": 0, "group_axis": 0}, (8, 5)),
        ("fold_axes", [(2, 3, 4), ()], (Slot(0), Slot(1), None, (0, 2)), {}, (3,)),
        ("fourier_transform", [(2, 0)], (Slot(0), "RFFT", (0,)), {}, (2, 0)),
        ("split_key", [(2,)], (Slot(0), 7), {}, (7, 2)),
        ("ormqr", [(4, 2), (2,), (4, 3)], (), {"left": True}, (4, 3)),
        ("bitcast_convert", [(4, 2)], (Slot(0), F64), {}, (4,)),
        ("bitcast_convert", [(4, 2)], (Slot(0), F16), {}, (4, 2, 2)),
        ("np.bincount", [(9,)], (), {"minlength": 5}, (5,)),
        ("np.convolve", [(9,), (3,)], (), {}, (11,)),
        ("np.correlate", [(9,), (3,)], (), {"mode": "same"}, (9,)),
        ("np.diag", [(3,)], (Slot(0), -2), {}, (5, 5)),
        ("np.diff", [(3, 9)], (), {"n": 2}, (3, 7)),
        ("np.diff", [(3, 9)], (), {"axis": 0}, (2, 9)),
        ("np.pad", [(3, 9)], (Slot(0), ((1, 0), (2, 2))), {"mode": "edge"}, (4, 13)),
        ("np.pad", [(3, 9)], (Slot(0), (1, 0)), {"mode": "edge"}, (4, 10)),
        ("np.repeat", [(3, 9)], (Slot(0), 2), {"axis": -1}, (3, 18)),
        ("np.tile", [(3, 9)], (Slot(0), (2, 1, 1)), {}, (2, 3, 9)),
    ],
)
def test_shapes_of_functions_follow_from_their_calls(function, shapes, arguments, keywords, expected):
    graph = Graph()
    opcode, name = ("library", function[3:]) if function.startswith("np.") else ("prelude", function)
    operands = tuple(array(graph, shape, S32 if function == "gather" and k else F32) for k, shape in enumerate(shapes))
    if function == "ragged_dot":
        operands = (*operands[:2], array(graph, shapes[2], S32))
    given = arguments or tuple(Slot(k) for k in range(len(operands)))
    assert graph.add(opcode, operands, function=name, arguments=given, keywords=keywords).shape == expected


@pytest.mark.parametrize(
    ("function", "shapes", "element_type", "keywords", "expected"),
    [
        ("svd", [(4, 3)], C64, {}, [((4, 4), C64), ((3,), F32), ((3, 3), C64)]),
        ("svd", [(2, 4, 3)], F32, {"full_matrices": False}, [((2, 4, 3), F32), ((2, 3), F32), ((2, 3, 3), F32)]),
        ("gesdd", [(4, 3)], F32, {"mode": "S"}, [((4, 3), F32), ((3,), F32), ((4, 3), F32), ((3, 3), F32), ((), S32)]),
        ("geev", [(3, 3)], F32, {}, [((3,), F32), ((3,), F32), ((3, 3), C64), ((3, 3), C64), ((), S32)]),
        ("geev", [(3, 3)], C64, {}, [((3,), C64), ((3, 3), C64), ((3, 3), C64), ((), S32)]),
        ("sytrd", [(3, 3)], C64, {}, [((3, 3), C64), ((3,), F32), ((2,), F32), ((2,), C64), ((), S32)]),
        ("gtsv", [(4,), (4,), (4,), (4, 2)], F32, {}, [((4,), F32)] * 3 + [((4, 2), F32), ((), S32)]),
        ("gehrd", [(2, 4, 4)], F64, {}, [((2, 4, 4), F64), ((2, 3), F64), ((2,), S32)]),
        ("batch_norm_training", [(2, 3, 4), (3,), (3,)], F32, {"axis": 1}, [((2, 3, 4), F32), *[((3,), F32)] * 2]),
        ("threefry_2x32", [(8,), (8,), (8,), (8,)], U32, {}, [((8,), U32), ((8,), U32)]),
    ],
)
def test_results_of_functions_follow_from_their_calls(function, shapes, element_type, keywords, expected):
    graph = Graph()
    operands = tuple(array(graph, shape, element_type) for shape in shapes)
    assert call(graph, function, *operands, **keywords).results == tuple(expected)


def test_functions_of_several_arrays_return_as_many():
    graph = Graph()
    x, y, zero, one = array(graph, (4, 9)), array(graph, (4, 9), S32), array(graph, ()), array(graph, (), S32)
    slots = tuple(Slot(k) for k in range(4))
    both = (slots[:2], slots[2:], None, (1,))
    folded = graph.add("prelude", (x, y, zero, one), function="fold_axes", arguments=both, keywords={})
    assert folded.results == (((4,), F32), ((4,), S32)) and folded.shape == ()
    pooled = graph.add(
        "prelude", (x, y, zero, one), function="fold_windows", arguments=(*both[:3], (2, 2)), keywords={}
    )
    assert pooled.results == (((3, 8), F32), ((3, 8), S32))
    ordered = graph.add("prelude", (x, y), function="sort_with", arguments=(slots[:2], 1, None), keywords={})
    assert ordered.results == (((4, 9), F32), ((4, 9), S32))
    step = Function(None, Graph(), [], (array(Graph(), (4,), F16), array(Graph(), ())))
    scanned = graph.add(
        "prelude", (x, zero), function="scan", arguments=(step, slots[:1], slots[1:2]), keywords={"axis": 1}
    )
    assert scanned.results == (((4, 9), F16), ((), F32))


def test_operands_that_do_not_fit_a_function_are_refused():
    graph = Graph()
    with pytest.raises(ValueError, match="input features"):
        call(graph, "convolution", array(graph, (2, 8, 5)), array(graph, (3, 3, 6)))
    with pytest.raises(ValueError, match=r"takes T\[\*,n,n\]"):
        call(graph, "sytrd", array(graph, (3, 4)))
    with pytest.raises(ValueError, match="does not hold elements of 64 bits"):
        call(graph, "bitcast_convert", array(graph, (4, 3)), arguments=(F64,))


def test_several_results_may_share_a_shape():
    graph = Graph()
    assert call(graph, "top_k", array(graph, (4, 9)), arguments=(3,)).results == (((4, 3), F32), ((4, 3), S32))


def test_every_function_that_a_custom_call_becomes_has_a_row():
    from xla2py.transpile.hlo.custom_calls.table import CUSTOM_CALLS
    from xla2py.transpile.passes.to_array.custom_calls import _RULES

    rules = {row.rule for row in CUSTOM_CALLS.values() if row.rule} - (_RULES.keys() - {"gesdd"})
    assert len(rules) > 10
    assert rules - tomllib.loads((CHECKOUT / "templates" / "prelude" / "rows.toml").read_text("utf-8")).keys() == set()

"""The array dialect as text."""

import textwrap

import pytest

from xla2py.tests.counted_loops import counted_loop
from xla2py.transpile.array.graph import Graph
from xla2py.transpile.array.node import Constant, ForeignName, Slot
from xla2py.transpile.array.printer import print_function, print_program
from xla2py.transpile.array.program import Function
from xla2py.transpile.compilation import compile
from xla2py.transpile.hlo.element_types import BF16, F32, S32
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.options import Options
from xla2py.transpile.target import load_target


def printed(text, **options):
    return print_program(
        compile(parse_module(text), load_target("numpy"), Options(results="may-alias", **options)).program
    )


def expected(text):
    return textwrap.dedent(text).lstrip("\n")


def test_nodes_are_printed_as_expressions_over_numbered_values():
    text = """
    ENTRY main {
      x = f32[4,8] parameter(0)
      y = f32[8] parameter(1)
      tenth = f32[] constant(0.1)
      tenths = f32[4,8] broadcast(tenth), dimensions={}
      scaled = f32[4,8] multiply(x, tenths)
      ys = f32[4,8] broadcast(y), dimensions={1}
      ROOT sum = f32[4,8] add(scaled, ys)
    }
    """
    assert printed(text) == expected("""
        function main(%0: f32[4,8], %1: f32[8])
          %2 = f32[4,8] multiply(%0, f32 0.1)
          %3 = f32[4,8] add(%2, %1)
          return %3
        """)


def test_passes_do_not_change_the_numbering_of_what_they_leave_alone():
    text = """
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
    ENTRY main {
      x = f32[4,8] parameter(0)
      zero = f32[] constant(0)
      total = f32[4] reduce(x, zero), dimensions={1}, to_apply=add
      totals = f32[4,8] broadcast(total), dimensions={0}
      ROOT share = f32[4,8] divide(x, totals)
    }
    """
    assert printed(text) == expected("""
        function main(%0: f32[4,8])
          %1 = f32[4,1] sum(%0, axes=(1), keepdims=True)
          %2 = f32[4,8] divide(%0, %1)
          return %2
        """)
    assert printed(text, disable_passes=("keepdims",)) == expected("""
        function main(%0: f32[4,8])
          %1 = f32[4] sum(%0, axes=(1))
          %2 = f32[4,1] expand(%1, index=[:, None])
          %3 = f32[4,8] divide(%0, %2)
          return %3
        """)


def test_a_counted_loop_shows_its_range_carries_and_stores():
    text = counted_loop(
        3,
        {"x": "f32[2]", "out": "f32[3,2]"},
        """
        zero = s32[] constant(0)
        new_x = f32[2] multiply(x, x)
        row = f32[1,2] reshape(x)
        new_out = f32[3,2] dynamic-update-slice(out, row, i, zero)
        """,
        given="""x = f32[2] parameter(0)
        empty = f32[] constant(0)
        out = f32[3,2] broadcast(empty), dimensions={}""",
        behind="ROOT rows = f32[3,2] copy(out_end)",
    )
    assert printed(text) == expected("""
        function main(%0: f32[2])
          %1 = f32[3,2] empty()
          %2 = (f32[2], f32[3,2]) loop(%0, %1)
            for %3 in range(0, 3, 1)
            carry %4: f32[2] = %0
            carry %5: f32[3,2] = %1
            %6 = f32[2] multiply(%4, %4)
            store %5[%3, :] = %4
            next %4 = %6
          %7 = f32[3,2] item(%2, index=1)
          return %7
        """)


def test_any_other_loop_shows_its_condition_before_its_body():
    text = """
    body {
      s = (f32[], f32[]) parameter(0)
      x = f32[] get-tuple-element(s), index=0
      k = f32[] get-tuple-element(s), index=1
      half = f32[] multiply(x, k)
      ROOT t = (f32[], f32[]) tuple(half, k)
    }
    condition {
      s = (f32[], f32[]) parameter(0)
      x = f32[] get-tuple-element(s), index=0
      one = f32[] constant(1)
      ROOT more = pred[] compare(x, one), direction=GT
    }
    ENTRY main {
      x = f32[] parameter(0)
      k = f32[] parameter(1)
      start = (f32[], f32[]) tuple(x, k)
      loop = (f32[], f32[]) while(start), condition=condition, body=body
      ROOT y = f32[] get-tuple-element(loop), index=0
    }
    """
    assert printed(text) == expected("""
        function main(%0: f32[], %1: f32[])
          %2 = (f32[]) loop(%0)
            carry %3: f32[] = %0
            %4 = pred[] compare(%3, f32 1.0, direction=GT)
            while %4
            %5 = f32[] multiply(%3, %1)
            next %3 = %5
          %6 = f32[] item(%2, index=0)
          return %6
        """)


def test_branches_are_indented_and_say_what_they_give():
    text = """
    one { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }
    other { x = f32[2] parameter(0)  ROOT y = f32[2] add(x, x) }
    ENTRY main {
      p = pred[] parameter(0)
      x = f32[2] parameter(1)
      ROOT y = f32[2] conditional(p, x, x), true_computation=one, false_computation=other
    }
    """
    assert printed(text) == expected("""
        function main(%0: pred[], %1: f32[2])
          %2 = (f32[2]) conditional(%0)
            branch 0
              %3 = f32[2] add(%1, %1)
              give %3
            branch 1
              %4 = f32[2] negate(%1)
              give %4
          %5 = f32[2] item(%2, index=0)
          return %5
        """)


def test_calls_show_the_function_and_its_arguments_in_order():
    text = """
    ENTRY main {
      x = f32[9] parameter(0)
      i = s32[] parameter(1)
      ROOT y = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
    }
    """
    assert printed(text) == expected("""
        function main(%0: f32[9], %1: s32[])
          %2 = f32[2] prelude dynamic_slice(%0, (%1), (2))
          return %2
        """)


def test_side_effects_show_their_order():
    text = """
    ENTRY main {
      x = f32[2] parameter(0)
      t = token[] after-all()
      first = token[] outfeed(x, t), outfeed_config="a"
      ROOT second = token[] outfeed(x, first), outfeed_config="b"
    }
    """
    assert printed(text) == expected("""
        function main(%0: f32[2])
          %1 = token outfeed(%0, config=a)
          %2 = token outfeed(%0, config=b, after %1)
          return token
        """)


def test_functions_come_before_their_callers():
    text = """
    twice { x = f32[4] parameter(0)  a = f32[4] add(x, x)  b = f32[4] exponential(a)  c = f32[4] sine(b)
            d = f32[4] multiply(c, a)  ROOT e = f32[4] subtract(d, b) }
    ENTRY main {
      x = f32[4] parameter(0)
      y = f32[4] call(x), to_apply=twice
      ROOT z = f32[4] call(y), to_apply=twice
    }
    """
    first, second = printed(text).split("\n\n")
    assert first.startswith("function twice(%0: f32[4])")
    assert second == expected("""
        function main(%0: f32[4])
          %1 = f32[4] call twice(%0)
          %2 = f32[4] call twice(%1)
          return %2
        """)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (((1, 2), Slot(0)), "((1, 2), %0)"),
        (ForeignName("package.module", "function"), "package.module:function"),
        (BF16, "bf16"),
        ("word", "word"),
        (None, "None"),
        (Constant.of(BF16.dtype.type(1.5)), "1.5"),
    ],
)
def test_arguments_of_any_kind(value, text):
    graph = Graph()
    x = graph.parameter((2,), F32, graph.root)
    node = graph.add("prelude", (x,), shape=(2,), element_type=F32, function="f", arguments=(value,), keywords={})
    function = Function(computation=parse_module("ENTRY f { ROOT x = f32[2] parameter(0) }").entry, graph=graph)
    function.parameters, function.results = [x], node
    assert f"prelude f({text})" in print_function(function)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ((":", 3), "[:, 3]"),
        (((1, None, None), (None, 5, 2)), "[1:, :5:2]"),
        ((Slot(1), (Slot(2), 4)), "[%1, %2:%2 + 4]"),
        ((None, ":", ":"), "[None, :, :]"),
    ],
)
def test_indices(index, text):
    graph = Graph()
    x = graph.parameter((9, 9), F32, graph.root)
    starts = [graph.parameter((), S32, graph.root) for _ in range(2)]
    node = graph.add("getitem", (x, *starts), index=index)
    function = Function(computation=parse_module("ENTRY f { ROOT x = f32[2] parameter(0) }").entry, graph=graph)
    function.parameters, function.results = [x, *starts], node
    assert f"index={text})" in print_function(function)

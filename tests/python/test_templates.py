"""Templates: what a macro writes over holes, with operands in parentheses where Python's grammar asks for them."""

import ast

import pytest

from xla2py.transpile.python.grammar import ATOM, PRIMARY
from xla2py.transpile.python.templates import Expression, Hole, hole, template

A, B, C = (hole(0, number) for number in range(3))


def of(text):
    return Expression(text, template(text).level)


@pytest.mark.parametrize(
    ("text", "operands", "expected"),
    [
        (f"{A} + {B}", ("x + y", "x + y"), "x + y + (x + y)"),
        (f"{A} - {B}", ("x * y", "-z"), "x * y - -z"),
        (f"{A} * {B}", ("x + y", "x @ y"), "(x + y) * (x @ y)"),
        (f"{A} ** {B}", ("x", "2"), "x**2"),
        (f"{A} ** {B}", ("x.size", "-y"), "x.size ** (-y)"),
        (f"{A} ** {B}", ("x[0]", "y"), "x[0] ** y"),
        (f"{A} ** {B}", ("x**y", "x**y"), "(x**y) ** x**y"),
        (f"-{A}", ("x**2",), "-(x**2)"),
        (f"-{A}", ("-x",), "--x"),
        (f"~{A}", ("x & y",), "~(x & y)"),
        (f"{A} & {B}", ("x & y", "x | y"), "x & y & (x | y)"),
        (f"{A} | {B}", ("x + y", "x == y"), "(x + y) | (x == y)"),
        (f"{A} << {B}", ("x << 1", "x * y"), "(x << 1) << x * y"),
        (f"{A} < {B}", ("x < y", "x | y"), "(x < y) < x | y"),
        (f"not {A}", ("x < y",), "not x < y"),
        (f"not {A}", ("x and y",), "not (x and y)"),
        (f"{A} if {B} else {C}", ("x if y else z",) * 3, "(x if y else z) if (x if y else z) else x if y else z"),
        (f"{A}.sum(axis=0)", ("x + y",), "(x + y).sum(axis=0)"),
        (f"{A}[{B}, :{C}]", ("f(x)", "i + 1", "n - 1"), "f(x)[i + 1, :n - 1]"),
        (f"f({A}, k={B})", ("x if y else z", "x + y"), "f(x if y else z, k=x + y)"),
        (f"1 / (1 + np.exp(-{A}))", ("x + y",), "1 / (1 + np.exp(-(x + y)))"),
        (f"{A}", ("x + y",), "x + y"),
        (f"{A}[{B} : {B} + 3]", ("x", "i << 1"), "x[i << 1 : (i << 1) + 3]"),
        (f"{A}, {B} = {C}", ("x", "y", "z, 0"), "x, y = z, 0"),
        (f"for {A} in range({B}):", ("i", "n + 1"), "for i in range(n + 1):"),
        (f"elif {A} == {B}:", ("x == y", "1"), "elif (x == y) == 1:"),
        ("else:", (), "else:"),
    ],
)
def test_parentheses_follow_from_the_grammar(text, operands, expected):
    assert template(text).filled(0, [of(each) for each in operands]) == expected


@pytest.mark.parametrize("text", ["x + y", "(x + y)", "(x, y)", "x, y", "[x]", "f(x)", "-1", "x.y", "x if y else z"])
def test_an_expression_is_whole_in_its_own_parentheses(text):
    found = template(f"{A}.T").filled(0, [of(text)])
    (inner,) = [
        node.value for node in ast.walk(ast.parse(found)) if isinstance(node, ast.Attribute) and node.attr == "T"
    ]
    assert ast.dump(inner) == ast.dump(ast.parse(text, mode="eval").body)
    assert found.count("(") <= text.count("(") + (template(text).level < PRIMARY)


def test_a_macro_that_is_called_by_a_macro_has_holes_of_its_own():
    outer = Hole.at(0, 0, of("x + y"))
    inner = template(f"{hole(1, 0)} * {hole(1, 1)}").filled(1, [of("a + b"), outer])
    assert inner == f"(a + b) * {A}"
    assert template(inner).filled(0, [outer.operand]) == "(a + b) * (x + y)"
    assert outer.text == "x + y" and outer.level == ATOM


def test_a_hole_that_no_expression_can_fill_is_a_fault_of_its_macro():
    with pytest.raises(AssertionError):
        template(f"f({A}={A})").filled(0, [of("x")])

"""Patterns: what they match, in which order, and what they bind."""

import pytest

from xla2py.tests.passes.raising import entry
from xla2py.transpile.compilation import compile
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.options import Options
from xla2py.transpile.passes.rewriting.patterns import pattern
from xla2py.transpile.target import load_target


def root(*lines: str):
    raised = ("means", "sums", "clips", "quotients", "variances", "triangles", "softplus", "squares")
    options = Options(disable_passes=raised)
    return compile(parse_module(entry(*lines)), load_target("numpy"), options).program.entry.results


X, Y = "x = f32[4] parameter(0)", "y = f32[4] parameter(1)"
SUM = root(X, Y, "a = f32[4] exponential(x)", "s = f32[4] add(a, y)")
NUMBER = root(X, "two = f32[] constant(2)", "t = f32[4] broadcast(two), dimensions={}", "s = f32[4] divide(t, x)")
LESS = root(X, Y, "c = pred[4] compare(x, y), direction=LT")
WHOLE = root(
    "x = s32[4] parameter(0)", "two = s32[] constant(2)", "t = s32[4] broadcast(two), dimensions={}",
    "s = s32[4] multiply(t, x)",
)  # fmt: skip
VIEWED = root(
    "x = f32[2,3] parameter(0)", "y = f32[3,2] parameter(1)", "e = f32[2,3] exponential(x)",
    "t = f32[3,2] transpose(e), dimensions={1,0}", "s = f32[3,2] subtract(t, y)",
)  # fmt: skip
TWICE = root(X, Y, "a = f32[4] multiply(x, x)", "s = f32[4] subtract(a, y)")


@pytest.mark.parametrize(
    ("text", "node", "names"),
    [
        ("add(a, b)", SUM, {"a", "b"}),
        ("add(exponential(a), b)", SUM, {"a", "b"}),
        ("add(b, exponential(a))", SUM, {"a", "b"}),
        ("add((e := exponential(a)), b)", SUM, {"a", "b", "e"}),
        ("divide(A, x)", NUMBER, {"A", "x"}),
        ("divide(2, x)", NUMBER, {"x"}),
        ("multiply(2, x)", WHOLE, {"x"}),
        ('compare(a, b, direction="LT")', LESS, {"a", "b"}),
        ("compare(a, b, direction=d)", LESS, {"a", "b", "d"}),
        ("subtract(multiply(a, a), b)", TWICE, {"a", "b"}),
        ("subtract(~multiply(a, a), b)", TWICE, {"a", "b"}),
        ("subtract(~exponential(a), b)", VIEWED, {"a", "b"}),
    ],
)
def test_matches(text, node, names):
    assert set(pattern(text).match(node)) == names


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("subtract(a, b)", SUM),
        ("subtract(exponential(a), b)", VIEWED),
        ("subtract(~log(a), b)", VIEWED),
        ("subtract(a, ~exponential(b))", VIEWED),
        ("add(a, a)", SUM),
        ("add(exponential(a), a)", SUM),
        ("add(log(a), b)", SUM),
        ("divide(x, 2)", NUMBER),
        ("divide(x, A)", NUMBER),
        ("divide(2.5, x)", NUMBER),
        ("divide(-2, x)", NUMBER),
        ("multiply(2.5, x)", WHOLE),
        ("multiply(nan, x)", WHOLE),
        ("multiply(inf, x)", WHOLE),
        ('compare(a, b, direction="GT")', LESS),
        ("subtract(multiply(a, b), b)", TWICE),
        ("prelude.add(a, b)", SUM),
    ],
)
def test_near_misses(text, node):
    assert pattern(text).match(node) is None


def test_a_name_stands_for_one_node():
    found = pattern("subtract(multiply(a, a), b)").match(TWICE)
    assert found["a"] is TWICE.operands[0].operands[0] and found["b"] is TWICE.operands[1]

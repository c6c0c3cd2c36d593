"""Functions take each value once, and give only what their callers cannot have without them."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import assert_agrees

CALLED = """HloModule m

work {{
  x = f32[2,3] parameter(0)
  y = f32[2,3] parameter(1)
  z = f32[2,3] parameter(2)
  s = f32[2,3] sine(x)
  e = f32[2,3] exponential(s)
  c = f32[2,3] cosine(e)
  t = f32[2,3] add(c, y)
  u = f32[2,3] tanh(t)
  v = f32[2,3] multiply(u, z)
  {given}
}}

back {{
  g = f32[2,3] parameter(0)
  h = f32[2,3] parameter(1)
  a = f32[2,3] multiply(g, h)
  b = f32[2,3] tanh(a)
  c = f32[2,3] sine(b)
  d = f32[2,3] exponential(c)
  ROOT k = f32[2,3] add(d, h)
}}

ENTRY main {{
  x = f32[2,3] parameter(0)
  y = f32[2,3] parameter(1)
  {calls}
}}
"""
ARRAY = "f32[2,3]"
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def program(given, count, read):
    """Two calls of ``work``, which gives ``count`` arrays; ``read`` are lines of ``main`` for each call."""
    shape = ", ".join([ARRAY] * count)
    calls = [
        f"w{k} = ({shape}) call({operands}), to_apply=work\n" + read.format(k=k)
        for k, operands in enumerate(("x, y, y", "y, x, x"))
    ]
    return CALLED.format(given=given, calls="\n".join([*calls, f"ROOT r = ({ARRAY}, {ARRAY}) tuple(r0, r1)"]))


def item(name, number):
    return f"{name}{{k}} = {ARRAY} get-tuple-element(w{{k}}), index={number}\n"


ADDED = item("p", 0) + item("q", 1) + "r{k} = f32[2,3] subtract(p{k}, q{k})"


@pytest.mark.parametrize(
    ("given", "results", "read", "signature", "returned"),
    [
        ("ROOT o = (f32[2,3], f32[2,3]) tuple(v, v)", 2, ADDED, "x: Array, y: Array", 1),
        ("ROOT o = (f32[2,3], f32[2,3]) tuple(v, x)", 2, ADDED, "x: Array, y: Array", 1),
        ("ROOT o = (f32[2,3], f32[2,3]) tuple(v, u)", 2, ADDED, "x: Array, y: Array", 2),
        ("ROOT o = (f32[2,3], f32[2,3], f32[2,3]) tuple(v, u, t)", 3, ADDED, "x: Array, y: Array", 2),
    ],
    ids=["twice", "an argument", "two values", "one is unread"],
)
def test_functions_take_and_give_no_more_than_they_must(given, results, read, signature, returned):
    text = program(given, results, read)
    body = xla2py.emit(text, debug=True).source.split("def work(")[1].split("\ndef ")[0]
    assert body.startswith(signature + ")")
    assert body.split(") -> ")[1].split(":")[0].count("Array") == returned
    assert_agrees(text, X, X + 1, without="interfaces")


def derivative(made, other):
    """The gradient reads what ``work`` ``made``, and something else in both calls."""
    lines = item("p", 0) + item("q", 1) + item("o", 2) + f"r{{k}} = f32[2,3] call(o{{k}}, {other}), to_apply=back\n"
    return program(f"n = f32[2,3] {made}\nROOT o = (f32[2,3], f32[2,3], f32[2,3]) tuple(v, u, n)", 3, lines)


@pytest.mark.parametrize(
    ("made", "other", "count"),
    [("negate(u)", "q{k}", 1), ("multiply(u, u)", "q{k}", 1), ("multiply(u, s)", "q{k}", 2), ("negate(u)", "x", 2)],
    ids=["of a result", "twice", "of what is not given", "without the result"],
)
def test_a_gradient_computes_what_it_alone_reads(made, other, count):
    text = derivative(made, other)
    parameters = xla2py.emit(text, debug=True).source.split("def back(")[1].split(")")[0]
    assert parameters.count(":") == count
    assert_agrees(text, X, X + 1, without="interfaces")


@pytest.mark.parametrize(
    ("made", "count"),
    [(("negate", "negate"), 1), (("negate", "abs"), 2), (("tanh", "tanh"), 2)],
    ids=["of another argument", "in two ways", "at a cost"],
)
def test_a_function_makes_the_argument_that_all_calls_make_alike(made, count):
    text = program("ROOT o = (f32[2,3], f32[2,3]) tuple(v, u)", 2, item("p", 0) + item("q", 1) + "{{}}")
    for k, opcode in enumerate(made):
        made_here = f"m{k} = f32[2,3] {opcode}(q{k})\nr{k} = f32[2,3] call(m{k}, q{k}), to_apply=back"
        text = text.replace("{}", made_here, 1)
    parameters = xla2py.emit(text, debug=True).source.split("def back(")[1].split(")")[0]
    assert parameters.count(":") == count
    assert_agrees(text, X, X + 1, without="interfaces")


def test_a_function_makes_no_argument_of_one_that_it_does_not_read():
    text = program("ROOT o = (f32[2,3], f32[2,3]) tuple(v, u)", 2, item("p", 0) + item("q", 1) + "{{}}")
    for k in range(2):
        made_here = f"m{k} = f32[2,3] negate(q{k})\nr{k} = f32[2,3] call(m{k}, q{k}), to_apply=back"
        text = text.replace("{}", made_here, 1)
    text = text.replace("multiply(g, h)", "multiply(g, g)").replace("add(d, h)", "add(d, g)")
    parameters = xla2py.emit(text, debug=True).source.split("def back(")[1].split(")")[0]
    assert parameters.count(":") == 1
    assert_agrees(text, X, X + 1, without="interfaces")

"""The verifier of the array dialect finds what breaks a rule, and where."""

from dataclasses import replace

import pytest

from xla2py.transpile.array.graph import Graph
from xla2py.transpile.array.program import Branch, Carry, Function, Loop, Program
from xla2py.transpile.array.verifier import InvalidProgramError, Verifier
from xla2py.transpile.compilation import compile, stages
from xla2py.transpile.hlo.element_types import F32, PRED, S32
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.options import Options
from xla2py.transpile.target import load_target

MODULE = parse_module("ENTRY main { ROOT x = f32[4] parameter(0) }")


class Maker:
    """A function of one argument ``x`` [2, 3] in the making."""

    def __init__(self):
        self.graph = Graph()
        self.x = self.graph.parameter((2, 3), F32, self.graph.root, argument=0)

    def verify(self, result, *more, stage="a pass"):
        function = Function(MODULE.entry, self.graph, [self.x, *more], result)
        Verifier().verify(Program(MODULE, [function]), stage)


@pytest.fixture
def maker():
    return Maker()


def test_sound_programs_pass(maker):
    maker.verify(maker.graph.add("sum", (maker.x,), axes=(1,)))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"shape": (3,)}, r"its shape is \(3,\), and \(2,\) follows"),
        ({"element_type": S32}, "its element type is s32, and f32 follows"),
        ({"parameters": {}}, "it has no axes"),
        ({"parameters": {"axes": "01"}}, "axes is '01', not axes"),
        ({"parameters": {"axes": (7,)}}, "its operands do not fit"),
        ({"operands": ()}, "it has 0 operands, not x"),
        ({"interval": (3, 1)}, r"no element is in 3\.\.1"),
    ],
)
def test_nodes_agree_with_their_rows(maker, changes, problem):
    node = replace(maker.graph.add("max", (maker.x,), axes=(1,)), **changes)
    with pytest.raises(InvalidProgramError, match=problem):
        maker.verify(node)


def test_the_message_names_stage_function_and_node(maker):
    node = replace(maker.graph.add("negate", (maker.x,)), shape=(7,))
    with pytest.raises(InvalidProgramError, match=r"after keepdims, in main: %1 = f32\[7\] negate\(%0\): its shape"):
        maker.verify(node, stage="keepdims")


def test_what_stands_in_a_body_is_not_seen_outside(maker):
    inner = maker.graph.root.child("loop")
    hidden = maker.graph.parameter((2, 3), F32, inner)
    node = replace(maker.graph.add("negate", (hidden,)), region=maker.graph.root)
    with pytest.raises(InvalidProgramError, match="is not in scope"):
        maker.verify(node)


def loop_of(maker, following):
    body = maker.graph.root.child("loop")
    carry = Carry(maker.x, maker.graph.parameter((2, 3), F32, body, carry=0))
    loop = Loop(body, [carry], stop=2)
    with maker.graph.inside(body):
        carry.following = following(maker.graph, carry.parameter)
    return loop, maker.graph.add("item", (maker.graph.add("loop", (maker.x,), loop=loop),), index=0)


def test_loops_carry_one_type(maker):
    loop, item = loop_of(maker, lambda graph, carried: graph.add("negate", (carried,)))
    maker.verify(item)
    loop.carries[0].following = maker.graph.add("sum", (loop.carries[0].parameter,), axes=(0,))
    with pytest.raises(InvalidProgramError, match="carry 0 is"):
        maker.verify(item)


def test_conditions_are_truth_values(maker):
    loop, item = loop_of(maker, lambda graph, carried: graph.add("negate", (carried,)))
    loop.condition = maker.graph.add("sum", (loop.carries[0].parameter,), axes=(0, 1))
    with pytest.raises(InvalidProgramError, match="its condition is"):
        maker.verify(item)


def test_branches_give_the_same_types(maker):
    graph = maker.graph
    which = graph.parameter((), PRED, graph.root, argument=1)
    branches = tuple(Branch(graph.root.child("branch"), [maker.x]) for _ in range(2))
    node = graph.add("conditional", (which,), branches=branches)
    maker.verify(graph.add("item", (node,), index=0), which)
    branches[1].results[0] = graph.add("sum", (maker.x,), axes=(0,))
    with pytest.raises(InvalidProgramError, match="its branches give"):
        maker.verify(graph.add("item", (node,), index=0), which)


def test_functions_have_the_parameters_that_they_read(maker):
    other = maker.graph.parameter((2, 3), F32, maker.graph.root, argument=1)
    total = maker.graph.add("add", (maker.x, other))
    maker.verify(total, other)
    with pytest.raises(InvalidProgramError, match="does not stand among the parameters"):
        maker.verify(total)


def test_calls_are_given_what_the_function_takes(maker):
    other = Maker()
    called = Function(MODULE.entry, other.graph, [other.x], other.graph.add("negate", (other.x,)))
    maker.verify(maker.graph.add("call", (maker.x,), function=called))
    with pytest.raises(InvalidProgramError, match="main takes"):
        maker.verify(maker.graph.add("call", (maker.graph.add("sum", (maker.x,), axes=(0,)),), function=called))


def test_a_stage_that_breaks_a_program_is_named(monkeypatch):
    def break_program(draft):
        (function,) = draft.program.functions
        function.results = replace(function.results, shape=(7,))

    broken = [replace(stage, run=break_program) if stage.name == "sums" else stage for stage in stages.STAGES]
    monkeypatch.setattr(stages, "STAGES", tuple(broken))
    monkeypatch.setattr("xla2py.transpile.compilation.STAGES", tuple(broken))
    module = parse_module("ENTRY main { x = f32[4] parameter(0)  ROOT y = f32[4] negate(x) }")
    with pytest.raises(InvalidProgramError, match="after sums, in main"):
        compile(module, load_target("numpy"), Options(debug=True))

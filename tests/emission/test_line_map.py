"""Every instruction that a result needs has its lines in the emitted source, and its place in the user's."""

import ast
import re
from pathlib import Path

import pytest

import xla2py
from xla2py.tests.whole import much
from xla2py.transpile.emission.module.line_map import Place, place_of

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "hlo").glob("*.hlo"))[:: much(3, 1)]

BRANCHES = """
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT larger = f32[] maximum(a, b)
}
up {
  u = f32[3] parameter(0)
  ROOT doubled = f32[3] add(u, u)
}
down {
  d = f32[3] parameter(0)
  ROOT negative = f32[3] negate(d)
}
ENTRY main {
  which = pred[] parameter(0)
  x = f32[3] parameter(1)
  start = f32[] constant(-inf)
  peak = f32[] reduce(x, start), dimensions={0}, to_apply=less
  spread = f32[3] broadcast(peak), dimensions={}
  shifted = f32[3] subtract(x, spread)
  unused = f32[3] cosine(x)
  ROOT chosen = f32[3] conditional(which, shifted, shifted), true_computation=up, false_computation=down
}
"""


def needed(entry):
    """What the root needs, through operands and called computations, and the parameters."""
    found, stack = set(), [entry.root, *entry.parameters]
    while stack:
        instruction = stack.pop()
        if instruction not in found:
            found.add(instruction)
            stack += [*instruction.operands, *(called.root for called in instruction.called)]
    return found


def computed_on(generated, line):
    return [instruction.name for instruction in generated.line_map().at(line).instructions]


def line_of(generated, text):
    (line,) = [n for n, found in enumerate(generated.source.splitlines(), 1) if found.strip().startswith(text)]
    return line


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_instruction_that_a_result_needs_has_a_line(path):
    module = xla2py.load(path)
    generated = xla2py.emit(module, sources=ROOT)
    line_map = generated.line_map()
    assert not [i for i in needed(module.entry) if not line_map.computing(i)]
    functions = [part for part in ast.parse(generated.source).body if isinstance(part, ast.FunctionDef)]
    own = [part for part in functions if part.name in {written.name for written in generated.functions}]
    assert {statement.function for statement in line_map.statements} == {part.name for part in own}
    for one, other in zip(line_map.statements, line_map.statements[1:], strict=False):
        assert one.last < other.first
    for statement in line_map.statements:
        assert any(part.lineno <= statement.first <= statement.last <= part.end_lineno for part in own)


@pytest.mark.parametrize("path", EXAMPLES[::4], ids=lambda path: path.stem)
def test_formatting_moves_lines_and_changes_no_record(path):
    module = xla2py.load(path)
    plain, formatted = (xla2py.emit(module, format=flag).line_map().statements for flag in (False, True))
    assert [(s.function, [i.name for i in s.instructions]) for s in plain] == [
        (s.function, [i.name for i in s.instructions]) for s in formatted
    ]


def test_heads_bodies_and_what_is_folded():
    module = xla2py.load(BRANCHES)
    generated = xla2py.emit(module)
    assert computed_on(generated, line_of(generated, "def main")) == ["which", "x"]
    subtraction = line_of(generated, "difference = ")
    assert computed_on(generated, subtraction) == ["a", "b", "larger", "start", "peak", "spread", "shifted"]
    assert computed_on(generated, line_of(generated, "return -")) == ["d", "negative", "chosen"]
    names = [i.name for s in generated.line_map().statements for i in s.instructions]
    assert {"doubled", "negative"} <= set(names)
    unused = next(i for i in module.entry.instructions if i.name == "unused")
    assert not generated.line_map().computing(unused)
    assert generated.line_map().at(1) is None


def test_a_statement_that_was_broken_into_lines_is_one_statement():
    parameters = "\n".join(f"  a_rather_long_name_{k} = f32[3] parameter({k})" for k in range(6))
    names = ", ".join(f"a_rather_long_name_{k}" for k in range(6))
    generated = xla2py.emit(
        f"ENTRY main {{\n{parameters}\n  ROOT all = f32[18] concatenate({names}), dimensions={{0}}\n}}"
    )
    head, body = generated.line_map().statements
    assert head.last > head.first
    assert body.last > body.first
    assert [i.name for i in body.instructions] == ["all"]
    assert generated.line_map().at(body.last) == body


def test_places_are_those_of_the_metadata():
    text = (
        'ENTRY main { x = f32[3] parameter(0) ROOT y = f32[3] negate(x), metadata={source_file="a.py" source_line=7} }'
    )
    module = xla2py.load(text)
    generated = xla2py.emit(module)
    assert place_of(module.entry.root) == Place("a.py", 7)
    assert place_of(module.entry.parameters[0]) is None
    assert [statement.places for statement in generated.line_map().statements] == [(), (Place("a.py", 7),)]


@pytest.mark.parametrize("style", ["readable", "fast"])
def test_what_a_library_function_computes_has_the_line_of_the_call_around_it(style):
    text = """
    where { c = pred[3] parameter(0) a = f32[3] parameter(1) b = f32[3] parameter(2)
      ROOT kept = f32[3] select(c, a, b), metadata={op_name="where"} }
    body { carried = (s32[], f32[3]) parameter(0) i = s32[] get-tuple-element(carried), index=0
      x = f32[3] get-tuple-element(carried), index=1 one = s32[] constant(1) next = s32[] add(i, one)
      shifted = f32[3] sine(x), metadata={source_file="a.py" source_line=7}
      is_larger = pred[3] compare(shifted, x), direction=GT
      chosen = f32[3] call(is_larger, x, shifted), to_apply=where, metadata={source_file="a.py" source_line=8}
      ROOT following = (s32[], f32[3]) tuple(next, chosen) }
    goes_on { state = (s32[], f32[3]) parameter(0) i = s32[] get-tuple-element(state), index=0 n = s32[] constant(5)
      ROOT is_less = pred[] compare(i, n), direction=LT }
    ENTRY main { x = f32[3] parameter(0) zero = s32[] constant(0) start = (s32[], f32[3]) tuple(zero, x)
      whole = (s32[], f32[3]) while(start), condition=goes_on, body=body, metadata={source_file="a.py" source_line=9}
      ROOT last = f32[3] get-tuple-element(whole), index=1 }
    """
    source = xla2py.emit(xla2py.load(text), style=style).source
    assert re.search(r"(where\(| if ).*  # a\.py:8\n", source), source

"""Which strategy does what, and that a chunk program is one value."""

from dataclasses import FrozenInstanceError
from importlib import import_module
from pkgutil import iter_modules

import pytest

import xla2py
from xla2py.targets.dask.chunked_calls import IMPLEMENTATIONS
from xla2py.targets.dask.planning.block_phases import BlockPhase
from xla2py.targets.dask.planning.chunk_program import chunk_program
from xla2py.targets.dask.planning.phases import node_of
from xla2py.targets.dask.strategies import STRATEGIES
from xla2py.templates import prelude
from xla2py.transpile.compilation import compile
from xla2py.transpile.options import Options
from xla2py.transpile.passes.to_array import ModuleLowering, Options as LoweringOptions
from xla2py.transpile.target import Limits, load_target

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT sum = f32[] add(a, b) }\n"
X = "x = f32[40,30] parameter(0)"
STEPS = """body { c = (s32[], f32[40,30]) parameter(0)  i = s32[] get-tuple-element(c), index=0
  x = f32[40,30] get-tuple-element(c), index=1  one = s32[] constant(1)  next = s32[] add(i, one)
  y = f32[40,30] sine(x)  ROOT t = (s32[], f32[40,30]) tuple(next, y) }
test { c = (s32[], f32[40,30]) parameter(0)  i = s32[] get-tuple-element(c), index=0  n = s32[] constant(3)
  ROOT go = pred[] compare(i, n), direction=LT }
"""
PROGRAMS = {
    "map_blocks": f"ENTRY main {{ {X}  ROOT y = f32[40,30] sine(x) }}",
    "tree_reduce": f"{ADD}ENTRY main {{ {X}  z = f32[] constant(0)  ROOT y = f32[] reduce(x, z), dimensions={{0,1}}, "
    "to_apply=add }",
    "split_k": "ENTRY main { v = f32[4000] parameter(0)  w = f32[4000] parameter(1)  ROOT y = f32[] dot(v, w), "
    "lhs_contracting_dims={0}, rhs_contracting_dims={0} }",
    "k_loop": f"ENTRY main {{ {X}  w = f32[30,20] parameter(1)  ROOT y = f32[40,20] dot(x, w), "
    "lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
    "dask_builtin": f"ENTRY main {{ {X}  ROOT y = f32[5,40,30] broadcast(x), dimensions={{1,2}} }}",
    "chunked_call": f"less {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT p = pred[] compare(a, b), "
    f"direction=LT }}\nENTRY main {{ {X}  ROOT y = f32[40,30] sort(x), dimensions={{0}}, to_apply=less }}",
    "windows": f"{ADD}ENTRY main {{ {X}  z = f32[] constant(0)  ROOT y = f32[38,30] reduce-window(x, z), "
    "window={size=3x1}, to_apply=add }",
    "host_loop": f"{STEPS}ENTRY main {{ {X}  z = s32[] constant(0)  t = (s32[], f32[40,30]) tuple(z, x)  "
    "w = (s32[], f32[40,30]) while(t), condition=test, body=body  ROOT y = f32[40,30] get-tuple-element(w), index=1 }",
    "eager": f"ENTRY main {{ {X}  t = token[] after-all()  ROOT o = token[] outfeed(x, t) }}",
}


def chunked(text: str, chunks: str = "7"):
    """The chunk program of a module whose instructions are left as they are."""
    program = ModuleLowering(xla2py.load(text), LoweringOptions(frozenset(), {})).lower()
    return chunk_program(program, Limits(chunks=chunks))


BLOCKS = ("map_blocks", "tree_reduce", "split_k", "k_loop")


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_operation_is_done_by_its_strategy(name):
    """That of a scan is tested with the scans."""
    schedule = chunked(PROGRAMS[name], "1KiB" if name == "host_loop" else "7").schedule
    done = [phase for phase in schedule.phases if schedule.choices[node_of(phase)].name == name]
    computed = [phase for phase in done if node_of(phase).operands]
    assert computed and all(isinstance(phase, BlockPhase) == (name in BLOCKS) for phase in computed)


def test_names_of_strategies_are_their_files_names():
    assert {type(one).__module__.rsplit(".", 1)[1] for one in STRATEGIES} == {one.name for one in STRATEGIES}


def test_a_chunk_program_does_not_change():
    found = chunked(PROGRAMS["map_blocks"])
    with pytest.raises(FrozenInstanceError):
        found.plan = None
    with pytest.raises(TypeError):
        found.chunks.is_cut_along[node_of(found.schedule.phases[0])] = (False, False)


def test_what_is_planned_is_what_is_written():
    text = PROGRAMS["tree_reduce"]
    found = compile(xla2py.load(text), load_target("dask"), Options(chunks="7"))
    blocks = [function for function in found.program.functions if function.block_of]
    assert [phase.name for phase in found.plan.phases] == [f.block_of[0].opcode for f in blocks] == ["sum"]
    assert found.plan.chunks == (("x", (7, 7)),)
    assert list(found.program.entry.chunks.values()) == [(7, 7)]


@pytest.mark.parametrize("operation", IMPLEMENTATIONS)
def test_what_is_called_in_chunks_is_a_function_of_the_prelude(operation):
    modules = (import_module(f"{prelude.__name__}.{found.name}") for found in iter_modules(prelude.__path__))
    names = {name for module in modules for name in vars(module)}
    assert {one.function for one in IMPLEMENTATIONS[operation]} <= names


GELU = """ENTRY main {
  x = f32[40,3] parameter(0)
  half = f32[] constant(0.5)  halves = f32[40,3] broadcast(half), dimensions={}
  one = f32[] constant(1)  ones = f32[40,3] broadcast(one), dimensions={}
  eighth = f32[] constant(0.044715)  eighths = f32[40,3] broadcast(eighth), dimensions={}
  root = f32[] constant(0.797884583)  roots = f32[40,3] broadcast(root), dimensions={}
  square = f32[40,3] multiply(x, x)  cube = f32[40,3] multiply(square, x)
  scaled = f32[40,3] multiply(eighths, cube)  total = f32[40,3] add(x, scaled)
  argument = f32[40,3] multiply(roots, total)  tanh = f32[40,3] tanh(argument)
  above = f32[40,3] add(ones, tanh)  gate = f32[40,3] multiply(halves, above)
  ROOT y = f32[40,3] multiply(x, gate)
}"""


def test_what_the_table_of_operations_knows_element_by_element_is_done_in_chunks():
    source = xla2py.emit(GELU, "dask", chunks="6").source
    assert "gelu(" in source and "# one chunk" not in source

"""Modules of the grammar's own files, and what is found in a module."""

from pathlib import Path

from xla2py.transpile.hlo.parser import parse_module

GRAMMAR = Path(__file__).parent / "grammar"
SUM = "sum { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }"


def named(module, name):
    """The instruction of that name in the entry, or else anywhere."""
    computations = (module.entry, *module.computations)
    return next(i for computation in computations for i in computation.instructions if i.name == name)


def entry(body, before=""):
    """The entry of a module with this body."""
    return parse_module(f"{before}\nENTRY main {{\n{body}\n}}").entry

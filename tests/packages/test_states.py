"""Which arguments of a function are states: their names say so, and a result has their tree."""

from dataclasses import replace

import pytest

from xla2py.transpile.hlo.ir import Built, Trees
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.vendoring.arguments import ArgumentLeaf
from xla2py.transpile.vendoring.states import States, states_of

X = "float32", (2,)
TREE = (("w",), *X), (("n",), "int32", ())


def program(types, tree, leaves=()):
    shapes = [f"{'f32[2]' if kind == 'float32' else 's32[]'}" for kind in types]
    values = "\n".join(f"  p{k} = {shape} parameter({k})" for k, shape in enumerate(shapes))
    operands = ", ".join(f"p{k}" for k in range(len(shapes)))
    module = parse_module(f"HloModule m\nENTRY e {{\n{values}\n  ROOT r = ({', '.join(shapes)}) tuple({operands})\n}}")
    return replace(module, trees=Trees(leaves, frozenset(), (), tree)) if tree is not None else module


def arguments(**trees):
    return [ArgumentLeaf(name, keys, "", *kind, False) for name, leaves in trees.items() for keys, *kind in leaves]


ARRAY = (((), *X),)
STATE = {"w": 0, "n": 1}


@pytest.mark.parametrize(
    ("given", "types", "tree", "expected"),
    [
        ({"state": TREE, "x": ARRAY}, "fif", (STATE, 2), States({"state": 0}, 2)),
        ({"params": ARRAY, "state": TREE}, "fif", (2, STATE), States({"params": 0, "state": 1}, 2)),
        ({"state": TREE, "x": ARRAY}, "fi", STATE, States({"state": 0}, None)),
        ({"h": ARRAY, "x": ARRAY}, "ff", None, States({"h": 0}, 2)),
        ({"x": ARRAY, "h": ARRAY}, "ff", None, States({"h": 1}, 2)),
        ({"opt_state": TREE, "x": ARRAY}, "fif", (2, Built("m", "S", (0, 1), ("w", "n"))), None),
        ({"params": TREE, "x": ARRAY}, "fif", (STATE, 2), None),  # such as a gradient
        ({"q": ARRAY, "state": TREE}, "ff", None, None),
        ({"state": TREE, "x": ARRAY}, "fff", ({"w": 0, "n": 1}, 2), None),
    ],
)
def test_states(given, types, tree, expected):
    kinds = ["float32" if kind == "f" else "int32" for kind in types]
    assert states_of(program(kinds, tree), arguments(**given)) == expected


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [((0, 2, 3), States({"state": 0}, 2)), ((0, 1, 2), None), ((1, 2, 3), None), ((1, 3, 5), States({"state": 0}, 2))],
)
def test_leaves_of_states_may_be_unread(leaves, expected):
    given = arguments(params=ARRAY, state=((("n",), "int32", ()),), x=ARRAY)
    assert states_of(program("fif", (STATE, 2), leaves), given) == expected

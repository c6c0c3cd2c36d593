"""The target of the Python array API standard (2024.12): one module for the arrays of any library that implements it.

A function takes the namespace from its arguments, ``xp = array_namespace(x)``, and makes new arrays on their device.
"""

from pathlib import Path

from ...transpile.array.node import Node, Slot
from ...transpile.array.support import Features
from ...transpile.target import Library, OwnCall, Target
from .refusals import refuses, refuses_function

FOLDER = Path(__file__).resolve().parent


def own_function(node: Node) -> OwnCall | None:
    """Return the call of a prelude function that replaces a node, or None."""
    if node.opcode == "einsum":
        return OwnCall("einsum", (node.parameters["subscripts"], Slot(0), Slot(1)))
    return None


TARGET = Target(
    name="array-api",
    title="the array API",
    namespace="xp",
    imports=("from array_api_compat import array_namespace", "from array_api_compat import device"),
    macros=FOLDER / "macros",
    features=Features(elements_are_numbers=False, rows_unpack=False),
    prelude=(FOLDER / "prelude",),
    carried_over=frozenset(("checks", "sidecar", "tensors", "trees")),
    own_function=own_function,
    refuses=refuses,
    refuses_function=refuses_function,
    runners={},
    library=Library(packages=("array_api_compat",), requires=("array-api-compat",)),
)

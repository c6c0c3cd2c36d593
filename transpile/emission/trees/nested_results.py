"""Result objects of inner calls that a function passes on as a whole: ``block_0.layer_norm.mean``."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ...array.node import Node
from ...array.program import Function
from ...dataclass import dataclass
from ..functions.rerolled_loops import LEAST_CALLS
from ..naming.scopes import is_gradient

_LEAST_FIELDS = 3


@dataclass(frozen=True, slots=True)
class NestedResults:
    """The object that a ``call`` of ``function`` inside another function returns, and that the latter passes on.

    ``indices`` maps the numbers of the outer function's results to the fields of the object.
    """

    call: Node
    function: Function
    indices: Mapping[int, int]


Nested = Mapping[Function, Sequence[NestedResults]]


def nested_results(function: Function, with_names: Container[Function]) -> list[NestedResults]:
    """Return the objects that a function passes on: of calls in ``with_names``, of which it returns nearly all results.

    Gradients are left out, as they are returned as parts of the tree of weights, and so are calls that become a loop.
    """
    found: dict[Node, dict[int, int]] = {}
    for number, node in enumerate(function.flat_results):
        call = node.operands[0] if node.opcode == "item" else node
        if call.opcode == "call" and call.parameters["function"] in with_names and node.region is function.graph.root:
            found.setdefault(call, {})[number] = node.parameters["index"]
    called = [call.parameters["function"] for call in found]
    return [
        NestedResults(call, inner, indices)
        for (call, indices), inner in zip(found.items(), called, strict=True)
        if len(indices) >= max(_LEAST_FIELDS, 0.75 * len(inner.flat_results))
        and called.count(inner) < LEAST_CALLS
        and not any(_is_gradient(function, number) for number in indices)
    ]


def _is_gradient(function: Function, number: int) -> bool:
    return any(map(is_gradient, function.graph.results.get(function.flat_results[number], ())))

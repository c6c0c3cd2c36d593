"""Inlines calls of functions that passes have reduced to next to nothing and, for kernels, of functions with only
fusible operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from math import inf

from ...array.node import Node
from ...array.program import Function, Program, roots
from ...array.rewriting import rewrite
from ...array.traversal import topological
from ...kernels.index_maps import is_view
from ...kernels.operations import is_generated
from .inline_one import MOST_COPIED, in_place, lines_around_convolutions, made_by, named_functions, used_functions

InPlace = Callable[[Function, set[Function], Node], Node | None]
_MOST_WORK = 2  # operations of a function that reads better inlined


def inline_joinable(program: Program, joins: Callable[[Node], bool]) -> None:
    """Inline functions in which every operation may be fused, and drop them. A long function with several calls
    stays.
    """
    calls = Counter(called for function in program.functions for called in named_functions(function))
    _inline(
        program, lambda function: _is_joinable(function, joins, MOST_COPIED if calls[function] > 1 else inf), _named
    )


def inlining(program: Program) -> None:
    """Inline functions of one or two operations, such as ``random_normal(key)``, and drop unused functions."""
    _inline(program, _is_small)


def _inline(program: Program, is_simple: Callable[[Function], bool], placed: InPlace = in_place) -> None:
    simple: set[Function] = set()
    for function in program.functions:
        if simple:
            rewrite(function, ("call",), partial(placed, function, simple))
        if function is not program.entry and is_simple(function):
            simple.add(function)
    used = used_functions(program)
    program.functions[:] = [function for function in program.functions if function in used]


def _named(function: Function, simple: set[Function], node: Node) -> Node | None:
    """Return the result of a call, inlined and named after the function."""
    made = in_place(function, simple, node)
    if made is not None:
        function.graph.called.setdefault(made, node.parameters["function"].name)
    return made


def _is_joinable(function: Function, joins: Callable[[Node], bool], most: float) -> bool:
    if not isinstance(function.results, Node) or function.effect is not None:
        return False
    nodes = topological(roots(function))
    return len(nodes) <= most and all(
        node.opcode == "parameter" or is_view(node) or is_generated(node) or joins(node) for node in nodes
    )


def _is_small(function: Function) -> bool:
    made = made_by(function)
    if made is None or function.effect is not None:
        return False
    nodes = topological([*function.parameters, made])
    work = [node for node in nodes if not node.operation.is_light and node.opcode != "scalar"]
    inner = (node for node in nodes if node.stands_alone or (node.results and node is not made))
    return len(work) + lines_around_convolutions(nodes) <= _MOST_WORK and not any(inner)

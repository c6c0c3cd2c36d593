"""Loops that a target compiles as a whole: it has kernels, or scalar expressions, for everything in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from math import inf

from ...array.graph import Graph
from ...array.node import Node, Region
from ...array.program import Function, Loop, Program, roots
from ...array.rewriting import rewrite
from ...array.traversal import body_and_captured, is_inside, topological
from ...dataclass import dataclass
from ...kernels.index_maps import is_view
from ...target import Kernels
from ..calls.inlining import MOST_COPIED, inlined_result, used_functions
from ..calls.target_functions import own_functions, own_functions_of

_FEWEST_ROUNDS = 4


def compiled_loops(function: Function, kernels: Kernels, *, with_forms: bool = False) -> list[Node]:
    """The loops that may be compiled, none inside another, before anything is fused; ``with_forms`` also those in which
    something has to be replaced by its form in loops.
    """
    return list(_outermost(function, _fitting(kernels, function.graph if with_forms else None)))


def own_functions_around_loops(program: Program, kernels: Kernels) -> None:
    """Replace operations that a target has functions for, except the scatters of loops that may be compiled."""
    own = kernels.own_function
    assert own is not None

    def is_scatter(node: Node) -> bool:
        call = kernels.loop_function(node)
        return call is not None and call.is_operation

    own_functions(program, lambda node: None if is_scatter(node) else own(node))
    loops = (node for function in program.functions for node in compiled_loops(function, kernels))
    inside = {part for node in loops for part in body_and_captured(node)[0]}
    own_functions(program, lambda node: None if node in inside else own(node))


def _fitting(kernels: Kernels, graph: Graph | None = None) -> Callable[[Node], bool]:
    """A predicate for the nodes that may be in a loop that is compiled; in a ``graph``, for those with a form, too."""

    @cache
    def length(called: Function) -> float:
        """The number of operations of a function, including those of the functions it calls; infinite if it cannot be
        inlined.
        """
        if not _is_copied(called):
            return inf
        parts = topological(roots(called))
        whole = sum(length(part.parameters["function"]) if part.opcode == "call" else 1 for part in parts)
        return whole if all(map(fits, parts)) else inf

    def fits(node: Node) -> bool:
        if node.opcode == "call":
            return length(node.parameters["function"]) <= MOST_COPIED
        has_form = graph is not None and kernels.loop_form is not None and kernels.loop_form(graph, node) is not None
        return has_form or _is_beside_kernels(node, kernels) or kernels.joins(node) or is_view(node)

    return fits


@dataclass(frozen=True, slots=True)
class Uncompiled:
    """A loop that is left to Python, the nodes of its body that prevent compiling it, and the reason where no node
    does.
    """

    loop: Node
    nodes: list[Node]
    reason: str = ""


def uncompiled_loops(function: Function, kernels: Kernels) -> Iterator[Uncompiled]:
    """The loops that are not compiled, of a function whose kernels have been built."""
    fits = _fitting(kernels)
    loops = [node for node in topological(roots(function)) if node.opcode == "loop"]
    compiled = [node.parameters["loop"].region for node in loops if node.parameters["loop"].is_compiled]
    for node in loops:
        loop: Loop = node.parameters["loop"]
        if loop.is_compiled or loop.runs_once or any(is_inside(loop.region, region) for region in compiled):
            continue
        body, _ = body_and_captured(node)
        inner = [part.parameters["loop"].region for part in body if part.opcode == "loop"]
        own = [part for part in body if not any(is_inside(part.region, region) for region in inner)]
        left = [part for part in own if part.opcode != "kernel" and not _is_beside_kernels(part, kernels)]
        yield Uncompiled(node, [part for part in left if not fits(part)] or left, _reason(loop))


def _reason(loop: Loop) -> str:
    """Why a loop is not compiled, whatever its nodes are."""
    if loop.effect is not None:
        return "its effects"
    if loop.counter is not None and loop.trip_count < _FEWEST_ROUNDS:
        return f"its {loop.trip_count} rounds"
    return "" if not _stores_narrow(loop) else "the narrow numbers that it stores"


def _is_copied(called: Function) -> bool:
    """Whether a function contains nothing that prevents inlining it: no body, no effect."""
    if called.effect is not None or not all(isinstance(result, Node) for result in called.flat_results):
        return False
    return not any(
        part.stands_alone or part.is_python_int or (part.results and part.opcode != "call")
        for part in topological(roots(called))
    )


def call_nothing_in_loops(program: Program, kernels: Kernels) -> None:
    """Inline the functions that compiled loops call, and drop those that nothing calls any more."""
    for function in program.functions:
        while called := {call for node in compiled_loops(function, kernels) for call in _calls(node)}:
            rewrite(function, ("call", "item"), partial(_in_place, function, called))
    used = used_functions(program)
    program.functions[:] = [function for function in program.functions if function in used]


def _calls(node: Node) -> list[Node]:
    body, _ = body_and_captured(node)
    return [part for part in body if part.opcode == "call"]


def _in_place(function: Function, called: set[Node], node: Node) -> Node | None:
    call = node.operands[0] if node.opcode == "item" else node
    if call not in called or (node.opcode == "call" and call.results):
        return None
    own: Function = call.parameters["function"]
    result = own.flat_results[node.parameters["index"] if node.opcode == "item" else 0]
    return inlined_result(function, own, call.operands, result)


def _outermost(function: Function, fits: Callable[[Node], bool]) -> Iterator[Node]:
    found: list[Region] = []
    loops = [node for node in topological(roots(function)) if node.opcode == "loop"]
    for node in sorted(loops, key=lambda node: node.region.depth):
        if not any(is_inside(node.region, region) for region in found) and _compiles(node, fits):
            found.append(node.parameters["loop"].region)
            yield node


def _compiles(node: Node, fits: Callable[[Node], bool]) -> bool:
    loop: Loop = node.parameters["loop"]
    if loop.effect is not None or (loop.counter is not None and loop.trip_count < _FEWEST_ROUNDS):
        return False
    body, captured = body_and_captured(node)
    has_work = any(part.element_type is not None and not part.is_python_int and part.operands for part in body)
    loops = [loop, *_inner_loops(body)]
    carried = (carry.parameter for each in loops for carry in each.carries)  # which the body may leave unread
    return (
        has_work
        and all(fits(part) for part in (*body, *carried))
        and all(each.effect is None for each in loops)
        and all(part.element_type is not None or part.is_python_int for part in (*captured, *node.operands))
    )


def _inner_loops(body: Iterable[Node]) -> list[Loop]:
    return [part.parameters["loop"] for part in body if part.opcode == "loop"]


def _stores_narrow(loop: Loop) -> bool:
    """Whether a store converts narrow numbers, which arrays in compiled loops hold as bits."""
    pairs = [{store.value.element_type, store.carry.parameter.element_type} for store in loop.stores]
    return any(len(kinds) > 1 and any(kind is not None and kind.is_narrow for kind in kinds) for kinds in pairs)


def _is_beside_kernels(node: Node, kernels: Kernels) -> bool:
    return kernels.compiles(node) or kernels.loop_function(node) is not None


def mark_compiled(function: Function, loops: list[Node], kernels: Kernels) -> None:
    """Mark those loops as compiled in which only kernels, scalars and calls are left."""
    called: list[Node] = []
    for node in loops:
        body, _ = body_and_captured(node)
        loop: Loop = node.parameters["loop"]
        is_known = all(part.opcode == "kernel" or _is_beside_kernels(part, kernels) for part in body)
        loop.is_compiled = is_known and not any(map(_stores_narrow, [loop, *_inner_loops(body)]))
        if loop.runs_once and not loop.is_compiled:
            inner = [part for part in body if part.opcode == "loop" and part.region is loop.region]
            mark_compiled(function, inner, kernels)
        for part in body:
            if loop.is_compiled and part.opcode == "kernel":
                part.parameters["kernel"].is_inline = True
            elif loop.is_compiled and kernels.loop_function(part) is not None:
                called.append(part)
    if called:
        wanted = frozenset(called)
        own_functions_of(function, lambda node: kernels.loop_function(node) if node in wanted else None)

"""Replaces operations by calls of functions of a target's own prelude."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...array.live import live_nodes
from ...array.node import Node, Slot
from ...array.program import Function, Program
from ...array.rewriting import rewrite
from ...target import OwnCall

OwnFunction = Callable[[Node], OwnCall | None]


def own_functions(program: Program, own_function: OwnFunction) -> int:
    """Replace operations that a target has functions for; return in how many functions there were any."""
    return sum(own_functions_of(function, own_function) for function in program.functions)


def own_functions_of(function: Function, own_function: OwnFunction) -> bool:
    """Replace operations of one function as ``own_functions`` does; return whether there were any.

    A call with the shape as an argument is not used for blocks, whose shapes differ.
    """

    def own(node: Node) -> OwnCall | None:
        call = own_function(node)
        knows_shape = call is not None and node.shape in call.arguments
        return None if knows_shape and any(function.cut.get(node, ())) else call

    opcodes = {node.opcode for node in live_nodes(function) if own(node) is not None}
    rewrite(function, opcodes, partial(_called, function, own))
    return bool(opcodes)


def _called(function: Function, own_function: OwnFunction, node: Node) -> Node | None:
    call = own_function(node)
    if call is None:
        return None
    operands = call.operands or node.operands
    if call.is_operation:
        return function.graph.add(call.function, operands, **dict(call.keywords))
    arguments = call.arguments or tuple(Slot(k) for k in range(len(operands)))
    used = sorted(_slots((arguments, *(value for _, value in call.keywords))))
    numbers = {slot: number for number, slot in enumerate(used)}
    package: dict[str, Any] = {"package": call.package} if call.package else {}
    given: dict[str, Any] = {"shape": node.shape, "element_type": node.element_type, "interval": node.interval}
    made = function.graph.add(
        "library" if call.package else "prelude",
        tuple(operands[slot] for slot in used),
        **({} if node.results else given),
        function=call.function,
        arguments=_numbered(arguments, numbers),
        keywords={key: _numbered(value, numbers) for key, value in call.keywords},
        **package,
    )
    if node in function.cut:
        function.cut[made] = function.cut[node]
    return made


def _slots(value: Any) -> set[int]:
    """Return the numbers of the operands in arguments."""
    if isinstance(value, Slot):
        return {value.index}
    return set[int]().union(*map(_slots, value)) if isinstance(value, tuple) else set()


def _numbered(value: Any, numbers: dict[int, int]) -> Any:
    """Return arguments with renumbered operands."""
    if isinstance(value, Slot):
        return Slot(numbers[value.index])
    return tuple(_numbered(part, numbers) for part in value) if isinstance(value, tuple) else value

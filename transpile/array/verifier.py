"""The verifier of the array dialect: checks every node against the row of its operation, every body against its node.

Passes only make nodes of inferred types, so an error found here is a bug in a pass, named by the stage after which it
appears. Tests verify after every stage; ``xla2py --debug emit`` does so for users.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..hlo.element_types import PRED
from .intervals import type_interval
from .node import Node
from .operation import Parameter
from .program import Branch, Function, Loop, Program, roots, tree_nodes
from .traversal import dependencies, is_inside, topological

# Parameters that any node may have: the order of side effects, and notes of the targets' own stages.
NOTES = frozenset(("effect", "after", "stands_for", "chunks"))


class InvalidProgramError(AssertionError):
    """A program that breaks a rule of the array dialect; the message names stage, function, node and rule."""


class Verifier:
    """A verifier to run repeatedly on one program: each node is checked again only if its operands have changed."""

    def __init__(self) -> None:
        self._sound: dict[Node, tuple[Node, ...]] = {}

    def verify(self, program: Program, stage: str) -> None:
        """Raise InvalidProgramError for the first node that breaks a rule after ``stage``."""
        for function in program.functions:
            for node, problem in self._problems(function):
                raise InvalidProgramError(f"after {stage}, in {function.name}: {node!r}: {problem}")

    def _problems(self, function: Function) -> Iterator[tuple[Node, str]]:
        is_whole = not function.block_of and function.loop is None  # the shapes of chunks are known only at run time
        seen: set[Node] = set()
        for node in topological(roots(function)):
            if not seen.issuperset(dependencies(node)):
                yield node, "it needs its own value"
            seen.add(node)
            if self._sound.get(node) != node.operands:
                found = next(_node_problems(node, is_whole), None)
                if found is not None:
                    yield node, found
                self._sound[node] = node.operands
            for found in _body_problems(node):
                yield node, found
        for node in function.parameters:
            if node.opcode != "parameter":
                yield node, "it stands among the parameters of its function"
        own = {*function.parameters}
        for node in seen:
            if "argument" in node.parameters and node not in own:
                yield node, "it does not stand among the parameters of its function"
        for node in tree_nodes(function.results):
            if node.region is not function.graph.root:
                yield node, "a result of the function stands in a body"


def _node_problems(node: Node, is_whole: bool) -> Iterator[str]:
    row = node.operation
    count = len(node.operands)
    if count < row.least_operands or (count > len(row.operands) and not row.takes_any):
        yield f"it has {count} operands, not {' '.join(row.operands) or 'none'}"
        return
    for part in dependencies(node):
        if part in node.operands and not is_inside(node.region, part.region):
            yield f"{part!r} is not in scope"
    yield from _parameter_problems(node, row.parameters)
    if row.has_effect and "effect" not in node.parameters:
        yield "it has a side effect and no place among the others"
    if is_whole:
        yield from _type_problems(node)


def _parameter_problems(node: Node, known: Any) -> Iterator[str]:
    if not known:
        return
    for name, parameter in known.items():
        assert isinstance(parameter, Parameter)
        if name not in node.parameters:
            if not parameter.is_optional:
                yield f"it has no {name}"
        elif not parameter.accepts(node.parameters[name]):
            yield f"{name} is {node.parameters[name]!r}, not {parameter.kind}"


def _type_problems(node: Node) -> Iterator[str]:
    row, given = node.operation, (node.operands, node.parameters)
    python_int = row.python_int is not None and row.python_int(node.operands)
    has_type = any(each.is_literal for each in node.operands)  # beside an int, what was folded keeps the library's
    if row.python_int is not None and python_int != node.is_python_int and not (python_int and has_type):
        yield f"it is {'no' if node.is_python_int else 'a'} Python int"
    try:
        shape = row.shape(*given) if row.shape is not None else None
        element_type = row.element_type(*given) if row.element_type is not None and not python_int else None
        results = row.results(*given) if row.results is not None else None
    except (ValueError, TypeError, IndexError, KeyError) as error:
        yield f"its operands do not fit: {error}"
        return
    if shape is not None and shape != node.shape:
        yield f"its shape is {node.shape}, and {shape} follows"
    if element_type is not None and element_type is not node.element_type and not row.widens:
        yield f"its element type is {node.element_type}, and {element_type} follows"
    if results is not None and results != node.results:
        yield f"its results are {node.results}, and {results} follow"
    if node.interval is not None:
        yield from _interval_problems(node)


def _interval_problems(node: Node) -> Iterator[str]:
    assert node.interval is not None
    low, high = node.interval
    bounds = type_interval(node.element_type) if node.element_type is not None else None
    if low > high or (bounds is not None and not (bounds[0] <= low and high <= bounds[1])):
        yield f"no element is in {low}..{high}"


def _body_problems(node: Node) -> Iterator[str]:
    """Yield the mismatches between a node and its bodies or the function that it calls, which passes may have
    changed.
    """
    if node.opcode == "loop":
        yield from _loop_problems(node, node.parameters["loop"])
    elif node.opcode == "conditional" and node.operands:
        yield from _branch_problems(node.parameters["branches"])
    elif node.opcode == "call":
        yield from _call_problems(node, node.parameters["function"])


def _loop_problems(node: Node, loop: Loop) -> Iterator[str]:
    if node.operands != tuple(carry.initial for carry in loop.carries):
        yield "its operands are not what the loop begins with"
    for number, carry in enumerate(loop.carries):
        parameter = carry.parameter
        if parameter.region is not loop.region:
            yield f"carry {number} does not stand in the body"
        for part in (carry.initial, carry.following):
            if part is not None and _type(part) != _type(parameter):
                yield f"carry {number} is {_type(parameter)}, and {_type(part)} is carried"
    for store in loop.stores:
        if store.carry not in loop.carries:
            yield "a store writes into what is not carried"
    condition = loop.condition
    if condition is not None and (condition.shape != () or condition.element_type is not PRED):
        yield f"its condition is {condition!r}"


def _branch_problems(branches: Sequence[Branch]) -> Iterator[str]:
    types = [[_type(result) for result in branch.results] for branch in branches]
    if any(each != types[0] for each in types):
        yield f"its branches give {types}"


def _call_problems(node: Node, called: Function) -> Iterator[str]:
    if called.repeated:
        return  # one function for arrays of several shapes
    wanted = [_type(parameter) for parameter in called.parameters]
    given = [_type(operand) for operand in node.operands]
    if wanted != given:
        yield f"{called.name} takes {wanted}, and is given {given}"


def _type(node: Node) -> tuple[Any, ...]:
    return node.shape, str(node.element_type)

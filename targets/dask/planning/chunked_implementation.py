"""Chunked implementations: prelude functions that compute an operation on lazy arrays along axes with several
chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ....transpile.array.node import Node, Slot
from ....transpile.dataclass import dataclass
from .axis_classes import Axis, AxisClasses

OperandAxes = Mapping[tuple[int, int], int | None]  # (operand, axis) with the axis of the result that is cut alike
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Lengths = Mapping[Axis, int]

EVERY_OPERAND = 1 << 10


def as_it_is(node: Node) -> Arguments:
    """Return the arguments and keywords of the original call."""
    return node.parameters["arguments"], node.parameters["keywords"]


def first_operand(node: Node) -> Arguments:
    """Return the first operand as the only argument."""
    return (Slot(0),), {}


def axis_of_all(node: Node, axis: int) -> OperandAxes:
    """Return one axis of each operand that has elements, mapped to the same axis of the result."""
    return {(k, axis): axis for k, operand in enumerate(node.operands) if 0 not in operand.shape}


@dataclass(frozen=True, slots=True)
class ChunkedImplementation:
    """A prelude ``function`` that computes an operation in chunks, with its conditions and costs.

    ``divides`` returns the axes of operands that may have several chunks although they are needed whole, ``arguments``
    the arguments and keywords of the call, ``same_chunks`` additional pairs of axes that must be cut alike, and
    ``propose`` chunk lengths, as :meth:`.strategy.Strategy.propose` does. Tasks read the first ``reads`` operands
    themselves if these are arguments of ``main``.

    For the plan, a task holds a block of each operand, ``holds`` blocks of the result (if there are several results,
    ``holds - 1`` more of all operands), ``holds_of_operands`` more of all operands, and ``element_bytes`` for each
    element, but no less than ``least_bytes`` for the shape of a block. There are ``tasks`` for each chunk of the result
    and of the operand ``each``, if any.

    If it ``is_sized``, the call gets the ``chunks`` of the result, which may be cut along any axis. If it
    ``takes_files``, computed operands are stored in files for it; ``by_rows`` means that it reads files a few rows at a
    time. ``for_pieces`` is the class of its tasks if all users of its result read a few rows at a time.
    """

    function: str
    divides: Callable[[Node], OperandAxes]
    arguments: Callable[[Node], Arguments]
    same_chunks: Callable[[Node], Iterable[tuple[Axis, Axis]]] = lambda node: ()
    propose: Callable[[Node, AxisClasses, Lengths, Lengths, Lengths, int], Lengths] = (
        lambda node, classes, sizes, lengths, needs, target: {}
    )
    reads: int = 0
    holds: int = 2
    holds_of_operands: int = 0
    element_bytes: int = 0
    least_bytes: Callable[[Node, Sequence[int]], int] = lambda node, block: 0
    tasks: int = 1
    each: int | None = 0
    is_sized: bool = False
    takes_files: bool = False
    by_rows: bool = False
    for_pieces: str = ""


Implementations = Mapping[str, tuple[ChunkedImplementation, ...]]  # by opcode or function, in order of preference

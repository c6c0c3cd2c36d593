"""How a function of the prelude that takes and gives lazy arrays does an operation along axes in several chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ....transpile.array.node import Node, Slot
from ....transpile.dataclass import dataclass
from .axis_classes import Axis, AxisClasses

OperandAxes = Mapping[tuple[int, int], int | None]  # an operand and its axis: the axis of the result that is cut alike
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Lengths = Mapping[Axis, int]

EVERY_OPERAND = 1 << 10


def as_it_is(node: Node) -> Arguments:
    """The arguments and keywords of the call that is done in chunks."""
    return node.parameters["arguments"], node.parameters["keywords"]


def first_operand(node: Node) -> Arguments:
    """The first operand alone."""
    return (Slot(0),), {}


def axis_of_all(node: Node, axis: int) -> OperandAxes:
    """One axis, of each operand that has any elements, which the result has as well."""
    return {(k, axis): axis for k, operand in enumerate(node.operands) if 0 not in operand.shape}


def _no_pairs(node: Node) -> Iterable[tuple[Axis, Axis]]:
    return ()


def _no_bytes(node: Node, block: Sequence[int]) -> int:
    return 0


def _no_lengths(
    node: Node, classes: AxisClasses, sizes: Lengths, lengths: Lengths, needs: Lengths, target: int
) -> Lengths:
    return {}


@dataclass(frozen=True, slots=True)
class ChunkedImplementation:
    """A ``function`` of the prelude, where it can be used, and what it takes.

    ``divides`` gives the axes of operands that may come in several chunks though they are needed whole, ``arguments``
    the arguments and keywords of the call, and ``same_chunks`` pairs of axes that have to be cut alike besides.
    ``propose`` gives lengths of chunks that suit it, as :meth:`.strategy.Strategy.propose` does. Tasks read so many
    of the first operands themselves as ``reads`` says, if these are arguments of ``main``.

    For the plan: a task holds a block of each operand and ``holds`` of the result (as many of all operands, where there
    are several results), ``holds_of_operands`` more of all operands, and ``element_bytes`` for each element, but never
    less than ``least_bytes`` says for the shape of a block; and there are ``tasks`` for each chunk of the result and of
    the operand ``each``, if any. Where it ``is_sized``, the call is told the ``chunks`` of the result, which may be cut
    along any axis. Where it ``takes_files``, arrays that are computed lie in files for it; ``by_rows`` it goes through
    what lies in files a little at a time. Where all that uses its result reads it a few rows at a time, the call is
    told that tasks are those of the class ``for_pieces``, if there is one.
    """

    function: str
    divides: Callable[[Node], OperandAxes]
    arguments: Callable[[Node], Arguments]
    same_chunks: Callable[[Node], Iterable[tuple[Axis, Axis]]] = _no_pairs
    propose: Callable[[Node, AxisClasses, Lengths, Lengths, Lengths, int], Lengths] = _no_lengths
    reads: int = 0
    holds: int = 2
    holds_of_operands: int = 0
    element_bytes: int = 0
    least_bytes: Callable[[Node, Sequence[int]], int] = _no_bytes
    tasks: int = 1
    each: int | None = 0
    is_sized: bool = False
    takes_files: bool = False
    by_rows: bool = False
    for_pieces: str = ""


Implementations = Mapping[str, tuple[ChunkedImplementation, ...]]  # by operation or function, the first choice first

"""The lines of an emitted function, and the values that each computes."""

from __future__ import annotations

from dataclasses import field

from ..array.node import Node
from ..array.program import Function
from ..dataclass import dataclass

EQUALS_SIGN = 3  # columns of ``=`` with its spaces
LARGE = 64 * 2**20  # bytes from which on an array may be deleted before its function ends


@dataclass(slots=True)
class Line:
    """A line of a function's body, with its source place and the values that it computes.

    ``values`` are the nodes whose text is in the line (and candidates whose text is not: compare), ``inside`` the names
    that are bound at the start of a loop's body, and ``after`` those bound after the statement.
    """

    indent: int
    text: str
    comment: str = ""
    above: list[str] = field(default_factory=list)  # comments on lines of their own
    values: dict[Node, str] = field(default_factory=dict)
    inside: dict[Node, str] = field(default_factory=dict)
    after: dict[Node, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WrittenFunction:
    """An emitted function and its lines, in order; ``parameters`` are the names of its arguments."""

    function: Function
    name: str
    parameters: dict[Node, str]
    lines: list[Line]

"""The lines of an emitted function, and what each computes."""

from __future__ import annotations

from dataclasses import field

from ..array.node import Node
from ..array.program import Function
from ..dataclass import dataclass

EQUALS_SIGN = 3  # columns, with its spaces
LARGE = 64 * 2**20  # bytes of an array that may be let go before its function ends


@dataclass(slots=True)
class Line:
    """One line of a function's body, with the source place it comes from and what it computes.

    ``values`` are the nodes whose text stands in it (and candidates whose text does not: compare), ``inside`` the
    names bound when the body of a loop begins, ``after`` those bound when the statement is done.
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

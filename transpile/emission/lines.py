"""The lines of an emitted function, and what each computes."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence
from dataclasses import field

from ..array.node import Node
from ..array.program import Function
from ..dataclass import dataclass

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


def parsed(lines: Sequence[Line], known: Container[int] = ()) -> tuple[ast.FunctionDef, list[tuple[int, int]]]:
    """Lines as the body of a function, and for each row of that the number of the line and of the row in it.

    The rows of the body are the second of the text and those behind it, as the syntax tree counts them. Lines whose
    numbers are ``known`` are ``pass``: a fraction of the time where most are.
    """
    text = ["def function():"]
    rows: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        for k, row in enumerate(["pass"] if number in known else line.text.split("\n")):
            text.append("    " * line.indent + row)
            rows.append((number, k))
    (definition,) = ast.parse("\n".join(text)).body
    assert isinstance(definition, ast.FunctionDef)
    return definition, rows

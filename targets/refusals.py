"""The rules of which targets make their tables: each gives the reason why a node is not supported, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..transpile.array.node import ForeignName, Node
from ..transpile.array.operations import OPERATIONS

Rule = Callable[[Node], str | None]

# The element-wise operations by their traits, and two that change only the type. A library that writes them as NumPy
# does has all of them; a target of one that does not has a row for each.
ELEMENTWISE = " ".join([*(name for name, row in OPERATIONS.items() if row.is_elementwise), "retype", "scalar"])


def supports(operations: str) -> dict[str, Rule]:
    """Return rows for operations that a target always supports."""
    return dict.fromkeys(operations.split(), lambda node: None)


def lacks(operations: str, reason: str) -> dict[str, Rule]:
    """Return rows for operations that a target never supports, all for the same reason."""
    return dict.fromkeys(operations.split(), lambda node: reason)


def refused_by(rules: Mapping[str, Rule], traps: Mapping[str, str] | None, node: Node) -> str | None:
    """The reason that a table gives for a node; what it does not list is refused by name.

    ``traps`` says what would go wrong without a function of the prelude, by its name; None for a target that has them.
    """
    if node.opcode == "prelude" and traps is None:
        return None
    if node.opcode == "prelude" and traps is not None:
        function = node.parameters["function"]
        name = f"{function.module}.{function.name}" if isinstance(function, ForeignName) else function
        return traps.get(name, f"it needs {name}(), which is written for NumPy arrays")
    rule = rules.get(node.opcode)
    return f"nothing is written for {node.opcode}" if rule is None else rule(node)

"""The rules of a target's table: each returns the reason why a node is not supported, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..transpile.array.node import ForeignName, Node
from ..transpile.array.operations import OPERATIONS

Rule = Callable[[Node], str | None]

# All element-wise operations, and two that change only the type. The target of a library whose operations are NumPy's
# supports all of them; other targets have a row for each.
ELEMENTWISE = " ".join([*(name for name, row in OPERATIONS.items() if row.is_elementwise), "retype", "scalar"])


def supports(operations: str) -> dict[str, Rule]:
    """Return rows for operations that a target always supports."""
    return dict.fromkeys(operations.split(), lambda node: None)


def lacks(operations: str, reason: str) -> dict[str, Rule]:
    """Return rows for operations that a target never supports, with one reason."""
    return dict.fromkeys(operations.split(), lambda node: reason)


def refused_by(rules: Mapping[str, Rule], traps: Mapping[str, str] | None, node: Node) -> str | None:
    """Return the reason that a table gives for a node, or None. An operation without a row is refused.

    ``traps`` has reasons for prelude functions by name; a target without ``traps`` supports all of them.
    """
    if node.opcode == "prelude" and traps is None:
        return None
    if node.opcode == "prelude" and traps is not None:
        function = node.parameters["function"]
        name = f"{function.module}.{function.name}" if isinstance(function, ForeignName) else function
        return traps.get(name, f"it needs {name}(), which is written for NumPy arrays")
    rule = rules.get(node.opcode)
    return f"nothing is written for {node.opcode}" if rule is None else rule(node)

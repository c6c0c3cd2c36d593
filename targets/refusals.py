"""The rules of which targets make their tables: each gives the reason why a node is not supported, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..transpile.array.node import ForeignName, Node

Rule = Callable[[Node], str | None]

# What array libraries spell alike, of the element-wise operations.
ELEMENTWISE = (
    "abs acos acosh add and asin asinh atan2 atanh cbrt ceil clamp compare convert cosine cosh divide exponential "
    "exponential-minus-one floor imag is-finite isnan log log-plus-one logistic maximum minimum multiply negate not or "
    "power real remainder retype round-nearest-even rsqrt scalar select shift-left shift-right-arithmetic "
    "shift-right-logical sign sine sinh sqrt subtract tan tanh xor"
)


def supports(operations: str) -> dict[str, Rule]:
    """Rows for operations that a target always supports."""
    return dict.fromkeys(operations.split(), lambda node: None)


def lacks(operations: str, reason: str) -> dict[str, Rule]:
    """Rows for operations that a target never supports."""
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

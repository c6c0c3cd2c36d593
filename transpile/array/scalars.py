"""What is a Python or NumPy scalar in emitted code, on every array library: constants, loop counters, and what is
computed from them alone."""

from __future__ import annotations

from collections.abc import Container

from ..hlo.opcodes import OPCODES
from .node import Node

_TYPED = frozenset(("scalar", "retype", "view", "convert"))
# What Python's operators say: scalars in, a scalar out, whatever the library.
_OPERATORS = _TYPED | frozenset("add subtract multiply negate and or xor not compare".split())
_ELEMENTWISE = _TYPED | frozenset(opcode for opcode, spec in OPCODES.items() if spec.is_elementwise)


def is_known_on_host(node: Node) -> bool:
    """The value is there when the emitted function runs: Python can branch on it and index by it."""
    return _is_built_of(node, _OPERATORS)


def is_scalar_expression(node: Node) -> bool:
    """Nothing in it is an array: some libraries give a scalar for it where an array is wanted."""
    return _is_built_of(node, _ELEMENTWISE)


def _is_built_of(node: Node, operations: Container[str]) -> bool:
    """``node`` is made of constants and counters by the given operations alone."""
    seen = {node}
    stack = [node]
    while stack:
        part = stack.pop()
        if part.is_python_int or part.is_literal:
            continue
        if part.opcode not in operations or not part.operands:
            return False
        stack.extend(operand for operand in part.operands if operand not in seen)
        seen.update(part.operands)
    return True

"""Headings in long functions: ``# encoder / layer_0`` above the statements of a ``jax.named_scope``.

A scope is a part of the path in op_name: ``jit(step)/jvp(encoder)/layer_0/dot_general``. Parts that JAX adds mean
nothing to a reader and are left out; ``transpose`` becomes "gradient of".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ...array.graph import Graph
from ...hlo.function_words import is_machinery
from ..lines import Line

_FEWEST_LINES = 12  # bodies up to this length get no headings
_LINES_PER_HEADING = 3  # at least, on average
_LONGEST = 60

_TRANSFORMED = re.compile(r"(?:jvp|transpose|vmap|remat|checkpoint)\((.*)\)")
_SCOPE = re.compile(r"[A-Za-z_][\w.-]{0,40}", re.ASCII)

Scope = tuple[str, ...]


def add_sections(lines: Sequence[Line], graph: Graph) -> None:
    """Put headings above the lines of a function where its scopes change, if it is long and they are informative.

    Scopes that change too often are cut to their outer parts, until there are few enough headings or none.
    """
    if len(lines) <= _FEWEST_LINES:
        return
    scopes = [(line, scope) for line in lines if (scope := _scope_of(line, graph))]
    for depth in range(max((len(scope) for _, scope in scopes), default=0), 0, -1):
        headings = list(_changes([(line, shown(scope[:depth])) for line, scope in scopes]))
        if len({scope for _, scope in headings}) > 1 and len(headings) * _LINES_PER_HEADING <= len(lines):
            for line, scope in headings:
                line.above = [" / ".join(scope), *line.above]
            return


def _changes(scopes: Sequence[tuple[Line, Scope]]) -> Iterator[tuple[Line, Scope]]:
    current: Scope = ()
    for line, scope in scopes:
        if scope != current:
            yield line, scope
        current = scope


def shown(scope: Scope) -> Scope:
    """Return as many outer parts of a scope as a heading of limited length has: ``encoder / layer_0``."""
    counts = range(len(scope), 1, -1)
    return scope[: next((count for count in counts if len(" / ".join(scope[:count])) <= _LONGEST), 1)]


def _scope_of(line: Line, graph: Graph) -> Scope:
    """Return the scope of the first value that a line binds."""
    for node in line.after:
        instruction = graph.origins.get(node.operands[0] if node.opcode == "item" and node.operands else node)
        if instruction is not None and instruction.metadata is not None:
            return scope_of(instruction.metadata.op_name)
    return ()


def scope_of(op_name: str) -> Scope:
    """Return the author's scopes in the path of an operation; for a gradient, ``("gradient of encoder",
    "layer_0")``.
    """
    found = scope_parts(op_name)
    if found and "transpose(" in op_name:
        return f"gradient of {found[0]}", *found[1:]
    return found


@lru_cache(maxsize=4096)
def scope_parts(op_name: str) -> Scope:
    """Return the author's scopes in the path of an operation, without its last part, the operation itself."""
    found: list[str] = []
    for part in op_name.split("/")[:-1]:
        while (match := _TRANSFORMED.fullmatch(part)) is not None:
            part = match[1]
        if _SCOPE.fullmatch(part) and not is_machinery(part):
            found.append(part)
    return tuple(found)

"""Results that may share memory with arguments, with constants or with each other, or cannot be written, are copied.

``y = main(x)`` and ``y += 1`` changes ``y`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..array.aliases import Aliases
from ..array.graph import Graph
from ..array.program import Program
from ..array.support import Support


def own_results(program: Program, support: Support) -> None:
    """Copy what the program would return of memory that is not the result's own."""
    entry = program.entry
    aliases = Aliases(program, support.features)
    entry.results = _copied(entry.results, entry.graph, iter(aliases.shared(entry)))


def _copied(tree: Any, graph: Graph, is_shared: Iterator[bool]) -> Any:
    """The tree with copies of those of its nodes that are shared."""
    if isinstance(tree, tuple | list):
        return type(tree)([_copied(part, graph, is_shared) for part in tree])
    return graph.add("copy", (tree,), pinned=True) if tree is not None and next(is_shared) else tree

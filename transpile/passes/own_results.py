"""Copies results that may alias arguments, constants or each other, or that are not writable.

After ``y = main(x)``, ``y += 1`` changes only ``y``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from typing import Any

from ..array.aliases import Aliases, Memory
from ..array.node import Node
from ..array.program import Branch, Function, Program, tree_nodes
from ..array.support import Support


def own_results(program: Program, support: Support) -> None:
    """Copy the results of the program whose memory is not their own."""
    work = _Owning(program.entry, Aliases(program, support.features))
    program.entry.results = work.copied(program.entry.results)
    program.entry.live = None


class _Owning:
    def __init__(self, entry: Function, aliases: Aliases) -> None:
        self.entry = entry
        self.aliases = aliases
        self.is_shared = iter(aliases.shared(entry))
        self.results = tree_nodes(entry.results)
        self.ways = Counter(each for node in self.results for each in aliases.handed_on(node))  # uses as results

    def copied(self, tree: Any) -> Any:
        """Return the tree with copies of its nodes that are shared."""
        if isinstance(tree, tuple | list):
            return type(tree)([self.copied(part) for part in tree])
        if tree is None or not next(self.is_shared) or self._is_copied_in_branches(tree):
            return tree
        return self.entry.graph.add("copy", (tree,), pinned=True)

    def _is_copied_in_branches(self, item: Node) -> bool:
        """Copy a result of branches in those branches where it is shared; return whether that is possible."""
        is_chosen = item.opcode == "item" and item.operands[0].opcode == "conditional"
        if not is_chosen or self.ways[item] > 1:
            return False
        others = {each for node in self.results if node is not item for each in self.aliases.memory(self.entry, node)}
        self._copy_in_branches(item, others)
        return True

    def _copy_in_branches(self, item: Node, others: Set[Memory]) -> None:
        """Copy a result of branches in those branches, and in those within them, where it is shared."""
        branches: tuple[Branch, ...] = item.operands[0].parameters["branches"]
        index = item.parameters["index"]
        for branch in branches:
            given = branch.results[index]
            is_repeated = branch.results.count(given) > 1
            if not self.aliases.is_given(given, others) and not is_repeated:
                continue
            is_inner = given.region is branch.region and given.opcode == "item"
            if is_inner and given.operands[0].opcode == "conditional" and not is_repeated:
                self._copy_in_branches(given, others)
            else:
                with self.entry.graph.inside(branch.region):
                    branch.results[index] = self.entry.graph.add("copy", (given,), pinned=True)

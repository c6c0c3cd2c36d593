"""The phases of a program for larger-than-memory arrays: which arrays ``main`` handles, and what computes them.

Every array that ``main`` handles is computed from others by one block function; arrays that are ready at the same
time and cut alike share one, so that what they are computed from is read once. What is needed later is computed again
from ``main``'s arguments, which are read again rather than held.
"""

from __future__ import annotations

from collections import Counter

from ...transpile.array.node import Node
from ...transpile.array.program import Function, tree_nodes
from ...transpile.array.scalars import is_known_on_host
from ...transpile.array.traversal import body_and_captured, nested_roots
from .cuts import LEAVES, ON_ARRAYS, Cuts
from .groups import Group, Root
from .links import contracted
from .nodes import shape_of
from .steps import Steps, start_of
from .tracing import Letter, Letters, Trace


class Phases:
    """The arrays that ``main`` of an entry function handles.

    ``levels`` has for each of them how many others it has to wait for, one after the other, and ``kept`` those that are
    used at several levels.
    """

    def __init__(self, function: Function, cuts: Cuts) -> None:
        self.cuts = cuts
        effects = [function.effect] if function.effect is not None else []
        needs = self._needs([*tree_nodes(function.results), *effects])
        self.levels: dict[Node, int] = {}
        for node in cuts.classes.nodes:
            if node in needs:
                self.levels[node] = max((self.levels[other] + 1 for other in needs[node]), default=0)
        used: dict[Node, set[int]] = {}
        for node, level in self.levels.items():
            for other in needs[node]:
                used.setdefault(other, set()).add(level)
        self.kept = {node for node, at in used.items() if len(at) > 1}

    def _needs(self, wanted: list[Node]) -> dict[Node, list[Node]]:
        """The arrays of main, and those that each is made from."""
        needs: dict[Node, list[Node]] = {}
        waiting = list(wanted)
        while waiting:
            node = waiting.pop()
            if node not in needs:
                needs[node] = self._needed(node)
                waiting += needs[node]
        return needs

    def _needed(self, node: Node) -> list[Node]:
        after = node.parameters.get("after")
        before = [after] if after is not None else []
        if self.cuts.forms[node] == "steps":
            started = [start_of(carry) for carry in self.cuts.classes.steps[node].carried]
            return [*started, *(source.node for source in self.before_steps(node).sources.values())]
        if not self.is_computed(node):
            return [*node.operands, *nested_roots(node), *before]
        trace = Trace(self.cuts, node.region)
        self.follow(trace, self.root(node, trace))
        return [source.node for source in trace.sources.values()]

    def is_computed(self, node: Node) -> bool:
        """By a block function."""
        form = self.cuts.forms[node]
        if form in ("native", *ON_ARRAYS, "windows") or node.opcode in LEAVES or node.opcode == "copy":
            return False
        if node.opcode == "item":
            source = node.operands[0]
            return not (source.opcode in ("parameter", "item") or self.cuts.forms[source] in ON_ARRAYS)
        return not (node.is_python_int or is_known_on_host(node) or node.opcode == "integer")

    def groups(self) -> list[Group]:
        """What is ready at the same time and cut alike is computed together."""
        groups: dict[object, Group] = {}
        for node in self.cuts.classes.nodes:
            if node in self.levels and self.is_computed(node):
                root = self.root(node, Trace(self.cuts, node.region))
                key: object = (
                    self.levels[node],
                    node.region,
                    frozenset(letter.of for letter in root.letters if letter.of),
                )
                if self.cuts.forms[node] == "product":
                    key = node
                groups.setdefault(key, Group(node.region)).roots.append(root)
        return sorted(groups.values(), key=lambda group: self.levels[group.roots[0].node])

    def traced(self, group: Group) -> Trace:
        """What the roots of a group are computed from; they get their letters in it."""
        trace = Trace(self.cuts, group.region)
        group.roots = [self.root(root.node, trace) for root in group.roots]
        for root in group.roots:
            self.follow(trace, root)
        return trace

    def before_steps(self, node: Node) -> Trace:
        """What a loop that goes through chunks reads from outside."""
        trace, steps = Trace(self.cuts, node.region), self.cuts.classes.steps[node]
        for part in body_and_captured(node)[1]:
            trace.follow(part, self.letters_in_steps(trace, steps, part), is_root=False)
        return trace

    def letters_in_steps(self, trace: Trace, steps: Steps, part: Node) -> Letters:
        """Of an array that a loop reads from outside."""
        own = steps.read.get(part)
        flags = self.cuts.flags[part]
        return tuple(
            trace.cut_letter(part, axis, 0) if flag and axis == own else Letter() for axis, flag in enumerate(flags)
        )

    # -- what a block function starts from

    def root(self, node: Node, trace: Trace) -> Root:
        """What a block function computes for a node."""
        form = self.cuts.forms[node]
        if form == "tree":
            (operand,) = node.operands
            axes = tuple(node.parameters["axes"])
            letters = trace.own_letters(operand)
            return Root(node, letters, axes)
        if form == "partial":
            summed = dict.fromkeys(self._summed(node, trace).values())
            return Root(node, (*summed, *trace.own_letters(node)), (0,))
        return Root(node, trace.own_letters(node))

    def _summed(self, node: Node, trace: Trace) -> dict[tuple[int, int], Letter]:
        """The letters of the cut axes that a product sums over, by the place of the operand and its axis."""
        flags, classes = self.cuts.flags, self.cuts.classes
        first, second = node.operands
        counts = Counter(classes.of(node, axis) for axis, flag in enumerate(flags[node]) if flag)
        found: dict[tuple[int, int], Letter] = {}
        for left, right in contracted(node):
            if flags[first][left] or flags[second][right]:
                of = classes.of(first, left)
                found[0, left] = found[1, right] = trace.cut_letter(first, left, counts[of])
                counts[of] += 1
        return found

    def operands(self, root: Root, trace: Trace) -> list[tuple[Node, Letters]]:
        """What the last sum or product of a block function is of."""
        node = root.node
        if self.cuts.forms[node] == "tree":
            return [(node.operands[0], root.letters)]
        summed, own = self._summed(node, trace), root.letters[len(root.letters) - node.ndim :]
        found = []
        for place, (operand, link) in enumerate(zip(node.operands, self.cuts.classes.links[node], strict=True)):
            letters = [summed.get((place, axis), Letter()) for axis in range(len(link))]
            for axis, target in enumerate(link):
                if target is not None and shape_of(operand)[axis] == node.shape[target]:
                    letters[axis] = own[target]
            found.append((operand, tuple(letters)))
        return found

    def follow(self, trace: Trace, root: Root) -> None:
        """Add what a root is computed from."""
        if self.cuts.forms[root.node] == "block":
            trace.follow(root.node, root.letters)
            return
        for operand, letters in self.operands(root, trace):
            trace.follow(operand, letters, is_root=False)

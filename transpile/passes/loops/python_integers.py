"""Integers that loops carry are Python's where that is exact: ``crc >> 1 ^ 3988292384`` takes a third of the time that
it takes with numbers of the library.

Intervals tell whether arithmetic stays within its type. Where unsigned arithmetic may wrap around, its result is
masked; signed arithmetic that may wrap around stays the library's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from math import inf
from typing import Any

from ...array import intervals
from ...array.graph import Graph
from ...array.intervals import fits, type_interval
from ...array.live import LiveNodes, exchange_operands, live_nodes, renew_initials
from ...array.node import Node, literal_value
from ...array.operation import Interval
from ...array.program import Branch, Carry, Function, Loop, Tree
from ...array.rewriting import rewrite
from ...array.support import Support
from ...array.traversal import is_place, nested_roots
from ...dataclass import dataclass
from ...hlo.element_types import PRED, S32, ElementType
from ..indexing.counted_places import counted_places
from ..rewriting.users import index_places

EXACT, MASKED = "exact", "masked"
TYPED = ""  # a use that needs the library's number
_EXACT_FLOATS = 2**53  # integers up to which a conversion by way of Python's float rounds once
_ROUNDS = 8  # of a loop, for what is gained in it
_NARROWINGS = 3
_ENTRY, _EXIT = 0.7, 1.0  # what a conversion costs, in operations on the library's numbers
_GAINS = {"select": 0.0, "compare": 0.5}  # of operations; 1 for all others


def python_integers(function: Function, supports: Support) -> None:
    """Make integers that loops carry Python's where that takes less time."""
    if supports.features.elements_are_numbers and live_nodes(function).of(("loop",)):
        _Integers(function, live_nodes(function)).write(supports)


@dataclass(eq=False, slots=True)
class _Carried:
    """One result of a loop or of a conditional, by its index."""

    whole: Node
    index: int
    item: Node | None
    carry: Carry | None  # of a loop

    @property
    def given(self) -> list[Node]:
        """The nodes that it is given."""
        if self.carry is not None:
            return [self.carry.initial, *([self.carry.following] if self.carry.following is not None else [])]
        branches: tuple[Branch, ...] = self.whole.parameters["branches"]
        return [branch.results[self.index] for branch in branches]

    @property
    def nodes(self) -> list[Node]:
        """The nodes that have its value."""
        nodes = (self.carry.parameter if self.carry is not None else None, self.item)
        return [node for node in nodes if node is not None]


@dataclass(slots=True)
class _Integers:
    """The integers of one function."""

    function: Function
    live: LiveNodes
    carried: dict[Node, _Carried] = field(default_factory=dict)
    forms: dict[Node, str] = field(default_factory=dict)  # of the nodes that may be Python's
    bounds: dict[Node, Interval] = field(default_factory=dict)  # narrower than those of the nodes
    made: dict[Node, Node] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        return self.function.graph

    def write(self, supports: Support) -> None:
        """Find the groups of integers for which it pays, and make them Python's."""
        self.carried = {node: one for one in self._all_carried() for node in one.nodes}
        self._find_bounds()
        forms = ((node, self._form(node)) for node in self.live)
        self.forms = {node: form for node, form in forms if form}
        chosen = [group for group in self._groups() if self._gain(group) > 0]
        if not chosen:
            return
        everything = [node for group in chosen for node in group]
        uses = [*self._uses(everything), *self._uses_of_entries(everything)]
        ones = {
            self.carried[node]: self.carried[node].given for group in chosen for node in group if node in self.carried
        }
        for group in chosen:
            self._make(group)
        self._give_to_users(uses)
        for one, given in ones.items():
            self._give_to_carry(one, given)
        self.function.results = self._returned(self.function.results)
        self.function.live = None
        counted_places(self.function, supports)
        rewrite(self.function, ("convert",), self._converted, supports)

    # -- which

    def _all_carried(self) -> Iterator[_Carried]:
        for whole in self.live.of(("loop", "conditional")):
            items = {user.parameters["index"]: user for user in self.live.users(whole) if user.opcode == "item"}
            loop: Loop | None = whole.parameters.get("loop")
            for k in range(len(whole.results)):
                carry = loop.carries[k] if loop is not None else None
                if carry is None or (carry.following is not None and loop.count is None):  # type: ignore[union-attr]
                    yield _Carried(whole, k, items.get(k), carry)

    def _form(self, node: Node) -> str:
        """Return how Python's integers compute a node, or "" if they do not."""
        if not _is_integer(node) or node.is_python_int or node.is_literal:
            return ""
        if node in self.carried:
            return EXACT if node.region.is_in_loop or self.carried[node].carry is not None else ""
        if not node.region.is_in_loop:
            return ""
        exact = self._exact_bounds(node)
        if exact is None:
            return ""
        return EXACT if fits(exact, node.type) else MASKED if node.type.is_unsigned else ""

    def _bounds(self, node: Node) -> Interval | None:
        return self.bounds.get(node) or _bounds(node)

    def _exact_bounds(self, node: Node) -> Interval | None:
        """Return the interval of what Python's integers give for a node, which may exceed its type; None if they do not
        compute it.
        """
        rule = node.operation.exact
        given = [self._bounds(each) for each in node.operands]
        is_number = not any(each.ndim for each in node.operands)
        return rule(*given) if rule is not None and is_number and None not in given else None

    def _find_bounds(self) -> None:
        """Narrow the intervals of integers in loops. They hold from the start, when each is that of its type, and so
        they do after each round.
        """
        nodes = [node for node in self.live if _is_integer(node) and not node.is_python_int and not node.is_literal]
        for _ in range(_NARROWINGS):
            for node in nodes:
                before = self._bounds(node)
                if node in self.carried:
                    found: Interval | None = None
                    for k, each in enumerate(self.carried[node].given):
                        found = intervals.union(found, self._bounds(each)) if k else self._bounds(each)
                else:
                    found = self._exact_bounds(node)
                if before is not None and found is not None and fits(found, node.type):
                    self.bounds[node] = max(before[0], found[0]), min(before[1], found[1])

    def _groups(self) -> Iterator[list[Node]]:
        """Yield the integers that loops carry, with those that are computed from them or that they are made of."""
        beside: dict[Node, list[Node]] = {node: [] for node in self.forms}
        for node in self.forms:
            for other in self._read(node):
                if other in beside:
                    beside[node].append(other)
                    beside[other].append(node)
            one = self.carried.get(node)
            if one is not None and one.carry is not None and one.item in beside and node is one.carry.parameter:
                beside[node].append(one.item)
                beside[one.item].append(node)
        seen: set[Node] = set()
        for start in self.forms:
            if start.opcode != "parameter" or start in seen:
                continue
            group, waiting = set[Node](), [start]
            while waiting:
                node = waiting.pop()
                if node not in group:
                    group.add(node)
                    waiting += beside[node]
            seen |= group
            yield sorted(group, key=self.live.place)

    def _read(self, node: Node) -> Sequence[Node]:
        """Return the integers that a node of a group is computed from, or is given."""
        if node in self.carried:
            return self.carried[node].given
        return node.operands[1:] if node.opcode == "select" else node.operands

    def _uses(self, group: Sequence[Node]) -> Iterator[tuple[Node, Node, str]]:
        """Yield (node, user, kind of use) of the integers of a group, for each user outside."""
        inside = set(group)
        for node in group:
            for user in self.live.users(node):
                if user not in inside:
                    yield node, user, self._use(user, node, inside)

    def _uses_of_entries(self, group: Sequence[Node]) -> Iterator[tuple[Node, Node, str]]:
        """Yield the other users of numbers that become Python's for a group, if none of them needs the library's."""
        inside = set(group)
        for node in dict.fromkeys(each for member in group for each in self._read(member)):
            if node not in inside and not _is_known(node) and _is_integer(node) and node.region.is_in_loop:
                kinds = {user: self._use(user, node, inside) for user in self.live.users(node) if user not in inside}
                if TYPED not in kinds.values() and not self.live.is_root(node):
                    yield from ((node, user, kind) for user, kind in kinds.items())

    def _use(self, user: Node, node: Node, inside: set[Node]) -> str:
        """Return what a user outside reads an integer as; TYPED if it needs the library's."""
        if user.opcode in ("loop", "conditional"):
            ones = dict.fromkeys(self.carried[each] for each in inside if each in self.carried)
            read = [each for one in ones if one.whole is user for each in one.given]
            if user.opcode == "loop":
                read += [each for store in user.parameters["loop"].stores for each in (store.value, *store.indices)]
            else:
                read += user.operands  # the number of a branch
            return "carried" if read.count(node) == [*user.operands, *nested_roots(user)].count(node) else TYPED
        if user.opcode == "compare":
            return "compared" if self._is_test(user, inside) else TYPED
        places = {*index_places(user), *([1] if user.opcode == "setitem" else [])}
        if all(k in places for k, operand in enumerate(user.operands) if operand is node):
            return "place"
        if user.operation.exact is not None and len(user.operands) == 2 and any(each.ndim for each in user.operands):
            return "operand"
        return "float" if user.opcode == "convert" and _may_become(self._bounds(node), user.type) else TYPED

    def _is_test(self, mask: Node, inside: set[Node]) -> bool:
        """Return whether a comparison of integers is only read as a test, for which Python's truth will do."""
        if mask.ndim or self.live.is_root(mask) or not all(map(_is_integer, mask.operands)):
            return False
        for user in self.live.users(mask):
            if user in inside:
                continue  # which counts it
            if user.opcode == "loop":
                is_test = user.parameters["loop"].condition is mask
            else:
                is_test = user.opcode in ("select", "conditional") and user.operands[0] is mask
            if not is_test or [*user.operands, *nested_roots(user)].count(mask) > 1:
                return False
        return True

    def _gain(self, group: Sequence[Node]) -> float:
        """Return how many operations on the library's numbers are saved in one call of the function."""
        inside, gain = set(group), 0.0
        entries: set[Node] = set()
        typed: set[Node] = {node for node in group if self.live.is_root(node)}
        for node in group:
            if node not in self.carried and not all(is_place(node, user) for user in self.live.users(node)):
                gain += _rounds(node) * (_GAINS.get(node.opcode, 1.0) - 0.5 * (self.forms[node] is MASKED))
            entries.update(self._read(node))
        for node, user, kind in self._uses(group):
            if kind is TYPED and _is_integer(user) and user.region.is_in_loop:
                return 0  # one sum of both kinds of numbers
            if kind is TYPED:
                typed.add(node)
            elif kind == "compared":
                gain += _rounds(user) * _GAINS["compare"]
                entries.update(user.operands)
        gain -= sum(_rounds(node) * _EXIT for node in typed)
        return gain - sum(_rounds(node) * _ENTRY for node in entries - inside if not _is_known(node))

    # -- writing

    def _make(self, group: Sequence[Node]) -> None:
        """Make the Python integers of a group."""
        ones = (self.carried[node] for node in group if node in self.carried)
        carries = dict.fromkeys(one.carry for one in ones if one.carry is not None)
        for node in (carry.parameter for carry in carries):
            more = {**node.parameters, "python_int": True, "interval": self._bounds(node)}
            self._note(node, self.graph.parameter((), node.type, node.region, **more))
        for node in group:
            if node.opcode == "item":
                self._note(node, self._typed(node, node.operands))
            elif node.opcode != "parameter":
                operands = [self._python(operand) for operand in self._read(node)]
                self._note(node, self._computed(node, operands))

    def _note(self, node: Node, new: Node) -> None:
        self.made[node] = new
        self.graph.record_replacement(node, new)

    def _typed(self, node: Node, operands: Sequence[Node], opcode: str = "", interval: Interval | None = None) -> Node:
        """Return a Python integer in place of a node."""
        given = {} if opcode else node.parameters
        with self.graph.in_place_of(node):
            return self.graph.typed(
                opcode or node.opcode,
                tuple(operands),
                (),
                node.type,
                python_int=True,
                interval=interval or self._bounds(node),
                **given,
            )

    def _computed(self, node: Node, operands: Sequence[Node]) -> Node:
        if node.opcode == "select":
            return self._typed(node, (node.operands[0], *operands))
        if node.opcode == "convert":
            made = self._typed(node, operands, "retype")
            if self.forms[node] is EXACT:
                return made
        elif node.opcode == "not" and node.type.is_unsigned:
            return self._typed(node, (operands[0], self._mask(node)), "xor")
        else:
            made = self._typed(node, operands)
            if self.forms[node] is EXACT or self._is_masked_later(node):
                return made
        return self._typed(node, (made, self._mask(node)), "and")

    def _is_masked_later(self, node: Node) -> bool:
        """Return whether one masked operation alone reads the number, which is made of numbers within the type."""
        (user, *_) = self.live.users(node)
        if self.live.count(node) != 1 or user not in self.forms or user.element_type is not node.type:
            return False
        if user.opcode == "and":  # with a number of the type
            return not any(self.forms.get(each) is MASKED for each in user.operands if each is not node)
        is_first = not any(self._is_masked_later(each) for each in node.operands if self.forms.get(each) is MASKED)
        return is_first and user.operation.wraps and self.forms[user] is MASKED

    def _integer(self, node: Node, value: int, **more: Any) -> Node:
        """Return an integer of the type of a node."""
        bounds = value, value
        return self.graph.typed("integer", (), (), node.type, python_int=True, interval=bounds, value=value, **more)

    def _mask(self, node: Node) -> Node:
        """Return the greatest number of a node's unsigned type."""
        return self._integer(node, (1 << node.type.bits) - 1, is_mask=True)

    def _python(self, node: Node) -> Node:
        """Return the Python integer that an operand, or a truth value, is."""
        if node in self.made:
            return self.made[node]
        if node.is_python_int:
            return node
        if node.is_literal:
            return self._integer(node, int(literal_value(node)))
        kind = S32 if node.element_type is PRED else node.type
        with self.graph.in_place_of(node):
            return self.graph.typed("as_int", (node,), (), kind, python_int=True, interval=_bounds(node))

    def _number(self, node: Node) -> Node:
        """Return the library's number in place of an integer that was made Python's."""
        made = self.made[node]
        with self.graph.in_place_of(node):
            return self.graph.add("scalar", (made,), element_type=node.type)

    def _give_to_users(self, uses: Sequence[tuple[Node, Node, str]]) -> None:
        for node, user, kind in uses:
            is_shared = self.graph.forget(user)
            if kind == "compared":
                for operand in dict.fromkeys(user.operands):
                    exchange_operands(user, operand, self._python(operand))
            else:
                needs_type = kind in (TYPED, "float")
                exchange_operands(user, node, self._number(node) if needs_type else self._python(node))
            if is_shared:
                self.graph.remember(user, self.live.__contains__)

    def _give_to_carry(self, one: _Carried, given: Sequence[Node]) -> None:
        """Give Python's integers to a loop or to a conditional."""
        made = [self._python(node) for node in given]
        if one.carry is None:
            for branch, result in zip(one.whole.parameters["branches"], made, strict=True):
                branch.results[one.index] = result
            return
        one.carry.initial, one.carry.following = made
        one.carry.parameter = self.made[one.carry.parameter]
        renew_initials(one.whole)

    def _returned(self, tree: Tree) -> Tree:
        if isinstance(tree, tuple | list):
            return type(tree)(self._returned(part) for part in tree)
        return self._number(tree) if tree in self.made else tree

    def _converted(self, node: Node) -> Node | None:
        """Return a float of a Python integer, without the integer of the library."""
        (x,) = node.operands
        if x.opcode != "scalar" or not _may_become(x.operands[0].interval, node.type):
            return None
        return self.graph.add("scalar", x.operands, element_type=node.type)


def _is_integer(node: Node) -> bool:
    is_number = node.element_type is not None and not node.ndim
    return is_number and node.type.is_integral and not node.type.is_extension


def _is_known(node: Node) -> bool:
    return node.is_python_int or node.is_literal


def _bounds(node: Node) -> Interval | None:
    """Return the interval of an integer or of a truth value; that of its type if no other is known."""
    if node.element_type is None:
        return node.interval
    return node.interval or ((0, 1) if node.element_type is PRED else type_interval(node.type))


def _rounds(node: Node) -> int:
    depth = sum(region.kind == "loop" for region in node.region.path())
    return int(_ROUNDS**depth)


def _may_become(bounds: Interval | None, float_type: ElementType) -> bool:
    """Return whether a conversion of an integer to a float rounds once, also by way of Python's."""
    low, high = bounds or (-inf, inf)
    return float_type.is_floating and not float_type.is_extension and max(-low, high) <= _EXACT_FLOATS

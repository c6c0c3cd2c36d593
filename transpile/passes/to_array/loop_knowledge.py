"""The facts that one lowering of a loop gives to the next: unchanged carries, the counter, values that step with it,
and bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from ...array.affine import affine, integer_value
from ...array.graph import Graph
from ...array.intervals import fits, type_interval
from ...array.node import Node
from ...array.operation import Interval
from ...array.program import Loop, range_length
from ...array.traversal import is_inside, topological
from ...array.value import Value
from ...dataclass import dataclass
from ...walks import reached
from ..indexing.counted_places import as_python_int
from .counters import from_affine
from .growth import grown, growth, limits


@dataclass(slots=True)
class Attempt:
    """One lowering of a loop: the loop, and each leaf of the state inside the body and after it."""

    graph: Graph
    loop: Loop
    inside: list[Value]
    following: list[Value]
    condition: Value


@dataclass(slots=True)
class Knowledge:
    """Facts about the leaves of a loop's state, by position.

    ``steps`` are the leaves that are affine in the loop's variable: (coefficient, constant). The variable is a leaf of
    the state, or runs the other way if the body only needs that.
    """

    unchanged: set[int] = field(default_factory=set)
    assumed: dict[int, Interval] = field(default_factory=dict)  # bounds to be proved by induction
    is_proved: bool = False
    may_grow: bool = True  # growth from the first value has not been assumed yet
    grown: dict[int, Interval] = field(default_factory=dict)  # bounds after a counted loop of what grows in its rounds
    start: int = 0
    stop: int = 0
    step: int = 0  # 0 if the loop does not count
    bounds: tuple[Node, Node] | None = None  # start and stop, if they depend on other counters
    counter: int | None = None  # the position of the leaf that the condition compares
    steps: dict[int, tuple[int, int]] = field(default_factory=dict)
    turned: bool = False

    @property
    def is_counted(self) -> bool:
        return self.step != 0

    @property
    def trip_count(self) -> int:
        return range_length(self.start, self.stop, self.step)

    @property
    def runs_never(self) -> bool:
        return self.is_counted and self.trip_count == 0

    @property
    def runs_once(self) -> bool:
        return self.is_counted and self.trip_count == 1 and self.bounds is None

    @property
    def interval(self) -> Interval:
        """The least and the greatest value of the loop's variable inside the body."""
        last = self.start + (self.trip_count - 1) * self.step
        return min(self.start, last), max(self.start, last)

    def after(self, leaf: int) -> int:
        """Return the value of a stepping leaf after the loop."""
        coefficient, constant = self.steps[leaf]
        return coefficient * (self.start + self.trip_count * self.step) + constant

    # -- learning

    def assume(self, leaves: Sequence[Value]) -> None:
        """Assume that integers whose first value has bounds keep them, as in a body that only permutes them."""
        for k, leaf in enumerate(leaves):
            interval = leaf.node.interval
            if interval is not None and interval[0] < interval[1] and leaf.node.type.is_integral:
                self.assumed[k] = interval
        self.is_proved = not self.assumed

    def learn(self, attempt: Attempt, leaves: Sequence[Value]) -> bool:
        """Learn from a lowering; return whether another one is needed, since it would be better or an assumption was
        wrong.
        """
        if not self.is_proved:
            refuted = [k for k, interval in self.assumed.items() if not _keeps(attempt, k, interval)]
            for k in refuted:
                del self.assumed[k]
            self.is_proved = not refuted
            if refuted:
                return True  # other facts from this lowering may rest on the wrong assumption
        found = self._learn_unchanged(attempt)
        if self.is_counted:
            return self._turn(attempt) or self._learn_growth(attempt, leaves) or found
        return (
            self._learn_counter(attempt, leaves)
            or self._learn_bounds(attempt, leaves)
            or self._assume_growth(attempt, leaves)
            or found
        )

    def _learn_unchanged(self, attempt: Attempt) -> bool:
        unchanged = {
            k
            for k, (inside, following) in enumerate(zip(attempt.inside, attempt.following, strict=True))
            if following.node is inside.node and following.axes == inside.axes
        }
        found = bool(unchanged - self.unchanged)
        self.unchanged |= unchanged
        return found

    def _learn_counter(self, attempt: Attempt, leaves: Sequence[Value]) -> bool:
        compared = _compared(attempt)
        if compared is None:
            return False
        position, stop, direction = compared
        step = _step(attempt.inside[position], attempt.following[position])
        start = integer_value(leaves[position].node)
        if step is None or start is None or not _ends(direction, start, stop, step):
            return False
        last = start + range_length(start, stop, step) * step
        if not fits((last, last), leaves[position].node.type):
            return False  # the counter wraps before the condition fails
        self.counter, self.start, self.stop, self.step = position, start, stop, step
        for k, (leaf, inside, following) in enumerate(zip(leaves, attempt.inside, attempt.following, strict=True)):
            first, own = integer_value(leaf.node), _step(inside, following)
            if k in self.unchanged or first is None or own is None or own % step:
                continue
            coefficient = own // step
            self.steps[k] = coefficient, first - coefficient * start
            ends = sorted((first, self.after(k)))
            if not fits((ends[0], ends[1]), leaf.node.type):
                del self.steps[k]
        return True

    def _learn_bounds(self, attempt: Attempt, leaves: Sequence[Value]) -> bool:
        """Learn a counter whose start or stop is no constant: ``range(i + 1, n)``, ``range(int(rows[i]), n)``. Return
        whether there is one.
        """
        found = _compared_with_bound(attempt)
        if found is None:
            return False
        position, bound, direction = found
        start, step = leaves[position].node, _step(attempt.inside[position], attempt.following[position])
        if step != {"LT": 1, "LE": 1, "GT": -1, "GE": -1}[direction]:
            return False
        first, last = (_on_host(attempt.graph, node) for node in (start, bound))
        stop = _moved(attempt, last, {"LE": 1, "GE": -1}.get(direction, 0)) if last is not None else None
        if first is None or stop is None:
            return False
        self.counter, self.step, self.bounds = position, step, (first, stop)
        (low, _), (_, high) = (_range_of(node) for node in self.bounds[::step])
        self.start, self.stop = (low, high) if step > 0 else (_range_of(first)[1], _range_of(stop)[0])
        self.steps[position] = 1, 0
        return True

    def _assume_growth(self, attempt: Attempt, leaves: Sequence[Value]) -> bool:
        """Assume that non-negative integers stay non-negative, as positions in arrays do that a loop fills until its
        condition fails, and that they stay below the limit of the condition. Return whether there are any.
        """
        if not self.may_grow:
            return False
        self.may_grow = False
        before = len(self.assumed)
        for k, leaf in enumerate(leaves):
            number, bounds = integer_value(leaf.node), type_interval(leaf.node.type)
            first = leaf.node.interval if number is None else (number, number)
            if k in self.assumed or k in self.unchanged or first is None or first[0] < 0 or leaf.node.ndim:
                continue
            if bounds is None or bounds[0] >= 0:
                continue
            limit, step = _limit(attempt, k), _step(attempt.inside[k], attempt.following[k])
            last = bounds[1]
            if limit is not None and step is not None and step > 0:
                last = min(last, max(first[1], limit + step))
            self.assumed[k] = first[0], last
        self.is_proved = len(self.assumed) == before
        return not self.is_proved

    def _learn_growth(self, attempt: Attempt, leaves: Sequence[Value]) -> bool:
        """Learn bounds of integers that each iteration changes by a limited amount, as counts of what a test finds;
        return whether there are any.
        """
        if not self.may_grow or not self.is_proved:
            return False
        self.may_grow = False
        for k, (leaf, inside) in enumerate(zip(leaves, attempt.inside, strict=True)):
            first = limits(leaf.node)
            is_carried = k not in {*self.unchanged, *self.steps, *self.assumed} and not inside.node.ndim
            own = growth(attempt.following[k].node, inside.node) if first is not None and is_carried else None
            if first is None or own is None or not leaf.node.type.is_integral:
                continue
            after, before = (grown(first, own, count) for count in (self.trip_count, max(0, self.trip_count - 1)))
            if fits(after, leaf.node.type):
                self.assumed[k], self.grown[k] = before, after
        return bool(self.grown)

    def _turn(self, attempt: Attempt) -> bool:
        """Count ``48 - i`` or ``i + 1`` instead, if the body uses only that, or if it counts down. Return whether it
        does.
        """
        loop = attempt.loop
        if self.turned or loop.counter is None or not loop.is_fixed or not self.trip_count:
            return False
        roots = [value.node for k, value in enumerate(attempt.following) if k not in self.steps]
        users = _counter_terms(loop.counter, [*roots, *([loop.effect] if loop.effect is not None else [])])
        if len(users) != 1 and {coefficient for coefficient, _ in users} != {-1}:
            return False
        (coefficient, constant) = min(users)
        if abs(coefficient) != 1 or (coefficient, constant) == (1, 0):
            return False
        low, high = sorted(coefficient * end + constant for end in self.interval)
        if not fits((low, high), loop.counter.type):
            return False
        self.turned = True
        count = self.trip_count
        self.start = coefficient * self.start + constant
        self.step *= coefficient
        self.stop = self.start + count * self.step
        # The old variable is coefficient * (new - constant).
        self.steps = {k: (a * coefficient, b - a * coefficient * constant) for k, (a, b) in self.steps.items()}
        return True


def _keeps(attempt: Attempt, k: int, interval: Interval) -> bool:
    """Return whether a leaf is within an interval after an iteration, if it was before and the condition held."""
    inside, limit = attempt.inside[k], _limit(attempt, k)
    waiting = [attempt.following[k].node]
    while waiting:
        node = waiting.pop()
        step = _step(inside, Value.of(node)) if limit is not None else None
        if node is inside.node or (step is not None and step > 0 and limit is not None and limit + step <= interval[1]):
            continue
        if node.interval is not None and interval[0] <= node.interval[0] and node.interval[1] <= interval[1]:
            continue
        if node.opcode != "select":
            return False
        waiting += node.operands[1:]
    return True


def _limit(attempt: Attempt, k: int) -> int | None:
    """Return the greatest value of a leaf for which the condition may hold, from comparisons with constants; or
    None.
    """
    limits = []
    for node in reached([attempt.condition.node], lambda node: node.operands if node.opcode == "and" else ()):
        if node.opcode == "compare":
            left, right = node.operands
            direction, number = node.parameters["direction"], integer_value(right)
            if left is attempt.inside[k].node and number is not None and direction in ("LT", "LE"):
                limits.append(number - (direction == "LT"))
    return min(limits, default=None)


def _counter_terms(counter: Node, roots: Iterable[Node]) -> set[tuple[int, int]]:
    """Return (coefficient, constant) of each affine form of the counter that other nodes use."""
    nodes = topological(roots)
    sums = {node for node in nodes if node.is_python_int and counter in affine(node)[0]}
    read = [node for node in nodes if node not in sums]
    found = {operand for node in read for operand in node.operands if operand in sums}
    found |= {root for root in roots if root in sums}
    terms = {node: affine(node) for node in found}
    return {
        (factors[counter], constant) if factors.keys() == {counter} else (1, 0) for factors, constant in terms.values()
    }


def _compared(attempt: Attempt) -> tuple[int, int, str] | None:
    """Return (leaf, stop, direction) if the condition compares a carried integer with a constant, or None."""
    node = attempt.condition.node
    if node.opcode != "compare":
        return None
    left, right = node.operands
    direction = node.parameters["direction"]
    if integer_value(left) is not None:
        left, right = right, left
        direction = _TURNED.get(direction, direction)
    stop = integer_value(right)
    position = next(
        (k for k, value in enumerate(attempt.inside) if value.node is left and left.opcode == "parameter"), None
    )
    if stop is None or position is None:
        return None
    bounds = {
        "LT": (stop, "LT"),
        "LE": (stop + 1, "LT"),
        "GT": (stop, "GT"),
        "GE": (stop - 1, "GT"),
        "NE": (stop, "NE"),
    }
    return (position, *bounds[direction]) if direction in bounds else None


def _compared_with_bound(attempt: Attempt) -> tuple[int, Node, str] | None:
    """Return (leaf, bound, direction) if the condition compares a carried integer with a loop-invariant node, or
    None.
    """
    node = attempt.condition.node
    if node.opcode != "compare" or node.parameters["direction"] not in _TURNED:
        return None
    left, right = node.operands
    direction: str = node.parameters["direction"]
    for counter, bound, way in ((left, right, direction), (right, left, _TURNED[direction])):
        position = next((k for k, value in enumerate(attempt.inside) if value.node is counter), None)
        if position is not None and counter.opcode == "parameter" and not is_inside(bound.region, attempt.loop.region):
            return position, bound, way
    return None


_TURNED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}


def _on_host(graph: Graph, node: Node) -> Node | None:
    """Return an integer as a constant or as a Python int with an interval; None if Python's range may not take it."""
    number = node if node.is_literal else as_python_int(graph, node)
    if number is not None and (number.is_literal or number.interval is not None):
        return number
    interval = node.interval or type_interval(node.type)
    if interval is None or not node.type.is_signed:  # Numba's range of unsigned numbers is one of its own
        return None
    with graph.in_place_of(node):
        return graph.typed("as_int", (node,), (), node.type, python_int=True, interval=interval)


def _range_of(node: Node) -> Interval:
    number = integer_value(node)
    interval = node.interval if number is None else (number, number)
    assert interval is not None
    return interval


def _moved(attempt: Attempt, bound: Node, by: int) -> Node | None:
    """Return ``bound + by`` if it fits the type, or None."""
    low, high = _range_of(bound)
    if not fits((low + by, high + by), bound.type):
        return None
    terms, constant = affine(bound)
    return from_affine(attempt.graph, terms, constant + by, bound.type)


def _step(inside: Value, following: Value) -> int | None:
    """Return the constant that is added to a carried integer in each iteration, or None."""
    node = following.node
    if node.opcode not in ("add", "subtract") or inside.node not in node.operands or inside.node.ndim:
        return None
    other = node.operands[1] if node.operands[0] is inside.node else node.operands[0]
    amount = integer_value(other)
    if not amount or (node.opcode == "subtract" and node.operands[0] is not inside.node):
        return None
    return amount if node.opcode == "add" else -amount


def _ends(direction: str, start: int, stop: int, step: int) -> bool:
    """Return whether counting from ``start`` by ``step`` without wrapping makes the condition fail."""
    if direction == "NE":
        return (stop - start) % step == 0 and (stop - start) // step >= 0
    return (step > 0) == (direction == "LT")

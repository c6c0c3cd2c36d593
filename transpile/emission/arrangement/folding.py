"""The plan of statements: which values get a statement of their own, and which are folded into their user's line."""

from __future__ import annotations

from dataclasses import field

from ...array.graph import Graph
from ...array.node import Node, Slot
from ...array.program import Function, Loop, roots, tree_nodes
from ...array.scalars import is_matrix, is_row, numbers_in
from ...array.traversal import is_inside, topological, users_of
from ...array.value import FULL
from ...dataclass import dataclass
from ...hlo.element_types import PRED
from ..naming.source import SourceNames, is_empty_word
from .early_reads import early_reads

MOST_FOLDED = 8  # operations in one statement
MOST_SUMMED = 20  # operations in a sum, which may have a line for each of its terms
_OFTEN = 3  # reads from which on a part of an array is assigned to the author's name for it
_MOST_STORED = 2  # operations of a row that has no name of its own beside that of the array
DEEPEST = 12  # levels of nesting in one expression


@dataclass(slots=True)
class Plan:
    """The decisions for one function."""

    nodes: list[Node]  # all live nodes, operands first
    uses: dict[Node, int]
    named: set[Node]
    user_names: dict[Node, str]
    only_result: Node | None
    work: dict[Node, int] = field(default_factory=dict)  # operations in the expression of a node
    numbers: set[Node] = field(default_factory=set)  # Python ints that are computed from more than counters
    rows: frozenset[Node] = frozenset()  # stacks of numbers that are written as rows of a matrix


def plan(function: Function, source_names: SourceNames) -> Plan:
    """Return the plan of a function: for all live nodes, whether they are named."""
    nodes = topological(roots(function))
    users = users_of(nodes, tree_nodes(function.results))
    only_result = function.results if isinstance(function.results, Node) else None
    user_names = source_names.names(function.graph, nodes, tree_nodes(function.results))
    made = Plan(nodes, {node: len(found) for node, found in users.items()}, set(), user_names, only_result)
    made.rows = frozenset(node.operands[0] for node in nodes if is_matrix(node) and made.uses[node.operands[0]] == 1)
    made.numbers = numbers_in(nodes)
    early = early_reads(nodes, users)
    depth: dict[Node, int] = {}
    for node in nodes:
        folded = [operand for operand in node.operands if operand not in made.named]
        own_work = 0 if node.operation.is_light or (node.is_python_int and node not in made.numbers) else 1
        made.work[node] = own_work + sum(made.work[operand] for operand in folded)
        depth[node] = 1 + max((depth[operand] for operand in folded), default=0)
        is_named = must_be_named(node, users.get(node, []), made, function.graph, source_names)
        if is_named or node in early or depth[node] > DEEPEST:
            made.named.add(node)
    return made


def must_be_named(node: Node, users: list[Node | None], made: Plan, graph: Graph, source: SourceNames) -> bool:
    """Return whether a node gets a name: the folding rules, of which the first match wins."""
    if node.operation.is_atom and node.opcode != "parameter":
        return False
    if node.opcode == "parameter" or node.results or "effect" in node.parameters or node.operation.changes:
        return True
    if node.opcode == "item":
        return True
    readers = [user for user in users if user is not None]  # None is the caller
    if node.opcode == "empty" and all(user is not None and user.opcode == "prelude" for user in users):
        return True  # only a template for chunks of results
    if node.opcode == "kernel":
        is_inside = not node.parameters["kernel"].is_inline and len(users) == 1
        if not is_inside or (users == [None] and node is not made.only_result):
            return True
    if node.operation.is_filled and all(_changes(user, node) for user in users):
        return False  # made where it is changed
    if made.work[node] > 0 and _crosses_a_loop(node, readers):
        return True
    if node.is_python_int and node not in made.numbers:
        return node.opcode in ("maximum", "minimum") and len(users) > 1
    if any(map(is_inline, readers)):
        return not (node.opcode == "scalar" or _is_row(node, made))
    if node.opcode == "array" and node.parameters["constant"].array.size > MOST_FOLDED:
        return True
    if any(user.opcode == "scatter" and node in user.operands[2:] for user in readers):
        return True  # its test reads it, too
    if made.work[node] == 0:
        return len(users) >= _OFTEN and _is_part_with_a_name(node, made)
    if any(_starts_slice(user, node) for user in readers):
        return True
    if len(users) > 1:
        return not (node.opcode == "arange" and len(users) == 2 and users[0] is not users[1])
    if users == [None] and node is made.only_result:
        return False  # returned as it is
    if node in made.rows:
        return False
    if any(map(_is_compared_often, readers)):
        return made.work[node] > 1
    most = MOST_SUMMED if _continues_chain(node, users) else MOST_FOLDED
    if made.work[node] > most:
        return True
    if len(readers) == 1 and made.work[node] <= _MOST_STORED and _is_stored_row(node, readers[0]):
        return False
    if node in made.user_names and not _is_condition(node, made) and not _takes_its_name(node, users, made):
        return True
    if node.opcode == "call" and any(user.opcode == "call" for user in readers):
        return True
    if users and users[0] in made.rows:
        return False
    return made.work[node] >= 2 and _ends_statement(node, users, graph, source)


def _is_part_with_a_name(node: Node, made: Plan) -> bool:
    """Return whether a node is a part of an array at static indices to which the author gave a name."""
    return node.opcode == "getitem" and len(node.operands) == 1 and node in made.user_names


def _is_condition(node: Node, made: Plan) -> bool:
    """Return whether a node is a condition like ``out = t < t1``, which needs no name in a loop's or branch's head."""
    return node.element_type is PRED and node.ndim == 0 and is_empty_word(made.user_names[node])


def _takes_its_name(node: Node, users: list[Node | None], made: Plan) -> bool:
    """Return whether the bias added next to a product has the same or a better name: ``y = x @ w``, ``y = y + b``."""
    user = users[0] if len(users) == 1 else None
    is_product = node.opcode in ("matmul", "tensordot", "einsum")
    own = made.user_names[node]
    is_same = user in made.user_names and made.user_names[user] == own
    return is_product and user is not None and user.opcode == "add" and (is_same or is_empty_word(own))


def _is_stored_row(node: Node, user: Node) -> bool:
    """Return whether a value of a round is only stored, ``losses[i] = ..``, in an array that is called after it."""
    if user.opcode != "loop" or is_row(node):  # compiled loops write the numbers of a row into an array that they keep
        return False
    loop: Loop = user.parameters["loop"]
    is_read = loop.condition is node or any(carry.following is node for carry in loop.carries)
    return not is_read and sum(store.value is node for store in loop.stores) == 1


def is_inline(user: Node) -> bool:
    """Return whether a user is a kernel that is written inline in a loop, where its operands need names."""
    return user.opcode == "kernel" and user.parameters["kernel"].is_inline


def _is_row(node: Node, made: Plan) -> bool:
    """Return whether a node is a part of a named array at counters: ``x[i]`` and ``x[:, i + 1]``."""
    if node.opcode != "getitem" or not node.ndim or node.operands[0] not in made.named:
        return False
    counted = all(operand.is_python_int for operand in node.operands[1:])
    return counted and all(item == FULL or isinstance(item, int | Slot) for item in node.parameters["index"])


def _starts_slice(user: Node, node: Node) -> bool:
    """Return whether a node is the start of a dynamic slice, whose text names it twice: ``x[start : start + 3]``."""
    if user.opcode not in ("getitem", "setitem"):
        return False
    items = user.parameters["index"]
    slots = (item[0] for item in items if isinstance(item, tuple) and isinstance(item[0], Slot))
    return any(user.operands[slot.index] is node for slot in slots)


def _is_compared_often(user: Node) -> bool:
    """Return whether a user is a conditional of more than two branches, which compares its index with each number."""
    return user.opcode == "conditional" and len(user.parameters["branches"]) > 2


def _changes(user: Node | None, node: Node) -> bool:
    """Return whether a user updates the node in place and has no other use of it."""
    return user is not None and user.operation.changes and user.operands[0] is node and node not in user.operands[1:]


def _crosses_a_loop(node: Node, users: list[Node]) -> bool:
    """Return whether a node is computed outside a loop and read inside it."""
    for user in users:
        in_body = user.opcode == "loop" and node not in user.operands
        reader = user.parameters["loop"].region if in_body else user.region
        if reader is node.region or not is_inside(reader, node.region):
            continue
        for region in reader.path():
            if region is node.region:
                break
            if region.kind == "loop":
                return True
    return False


def _ends_statement(node: Node, users: list[Node | None], graph: Graph, source: SourceNames) -> bool:
    """Return whether the author's own statement ends at a node, by the source lines and calls that XLA keeps.

    It ends if the consumer is on another line of the same function. Values that pass between an expression and a
    function that it calls belong to the same statement.
    """
    user = users[0] if users else None
    if user is None or user.opcode == "loop":
        return False  # a condition stands in the loop's head
    pairs = zip(*(source.places(graph.origins.get(each)) for each in (node, user)), strict=False)
    return next((one[:2] == other[:2] for one, other in pairs if one != other), False)


def is_sum(node: Node) -> bool:
    """Return whether a node is a sum or a difference of two terms."""
    return node.opcode == "add" or node.opcode == "subtract"


def _continues_chain(node: Node, users: list[Node | None]) -> bool:
    """Return whether a node is the ``a + b`` of ``a + b + c``."""
    user = users[0] if len(users) == 1 else None
    return is_sum(node) and user is not None and is_sum(user) and user.operands[0] is node


def source_line(graph: Graph, node: Node) -> tuple[str, int] | None:
    """Return (file, line) of the user's source that a node comes from, or None."""
    line = graph.lines.get(node)
    if line is None or line.metadata is None:
        return None
    return line.metadata.source_file, line.metadata.source_line

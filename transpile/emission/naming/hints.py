"""The best names of a function's values, before names are made unique: ``HINTS``, best first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ...array.node import Constant, Node, literal_value
from ...array.program import Branch, Carry, Loop, roots, tree_nodes
from ...array.traversal import dependencies, topological
from ...dataclass import dataclass
from ...hlo.element_types import PRED
from ...hlo.function_words import word_of
from ...hlo.ir import Instruction
from ..functions.context import Writing
from ..value_gradients import value_gradients
from .gradients import gradients, updates
from .identifiers import base_name, is_argument, is_operation, plural
from .idioms import domain_name
from .layers import gradients_in_tree, layer_names, names_in_tree
from .operands import SubjectNames, operation_words, short
from .scopes import GRADIENT, is_gradient
from .source import is_empty_word

_COUNT, _FIRST = "count", "is_first"  # names of carries that count iterations or mark the first
_ARITHMETIC = frozenset(("total", "product", "difference", "ratio", "dot", "negative"))  # uninformative words
_NUMBER = re.compile(r"_\d+$")
_END = re.compile(r"^.*_\d+_(?=[a-zA-Z])")  # the name of a leaf up to its last position in a sequence
EXPLAINED = "names"  # the key of the explanation for observers of an emission


class WantedNames:
    """The names that a function's values should have."""

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        plan, results, names = writer.plan, tree_nodes(writer.function.results), writer.source_names
        self.hinted = names.names(writer.graph, plan.nodes, results, names.hints)  # by keywords and calls
        unnamed = plan.named - plan.user_names.keys()
        self.left, self.inside = names.contexts.names(writer.graph, plan.nodes, results, unnamed)
        self.planned = frozenset(plan.named)
        self.updates = updates(writer.function)
        self.subjects = SubjectNames(writer)
        self.is_of_arguments = writer.function.origin is None and not writer.function.repeated
        self.is_explained = False
        self.all_hints: dict[Node, list[tuple[str, str]]] = {}  # for explanations: all hints for each value
        self.others: dict[Node, list[str]] = {}  # other names of values whose best name another value has
        self.layers = layer_names(writer.function, plan.nodes) if self.is_of_arguments else {}

    def of(self, node: Node) -> str:
        """Return the best name of a value."""
        value = _Value(self, node)
        if self.is_explained:
            self.all_hints[node] = self._all_of(value)
        words = ((hint.is_strong, word) for hint in HINTS if (word := hint.of(self, value)))
        is_strong, first = next(words, (False, ""))
        if self._is_free(node, first):
            return first
        is_weak = is_empty_word(first) or not is_strong
        telling = [word for strong, word in words if (strong or is_weak) and not is_empty_word(word)]
        self.others[node] = [word for word in telling if word not in operation_words()]
        free = (word for word in self.others[node] if is_empty_word(first) and self._is_free(node, word))
        return next(free, first)

    def _is_free(self, node: Node, word: str) -> bool:
        """Return whether a value would get a name without a number."""
        return self.writer.names.free(word) == word or self.writer.allocation.gives(node, word)

    def _all_of(self, value: _Value) -> list[tuple[str, str]]:
        """Return all hints for a value, the one that wins first, each with its source and the name."""
        joined = set(self.subjects.joined)
        found = [(hint.source, word) for hint in HINTS if (word := hint.of(self, value))]
        self.subjects.joined = joined  # hints that lost have no effect
        return found

    def of_constant(self, node: Node) -> str:
        """Return a name by the origin of a constant: ``layers_0_w`` in a tree that the function closes over."""
        constant = node.parameters.get("constant")
        return self.writer.constants.word(constant) if isinstance(constant, Constant) else ""

    def in_called(self, node: Node) -> str:
        """Return the name of one of a function's many results inside the function."""
        function = node.operands[0].parameters.get("function") if node.opcode == "item" else None
        words = self.writer.words_of_results(function) if function in self.writer.renderer.named_results else ()
        return words[node.parameters["index"]] if words else ""

    def of_called(self, node: Node) -> str:
        """Return the name of one of a function's few results inside the function, unless it is a letter, the word of an
        operation or the next value of a parameter.
        """
        call = node.operands[0] if node.opcode == "item" else node
        function = call.parameters.get("function") if call.opcode == "call" else None
        if call is node or function is None or function in self.writer.renderer.named_results:
            return ""
        word = self.writer.words_inside(function)[node.parameters["index"]]
        is_empty = len(word) == 1 or word in operation_words() or word.startswith("new_")
        return "" if is_empty else word

    def of_domain(self, node: Node) -> str:
        """Return the field's word for a value that is not a gradient."""
        if any(map(is_gradient, self.writer.graph.results.get(node, ()))):
            return ""
        return domain_name(node, self.users.get(node, ()), self.subjects.word)

    def as_read(self, node: Node) -> str:
        """Return the name by which the author's expressions read a value, unless one of its operands has this name."""
        name = self.writer.source_names.reads.of(self.writer.graph, node, self.users.get(node, ()))
        is_made_of_it = any(self.writer.texts.get(operand) == name for operand in node.operands)
        if is_empty_word(name) or (is_made_of_it and not self.writer.allocation.may_take(node, name)):
            return ""
        return name

    def of_changed(self, node: Node) -> str:
        """Return the name of the result of a value's in-place update, if the value can take it over."""
        writer = self.writer
        for user in self.users.get(node, ()):
            if user.operation.changes and user.operands[0] is node and user in writer.texts:
                name = writer.texts[user]
                return name if writer.allocation.gives(node, name) else ""
        return ""

    def as_changed(self, node: Node) -> str:
        """Return the author's name of the result of a value's in-place update, if nothing else reads the value."""
        users = self.users.get(node, [])
        change = users[0] if len(users) == 1 else node
        is_changed = change.operation.changes and change.operands[0] is node and change.region is node.region
        return self.writer.plan.user_names.get(change, "") if is_changed else ""

    def of_role(self, node: Node) -> str:
        """Return ``mean_divisor`` for a number by which all arrays of the author's ``mean = ..`` are divided."""
        names = [] if node.ndim else self.writer.source_names.names_around(self.writer.graph, node)
        if len(names) != 1 or is_empty_word(names[0]):
            return ""
        roles = {_role(value, user) for value, user in self._readers(node)}
        role = roles.pop() if len(roles) == 1 else ""
        return role and f"{names[0]}_{role}"

    def of_statement(self, node: Node) -> str:
        """Return ``real_factor_total`` for a step of the author's ``real_factor = ..``."""
        word = base_name(node, self.writer.graph)
        if word not in _ARITHMETIC or any(map(is_gradient, self.writer.graph.results.get(node, ()))):
            return ""
        names = self.writer.source_names.names_around(self.writer.graph, node)
        if not names and (reader := self._only_reader(node)) is not None:
            names = [self.writer.plan.user_names.get(reader, "")]
        return short(f"{names[0]}_{word}") if len(names) == 1 and names[0] and not is_empty_word(names[0]) else ""

    def _only_reader(self, node: Node) -> Node | None:
        """Return the only named value that depends on a node, through single users, or None."""
        reader = node
        while reader is node or reader not in self.planned:
            users = self.users.get(reader, [])
            if len(users) != 1 or users[0] is reader:
                return None
            (reader,) = users
        return reader

    def of_call(self, node: Node) -> str:
        """Return the word of the inlined function whose result a value is, unless it was cut out of a long line."""
        made = self.writer.graph.results.get(node, ()) if node in self.planned else ()
        calls = [each for each in reversed(made) if _is_traced_call(each) and _computed(each).opcode != "parameter"]
        names = [call.called[0].name.split(".")[0] for call in calls]
        words = (word_of(_NUMBER.sub("", name)) for name in names if not name.startswith("_"))
        taken = self.writer.names.reserved
        return next((word for word in words if word and word not in taken and not is_operation(word)), "")

    def _readers(self, node: Node) -> Iterator[tuple[Node, Node]]:
        """Yield the users of a value here and in called functions, each with the node that the value is there."""
        for user in self.users.get(node, ()):
            if user.opcode != "call":
                yield node, user
                continue
            called = user.parameters["function"]
            given = [each for each, own in zip(called.parameters, user.operands, strict=True) if own is node]
            inside = topological(roots(called))
            yield from ((each, reader) for each in given for reader in inside if each in reader.operands)

    def of_expression(self, node: Node) -> str | None:
        """Return the author's name of the only user of a node, if the node is a step of that expression, or None."""
        writer = self.writer
        users = self.users.get(node, [])
        name = writer.plan.user_names.get(users[0]) if len(users) == 1 else None
        if name is None or is_empty_word(name) or not users[0].operation.is_elementwise:
            return None
        (user,) = users
        is_alike = node.shape == user.shape and node.element_type is user.element_type and node.region is user.region
        is_step = is_alike and writer.source_names.is_step(writer.graph, node, user, name)
        return name if is_step and writer.allocation.may_take(node, name) else None

    @cached_property
    def common_words(self) -> frozenset[str]:
        """The words of operations that the author uses as a name for several values of the function."""
        counts = Counter(self.writer.plan.user_names.values())
        return frozenset(word for word, count in counts.items() if count > 1 and word in operation_words())

    @cached_property
    def users(self) -> dict[Node, list[Node]]:
        """The users of each value; a returned value also counts as its own user."""
        found: dict[Node, list[Node]] = {}
        for user in self.writer.plan.nodes:
            for operand in dict.fromkeys(dependencies(user)):
                found.setdefault(operand, []).append(user)
        for node in tree_nodes(self.writer.function.results):
            found.setdefault(node, []).append(node)
        return found

    def of_result(self, node: Node) -> str | None:
        """Return the name of one of several results inside the function or the branches that compute it, or None."""
        if node.opcode == "item" and node.operands[0].opcode == "call":
            function, index = node.operands[0].parameters["function"], node.parameters["index"]
            inside = function.flat_results
            word = domain_name(inside[index], (), lambda _: "") if len(inside) > 1 else ""
            return self.writer.source_names.of_result(function, index) or word
        if node.opcode == "item" and node.operands[0].opcode == "conditional":
            return self._in_branches(node.operands[0].parameters["branches"], node.parameters["index"])
        return None

    def of_path(self, node: Node) -> str:
        """Return the name of a result of branches by its path in what they give in the traced function."""
        names, made = self.writer.source_names, self.writer.graph.results.get(node, ())
        origin = self.writer.graph.origins.get(node.operands[0]) if node.opcode == "item" else None
        if origin is None or origin.opcode != "conditional" or not (paths := names.loop_paths.get(origin.name, ())):
            return ""
        words = names.functions.traced(origin, paths, self.writer.plan.user_names.values())
        places = (each["index"] for each in made if each.opcode == "get-tuple-element" and each.operands == (origin,))
        word = words.get(next(places, 0 if len(paths) == 1 else -1), "")
        return "" if is_empty_word(word) else word

    def _suggested(self, node: Node) -> str | None:
        """Return the name that the source suggests for a value, or that of a function that it leaves or is in."""
        return self.hinted.get(node) or self.left.get(node) or self.inside.get(node)

    def _in_branches(self, branches: Sequence[Branch], index: int) -> str:
        """Return the name of a result if all branches that name it agree; computed values go before passed ones."""
        results = [branch.results[index] for branch in branches]
        own = {self.writer.plan.user_names.get(node) or self._suggested(node) for node in results} - {None}
        words = own or {self.subjects.word(node) for node in results} - {""}
        return str(words.pop()) if len(words) == 1 else ""

    @cached_property
    def gradient_words(self) -> dict[Node, str]:
        """The word that the gradient of each argument is named after."""
        function = self.writer.function
        return self.writer.source_names.gradients.words(function) if function.origin is None else {}

    @cached_property
    def of_values(self) -> dict[Node, Node]:
        """The values inside the function that others are the gradients of."""
        return value_gradients(self.writer.graph, self.writer.plan.nodes)

    @cached_property
    def in_results(self) -> dict[Node, str]:
        """The names of results in the result tree, with ``new_`` if an argument has the same name."""
        given = set(self.writer.arguments.leaf_names.values())
        own = names_in_tree(self.writer.results) if self.is_of_arguments else {}
        found = {node: f"new_{name}" if name in given else name for node, name in own.items() if name}
        copied = {node.operands[0]: name for node, name in found.items() if node.opcode == "copy"}
        return copied | found

    @cached_property
    def gradients(self) -> dict[Node, Node]:
        """The arguments that values are the gradients of."""
        function, nodes = self.writer.function, self.writer.plan.nodes
        in_tree = gradients_in_tree(function, self.writer.results) if self.is_of_arguments else {}
        by_place = self.writer.source_names.gradients.of(function, nodes) if function.origin is None else {}
        return by_place | in_tree | gradients(function, nodes)

    @cached_property
    def in_gradients(self) -> Mapping[Node, str]:
        """The names that gradients get from their places in trees of gradients: ``d_dense_bias``."""
        return self.writer.trees.gradients()

    def of_argument(self, node: Node) -> str:
        """Return the name that a called function may give to this operand."""
        writer = self.writer
        if node.is_literal or node.is_python_int:
            return "x"
        if node in writer.arguments.leaf_names:
            return writer.arguments.leaf_names[node]
        if node.opcode == "getitem" and node not in writer.texts:
            return self.of_argument(node.operands[0])
        name = writer.texts.get(node, "")
        if is_argument(node):
            return writer.arguments.short_names.get(node, name)
        made = writer.graph.results.get(node, ())
        if made and all(map(is_gradient, made)):
            return "gradient"
        return name if name.isidentifier() else self.of(node)

    def of_updated(self, argument: Node) -> str:
        """Return the name that an argument's next value is named after: ``mu_b`` for the leaf ``state_1_0_mu_b``."""
        name = self.of_argument(argument)
        end = _END.sub("", name)
        is_alone = [_END.sub("", each) for each in self.writer.arguments.leaf_names.values()].count(end) == 1
        return end if argument in self.writer.arguments.leaf_names and is_alone else name

    # -- loops

    def of_carries(self, node: Node, loop: Loop) -> dict[Carry, str]:
        """Return the best names of a loop's carries."""
        found = self.of_source(node, loop)
        return {carry: found.get(carry) or self._of_beginning(carry, loop) for carry in loop.carries}

    def _of_gradients(self, node: Node, loop: Loop) -> dict[Carry, str]:
        """Return the names of the carries that accumulate gradients of arguments over the iterations."""
        left = [user for user in self.users.get(node, ()) if user.opcode == "item" and user.operands[0] is node]
        words = ((item.parameters["index"], self._as_gradient(item)) for item in left)
        return {loop.carries[index]: word for index, word in words if word}

    def _as_gradient(self, node: Node) -> str:
        """Return a name for the gradient of an argument, or by a place in a tree of gradients; else an empty string."""
        argument = self.gradients.get(node)
        word = "" if argument is None else self.gradient_words.get(argument) or self.of_argument(argument)
        return GRADIENT + word if word else self.in_gradients.get(node, "")

    def of_source(self, node: Node, loop: Loop) -> dict[Carry, str]:
        """Return the author's names of the carried values and the stacked outputs, or names after gradients."""
        own = self._of_author(node, loop) or self._of_cotangents(node, loop) | self._of_gradients(node, loop)
        return own | self._of_paths(node, loop)

    def _of_paths(self, node: Node, loop: Loop) -> dict[Carry, str]:
        """Return the names of carried values and stacked outputs by their paths in the traced step."""
        names, origin = self.writer.source_names, self.writer.graph.origins.get(node)
        paths = names.loop_paths.get(origin.name, ()) if origin is not None and origin.opcode == "while" else ()
        if origin is None or not paths:
            return {}
        words = names.functions.traced(origin, paths, self.writer.plan.user_names.values())
        telling = {k: word for k, word in words.items() if not (is_empty_word(word) and paths[k].isidentifier())}
        found = {each: self._of_leaf(each, telling[each.element]) for each in loop.carries if each.element in telling}
        stores = {store.carry for store in loop.stores}
        own = {word for carry, word in found.items() if carry not in stores}
        return {carry: plural(word) if carry in stores and word in own else word for carry, word in found.items()}

    def _of_leaf(self, carry: Carry, word: str) -> str:
        """Return ``cache_key`` for ``key`` if a carry begins as that leaf of an argument, else the word."""
        (start,) = carry.initial.operands if carry.initial.opcode == "copy" else (carry.initial,)
        leaf = self.writer.arguments.leaf_names.get(start) or self.writer.texts.get(start) or ""
        return leaf if start.opcode == "parameter" and leaf.endswith(f"_{word}") else word

    def _of_cotangents(self, node: Node, loop: Loop) -> dict[Carry, str]:
        """Return the names of the gradients of carries that the transpose of an author's scan carries."""
        origin = self.writer.graph.origins.get(node)
        if origin is None or origin.opcode != "while" or not is_gradient(origin):
            return {}
        words = self.writer.source_names.functions.cotangents(origin)
        return {carry: GRADIENT + words[carry.element] for carry in loop.carries if carry.element in words}

    def _of_author(self, node: Node, loop: Loop) -> dict[Carry, str]:
        origin = self.writer.graph.origins.get(node)
        if origin is None or origin.opcode != "while" or is_gradient(origin):
            return {}
        stores = {store.carry for store in loop.stores}
        stacked = [carry for carry in loop.carries if carry in stores]
        carries = [carry for carry in loop.carries if carry not in stores]
        functions = self.writer.source_names.functions
        if stacked and not functions.stacks(origin):
            together = functions.carried(origin, [carry.element for carry in loop.carries], 0)
            if together is not None:  # arrays that the step itself fills
                return dict(zip(loop.carries, together, strict=True))
        found = zip(
            carries, functions.carried(origin, [carry.element for carry in carries], len(stacked)) or [], strict=False
        )
        own = dict(found)
        names = functions.stacked(origin, len(stacked), len(loop.carries)) or []
        outputs = (plural(name) if name in own.values() else name for name in names)
        return own | dict(zip(stacked, outputs, strict=False))

    def of_states(self, node: Node) -> str:
        """Return the name of an array that stacks a carry's initial and following values: ``hs`` for ``h``."""
        if node.opcode != "setitem" or node.operands[0].opcode != "empty":
            return ""
        for user in (user for user in self.users.get(node, ()) if user.opcode == "loop"):
            loop: Loop = user.parameters["loop"]
            for store in loop.stores:
                names = self.of_carries(user, loop) if store.carry.initial is node else {}
                word = next((name for each, name in names.items() if each.following is store.value), "")
                if word:
                    return self.of_source(user, loop).get(store.carry) or plural(word)
        return ""

    @cached_property
    def rows(self) -> dict[Instruction, str]:
        """The author's names of the rows that the iterations of loops read."""
        origins = (self.writer.graph.origins.get(node) for node in self.writer.plan.nodes if node.opcode == "loop")
        loops = [origin for origin in origins if origin is not None and origin.opcode == "while"]
        return {read: name for loop in loops for read, name in self.writer.source_names.functions.rows(loop).items()}

    def of_row(self, node: Node) -> str:
        """Return the author's name of the row of an array that an iteration of a loop reads."""
        made = self.writer.graph.results.get(node, ()) if self.rows else ()
        return next((self.rows[each] for each in made if each in self.rows), "")

    def _of_beginning(self, carry: Carry, loop: Loop) -> str:
        """Return the name of a carry's initial value, an argument or an outer carry, else the name by its values."""
        (start,) = carry.initial.operands if carry.initial.opcode == "copy" else (carry.initial,)
        name = self.writer.texts.get(start) if start.opcode == "parameter" else None
        return name or self.of_carry(carry, loop)

    def of_carry(self, carry: Carry, loop: Loop) -> str:
        """Return the best name of a carry without an author's name."""
        if carry.initial in self.writer.arguments.leaf_names:
            return self.writer.arguments.leaf_names[carry.initial]
        following = carry.following
        if following is None and carry.initial.opcode in ("empty", "copy"):
            return self._of_rows(carry, loop) or "out"
        if following is not None and following.opcode == "item":
            return self._of_item(following) or self.subjects.word(carry.initial) or "state"
        if following is None or following.opcode == "parameter":
            return "state"
        if following.is_literal:
            return _FIRST if _is_first(carry) else "state"
        name = self._of_next(following, carry.parameter) or self.of(following)
        return _COUNT if _counts(carry) and name == base_name(following, self.writer.graph) else name

    def _of_next(self, following: Node, before: Node) -> str | None:
        """Return the author's name of ``new`` in a carry's ``np.where(mask, new, old)``, or None."""
        if following.opcode != "select" or before not in following.operands[1:]:
            return None
        (new,) = [each for each in following.operands[1:] if each is not before] or [before]
        name = self.writer.plan.user_names.get(new) or self.hinted.get(new)
        return None if name is None or is_empty_word(name) else name

    def _of_rows(self, carry: Carry, loop: Loop) -> str | None:
        """Return the name of an array that stacks a value of each iteration: ``losses`` for a loss; or None."""
        value = next((store.value for store in loop.stores if store.carry is carry), None)
        if value is None or value.is_literal or carry.initial.opcode != "empty":
            return None
        carried = next((each.parameter for each in loop.carries if each.following is value), value)
        own = "" if value.opcode == "parameter" else self.of(value)
        own = base_name(value, self.writer.graph) if own in self.subjects.joined else own
        words = (_NUMBER.sub("", word) for word in (self.writer.texts.get(carried, ""), own))
        return next((plural(word) for word in words if word.isidentifier() and not is_empty_word(word)), None)

    def _of_item(self, item: Node) -> str | None:
        """Return the name of one of several results inside its maker (nested loop, conditional or call), or None."""
        (maker,) = item.operands
        if maker.opcode == "loop":
            loop: Loop = maker.parameters["loop"]
            carry = loop.carries[item.parameters["index"]]
            return self.of_source(maker, loop).get(carry) or self.of_carry(carry, loop)
        return self.writer.plan.user_names.get(item) or self.of_result(item) or self._suggested(item)


def _row_name(node: Node) -> str | None:
    """Return the author's name of a row of an array that is unpacked, or None."""
    is_row = node.opcode == "item" and node.operands[0].opcode == "unpack"
    return str(node.operands[0].parameters["names"][node.parameters["index"]]) if is_row else None


def _is_traced_call(instruction: Instruction) -> bool:
    """Return whether an instruction is JAX's call of one of the author's Python functions, outside of gradients."""
    return instruction.opcode == "call" and instruction.name.startswith("jit_") and not is_gradient(instruction)


def _computed(call: Instruction) -> Instruction:
    """Return the instruction inside nested calls that computes a call's result; it may be a parameter."""
    while call.opcode == "call":
        call = call.called[0].root
    return call


def _role(value: Node, user: Node) -> str:
    """Return the role of a number for an array: ``divisor``, ``scale`` or an empty string."""
    if user.ndim == 0 or value not in user.operands or user.operands[0] is value:
        return "scale" if user.opcode == "multiply" and user.ndim else ""
    return {"divide": "divisor", "multiply": "scale"}.get(user.opcode, "")


def _counts(carry: Carry) -> bool:
    """Return whether a carry is an integer that begins as 0 and is incremented by 1."""
    following, start = carry.following, carry.initial
    if following is None or following.opcode != "add" or not start.is_literal or start.ndim:
        return False
    steps = [each for each in following.operands if each is not carry.parameter]
    if len(steps) != 1 or not steps[0].is_literal or not start.type.is_integral:
        return False
    return bool(literal_value(start) == 0 and literal_value(steps[0]) == 1)


def _is_first(carry: Carry) -> bool:
    """Return whether a carry is true in the first iteration only."""
    start, following = carry.initial, carry.following
    if following is None or not start.is_literal or start.ndim or start.element_type is not PRED:
        return False
    return bool(literal_value(start)) and not literal_value(following)


class _Value:
    """A value, with properties that several hints need."""

    def __init__(self, names: WantedNames, node: Node) -> None:
        self.names = names
        self.node = node

    @cached_property
    def inside(self) -> str:
        """Its name inside the function that returns it among many results."""
        return self.names.in_called(self.node)

    @cached_property
    def own(self) -> str | None:
        """The author's name, or None.

        The author's name may be that of a whole line; inside a function with many results, the function's own lines say
        more. An uninformative name gives way to a layer's.
        """
        own = self.names.writer.plan.user_names.get(self.node) or _row_name(self.node)
        own = self.inside or own if own is not None else None
        if own is None or is_empty_word(own):
            return self.names.layers.get(self.node) or self.names.subjects.of_choice(self.node) or own
        return own

    @cached_property
    def updated(self) -> str:
        """``new_weight`` for the next value of the argument ``weight``, unless the name in the results says more."""
        before = self.names.updates.get(self.node)
        updated = "" if before is None else f"new_{self.names.of_updated(before)}"
        in_results = self.names.in_results.get(self.node, "")
        return updated if updated.endswith(in_results.removeprefix("new_")) else in_results


@dataclass(frozen=True, slots=True)
class Hint:
    """A source of names; ``of`` returns the name, or nothing if this source does not apply to a value. The name is
    that of the value itself if it ``is_strong``, else of what the value is a part of.
    """

    source: str
    of: Callable[[WantedNames, _Value], str | None]
    is_strong: bool = True


def _gradient_of_argument(names: WantedNames, value: _Value) -> str:
    argument = names.gradients.get(value.node)
    return "" if argument is None else GRADIENT + (names.gradient_words.get(argument) or names.of_argument(argument))


def _gradient_of_value(names: WantedNames, value: _Value) -> str:
    of = names.of_values.get(value.node)
    if of is None:
        return ""
    word = names.of_argument(of) if is_argument(of) else names.subjects.word(of, may_be_joined=True)
    return word and GRADIENT + word


def _carried(names: WantedNames, value: _Value) -> str:
    """Return the name of a loop's carry for the carry's result of a compiled loop or a kernel."""
    node = value.node
    call = node.operands[0] if node.opcode == "item" else node
    if node in names.writer.plan.user_names or "carry" not in node.parameters or "stands_for" not in call.parameters:
        return ""
    loop = call.parameters["stands_for"]
    return names.of_carries(loop, loop.parameters["loop"])[node.parameters["carry"]]


def _author(names: WantedNames, value: _Value) -> str:
    """Return the author's name, or a better one if it is uninformative or shared by several masks."""
    own, node = value.own, value.node
    if own is None:
        return ""
    if is_empty_word(own):
        return names.as_read(node) or names.of_domain(node) or own
    if own in names.common_words and node.element_type is PRED:
        return names.of_domain(node) or names.subjects.of(node) or own
    return own


# The first hint that applies names the value, unless others keep that name and a later hint is as telling.
HINTS = (
    Hint("the argument that it is the gradient of", _gradient_of_argument),
    Hint("the value that it is the gradient of", _gradient_of_value),
    Hint("the carry of a loop", _carried),
    Hint("the carry that it has in all rounds of a loop", lambda names, value: names.of_states(value.node)),
    Hint("the author's name of what alone is made of it, in place", lambda names, value: names.as_changed(value.node)),
    Hint("its path in what branches give", lambda names, value: names.of_path(value.node)),
    Hint("the author's name", _author),
    Hint("the row that a step is given", lambda names, value: names.of_row(value.node)),
    Hint("the argument that it updates, or its place in the results", lambda names, value: value.updated),
    Hint("the result of a function or of branches", lambda names, value: names.of_result(value.node)),
    Hint("the author's keyword or call", lambda names, value: names.hinted.get(value.node), is_strong=False),
    Hint("what the author reads it by", lambda names, value: names.as_read(value.node)),
    Hint("the array that is made of it in place", lambda names, value: names.of_changed(value.node)),
    Hint("its role for the author's name", lambda names, value: names.of_role(value.node)),
    Hint("an idiom", lambda names, value: names.of_domain(value.node)),
    Hint("the function that it leaves", lambda names, value: names.left.get(value.node), is_strong=False),
    Hint("its operands", lambda names, value: names.subjects.of(value.node)),
    Hint("the function that it is in", lambda names, value: names.inside.get(value.node), is_strong=False),
    Hint("the expression that it is a step of", lambda names, value: names.of_expression(value.node), is_strong=False),
    Hint("the function that is called", lambda names, value: names.of_call(value.node)),
    Hint("its name inside the function called", lambda names, value: value.inside or names.of_called(value.node)),
    Hint("where a constant comes from", lambda names, value: names.of_constant(value.node)),
    Hint("the statement that it is a step of", lambda names, value: names.of_statement(value.node), is_strong=False),
    Hint("its operation", lambda names, value: base_name(value.node, names.writer.graph)),
)


def explained_names(writers: Iterable[Writing]) -> str:
    """Return, for each function and each name that its lines bind, the hint that won, and the others."""
    return "\n".join(line for writer in writers for line in _lines(writer))


def _lines(writer: Writing) -> Iterator[str]:
    yield f"{writer.renderer.function_names[writer.function]}:"
    named = {
        node: str(writer.texts[node])
        for node, hints in writer.wanted.all_hints.items()
        if hints and node in writer.plan.named and writer.texts.get(node, "").isidentifier()
    }
    width = max(map(len, named.values()), default=0)
    for node, name in named.items():
        (source, word), *others = writer.wanted.all_hints[node]
        beaten = dict.fromkeys(f"{other} ({why})" for why, other in others if other != word)
        wanted = "" if name == word else f" wants {word}"
        yield f"  {name:{width}}  {source}{wanted}{'; not ' if beaten else ''}{', '.join(beaten)}"

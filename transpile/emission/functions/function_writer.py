"""One function of the array dialect as lines of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

from ...array.in_place import is_view, may_change_in_place
from ...array.node import Node, Region, literal_value
from ...array.program import Carry, Function, Loop, Store, Tree, tree_nodes
from ...array.scalars import is_matrix
from ...array.traversal import users_of
from ...python.grammar import ATOM, SIGN
from ...python.names import names_of
from ...python.templates import Expression
from ..arrangement.folding import Plan, is_inline, plan, source_line
from ..arrangement.schedule import Body, Reads, Statement, schedule
from ..arrangement.takeovers import Takeovers
from ..expression import Renderer
from ..lines import EQUALS_SIGN, Line, WrittenFunction
from ..naming.allocation import NameAllocation
from ..naming.hints import WantedNames
from ..naming.identifiers import Names
from ..naming.known_types import known_types
from ..naming.source import SourceNames
from ..trees.argument_groups import Field
from ..trees.named_results import NamedResults, name_of_call
from .arguments import ArgumentWriter
from .changes import ChangeWriter, StoredRows
from .constants import ModuleConstants
from .context import LoopCompiler
from .control_flow import ControlFlowWriter
from .fitting import Fitting
from .leaf_maps import LeafMaps
from .leaf_sums import LeafSums
from .rerolled_loop_writer import ChainWriter
from .rerolled_loops import Chain, chains
from .tree_writer import TreeWriter

_RETURN = 7  # columns of ``return``, with its space

_STORES = ("parameter", "setitem")  # no work on arrays


class FunctionWriter:
    """The writer of one function."""

    def __init__(
        self,
        function: Function,
        renderer: Renderer,
        names: Names,
        annotate: str,
        constants: ModuleConstants,
        source_names: SourceNames,
        earlier_writers: Sequence[FunctionWriter] = (),
        *,
        with_chains: bool = True,
    ) -> None:
        self.function = function
        self.renderer = renderer
        self.names = names
        self.annotate = annotate
        self.constants = constants
        self.source_names = source_names
        self.earlier_writers = earlier_writers  # all writers before this one, callers among them
        self.with_chains = with_chains
        self.chains: dict[Node, Chain] = {}
        self.graph = function.graph
        self.results: Tree = function.results  # as returned: for main, dicts and lists if known
        self.plan: Plan = plan(function, source_names)
        self.positions = {node: position for position, node in enumerate(self.plan.nodes)}
        self.texts: dict[Node, Expression] = {}  # names of named nodes
        self.lines: list[Line] = []
        self.written: dict[Node, str] = {}  # expressions since the last line
        self.indent = 1
        self.loop_compiler: LoopCompiler | None = None  # writes loops as functions, if the target compiles them
        self.items: dict[Node, dict[int, Node]] = {}
        self.calls: dict[Function, list[Node]] = {}
        self._last_place: tuple[str, int] | None = None
        self._words_inside: dict[Function, Sequence[str]] = {}
        for node in self.plan.nodes:
            if node.opcode == "call":
                self.calls.setdefault(node.parameters["function"], []).append(node)
            if node.opcode == "item":
                self.items.setdefault(node.operands[0], {})[node.parameters["index"]] = node
        self._promote_next_values()
        self.reads = Reads(self.plan.named)
        self.changed_in_place: set[Node] = set()  # next values of carries that need no copy
        self.taken_over: set[Node] = set()  # updates and initial copies of loops that need no copy
        self.kept: set[Node] = set()  # next values of carries that are written in place
        self.written_rows: set[Node] = set()  # rows of stacked outputs that are computed in place
        self.control_flow = ControlFlowWriter(self)
        self.chain_writer = ChainWriter(self)
        known = known_types(self.plan.nodes, renderer.is_operator)
        self.allocation = NameAllocation(self.plan, self.reads, names, tree_nodes(function.results), known)
        self.arguments = ArgumentWriter(self)
        self.fitting = Fitting(self)
        self.trees = TreeWriter(self, self.chain_writer.lists, self.fitting.fitted)
        self.leaf_maps = LeafMaps(self)
        self.leaf_sums = LeafSums(self)
        self.wanted = WantedNames(self)
        self.changes = ChangeWriter(self)
        are_numbers = renderer.elements_are_numbers
        self.takeovers = Takeovers(function, self.plan.nodes, elements_are_numbers=are_numbers)
        self.stored_rows = StoredRows(self)

    def _promote_next_values(self) -> None:
        """Name the next values of carries, so that they can be written in place."""
        for node in self.plan.nodes:
            if node.opcode != "loop":
                continue
            loop: Loop = node.parameters["loop"]
            for carry in loop.carries:
                following = carry.following
                if following is not None and following.region is loop.region and not following.is_literal:
                    self.plan.named.add(following)

    def _name(self, node: Node) -> Expression:
        """Return the name of a new value."""
        return Expression(self.allocation.name(node, self.wanted.of(node)))

    # -- the function

    def write(self) -> None:
        """Write the body."""
        if self.with_chains:
            results = tree_nodes(self.function.results)
            self.chains = chains(self.graph, self.plan, self.arguments.leaves, results, self.renderer.parts_of_objects)
        self.allocation.become_statements(self.chains.keys())
        for chain in dict.fromkeys(self.chains.values()):
            self.chain_writer.expect(chain, is_written=False)
        self.leaf_maps.find()
        self.leaf_sums.find()
        self.region(self.graph.root)
        if self.returning is None:
            self.line(self.renderer.statement("return", self.trees.fitted(0, _RETURN)))

    @cached_property
    def returning(self) -> Node | None:
        """The last statement, if it is a conditional whose branches can return the function's result; else None."""
        result = self.results
        if not isinstance(result, Node) or result.opcode != "item" or self.plan.uses.get(result) != 1:
            return None
        (chosen,) = result.operands
        is_last = chosen.region is self.graph.root and not any(node.operation.has_effect for node in self.plan.nodes)
        return chosen if chosen.opcode == "conditional" and len(chosen.results) == 1 and is_last else None

    def written_function(self, parameters: list[str]) -> WrittenFunction:
        """Return the written function, with the values that each line computes."""
        names = dict(zip(self.function.parameters, parameters, strict=True))
        return WrittenFunction(self.function, self.renderer.function_names[self.function], names, self.lines)

    def line(self, text: str, node: Node | None = None) -> None:
        self.lines.append(Line(self.indent, text, self._comment(text, node), values=self.written))
        self.written = {}

    def name_namespaces(self, lines: Sequence[str], begin: int) -> None:
        """Insert before line ``begin`` those of the lines that bind a name which the body reads."""
        for text in reversed(lines):
            bound = names_of(text).bound
            if any(bound & names_of(line.text).read for line in self.lines):
                self.lines.insert(begin, Line(1, text))

    def put_inside(self, statement: str) -> None:
        """Indent the whole body under a statement, which becomes the first line."""
        for line in self.lines:
            line.indent += 1
            if not self.renderer.layout.fits(line.text, 4 * line.indent + len(line.comment) + 4):
                line.comment = ""
        self.lines.insert(0, Line(1, statement))

    def bound(self, *nodes: Node) -> None:
        """Record that the last line binds the names of these nodes."""
        self.lines[-1].after.update((node, self.texts[node]) for node in nodes)

    def _comment(self, text: str, node: Node | None) -> str:
        """Return the source place of a node, or an empty string if it is that of the line before or does not fit."""
        if node is None or self.annotate == "none" or not self.source_names.has_own_lines:
            return ""
        place = source_line(self.graph, node)
        if place is None or place == self._last_place:
            return ""
        comment = f"{place[0].replace(chr(92), '/').rsplit('/', 1)[-1]}:{place[1]}"
        taken = 4 * self.indent + len(comment) + 4
        if not comment.isprintable() or not self.renderer.layout.fits(text, taken):
            return ""
        self._last_place = place
        return comment

    def assign(self, targets: Sequence[str], value: Expression, node: Node | None = None) -> None:
        self.line(self.renderer.statement("assign", targets, value), node)

    # -- bodies

    def priority(self, node: Node) -> tuple[int, ...]:
        """Return the source order of a node; nodes from one rewrite share a number."""
        return node.number, self.positions[node]

    def region(
        self,
        region: Region,
        loop: Loop | None = None,
        written: frozenset[Node] = frozenset(),
        given: Sequence[Carry] = (),
    ) -> Body:
        """Write the statements of a region except those that are ``written``, and return their arrangement.

        ``given`` are the results of a branch as carries.
        """
        together = {call: chain.last for call, chain in self.chains.items()}
        together.update((call, made.last) for call, made in self.leaf_maps.by_call.items())
        owns = self.renderer.owns_carried_arrays
        takeovers = self.takeovers.of(region, owns_carried=owns) if not self.renderer.resumable else ()
        named = self.plan.named - written
        results = tree_nodes(self.function.results) if region is self.graph.root else self.takeovers.results(region)
        body = schedule(
            region, named, self.reads, self.priority, loop, together, given, takeovers, results, overwrites=owns
        )
        self.taken_over.update(body.taken)
        self.takeovers.admitted.update((region, taker) for taker in body.admitted)
        for following, carry in body.in_place.items():
            self.texts[following] = self.texts[carry.parameter]
        if loop is not None:
            self.kept.update(body.in_place)
            self.allocation.hold_carries(body, loop, self.texts)
            self.changed_in_place.update(self._changed_in_place(body, loop))
        count = len(self.fitting.parts)
        for statement in body.statements:
            self.statement(statement)
        self.fitting.forget(count, region)
        return body

    def _changed_in_place(self, body: Body, loop: Loop) -> set[Node]:
        """Return the next values that are written into the loop's own arrays, which no snapshot may see changing."""
        if any(node.parameters["loop"] is loop for node in self.renderer.resumable):
            return set()
        owns_all = self.renderer.owns_carried_arrays
        changed = body.in_place.items()
        own = [(following, carry) for following, carry in changed if owns_all or carry.initial.opcode == "copy"]
        named = self.plan.named
        return {following for following, carry in own if may_change_in_place(loop, carry, named - {following})}

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Store):
            self.changes.store(statement)
        elif statement in self.chains:
            if statement is self.chains[statement].last:
                self.chain_writer.write(self.chains[statement])
            return
        elif statement in self.leaf_maps.by_call:
            if statement is self.leaf_maps.by_call[statement].last:
                self.leaf_maps.write(self.leaf_maps.by_call[statement])
            return
        elif statement.opcode == "loop":
            self.control_flow.loop(statement)
        elif statement.opcode == "conditional":
            self.control_flow.conditional(statement)
        elif statement.operation.changes:
            self.changes.setitem(statement)
        elif is_inline(statement) and self.loop_compiler is not None:
            self.loop_compiler.kernel(self, statement)
        elif self._writes_elements(statement):
            pass
        elif statement.results:
            self._several(statement)
        elif statement.opcode == "array" and (self.constants.text(statement, self.names) or "").isidentifier():
            self.texts[statement] = self.value(statement)  # a module constant keeps its name
        elif statement.element_type is None and not statement.is_python_int:
            self.line(self.renderer.statement("evaluate", self.value(statement)), statement)
        else:
            name = self.texts.get(statement)
            value = self.value if name is None else self.array_value  # loop-carried values are arrays
            fitted = self.fitting.fitted(statement, partial(value, statement), self.taken(statement))
            if name is None:
                name = self._name(statement)
            self.line(self.definition(statement, name, fitted), statement)
            self.texts[statement] = name
            self.bound(statement)
        if not isinstance(statement, Store):
            self.allocation.has_read(self.reads.of(statement))

    def _writes_elements(self, node: Node) -> bool:
        """Write numbers into a compiled loop's array, or a kernel's results into rows; return whether that was done."""
        if self.loop_compiler is not None and self.loop_compiler.numbers(self, node):
            return True
        return node.opcode == "kernel" and self.stored_rows.write(node)

    def definition(self, node: Node, name: str, value: Expression) -> str:
        """Return the line that binds a value to its name."""
        return self.renderer.statement("assign", [name], self.renderer.held(node, value))

    def value(self, node: Node) -> Expression:
        """Return the expression of a node, even if the node has a name."""
        if node.opcode == "copy" and node.operands[0].opcode == "array" and self._is_new(node.operands[0]):
            return self.value(node.operands[0])
        known = self.constants.text(node, self.names) if node.opcode == "array" else None
        if known is not None:
            known = self.renderer.expression("constant", node, known)
        self.written[node] = text = known or self.folded(node)
        return text

    def _is_new(self, table: Node) -> bool:
        """Return whether a constant array is written within the expression that reads it, and so is a new array."""
        return table not in self.texts and self.constants.text(table, self.names) is None

    def array_value(self, node: Node) -> Expression:
        """Return the expression of a named node where an array is required."""
        return self.renderer.as_array(node, self.value(node))

    def taken(self, node: Node) -> int:
        """Return the columns that the assignment of a node takes in addition to its value."""
        name = self.texts.get(node) or self.names.free(self.wanted.of(node))
        return 4 * self.indent + len(name) + EQUALS_SIGN

    def _several(self, node: Node) -> None:
        """Write a call with several results: one target each, or one object if the results are fields."""
        named = self.renderer.named_results.get(node.parameters["function"]) if node.opcode == "call" else None
        if named is not None:
            self._named_results(node, named)
            return
        targets = self.targets(node)
        targets = targets if len(targets) > 1 else [f"({targets[0]},)"]
        taken = 4 * self.indent + len(", ".join(targets)) + EQUALS_SIGN
        self.assign(targets, self.fitting.fitted(node, partial(self.value, node), taken), node)
        parts = list(self.items.get(node, {}).values())
        self.bind_results(parts if node.opcode == "kernel" else [], parts)

    def _named_results(self, node: Node, named: NamedResults) -> None:
        """Write ``layer_0 = layer(x)``; the texts of the results are fields like ``layer_0.scores``."""
        function = node.parameters["function"]
        calls = self.calls[function]
        self.trees.name_fields(node, named)
        own = self.renderer.function_names[function]
        number = self.arguments.numbers(function, calls)[calls.index(node)]
        name = self.names.fresh(name_of_call(own, number) if len(calls) > 1 else f"{own}_results")
        taken = 4 * self.indent + len(name) + EQUALS_SIGN
        self.assign([name], self.fitting.fitted(node, partial(self.value, node), taken), node)
        parts = self.items.get(node, {})
        for index, part in parts.items():
            self.texts[part] = self.renderer.expression("field", name, named.fields[index])
        self.trees.note_groups(node, name)
        self.bound(*parts.values())

    def words_of_results(self, function: Function) -> Sequence[str]:
        """Return the names of the many results of a function in its own lines."""
        named: NamedResults = self.renderer.named_results[function]
        groups = (steps for group in self.renderer.argument_groups.get(function, ()) for steps in group.parts.values())
        objects = {step.function for steps in groups for step in steps if isinstance(step, Field)}
        if any(not self.renderer.named_results[each].fields for each in objects):  # of a call that is written later
            return ("",) * len(function.flat_results)
        if not named.words:
            named.words = ("",) * len(function.flat_results)  # for results that are passed to the next call
            named.words = tuple(self.words_inside(function))
        return named.words

    def words_inside(self, function: Function) -> Sequence[str]:
        """Return the names of the results of a function that its own lines would give them."""
        if function not in self._words_inside:
            self._words_inside[function] = ("",) * len(function.flat_results)  # for a function within itself
            around = (self.constants, self.source_names, [*self.earlier_writers, self])
            inside = FunctionWriter(function, self.renderer, Names(set(self.names.reserved)), "none", *around)
            inside.arguments.name(())
            for node in sorted(inside.plan.named - inside.texts.keys(), key=inside.priority):
                inside.texts[node] = Expression(inside.wanted.of(node))  # others are named after these
            self._words_inside[function] = tuple(map(inside.wanted.of, function.flat_results))
        return self._words_inside[function]

    def bind_results(self, compiled: Sequence[Node], parts: Sequence[Node]) -> None:
        """Record that the last line binds the results; convert results of ``compiled`` code that have another type."""
        named = [(part, self.texts[part]) for part in compiled if not part.is_python_int]
        numbers = [(part, name) for part, name in named if self.renderer.statement("is_retyped", part)]
        typed = self.renderer.statement("typed_numbers", numbers) if numbers else ""
        behind = {part for part, _ in numbers} if typed else set()
        self.bound(*(part for part in parts if part not in behind))
        if typed:
            self.line(typed)
            self.bound(*(part for part, _ in numbers))

    def fit_change(self, node: Node, line: Callable[[], str]) -> None:
        """Name parts of an update until its line fits."""
        self.fitting.fit_change(node, line)

    def targets(self, node: Node) -> list[str]:
        """Return names for the results of a node; ``_`` for results without readers."""
        parts = self.items.get(node, {})
        targets: list[str] = []
        for index in range(len(node.results)):
            part = parts.get(index)
            if part is None:
                targets.append("_")
                continue
            if part not in self.texts:
                self.texts[part] = Expression(self._name_of_part(part, node))
            targets.append(self.texts[part])
        return targets

    def _name_of_part(self, part: Node, node: Node) -> str:
        """Return the name of one of several results of a node; a loop's result may have that of its initial value."""
        if "carry" not in part.parameters:
            return self.allocation.name(part, self.wanted.of(part), node)
        begun = node.operands[part.parameters["begins"]]
        wanted = self.texts[begun] if begun.opcode == "empty" else self.wanted.of(part)
        return self.allocation.name(part, wanted, node)

    def value_text(self, node: Node) -> Expression:
        """Return the text of a stored value: a bare number takes the dtype of the array it is stored in."""
        is_bare = node.is_literal and not node.type.is_extension
        text = self.renderer.weak_literal(literal_value(node)) if is_bare else self.text(node)
        return self.renderer.stored_value(node, text)

    # -- expressions

    def text(self, node: Node) -> Expression:
        """Return the name of a node, or its folded expression."""
        name = self.texts.get(node)
        if name is not None:
            return name
        if node.is_literal:
            return self.renderer.typed_literal(literal_value(node), node.type)
        if node.opcode == "integer":
            value = node.parameters["value"]
            text = f"0x{value:X}" if node.parameters.get("is_mask") else str(value)
            return Expression(text, ATOM if value >= 0 else SIGN)
        return self.value(node)

    def index_text(self, node: Node) -> str:
        """Return the text of a node as an index."""
        return self.renderer.index_item(node, self.text(node))

    def array_text(self, node: Node) -> Expression:
        """Return the text of a node where an array is required."""
        return self.renderer.as_array(node, self.text(node))

    def folded(self, node: Node) -> Expression:
        """Return the expression of a node, given the texts of its operands."""
        if (total := self.chain_writer.total(node) or self.leaf_sums.total(node)) is not None:
            return total
        if is_matrix(node) and node.operands[0] not in self.texts and self.renderer.lists(node.operands[0]):
            return self.renderer.expression(
                "matrix_of", node.operands[0], node.shape[-1], *self.operand_texts(node.operands[0])
            )
        operands = self.operand_texts(node)
        if self._is_bounded_place(node):
            return self.renderer.expression(f"place_{node.opcode}", node, *operands)
        macro = self._number_macro(node)
        return self.renderer.expression(macro, node, *operands) if macro else self.renderer.render(node, operands)

    @cached_property
    def users(self) -> dict[Node, list[Node | None]]:
        """The users of each node; None stands for the caller."""
        return users_of(self.plan.nodes, tree_nodes(self.function.results))

    def _is_bounded_place(self, node: Node) -> bool:
        is_number = self.function not in self.renderer.of_any_shape
        return is_number and self.renderer.is_bounded_place(node, self.users.get(node, ()))

    def _number_macro(self, node: Node) -> str:
        """Return the macro that writes an operation on scalars as Python's, or "". Except for selects, only loops
        without array operations have it: beside those, the time of a ufunc does not matter.
        """
        macro = self.renderer.number_macro(node, self.function)
        return macro if node.opcode == "select" or node.region in self._loops_of_numbers else ""

    @cached_property
    def _loops_of_numbers(self) -> set[Region]:
        nodes = [node for node in self.plan.nodes if node.region.is_in_loop]
        with_arrays = {node.region for node in nodes if node.ndim and not (is_view(node) or node.opcode in _STORES)}
        return {node.region for node in nodes} - with_arrays

    def _meets_its_type(self, node: Node) -> bool:
        """Return whether all users of a scalar determine its dtype, so that a Python number will do."""
        users = self.users.get(node, [None])
        return not node.is_python_int and all(user and self._gives_type(user, node) for user in users)

    def _gives_type(self, user: Node, number: Node) -> bool:
        """Return whether a user combines a scalar with one whose dtype is certain, or stores it in an array."""
        if user.opcode == "setitem":
            return number not in (user.operands[0], *user.operands[2:])
        others = [operand for operand in user.operands if operand is not number]
        are_typed = all(each.element_type is number.element_type and not each.is_python_int for each in others)
        is_sure = are_typed and not any(each.is_literal or self._number_macro(each) for each in others)
        return user.operation.wraps and len(others) == 1 and is_sure

    def operand_texts(self, node: Node) -> list[Expression]:
        """Return the texts of a node's operands; numbers are bare where they take the dtype of the other operands."""
        row = node.operation
        fills = "fill" in row.operands or self.renderer.lists(node)  # the dtype is given
        is_mixed = row.is_elementwise and len(row.operands) > 1 and _has_strong_operand(node)
        is_place = self._is_bounded_place(node)
        is_of_numbers = not is_place and bool(self._number_macro(node))
        weak = fills or is_place or (self._meets_its_type(node) if is_of_numbers else is_mixed)
        is_clip = node.opcode == "clamp" and not is_place
        strong = node.operands[1] if is_clip else None  # np.clip takes the dtype of what it clips
        operands = []
        parts = self.renderer.parts_of_objects(node)
        for number, operand in enumerate(node.operands):
            typed = operand is strong or (operand.is_literal and operand.type.is_extension and not fills)
            if weak and not typed and operand.is_literal:
                operands.append(self.renderer.weak_literal(literal_value(operand)))
            else:
                part = self.chain_writer.parts.get(operand) if number in parts else None
                operands.append(part or self.text(operand))
        return operands


def _has_strong_operand(node: Node) -> bool:
    values = node.operands[1:] if node.opcode == "select" else node.operands
    return any(not operand.is_literal and not operand.is_python_int for operand in values)

"""The lines of a kernel: a readable function of one element, in the language of a target's kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...array.node import Node
from ...array.program import Branch, Carry, Loop, tree_nodes
from ...array.traversal import topological
from ...hlo.element_types import ElementType
from ...kernels.index_maps import Offset, Term
from ...kernels.kernel import Kernel
from ...kernels.operations import start_value
from ...python.templates import Expression
from ..expression import Renderer
from ..functions.constants import ModuleConstants
from ..functions.fitting import Fitting
from ..functions.function_writer import FunctionWriter
from ..lines import Line
from ..naming.identifiers import Names
from ..naming.source import SourceNames

_PLAIN = re.compile(r"[\w.:\- +/]*")  # comments without characters that end a string or continue a line


class KernelFitting(Fitting):
    """Fitting of lines that no formatter breaks afterwards."""

    def is_sum_of_lines(self, node: Node) -> bool:
        return False

    def breaks_rather(self, text: str, part: Node) -> bool:
        return False


class KernelWriter(FunctionWriter):
    """The writer of the function of one kernel."""

    renderer: KernelRenderer

    def __init__(
        self,
        kernel: Kernel,
        renderer: KernelRenderer,
        names: Names,
        annotate: str,
        constants: ModuleConstants,
        source_names: SourceNames,
    ) -> None:
        super().__init__(kernel.function, renderer, names, annotate, constants, source_names)
        self.kernel = kernel
        self.allocation.shares = False  # a name is declared once
        self.fitting = KernelFitting(self)
        self.control_flow: KernelLoops = KernelLoops(self)  # type: ignore[assignment]
        self.results = tree_nodes(kernel.function.results)
        self.written_names: list[str] = []  # the names of results in memory, apart from local variables
        self.plan.named.update(self.results)
        self.plan.named.update(node for node in self.plan.nodes if node.opcode == "conditional")
        self.plan.named.update(n for n in self.plan.nodes if n.opcode == "read" and self.plan.uses.get(n, 0) > 1)
        self.prepare()

    def prepare(self) -> None:
        """Initialize the state of a subclass."""

    def name_arguments(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Name the inputs and the outputs."""
        if not self.kernel.has_loop:  # carried values have names of their own
            self.texts.update((n, Expression(self.names.fresh(w))) for n, w in zip(self.results, outputs, strict=True))
        for node, wanted in zip(self.function.parameters, inputs, strict=True):
            self.texts[node] = Expression(self.names.fresh(wanted))

    def definition(self, node: Node, name: str, value: Expression) -> str:
        if node in self.texts:
            return self.renderer.statement("write_result", name, value)
        return self.renderer.statement("define_value", self.renderer.type_name(node.type), name, value)

    def folded(self, node: Node) -> Expression:
        return self.renderer.render(node, [self.text(operand) for operand in node.operands])

    def _name(self, node: Node) -> Expression:
        if node.opcode == "read":
            return Expression(self.names.fresh(f"{self.texts[node.operands[0]]}_here"))
        return Expression(self.names.fresh(self.wanted.of(node)))

    def named(self, node: Node) -> Expression:
        """Return a new name for a node."""
        return self._name(node)

    def fitted(self, node: Node, taken: int) -> Expression:
        """Return the text of a value in a line of which ``taken`` columns are used."""
        return self.fitting.fitted(node, lambda: self.text(node), taken, alone=False)

    def taken(self, node: Node) -> int:
        """Return the columns that the definition of a node takes in addition to its value."""
        return super().taken(node) + self.renderer.columns_of_definition(node)

    def write(self) -> None:
        self._name_places()
        self.region(self.graph.root)
        names = [self.texts[node] for node in self.results]
        self.written_names += [self.names.fresh(f"{name}_out") for name in names] if self.kernel.has_loop else names
        if self.kernel.has_loop:
            for node, name in zip(self.results, self.written_names, strict=True):
                self.line(self.renderer.statement("write_result", name, self.texts[node]))

    def _name_places(self) -> None:
        """Name the index terms that several reads have in common."""
        reads = Counter(node.parameters["at"].terms for node in self.plan.nodes if node.opcode == "read")
        for terms, count in reads.items():
            if count > 1 and len(terms) > 1 and terms[0].factor > 0:
                name = self.names.fresh("there")
                self.line(self.renderer.statement("define_place", name, Offset(0, terms)))
                self.renderer.places[terms] = name

    def texts_of_lines(self) -> list[str]:
        """Return the lines, with source places behind them."""
        needs_index = any(not {"at", "places", "tests"}.isdisjoint(node.parameters) for node in self.plan.nodes)
        needs_index &= not self.kernel.by_lines
        first = [self.renderer.statement("number_of_element")] if needs_index else []
        return first + ["    " * (line.indent - 1) + self._commented(line) for line in self.lines]

    def _commented(self, line: Line) -> str:
        comment = line.comment if _PLAIN.fullmatch(line.comment) else ""
        return self.renderer.statement("commented", line.text, comment)


def carried_names(writer: FunctionWriter, node: Node) -> Sequence[str]:
    """Return the author's names of the values that a node's loop carries; empty strings if unknown."""
    kernel: Kernel | None = node.parameters.get("kernel")
    loop = node if kernel is None else tree_nodes(kernel.function.results)[0].operands[0]
    origin, elements = writer.graph.origins.get(node), [carry.element for carry in loop.parameters["loop"].carries]
    is_known = origin is not None and origin.opcode == "while"
    found = writer.source_names.functions.carried(origin, elements, 0) if is_known and origin is not None else None
    return found or [""] * len(elements)


class KernelLoops:
    """The writer of loops and branches in kernels: carried values are local variables."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer

    def loop(self, node: Node) -> None:
        """Write the loop, from the initial values to the end of the body."""
        writer, loop = self.writer, node.parameters["loop"]
        parts = writer.items.get(node, {})
        for k, (carry, wanted) in enumerate(zip(loop.carries, carried_names(writer, node), strict=True)):
            item = parts.get(k)
            name = Expression(writer.names.fresh(wanted or writer.wanted.of(carry.following)))
            self._define(carry.parameter, name, writer.text(carry.initial), node)
            writer.texts[carry.parameter] = name
            if item is not None:
                writer.texts[item] = name
        first = self._needed_to_go_on(loop)
        leaves = loop.condition is not None and (loop.counter is not None or bool(first))
        if loop.counter is not None:
            counter = writer.texts[loop.counter] = Expression(writer.names.fresh("step"))
            head = writer.renderer.statement("for_range", counter, loop.start, loop.stop, loop.step)
        else:
            assert loop.condition is not None
            head = writer.renderer.statement("while", "" if leaves else writer.text(loop.condition))
        writer.line(head, None if leaves else loop.condition)
        writer.indent += 1
        if leaves:
            self._leave(loop, first)
        self._move(writer.region(loop.region, loop, frozenset(first)).moves)
        writer.indent -= 1
        writer.line(writer.renderer.statement("end_of_loop"))

    def _needed_to_go_on(self, loop: Loop) -> list[Node]:
        """Return the named nodes that the condition of a loop needs, operands first."""
        inside = topological([loop.condition]) if loop.condition is not None else []
        own = [node for node in inside if node.region is loop.region and node.operands]
        return [node for node in own if node in self.writer.plan.named]

    def _leave(self, loop: Loop, first: Sequence[Node]) -> None:
        """Write the exit from the loop if its condition, which needs the nodes in ``first``, does not hold."""
        writer, statement = self.writer, self.writer.renderer.statement
        assert loop.condition is not None
        for node in first:
            writer.statement(node)
        writer.line(statement("begin_unless", writer.text(loop.condition)), loop.condition)
        writer.indent += 1
        writer.line(statement("leave_loop"))
        writer.indent -= 1
        writer.line(statement("end_of_loop"))

    def conditional(self, node: Node) -> None:
        """Write a choice of one of several values: as an expression if that is short, else by ``if``."""
        writer, statement = self.writer, self.writer.renderer.statement
        branches: tuple[Branch, ...] = node.parameters["branches"]
        tests = [statement("is_within", test) for test in node.parameters["tests"]]
        value = self._choice(node, tests)
        if value is None and node not in writer.texts:
            name = writer.texts[node] = writer.named(node)
            writer.line(statement("declare_value", writer.renderer.type_name(node.type), name), node)
        if value is not None:
            name = writer.texts.get(node) or writer.named(node)
            writer.line(writer.definition(node, name, value), node)
            writer.texts[node] = name
            return
        for number, (test, branch) in enumerate(zip([*tests, ""], branches, strict=True)):
            writer.line(statement("begin_branch", test, number > 0))
            self._branch(node, branch)
        writer.line(statement("end_of_loop"))

    def _choice(self, node: Node, tests: Sequence[str]) -> Expression | None:
        """Return the choice as one expression, or None if it does not fit into a line or if branches name nodes."""
        writer, branches = self.writer, node.parameters["branches"]
        bodies = {branch.region for branch in branches}
        if any(other.region in bodies for other in writer.plan.named):
            return None
        value: Expression = writer.text(branches[-1].results[0])
        for test, branch in zip(reversed(tests), reversed(branches[:-1]), strict=True):
            value = writer.renderer.expression("select", node, test, writer.text(branch.results[0]), value)
        return value if writer.renderer.layout.fits(value, writer.taken(node)) else None

    def _branch(self, node: Node, branch: Branch) -> None:
        """Write the lines of a branch; names that it binds are local to it."""
        writer, (result,) = self.writer, branch.results
        name, outside = writer.texts[node], set(writer.texts)
        writer.indent += 1
        writer.region(branch.region)
        value = writer.fitted(result, 4 * writer.indent + len(name) + len(" = ;"))
        writer.line(writer.renderer.statement("write_result", name, value), result)
        for inner in set(writer.texts) - outside:
            del writer.texts[inner]
        writer.indent -= 1

    def _define(self, like: Node, name: str, value: Expression, node: Node | None = None) -> None:
        renderer = self.writer.renderer
        self.writer.line(renderer.statement("define_value", renderer.type_name(like.type), name, value), node)

    def _move(self, moves: Sequence[Carry]) -> None:
        """Assign to each carried value its next one, after all next values have been computed."""
        writer = self.writer
        pairs = [(c.following, writer.texts[c.parameter]) for c in moves if c.following is not None]
        values = [writer.text(following) for following, _ in pairs]
        if len(pairs) > 1:
            for k, (following, name) in enumerate(pairs):
                value, values[k] = values[k], Expression(writer.names.fresh(f"next_{name}"))
                self._define(following, values[k], value)
        for (_, name), value in zip(pairs, values, strict=True):
            writer.line(writer.renderer.statement("write_result", name, value))


class KernelRenderer(Renderer):
    """The macros of the language of a target's kernels: those of one folder, none of the shared ones.

    ``places`` are the variables of the current kernel that hold sums of index terms.
    """

    shared = ()

    def __init__(self, folder: Path, beside: Renderer) -> None:
        self.places: dict[tuple[Term, ...], str] = {}
        super().__init__(folder, beside.namespace, beside=beside)

    def own_globals(self) -> dict[str, Any]:
        return {"spelled": self.spelled, "place_of": self.places.get}

    def type_name(self, element_type: ElementType) -> str:
        """Return the language's name of an element type."""
        raise NotImplementedError

    def spelled(self, term: Term) -> tuple[str, int, int | None]:
        """Return the variable, the divisor and the modulus of an index term; ``at`` is the number of the element."""
        return "at", term.divisor, term.modulus

    def columns_of_definition(self, node: Node) -> int:
        """Return the columns that a definition takes in addition to the name, the value and ``=``."""
        return 0

    def as_array(self, node: Node, text: Expression) -> Expression:
        """Return the text unchanged: kernels work on elements."""
        return text

    def start_of(self, node: Node) -> Expression:
        """Return the identity element of a reduction, its value before the first element."""
        return self.typed_literal(start_value(node.opcode, node.type), node.type)

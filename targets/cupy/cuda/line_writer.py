"""The body of a kernel whose threads compute rows or columns together: one element each, or loops between
reductions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ....transpile.array.node import Node
from ....transpile.emission.functions.constants import ModuleConstants
from ....transpile.emission.kernels.kernel_writer import KernelWriter
from ....transpile.emission.lines import Line
from ....transpile.emission.naming.identifiers import Names
from ....transpile.emission.naming.source import SourceNames
from ....transpile.kernels.index_maps import Offset
from ....transpile.kernels.kernel import Kernel
from ....transpile.kernels.phases import Phase, Phases
from ....transpile.python.grammar import PRIMARY
from ....transpile.python.templates import Expression
from .launches import is_narrow_float
from .renderer import CudaRenderer

_WORDS = re.compile(r"\w+")
_ALONG = ("column", 1, None)


class LineWriter(KernelWriter):
    """Writes the body of such a kernel."""

    renderer: CudaRenderer

    def __init__(
        self,
        kernel: Kernel,
        renderer: CudaRenderer,
        names: Names,
        annotate: str,
        constants: ModuleConstants,
        source_names: SourceNames,
        found: Phases,
    ) -> None:
        super().__init__(kernel, renderer, names, annotate, constants, source_names)
        assert renderer.launch is not None
        self.launch = renderer.launch
        self.loops = found.loops
        self.kept = found.kept if self.launch.in_loops else set()
        self.plan.named.update(kernel.reductions)  # all threads must execute them: never inside `?:`
        self.plan.named.update(self.kept)
        if self.launch.in_loops:  # values of a whole line are computed before its loop, not in it
            once = {node for phase in self.loops for node in phase.before if self.plan.work.get(node, 0)}
            self.plan.named.update(x for phase in self.loops for n in phase.inside for x in n.operands if x in once)
        self.earlier: dict[Node, Expression] = {}  # names of values of loops that have ended
        self.arrays: dict[Node, str] = {}  # the output array of each result
        # For each array that is read in groups: the name of the group, and whether each row has its own elements.
        self.neighbours: dict[str, tuple[str, bool]] = {}
        self.made: dict[Node, str] = {}  # the names of groups that are written at once

    def _name(self, node: Node) -> Expression:
        return self.earlier.get(node) or super()._name(node)

    def definition(self, node: Node, name: str, value: Expression) -> str:
        if node in self.kept:
            return self.renderer.statement("write_result", name, value)
        return self.renderer.statement("define_value", self.renderer.type_name(node.type), name, value)

    def write(self) -> None:
        self.written_names += [self.names.fresh(f"{self.texts[node]}_out") for node in self.results]
        self.arrays.update(zip(self.results, self.written_names, strict=True))
        if self.launch.in_groups:
            self._name_groups()
        if self.launch.in_loops:
            for phase in self.loops:
                self._statements(phase.before)
                if phase.inside or phase.reductions or phase.results:
                    self._loop(phase)
        else:
            self.region(self.graph.root)
            self._write_elements(node for phase in self.loops for node in phase.results)
        for node, name in zip(self.results, self.written_names, strict=True):
            if node in self.kernel.of_lines:
                self.line(self.renderer.statement("write_of_line", name, self.texts[node]))
        self.lines[:0] = [Line(self.indent, text) for text in self._first_lines()]

    def _name_groups(self) -> None:
        """Name the groups of adjacent narrow floats that a thread reads and those that it writes."""
        for node in self.plan.nodes:
            if node.opcode == "read" and is_narrow_float(node.type) and self._is_along(node.parameters["at"]):
                array = str(self.texts[node.operands[0]])
                if array not in self.neighbours:
                    self.neighbours[array] = self.names.fresh(f"{array}_here"), node.parameters["at"].is_own
                self.texts[node] = Expression(self.renderer.statement("kept", self.neighbours[array][0]), PRIMARY)
                self.plan.named.discard(node)
                self.kept.discard(node)
        for node in self.results:
            if is_narrow_float(node.type) and node not in self.kernel.of_lines:
                self.made[node] = self.names.fresh(f"{self.texts[node]}_here")

    def _is_along(self, at: Offset) -> bool:
        """Return whether a read goes along a row of the loop, or along the single row of an array that all rows
        share.
        """
        return at.is_own or (not at.start and [self.renderer.spelled(term) for term in at.terms] == [_ALONG])

    def _first_lines(self) -> list[str]:
        """Return the definitions of the thread's position that later lines use."""
        statement, launch = self.renderer.statement, self.launch
        groups = [statement("define_group", name, array, is_own) for array, (name, is_own) in self.neighbours.items()]
        asked = self._words(0).union(*map(_WORDS.findall, groups))
        if launch.in_loops:
            line = [statement("define_line")] if ("row" if launch.lines.are_rows else "column") in asked else []
            long = self._long_arrays() if launch.neighbours > 1 else []
            return [*([statement("begin_aligned", long)] if long else []), *line, *groups]
        inside = [statement("define_inside")] if "inside" in asked else []
        return [statement("define_line"), *inside, *([statement("define_at")] if "at" in asked else [])]

    def _long_arrays(self) -> list[str]:
        """Return the names of arrays whose last axis is the line, so that its elements may be adjacent."""
        length = self.launch.lines.length
        given = [self.texts[node] for node in self.kernel.function.parameters if node.shape[-1:] == (length,)]
        pairs = zip(self.results, self.written_names, strict=True)
        made = [name for node, name in pairs if node not in self.kernel.of_lines and node not in self.made]
        return [str(name) for name in (*given, *made) if str(name) not in self.neighbours]

    def _words(self, begin: int) -> set[str]:
        """Return the words in the lines from ``begin`` on."""
        return set(_WORDS.findall("\n".join(line.text for line in self.lines[begin:])))

    def _statements(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node in self.plan.named and node.opcode != "parameter":
                self.statement(node)

    def _write_elements(self, nodes: Iterable[Node]) -> None:
        statement = self.renderer.statement
        for node in nodes:
            if node in self.made:
                self.line(statement("write_result", statement("kept", self.made[node]), self.text(node)))
            else:
                self.line(statement("write_element", self.arrays[node], self.text(node)))

    def _loop(self, phase: Phase) -> None:
        """Write the loop over a thread's share of the line, then the reductions across the threads of the line."""
        renderer = self.renderer
        for node in phase.reductions:
            self.texts[node] = self.texts.get(node) or super()._name(node)
            start = renderer.start_of(node)
            self.line(renderer.statement("define_value", renderer.type_name(node.type), self.texts[node], start))
        for node in phase.inside:
            if node in self.kept:
                name = super()._name(node)
                self.line(renderer.statement("define_kept", renderer.type_name(node.type), name))
                self.texts[node] = Expression(renderer.statement("kept", name), PRIMARY)
        made = [node for node in phase.results if node in self.made]
        for node in made:
            self.line(renderer.statement("declare_group", renderer.type_name(node.type), self.made[node]))
        outside = set(self.texts) | self.kept
        self._begin_loop()
        begin = len(self.lines)
        self._statements(phase.inside)
        for node in phase.reductions:
            self._accumulate(node)
        self._write_elements(phase.results)
        self._number_elements(begin)
        self.indent -= 1
        self.line(renderer.statement("end_of_loop"))
        for node in made:
            self.line(renderer.statement("write_group", self.arrays[node], self.made[node]))
        for node in set(self.texts) - outside:
            self.earlier[node] = self.texts.pop(node)
        for node in phase.reductions:
            if self.launch.width > 1:
                together = renderer.render(node, [self.texts[node]])
                self.line(renderer.statement("write_result", self.texts[node], together), node)

    def _begin_loop(self) -> None:
        if self.launch.each:
            self.line(self.renderer.statement("unroll"))
        self.line(self.renderer.statement("for_share"))
        self.indent += 1

    def _number_elements(self, begin: int) -> None:
        """Insert at ``begin`` the definitions of element positions that the lines from there on use."""
        statement, launch = self.renderer.statement, self.launch
        asked = self._words(begin)
        first = [statement("define_at")] if "at" in asked else []
        if launch.each and launch.each * launch.width != launch.lines.length:
            first = [statement("skip_behind"), *first]
        if launch.each and launch.width > 1 and (first or ("column" if launch.lines.are_rows else "row") in asked):
            first = [statement("define_along"), *first]
        self.lines[begin:begin] = [Line(self.indent, text) for text in first]

    def _accumulate(self, node: Node) -> None:
        (x,) = node.operands

        def value() -> Expression:
            return self.renderer.accumulated(node, self.texts[node], self.text(x))

        taken = 4 * self.indent + len(self.texts[node]) + len(" = ;")
        text = self.fitting.fitted(node, value, taken, alone=False)
        self.line(self.renderer.statement("write_result", self.texts[node], text), node)

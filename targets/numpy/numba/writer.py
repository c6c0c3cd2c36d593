"""The lines of a kernel over elements: a loop for each axis, in the order of memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....transpile.array.node import Node
from ....transpile.emission.constants import ModuleConstants
from ....transpile.emission.expression import Expression
from ....transpile.emission.kernel_writer import KernelWriter
from ....transpile.emission.names import Names
from ....transpile.emission.sources import SourceNames
from ....transpile.hlo.element_types import ElementType
from ....transpile.kernels.index_maps import identity
from ....transpile.kernels.kernel import Kernel
from .renderer import NumbaRenderer

COUNTERS = "ijkmnp"  # no l, which looks like 1


class NestWriter(KernelWriter):
    """Writes the function of a kernel, which makes the arrays of its results."""

    renderer: NumbaRenderer

    def __init__(
        self,
        kernel: Kernel,
        renderer: NumbaRenderer,
        names: Names,
        annotate: str,
        constants: ModuleConstants,
        source_names: SourceNames,
    ) -> None:
        super().__init__(kernel, renderer, names, annotate, constants, source_names)
        self.plan.named -= {node for node in self.plan.nodes if node.opcode == "read"}
        self.axes = [axis for axis, size in enumerate(kernel.loop) if size > 1]
        self.counters: dict[int, str] = {}
        self.parameters: list[str] = []
        self.arrays: list[str] = []  # the names of the results; of one of rank 0 that of its number

    # -- names

    def name_arguments(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.arrays = [self.names.fresh(wanted) for wanted in outputs]
        letters = [*COUNTERS, *(f"index_{axis}" for axis in self.axes)]
        self.counters = {axis: self.names.fresh(letter) for axis, letter in zip(self.axes, letters, strict=False)}
        self.renderer.counters.update(self.counters)
        kernel = self.kernel
        for node, wanted in zip(self.function.parameters, inputs, strict=True):
            name = self.names.fresh(wanted)
            self.parameters.append(name)
            is_element = node not in kernel.whole and node.shape == kernel.loop
            self.texts[node] = self.renderer.element(name, identity(node.shape) if is_element else ())
        if not kernel.has_loop:
            self.name_results()

    def name_results(self) -> None:
        """Have the elements of results written where they belong."""
        for k, node in enumerate(self.results):
            self.texts.setdefault(node, self.stored(k))

    def stored(self, number: int) -> Expression:
        """The element of a result that a step writes."""
        at = self.kernel.at[number] if self.kernel.shapes[number] else ()
        return self.renderer.element(self.arrays[number], at)

    # -- lines

    def line(self, text: str, node: Node | None = None) -> None:
        if text:
            super().line(text, node)

    def texts_of_lines(self) -> list[str]:
        return ["    " * (line.indent - 1) + self._commented(line) for line in self.lines]

    def new_array(self, name: str, shape: Sequence[int], element_type: ElementType) -> None:
        """Make an array, whatever is in it."""
        self.line(self.renderer.statement("new_array", name, tuple(shape), self.renderer.dtype(element_type)))

    def new_results(self) -> None:
        """Make the arrays of the results."""
        for name, shape, node in zip(self.arrays, self.kernel.shapes, self.results, strict=True):
            if shape:
                self.new_array(name, shape, node.type)

    def open(self, axes: Iterable[int]) -> int:
        """Begin loops over axes; how many."""
        count = 0
        for count, axis in enumerate(axes, 1):  # noqa: B007
            self.line(self.renderer.statement("for_axis", self.counters[axis], self.kernel.loop[axis]))
            self.indent += 1
        return count

    def write(self) -> None:
        self.new_results()
        count = self.open(self.axes)
        self.region(self.graph.root)
        for k, node in enumerate(self.results):
            place, text = self.stored(k), self.texts[node]
            if text != place:
                self.line(self.renderer.statement("write_result", place, text), node)
        self.indent -= count
        self.line(self.renderer.statement("return_results", self.arrays))

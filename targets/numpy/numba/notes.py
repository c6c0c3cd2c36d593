"""The readable lines that a kernel stands for, as a comment in it."""

from __future__ import annotations

from collections.abc import Sequence

from ....transpile.emission.expression import Renderer
from ....transpile.emission.functions.function_writer import FunctionWriter
from ....transpile.emission.kernels.kernel_writer import KernelFitting
from ....transpile.emission.naming.identifiers import Names
from ....transpile.kernels.kernel import Kernel
from ....transpile.python.grammar import ATOM, PRIMARY
from ....transpile.python.templates import Expression


def readable_lines(
    kernel: Kernel, caller: FunctionWriter, renderer: Renderer, inputs: Sequence[str], outputs: Sequence[str]
) -> list[str]:
    """Return the lines that the readable style, by its macros, writes for the operations of a kernel, with these names
    of what goes in and comes out; nothing where they are not known.
    """
    function = kernel.stands_for
    if function is None:
        return []
    used = dict(renderer.used_prelude)
    writer = FunctionWriter(
        function, renderer, Names(set()), "none", caller.constants, caller.source_names, with_chains=False
    )
    writer.fitting = KernelFitting(writer)
    for node, name in zip(function.parameters, inputs, strict=True):
        is_name = name.isidentifier()
        writer.texts[node] = Expression(writer.names.kept(name) if is_name else name, ATOM if is_name else PRIMARY)
    for node, name in zip(function.results, outputs, strict=True):
        writer.plan.named.add(node)
        if name.isidentifier() and name not in inputs:
            writer.plan.user_names[node] = name
        else:
            writer.texts[node] = Expression(name, PRIMARY)  # a row, or what takes the place of what it is made of
    writer.allocation.expect(function.results)
    writer.region(function.graph.root)
    renderer.used_prelude.clear()  # nothing calls what only the comment names
    renderer.used_prelude.update(used)
    return ["    " * (line.indent - 1) + line.text for line in writer.lines]

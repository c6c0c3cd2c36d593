"""The loops of a program that a style leaves to Python, and the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from ..array.node import Node
from ..array.program import Function
from ..dataclass import dataclass
from ..hlo.ir import Instruction
from ..passes.fusion.compiled_loops import uncompiled_loops
from . import Compilation
from .stages import kernels_in
from .support import origin


@dataclass(frozen=True, slots=True)
class PythonLoop:
    """A loop that is not compiled: its instruction, the reason, and the instruction that is the reason, if any."""

    loop: Instruction | None
    reason: str
    instruction: Instruction | None


def python_loops(compilation: Compilation, style: str) -> Iterator[PythonLoop]:
    """Yield the loops of a compiled program that are not functions of their own, one entry for each reason."""
    kernels = kernels_in(style, compilation.target)
    if kernels is None:
        return
    for function in compilation.program.functions:
        for each in uncompiled_loops(function, kernels):
            loop = origin(function, each.loop)
            if each.reason or not each.nodes:
                yield PythonLoop(loop, each.reason or "nothing in it is worth it", None)
            yield from (PythonLoop(loop, *_in_the_way(function, node)) for node in each.nodes)


def _in_the_way(function: Function, node: Node) -> tuple[str, Instruction | None]:
    called = node.parameters.get("function", node.opcode)
    name = called if isinstance(called, str) else called.computation.name
    kind = f" of {node.type.name}" if node.element_type is not None else ""
    return f"{name}{kind}", origin(function, node)

"""Programs without the tokens that JAX hands through them, which keep ordered callbacks in order.

A token is no value: ``main`` neither takes nor returns one. Where the entry takes tokens, it makes each itself, and
those among its results are left out. What a token orders stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

from ..hlo.entries import numbered, with_entry, with_replaced
from ..hlo.ir import Computation, HloModule, Instruction
from ..hlo.shapes import TokenShape, TupleShape


def without_tokens(module: HloModule) -> HloModule:
    """The program without tokens among its arguments and results; the module itself where it takes none."""
    if not any(isinstance(parameter.shape, TokenShape) for parameter in module.entry.parameters):
        return module
    return with_entry(module, _without_tokens(module.entry))


def _without_tokens(old: Computation) -> Computation:
    kept = [parameter for parameter in old.parameters if not isinstance(parameter.shape, TokenShape)]
    made = {parameter: [_parameter(parameter, kept)] for parameter in old.parameters}
    entry = with_replaced(old, made)
    instructions, root = list(entry.instructions), entry.root
    if isinstance(root.shape, TupleShape):
        results = _results(root, instructions)
        root = results[0] if len(results) == 1 else _tuple(root, results)
        instructions += [] if root in instructions else [root]
    return Computation(entry.name, tuple(instructions), root, entry.execution_thread, entry.span)


def _parameter(old: Instruction, kept: list[Instruction]) -> Instruction:
    """A parameter with its new number, or a token in place of it."""
    return numbered(old, kept.index(old)) if old in kept else replace(old, opcode="after-all", attributes={})


def _results(root: Instruction, instructions: list[Instruction]) -> list[Instruction]:
    """The elements of the entry's result that are no tokens; those that are taken out of it become instructions."""
    assert isinstance(root.shape, TupleShape)
    numbers = [k for k, shape in enumerate(root.shape.elements) if not isinstance(shape, TokenShape)]
    if root.opcode == "tuple":
        return [root.operands[k] for k in numbers]
    taken = [_element(root, k) for k in numbers]
    instructions += taken
    return taken


def _element(whole: Instruction, number: int) -> Instruction:
    name = f"{whole.name}.element.{number}"
    return Instruction(name, "get-tuple-element", whole.element_shapes[number], (whole,), {"index": number})


def _tuple(root: Instruction, results: list[Instruction]) -> Instruction:
    shape = TupleShape(tuple(each.shape for each in results))
    return Instruction(f"{root.name}.values", "tuple", shape, tuple(results), {}, root.metadata, root.span)

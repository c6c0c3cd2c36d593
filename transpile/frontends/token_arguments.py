"""Removal of the tokens among arguments and results, which JAX passes to keep ordered callbacks in order.

A token has no data: ``main`` neither takes nor returns one. An entry that takes tokens creates them itself, and tokens
among its results are dropped. The order that tokens impose stays the same.
"""

from __future__ import annotations

from dataclasses import replace

from ..hlo.ir import Computation, HloModule, Instruction, numbered, with_entry, with_replaced
from ..hlo.shapes import TokenShape, TupleShape


def without_tokens(module: HloModule) -> HloModule:
    """Return the program without tokens among its arguments and results; the module itself if it takes none."""
    if not any(isinstance(parameter.shape, TokenShape) for parameter in module.entry.parameters):
        return module
    parameters = module.entry.parameters
    kept = [parameter for parameter in parameters if not isinstance(parameter.shape, TokenShape)]
    found = with_replaced(module, {parameter: [_parameter(parameter, kept)] for parameter in parameters})
    return with_entry(found, _without_token_results(found.entry))


def _without_token_results(entry: Computation) -> Computation:
    instructions, root = list(entry.instructions), entry.root
    if isinstance(root.shape, TupleShape):
        results = _results(root, instructions)
        root = results[0] if len(results) == 1 else _tuple(root, results)
        instructions += [] if root in instructions else [root]
    return Computation(entry.name, tuple(instructions), root, entry.execution_thread, entry.span)


def _parameter(old: Instruction, kept: list[Instruction]) -> Instruction:
    """Return a parameter with its new number, or a new token in place of a token parameter."""
    return numbered(old, kept.index(old)) if old in kept else replace(old, opcode="after-all", attributes={})


def _results(root: Instruction, instructions: list[Instruction]) -> list[Instruction]:
    """Return the elements of the entry's result that are not tokens. If the result is not a ``tuple``, adds
    instructions that extract them.
    """
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

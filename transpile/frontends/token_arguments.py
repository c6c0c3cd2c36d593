"""Programs without the tokens that JAX hands through them, which keep ordered callbacks in order.

A token is no value: ``main`` neither takes nor returns one. Where the entry takes tokens, it makes each itself, and
those among its results are left out. What a token orders stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

from ..hlo.ir import Computation, HloModule, Instruction, with_instructions
from ..hlo.shapes import TokenShape, TupleShape

_OF_OTHER_SHAPES = ("entry_computation_layout", "input_output_alias", "buffer_donor")


def without_tokens(module: HloModule) -> HloModule:
    """The program without tokens among its arguments and results; the module itself where it takes none."""
    if not any(isinstance(parameter.shape, TokenShape) for parameter in module.entry.parameters):
        return module
    entry = _without_tokens(module.entry)
    computations = tuple(entry if each is module.entry else each for each in module.computations)
    header = {name: value for name, value in module.header.items() if name not in _OF_OTHER_SHAPES}
    return replace(module, computations=computations, entry=entry, header=header)


def _without_tokens(entry: Computation) -> Computation:
    kept = [parameter for parameter in entry.parameters if not isinstance(parameter.shape, TokenShape)]
    made: dict[Instruction, Instruction] = {}
    for old in entry.instructions:
        if old.opcode == "parameter":
            new = _parameter(old, kept)
        else:
            attributes = {name: with_instructions(value, made) for name, value in old.attributes.items()}
            new = replace(old, operands=tuple(made[each] for each in old.operands), attributes=attributes)
        made[old] = new
    instructions, root = list(made.values()), made[entry.root]
    if isinstance(root.shape, TupleShape):
        results = _results(root, instructions)
        root = results[0] if len(results) == 1 else _tuple(root, results)
        instructions += [] if root in instructions else [root]
    return Computation(entry.name, tuple(instructions), root, entry.execution_thread, entry.span)


def _parameter(old: Instruction, kept: list[Instruction]) -> Instruction:
    """A parameter with its new number, or a token in place of it."""
    if old in kept:
        return replace(old, attributes={**old.attributes, "parameter_number": kept.index(old)})
    return replace(old, opcode="after-all", attributes={})


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

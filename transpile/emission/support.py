"""What a target cannot express, all of it in one error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ...targets.base import Target
from ..array.node import Node
from ..array.program import Function, Program, roots
from ..array.traversal import topological
from ..hlo.device_groups import device_count
from ..hlo.ir import HloModule, Instruction
from ..hlo.source import Diagnostic, UnsupportedError
from ..passes.to_array import RULES, custom_call_refusal
from .argument_trees import leaf_paths

_NO_HOOKS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a target does not say: an HLO operation (of that instruction, if it comes from one), and the reason."""

    opcode: str
    reason: str
    instruction: Instruction | None


def written_as(target: Target, module: HloModule) -> Target:
    """The target whose words a module is written in: for several replicas it may be another."""
    return target.replicas if target.replicas is not None and device_count(module) > 1 else target


def require_support(subject: HloModule | Program, target: Target, hooks: Mapping[str, str] = _NO_HOOKS) -> None:
    """Raise UnsupportedError with one diagnostic for each instruction the target has no words for, like with like."""
    if isinstance(subject, HloModule):
        diagnostics = list(_not_lowered(subject, hooks))
    else:
        diagnostics = [
            _diagnostic(refusal.instruction, f"{refusal.opcode} is not supported on {target.title}: {refusal.reason}")
            for refusal in refusals(subject, target)
        ]
    _raise_all(diagnostics)


def require_capture(program: Program, target: Target, nested: bool) -> None:
    """Raise UnsupportedError (XP307) with one diagnostic for each instruction that a graph cannot hold, and for each
    argument that is an object: a graph copies arrays out of dicts, lists and tuples.
    """
    assert target.cannot_be_captured is not None
    diagnostics = [
        _diagnostic(refusal.instruction, f"{refusal.opcode} cannot be captured: {refusal.reason}", "XP307")
        for refusal in _refusals(program, target.cannot_be_captured)
    ]
    if device_count(program.module) > 1:
        diagnostics.append(Diagnostic("XP307", "several replicas cannot be captured: they wait for each other"))
    elif nested:
        diagnostics += map(_of_object, _objects(program.entry.computation.parameters).items())
    _raise_all(diagnostics)


def _objects(parameters: Sequence[Instruction]) -> dict[str, Instruction]:
    """The arguments with attributes, and a leaf of each."""
    found: dict[str, Instruction] = {}
    for path, parameter in zip(leaf_paths(parameters), parameters, strict=True):
        if path is not None and any(isinstance(key, str) and key.startswith(".") for key in path.keys):
            found.setdefault(path.root, parameter)
    return found


def _of_object(argument: tuple[str, Instruction]) -> Diagnostic:
    name, leaf = argument
    message = f"the argument {name} cannot be captured: it is an object, and graphs know dicts, lists and tuples"
    return Diagnostic("XP307", message, leaf.span, hint="leave --nested out: main takes the arrays themselves then")


def _raise_all(diagnostics: list[Diagnostic]) -> None:
    """Raise UnsupportedError if there are any, like with like."""
    groups: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        groups.setdefault(diagnostic.message, []).append(diagnostic)
    if groups:
        raise UnsupportedError(*(diagnostic for group in groups.values() for diagnostic in group))


def _not_lowered(module: HloModule, hooks: Mapping[str, str]) -> Iterator[Diagnostic]:
    """What no target can say."""
    for instruction in module.instructions():
        if instruction.opcode == "custom-call":
            reason = custom_call_refusal(instruction, hooks)
            if reason is not None:
                hint = f"give a function for it: --custom-call '{instruction['custom_call_target']}=module:function'"
                yield Diagnostic("XP305", reason, instruction.span, hint=hint)
        elif instruction.opcode == "remainder" and instruction.array_shape.element_type.is_complex:
            yield _diagnostic(instruction, "remainder is not supported: complex numbers have none")
        elif instruction.opcode != "parameter" and instruction.opcode not in RULES:
            yield _diagnostic(instruction, f"{instruction.opcode} is not supported")


def refusals(program: Program, target: Target) -> list[Refusal]:
    """Everything in a program that a target refuses, each instruction once for each reason."""
    return _refusals(program, target.refuses)


def _refusals(program: Program, refuses: Callable[[Node], str | None]) -> list[Refusal]:
    return list(dict.fromkeys(refusal for function in program.functions for refusal in _refused(function, refuses)))


def _refused(function: Function, refuses: Callable[[Node], str | None]) -> Iterator[Refusal]:
    for node in topological(roots(function)):
        reason = refuses(node)
        if reason is not None:
            instruction = _origin(function, node)
            yield Refusal(instruction.opcode if instruction is not None else node.opcode, reason, instruction)


def _origin(function: Function, node: Node) -> Instruction | None:
    """The instruction a node comes from; a parameter's own for what is read from a tuple that is one."""
    while node.opcode == "item" and node not in function.graph.origins:
        (node,) = node.operands
    if "argument" in node.parameters:
        return function.computation.parameters[int(node.parameters["argument"])]
    return function.graph.origins.get(node)


def _diagnostic(instruction: Instruction | None, message: str, code: str = "XP301") -> Diagnostic:
    return Diagnostic(code, message, instruction.span if instruction is not None else None)

"""The refusal of what a target cannot express, all of it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ..array.node import Node
from ..array.program import Function, Program, roots
from ..array.traversal import topological
from ..dataclass import dataclass
from ..hlo.device_groups import device_count
from ..hlo.ir import HloModule, Instruction
from ..hlo.source import Diagnostic
from ..passes.to_array import RULES, custom_call_refusal
from ..target import Target


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that a target cannot express: an operation, of HLO if it comes from an instruction, and the report."""

    opcode: str
    diagnostic: Diagnostic


def written_as(target: Target, module: HloModule) -> Target:
    """The target that a module is written for: for several replicas it may be another."""
    return target.replicas if target.replicas is not None and device_count(module) > 1 else target


def module_refusals(module: HloModule, hooks: Mapping[str, str]) -> Iterator[Refusal]:
    """The instructions that no target can express (XP301, XP305, XP308), one refusal for each."""
    for instruction in module.instructions():
        opcode = instruction.opcode
        if opcode == "custom-call":
            refused = custom_call_refusal(instruction, hooks)
            if refused is not None:
                yield Refusal(opcode, refused)
        elif opcode == "remainder" and instruction.array_shape.element_type.is_complex:
            yield _refusal(opcode, instruction, "remainder is not supported: complex numbers have none")
        elif opcode != "parameter" and opcode not in RULES:
            yield _refusal(opcode, instruction, f"{opcode} is not supported")


def program_refusals(program: Program, target: Target) -> Iterator[Refusal]:
    """Return everything in a program that a target refuses (XP301), each instruction once for each reason."""
    for function in program.functions:
        reason = target.refuses_function(function)
        if reason is not None:
            message = f"{function.computation.name} is not supported on {target.title}: {reason}"
            yield Refusal("call", Diagnostic("XP301", message))
    for opcode, reason, instruction in _refused(program, target.refuses):
        yield _refusal(opcode, instruction, f"{opcode} is not supported on {target.title}: {reason}")


def capture_refusals(program: Program, target: Target) -> Iterator[Refusal]:
    """Return what keeps a program from being captured as a graph (XP307), each instruction once for each reason."""
    assert target.graphs is not None
    for opcode, reason, instruction in _refused(program, target.graphs.cannot_hold):
        yield _refusal(opcode, instruction, f"{opcode} cannot be captured: {reason}", "XP307")
    if device_count(program.module) > 1:
        message = "several replicas cannot be captured: they wait for each other"
        yield Refusal("call", Diagnostic("XP307", message))


def in_groups(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics, those of equal messages together, otherwise in their order."""
    groups: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        groups.setdefault(diagnostic.message, []).append(diagnostic)
    return [diagnostic for group in groups.values() for diagnostic in group]


_Refused = tuple[str, str, Instruction | None]  # the operation, the reason, the instruction that it comes from


def _refused(program: Program, refuses: Callable[[Node], str | None]) -> list[_Refused]:
    found: dict[_Refused, None] = {}
    for function in program.functions:
        for node in topological(roots(function)):
            reason = refuses(node)
            if reason is not None:
                instruction = origin(function, node)
                found[instruction.opcode if instruction is not None else node.opcode, reason, instruction] = None
    return list(found)


def origin(function: Function, node: Node) -> Instruction | None:
    """The instruction a node comes from; a parameter's own for what is read from a tuple that is one."""
    while node.opcode == "item" and node not in function.graph.origins:
        (node,) = node.operands
    if "argument" in node.parameters:
        return function.computation.parameters[int(node.parameters["argument"])]
    return function.graph.origins.get(node)


def _refusal(opcode: str, instruction: Instruction | None, message: str, code: str = "XP301") -> Refusal:
    return Refusal(opcode, Diagnostic(code, message, instruction.span if instruction is not None else None))

"""Diagnostics for everything in a program that a target does not support, collected all at once."""

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
    """An unsupported operation and its diagnostic. ``opcode`` is HLO's if the operation comes from an instruction."""

    opcode: str
    diagnostic: Diagnostic


def written_as(target: Target, module: HloModule) -> Target:
    """Return the target that a module is written for: of several replicas, the target of a replica's body."""
    return target.replicas if target.replicas is not None and device_count(module) > 1 else target


def module_refusals(module: HloModule, hooks: Mapping[str, str]) -> Iterator[Refusal]:
    """Yield a refusal for each instruction that no target supports (XP301, XP305, XP308)."""
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
    """Yield the refusals (XP301) of functions and operations that the target does not support: one per instruction and
    reason.
    """
    for function in program.functions:
        reason = target.refuses_function(function)
        if reason is not None:
            message = f"{function.computation.name} is not supported on {target.title}: {reason}"
            yield Refusal("call", Diagnostic("XP301", message))
    for opcode, reason, instruction in _refused(program, target.refuses):
        yield _refusal(opcode, instruction, f"{opcode} is not supported on {target.title}: {reason}")


def capture_refusals(program: Program, target: Target) -> Iterator[Refusal]:
    """Yield the refusals (XP307) of operations that cannot be captured in a graph: one per instruction and reason."""
    assert target.graphs is not None
    for opcode, reason, instruction in _refused(program, target.graphs.cannot_hold):
        yield _refusal(opcode, instruction, f"{opcode} cannot be captured: {reason}", "XP307")
    if device_count(program.module) > 1:
        message = "several replicas cannot be captured: they wait for each other"
        yield Refusal("call", Diagnostic("XP307", message))


def in_groups(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics with those of equal messages together, otherwise in their order."""
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
    """Return the instruction that a node comes from; for an item of a tuple parameter, the parameter."""
    while node.opcode == "item" and node not in function.graph.origins:
        (node,) = node.operands
    if "argument" in node.parameters:
        return function.computation.parameters[int(node.parameters["argument"])]
    return function.graph.origins.get(node)


def _refusal(opcode: str, instruction: Instruction | None, message: str, code: str = "XP301") -> Refusal:
    return Refusal(opcode, Diagnostic(code, message, instruction.span if instruction is not None else None))

"""The operations that can be emitted, for ``xla2py ops`` and the documentation.

Support may depend on more than the opcode: a shift by a constant differs from a shift by a computed amount. So a target
is asked about small programs, at least one for nearly every opcode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ...compilation import Refusal, compile
from ...hlo.builder.examples import example, operations
from ...hlo.ir import HloModule
from ...hlo.opcodes import OPCODES
from ...hlo.parser import parse_module
from ...passes.to_array import RULES
from ...target import Target, load_target

SUPPORTED = "yes"
IN_PART = "in part"
UNSUPPORTED = "no"

# The forms that are easy for every array library, and asynchronous collectives, which the builder does not make; the
# examples of the builder have the general forms.
_BESIDE_EXAMPLES = ("easy_forms.hlo", "started_collectives.hlo")


def coverage(target: str) -> dict[str, str]:
    """Return the status of each opcode on a target. Raises ``UsageError`` (XP406) for an unknown target."""
    chosen = load_target(target)
    seen: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for opcodes, refusals in _programs(chosen):
        seen.update(opcodes)
        refused.update({refusal.opcode for refusal in refusals})
    return {opcode: _status(opcode, seen[opcode], refused[opcode]) for opcode in OPCODES}


def _status(opcode: str, seen: int, refused: int) -> str:
    if not _is_lowered(opcode) or (refused and refused >= seen):
        return UNSUPPORTED
    return IN_PART if refused else SUPPORTED


def _is_lowered(opcode: str) -> bool:
    return opcode in RULES or opcode == "parameter"


@cache
def _programs(target: Target) -> tuple[tuple[frozenset[str], tuple[Refusal, ...]], ...]:
    """Return, for each program, its opcodes and the operations in it that the target does not support."""
    return tuple(
        (frozenset(i.opcode for i in module.instructions()), compile(module, target).refusals) for module in _modules()
    )


def _modules() -> Iterator[HloModule]:
    for name in _BESIDE_EXAMPLES:
        yield parse_module(Path(__file__).with_name(name).read_text("utf-8"))
    for module in (example(name).build() for name in operations()):
        if all(_is_lowered(i.opcode) for i in module.instructions()):
            yield module

"""Callbacks into the Python of the process that traced a program: their names, functions and uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ...dataclass import dataclass
from ..ir import Computation, HloModule, Instruction
from ..shapes import ArrayShape, TokenShape, TupleShape, leaves
from .call import CustomCall
from .fields import ANYTHING, TEXT

_PLACES = ("cpu", "gpu")
_FIELDS = dict.fromkeys((TEXT, "index", "descriptor"), ANYTHING)
_ROW = CustomCall(("any -> any",), rule="callback", config=_FIELDS)
CALLBACKS: dict[str, CustomCall] = {
    f"xla_{kind}python_{place}_callback": _ROW
    for place in _PLACES
    for kind in ("", "ffi_", "partitioned_", "ffi_partitioned_")
}
_NUMBER = re.compile(r"[._\d]+$")
_INDEX = re.compile(r"\bindex = (\d+)")


@dataclass(frozen=True, slots=True)
class Callback:
    """A callback of a program.

    ``name`` is that of the function that stands for it in emitted code, ``index`` the number of its own function in the
    process that traced the program, None if the text has none.
    """

    instruction: Instruction
    name: str
    index: int | None
    is_used: bool  # whether any of its results is read


def callbacks(module: HloModule) -> list[Callback]:
    """Return the callbacks of a module, the entry's first. Calls of one function share a name; other names differ."""
    found: list[Callback] = []
    names: dict[object, str] = {}
    for computation in sorted(module.computations, key=lambda each: each is not module.entry):
        called = [instruction for instruction in computation.instructions if is_callback(instruction)]
        read = set(_read(computation)) if called else set()
        for instruction in called:
            key = _function_key(instruction)
            if key not in names:
                names[key] = _unused(_base(instruction), set(names.values()))
            index = int(key) if isinstance(key, str) else None
            found.append(Callback(instruction, names[key], index, instruction in read))
    return found


def known_functions(module: HloModule) -> dict[str, Any]:
    """Return the functions of a module's callbacks, by name, if the process that traced it is this one. They take and
    return arrays: JAX's functions of ordered callbacks take and return a token before them.
    """
    return {
        found.name: _without_token(module.host_functions[found.index], found.instruction)
        for found in callbacks(module)
        if found.is_used and found.index is not None and found.index < len(module.host_functions)
    }


def _without_token(function: Callable[..., Any], called: Instruction) -> Callable[..., Any]:
    if not any(isinstance(operand.shape, TokenShape) for operand in called.operands):
        return function

    def of_arrays(*arguments: Any) -> Any:
        _, *results = function(None, *arguments)
        return results[0] if len(results) == 1 else tuple(results)

    return of_arrays


def is_callback(instruction: Instruction) -> bool:
    return instruction.opcode == "custom-call" and instruction["custom_call_target"] in CALLBACKS


def _function_key(instruction: Instruction) -> object:
    """Return a key for the function of a callback: its number in the text, else the instruction."""
    config = instruction.attributes.get("backend_config")
    match = _INDEX.search(config.text) if config is not None else None
    return match[1] if match else instruction


def _base(instruction: Instruction) -> str:
    """Return a name such as ``pure_callback``, from the traced operation or the instruction's name."""
    traced = instruction.metadata.op_name.rpartition("/")[2] if instruction.metadata is not None else ""
    for text in (traced, _NUMBER.sub("", instruction.name)):
        name = re.sub(r"\W", "_", text, flags=re.ASCII)
        if name.isidentifier():
            return name if name.endswith("callback") or "print" in name else f"{name}_callback"
    return "callback"


def _unused(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _read(computation: Computation) -> Iterator[Instruction]:
    """Yield the instructions of which an array is read, or returned."""
    users: dict[Instruction, list[Instruction]] = {}
    for instruction in computation.instructions:
        for operand in instruction.operands:
            users.setdefault(operand, []).append(instruction)
    for instruction in computation.instructions:
        if instruction is computation.root and _has_arrays(instruction):
            yield instruction
        for user in users.get(instruction, ()):
            if user.opcode != "get-tuple-element" or not isinstance(instruction.shape, TupleShape):
                if _has_arrays(instruction):
                    yield instruction
            elif _has_arrays(user) and (user in users or user is computation.root):
                yield instruction


def _has_arrays(instruction: Instruction) -> bool:
    return any(isinstance(leaf, ArrayShape) for _, leaf in leaves(instruction.shape))

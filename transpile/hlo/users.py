"""Who reads an instruction, in what is called too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .ir import Computation, Instruction


class InstructionUsers:
    """Finds the users of instructions in the computations of one module."""

    def __init__(self) -> None:
        self._found: dict[Computation, dict[Instruction, list[Instruction]]] = {}

    def of(
        self, computation: Computation, value: Instruction, is_seen_through: Callable[[Instruction], bool]
    ) -> Iterator[Instruction]:
        """Yield the users of a value, and those of users that are seen through. In place of a call or a fusion, the
        users of what it is given are yielded.
        """
        waiting, seen = [(computation, value)], {value}
        while waiting:
            around, current = waiting.pop()
            for user in self._inside(around).get(current, ()):
                if user in seen:
                    continue
                seen.add(user)
                if user.opcode in ("call", "fusion"):
                    (called,) = user.called
                    given = enumerate(user.operands)
                    waiting += [(called, called.parameters[k]) for k, operand in given if operand is current]
                    continue
                yield user
                if is_seen_through(user):
                    waiting.append((around, user))

    def _inside(self, computation: Computation) -> dict[Instruction, list[Instruction]]:
        if computation not in self._found:
            found: dict[Instruction, list[Instruction]] = {}
            for user in computation.instructions:
                for operand in dict.fromkeys(user.operands):
                    found.setdefault(operand, []).append(user)
            self._found[computation] = found
        return self._found[computation]

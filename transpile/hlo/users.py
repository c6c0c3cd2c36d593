"""Users of an instruction, also inside called computations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .ir import Computation, Instruction


class InstructionUsers:
    """A cache of the users of instructions in the computations of one module."""

    def __init__(self) -> None:
        self._found: dict[Computation, dict[Instruction, list[Instruction]]] = {}

    def of(
        self, computation: Computation, value: Instruction, is_seen_through: Callable[[Instruction], bool]
    ) -> Iterator[Instruction]:
        """Yield the users of a value, and recursively those of users that are seen through. For a call or a fusion, the
        users of its parameter are yielded instead.
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

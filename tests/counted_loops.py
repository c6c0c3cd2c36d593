"""The text of a loop that counts its rounds."""

from __future__ import annotations

from collections.abc import Mapping


def counted_loop(rounds: int, carried: Mapping[str, str], body: str, given: str, behind: str, head: str = "") -> str:
    """A program with a loop whose rounds ``i`` counts, and that carries values of these names and shapes.

    The lines of ``body`` make ``new_x`` of ``x``; what they do not make stays. Those that are ``given`` make what the
    loop begins with, and those ``behind`` it read ``x_end``. ``head`` are other computations.
    """
    shapes, names = ", ".join(["s32[]", *carried.values()]), ", ".join(carried)
    new = ", ".join(f"new_{name}" if f"new_{name} = " in body else name for name in carried)
    read = [f"{shape} get-tuple-element(t), index={k}" for k, shape in enumerate(carried.values(), 1)]
    return "\n".join(
        [
            f"HloModule m\n{head}",
            f"more {{ t = ({shapes}) parameter(0)  i = s32[] get-tuple-element(t), index=0",
            f"n = s32[] constant({rounds})  ROOT r = pred[] compare(i, n), direction=LT }}",
            f"step {{ t = ({shapes}) parameter(0)  i = s32[] get-tuple-element(t), index=0",
            *(f"{name} = {value}" for name, value in zip(carried, read, strict=True)),
            f"one = s32[] constant(1)  next = s32[] add(i, one)\n{body}",
            f"ROOT r = ({shapes}) tuple(next, {new}) }}",
            f"ENTRY main {{ {given}\nbegin = s32[] constant(0)  start = ({shapes}) tuple(begin, {names})",
            f"t = ({shapes}) while(start), condition=more, body=step",
            *(f"{name}_end = {value}" for name, value in zip(carried, read, strict=True)),
            f"{behind} }}\n",
        ]
    )

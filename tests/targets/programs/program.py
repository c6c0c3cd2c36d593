"""A program that every target can say, and ways to write many of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from string import Template

import numpy as np

import xla2py
from xla2py.transpile.equivalence.inputs.kinds import campaign_inputs

_COMBINERS = {
    "sum": "add",
    "product": "multiply",
    "largest": "maximum",
    "least": "minimum",
    "every": "and",
    "some": "or",
}
REAL = ("bf16", "f16", "f32", "f64")
COMPLEX = ("c64", "c128")
INTEGERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
ELEMENT_TYPES = ("pred", *INTEGERS, *REAL, *COMPLEX)


@dataclass(frozen=True)
class Program:
    """HLO; ``special`` asks for inputs with NaN, infinities, signed zeros and the types' limits among them."""

    name: str
    text: str
    special: bool = False

    def __str__(self) -> str:
        return self.name

    def inputs(self) -> list[np.ndarray]:
        return campaign_inputs(xla2py.load(self.text), "edge" if self.special else "ordinary", seed=7)


def program(name: str, body: str, *, computations: str = "", special: bool = False, **words: str) -> Program:
    """A program of these lines, the last its root. ``$words`` are filled in; combiners like ``sum_f32`` come along."""
    lines = Template(body).substitute(words).strip().splitlines()
    lines[-1] = f"ROOT {lines[-1].strip()}"
    callees = Template(computations).substitute(words)
    text = "\n".join([callees, "ENTRY main {", *lines, "}", ""])
    used = [pair for pair in product(_COMBINERS, ELEMENT_TYPES) if "_".join(pair) in text]
    return Program(name, "".join(["HloModule m\n", *(_combiner(*pair) for pair in used), text]), special)


def _combiner(name: str, kind: str) -> str:
    lines = (f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)", f"ROOT c = {kind}[] {_COMBINERS[name]}(a, b)")
    return "\n  ".join([f"{name}_{kind} {{", *lines]) + "\n}\n"


def several(name: str, setup: str, *results: str, special: bool = False, **words: str) -> Program:
    """Independent instructions on what ``setup`` defines, all of them returned."""
    lines = [*setup.strip().splitlines(), *(f"r{k} = {result}" for k, result in enumerate(results))]
    shapes = ", ".join(result.split(" ")[0] for result in results)
    lines.append(f"all = ({shapes}) tuple({', '.join(f'r{k}' for k in range(len(results)))})")
    return program(name, "\n".join(lines), special=special, **words)


def number(kind: str, value: int) -> str:
    """A constant of an element type as HLO writes it."""
    return f"({value}, 0)" if kind in COMPLEX else str(value)

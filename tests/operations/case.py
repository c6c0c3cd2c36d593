"""One instruction under test: its HLO text, its operands, and who says what is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xla2py.tests.operations.values import Array
from xla2py.transpile.equivalence.verdicts.comparison import Budget
from xla2py.transpile.hlo.element_types import from_dtype

EXACT = Budget(relative=0.0, absolute=0.0)
_ROOT = re.compile(r"\s*(\S+) = (.+?) [a-z][a-z0-9-]*\(")


@dataclass(frozen=True, eq=False)
class Case:
    """An opcode on given operands.

    ``body`` is HLO without the parameters, which are ``p0``, ``p1``, ..; its last line is the result. XLA on the CPU
    judges, on ``reference`` where it refuses ``body`` itself; where it has no answer, ``oracle`` is called on the
    operands. ``element_type`` is what the coverage table counts.
    """

    opcode: str
    body: str
    inputs: tuple[Array, ...]
    element_type: str
    callees: tuple[str, ...] = ()
    reference: str | None = None
    oracle: Callable[..., Any] | None = None
    budget: Budget = field(default_factory=Budget)

    def parameters(self) -> list[str]:
        return [f"p{k} = {shape_text(array)} parameter({k})" for k, array in enumerate(self.inputs)]

    def text(self) -> str:
        """The case as a module of its own."""
        return module([self], self.body)

    def __str__(self) -> str:
        return self.body.strip().splitlines()[-1].strip()


def case(
    opcode: str, body: str, *inputs: Any, element_type: str | None = None, callees: Iterable[str] = (), **rest: Any
) -> Case:
    """A case on arrays (or NumPy scalars); the element type is that of the first operand unless given."""
    arrays = tuple(np.asarray(array) for array in inputs)
    name = element_type or from_dtype(arrays[0].dtype).name
    return Case(opcode, body, arrays, name, tuple(callees), **rest)


def shape_text(array: Any) -> str:
    """``f32[2,3]``."""
    return f"{from_dtype(array.dtype)}[{','.join(map(str, array.shape))}]"


def result_shape(body: str) -> str:
    """The shape of the last instruction, as written."""
    match = _ROOT.match(body.strip().splitlines()[-1])
    assert match, body
    return match[2]


def computation(name: str, one: Case, body: str) -> str:
    """A case as a computation of that name."""
    *lines, root = [line.strip() for line in body.strip().splitlines()]
    return "\n".join([f"{name} {{", *(f"  {line}" for line in [*one.parameters(), *lines, f"ROOT {root}"]), "}"])


def module(cases: list[Case], *bodies: str) -> str:
    """A module that computes every case: one case as the entry itself, several as calls whose results form a tuple."""
    callees = list(dict.fromkeys(callee for one in cases for callee in one.callees))
    names = [callee.split(None, 1)[0] for callee in callees]
    assert len(names) == len(set(names)), f"two computations of one name in {names}"
    if len(cases) == 1:
        return "\n".join(["HloModule case", *callees, "ENTRY " + computation("main", cases[0], bodies[0]), ""])
    entry, results, shapes, at = [], [], [], 0
    for number, (one, body) in enumerate(zip(cases, bodies, strict=True)):
        callees.append(computation(f"case_{number}", one, body))
        names = [f"x{at + k}" for k in range(len(one.inputs))]
        entry += [
            f"{n} = {shape_text(a)} parameter({at + k})" for k, (n, a) in enumerate(zip(names, one.inputs, strict=True))
        ]
        shapes.append(result_shape(body))
        results.append(f"r{number}")
        entry.append(f"r{number} = {shapes[-1]} call({', '.join(names)}), to_apply=case_{number}")
        at += len(one.inputs)
    entry.append(f"ROOT all = ({', '.join(shapes)}) tuple({', '.join(results)})")
    return "\n".join(["HloModule cases", *callees, "ENTRY main {", *(f"  {line}" for line in entry), "}", ""])

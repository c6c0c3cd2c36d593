"""Run many cases at little cost: XLA compiles them as one module, and so does xla2py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import xla2py
from xla2py.tests.operations.case import Case, module
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.equivalence.verdicts.comparison import compare, flatten


@dataclass(frozen=True)
class Failure:
    """A case that went wrong: why, and the smallest program that shows it."""

    case: Case
    reason: str

    def __str__(self) -> str:
        return f"{self.reason}\n{self.case.text()}"


def failures(cases: Sequence[Case], target: str = "numpy") -> Iterator[Failure]:
    """The cases whose emitted code does not do what the judge says."""
    yield from wrong(cases, judge(cases), emitted(cases, target))


def wrong(cases: Sequence[Case], expected: Sequence[Any], actual: Sequence[Any]) -> Iterator[Failure]:
    """The cases for which emitted code raised an error, or gave what is not expected."""
    for one, want, have in zip(cases, expected, actual, strict=True):
        if isinstance(have, Exception):
            yield Failure(one, f"{type(have).__name__}: {have}")
            continue
        leaves = [str(leaf) for leaf in compare(want, have, one.budget) if not leaf.status.is_good]
        if leaves:
            yield Failure(one, "\n".join(leaves))


def judge(cases: Sequence[Case]) -> list[Any]:
    """What is right, for each case: the oracle's answer, or XLA's as a list of arrays."""
    answers: dict[int, Any] = {}
    asked = [number for number, one in enumerate(cases) if one.oracle is None]
    if asked:
        chosen = [cases[number] for number in asked]
        bodies = [one.reference or one.body for one in chosen]
        flat = iter(run_hlo(module(chosen, *bodies), *(array for one in chosen for array in one.inputs)))
        for number, body in zip(asked, bodies, strict=True):
            answers[number] = [next(flat) for _ in range(leaf_count(body))]
    with np.errstate(all="ignore"):
        for number, one in enumerate(cases):
            if one.oracle is not None:
                answers[number] = one.oracle(*one.inputs)
    return [answers[number] for number in range(len(cases))]


def leaf_count(body: str) -> int:
    from xla2py.tests.operations.case import result_shape

    return result_shape(body).count("[")


def emitted(cases: Sequence[Case], target: str) -> list[Any]:
    """What emitted code returns for each case, or the exception it died of."""
    try:
        together = run(
            module(list(cases), *(one.body for one in cases)), [a for one in cases for a in one.inputs], target
        )
    except Exception:
        return [alone(one, target) for one in cases]
    return list(together) if len(cases) > 1 else [together]


def alone(one: Case, target: str) -> Any:
    try:
        return run(one.text(), one.inputs, target)
    except Exception as error:
        return error


def run(text: str, inputs: Sequence[Any], target: str) -> Any:
    return xla2py.emit(text, target, format=False).load().main(*inputs)


__all__ = ["Failure", "failures", "flatten", "judge"]

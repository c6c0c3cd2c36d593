"""Worked examples of the specification, and the check of their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import xla2py
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.equivalence.verdicts.comparison import compare

SUM = "sum { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }"
PRODUCT = "product { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] multiply(x, y) }"
LARGEST = "largest { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] maximum(x, y) }"


@dataclass(frozen=True)
class Example:
    """HLO text, its inputs, and the results that the specification gives (one array or a tuple of arrays)."""

    name: str
    hlo: str
    inputs: tuple[Any, ...]
    expected: Any
    refused_by_xla: str = ""  # why XLA on the CPU does not run it, where it does not


def example(name: str, body: str, inputs: tuple[Any, ...], expected: Any, *computations: str, **rest: Any) -> Example:
    """An example whose entry computation has the lines of ``body``; callees come first."""
    lines = [f"  {line.strip()}" for line in body.splitlines()]
    text = "\n".join(["HloModule example", "", *computations, "ENTRY main {", *lines, "}", ""])
    return Example(name, text, inputs, expected, **rest)


def proven(examples: list[Example], *, on_xla: bool = True) -> Callable[..., None]:
    """Make a test of examples: the emitted module returns what the specification says and leaves its inputs alone, and
    XLA on the CPU agrees with the specification as the test quotes it.
    """

    @pytest.mark.parametrize("case", examples, ids=lambda case: str(case.name))
    def test(case: Example) -> None:
        inputs = [np.array(array) for array in case.inputs]
        assert_equal(case.expected, xla2py.emit(case.hlo, format=False).load().main(*inputs))
        for given, now in zip(case.inputs, inputs, strict=True):
            np.testing.assert_array_equal(given, now)
        if on_xla and not case.refused_by_xla:
            assert_equal(case.expected, run_hlo(case.hlo, *case.inputs))

    return test


def assert_equal(expected: Any, actual: Any) -> None:
    wrong = [str(leaf) for leaf in compare(expected, actual) if not leaf.status.is_good]
    assert not wrong, "\n".join(wrong)

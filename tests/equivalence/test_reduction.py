"""Reduction: what is left is small, valid, still interesting, and the same every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.equivalence.shrinking.cases import Case, module_of, ordered
from xla2py.transpile.equivalence.shrinking.shrink import Reduction, reduce_module
from xla2py.transpile.errors import UsageError
from xla2py.transpile.hlo.ir import HloModule
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.verifier import verify

EXAMPLES = Path(__file__).parents[2] / "examples" / "hlo"


def _contains(opcode: str):
    def interesting(module: HloModule, inputs: list[np.ndarray]) -> bool:
        verify(module)
        assert len(inputs) == len(make_inputs(module))
        return any(instruction.opcode == opcode for instruction in module.instructions())

    return interesting


def _reduced(name: str, opcode: str, **options: object) -> Reduction:
    module = xla2py.load(EXAMPLES / f"{name}.hlo")
    return reduce_module(module, make_inputs(module), _contains(opcode), confirmations=0, **options)


@pytest.mark.parametrize(
    ("name", "opcode", "instructions"),
    [
        ("attention.before", "exponential", 2),  # the parameter and the operation
        ("attention.before", "dot", 3),
        ("sort_topk_segment_sum.before", "sort", 4),
    ],
)
def test_one_operation_is_left_of_an_example(name: str, opcode: str, instructions: int) -> None:
    reduced = _reduced(name, opcode)
    assert reduced.instructions <= instructions
    assert [i.opcode for i in reduced.module.entry.instructions].count(opcode) == 1
    assert all(array.size <= 16 for array in reduced.inputs)
    again = xla2py.load(print_module(reduced.module))
    verify(again)
    assert not any(i.metadata for i in again.instructions())


def test_the_same_case_is_reduced_the_same_way() -> None:
    first, second = (_reduced("attention.before", "exponential") for _ in range(2))
    assert print_module(first.module) == print_module(second.module)
    assert (first.tried, first.taken) == (second.tried, second.taken)
    for a, b in zip(first.inputs, second.inputs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_oracle_on_values_keeps_the_value() -> None:
    """Only the element that the oracle asks for keeps its value."""
    module = xla2py.load("ENTRY e {\n  a = f32[4,6] parameter(0)\n  ROOT n = f32[4,6] negate(a)\n}")
    inputs = make_inputs(module, 3)
    inputs[0][2, 3] = 7.5

    def interesting(module: HloModule, inputs: list[np.ndarray]) -> bool:
        return "negate" in print_module(module) and bool((inputs[0] == 7.5).any())

    reduced = reduce_module(module, inputs, interesting)
    assert [int(np.count_nonzero(array)) for array in reduced.inputs] == [1]


def test_what_is_not_interesting_is_refused() -> None:
    with pytest.raises(UsageError, match="XP620"):
        _reduced("attention.before", "tanh")


def test_an_unsteady_oracle_is_asked_again() -> None:
    module = xla2py.load("ENTRY e {\n  a = f32[2] parameter(0)\n  n = f32[2] negate(a)\n  ROOT c = f32[2] cosine(n)\n}")
    asked: dict[str, int] = {}

    def interesting(module: HloModule, inputs: list[np.ndarray]) -> bool:
        """Right about the whole program; about anything smaller it says yes the first time only."""
        text = print_module(module)
        asked[text] = asked.get(text, 0) + 1
        return "cosine" in text or asked[text] == 1

    reduced = reduce_module(module, make_inputs(module), interesting, confirmations=2)
    assert "cosine" in print_module(reduced.module)
    assert max(asked.values()) >= 2


def test_an_interrupted_reduction_leaves_the_best_so_far() -> None:
    best: list[Reduction] = []

    def note(reduction: Reduction) -> None:
        best.append(reduction)
        if len(best) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _reduced("attention.before", "exponential", on_progress=note)
    verify(best[-1].module)
    rest = reduce_module(best[-1].module, best[-1].inputs, _contains("exponential"), confirmations=0)
    assert rest.instructions == _reduced("attention.before", "exponential").instructions


def test_a_reference_that_refuses_leaves_made_up_values() -> None:
    def refuse(text: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
        raise UsageError()

    assert _reduced("attention.before", "exponential", evaluate=refuse).instructions == 2


def test_equal_names_are_told_apart() -> None:
    module = xla2py.load("ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT n = f32[2] add(a, a)\n}")
    inner = module.entry.root
    root = inner.replace(operands=(inner, inner))
    case = Case.of(module, make_inputs(module)).with_root(root)
    made = module_of(root, [p for p in ordered(root) if p.opcode == "parameter"], "twice")
    for one in (case.module(), made):
        verify(one)
        assert sorted(i.name for i in one.entry.instructions) == ["a", "n", "n.2"]
        verify(xla2py.load(print_module(one)))

"""A run in lockstep names the instruction, the line and the iteration of the first error, and no other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.equivalence.seeded_faults import PROGRAMS
from xla2py.transpile.equivalence.inputs.generate import make_inputs, nest
from xla2py.transpile.equivalence.lockstep.run import Lockstep, lockstep

EXAMPLES = Path(__file__).parents[2] / "examples" / "hlo"


MOVED = """ENTRY main { x = f32[12] parameter(0)  i = s32[] parameter(1)
  low = s32[] constant(0)  high = s32[] constant(8)
  start = s32[] clamp(low, i, high)  ROOT part = f32[4] dynamic-slice(x, start), dynamic_slice_sizes={4} }"""


def _run(name: str, *edits: tuple[str, str], target: str = "numpy") -> Lockstep:
    module = xla2py.load(PROGRAMS[name].encode() if name in PROGRAMS else EXAMPLES / f"{name}.hlo")
    emitted = xla2py.emit(module, target)
    source = emitted.source
    for old, new in edits:
        assert old in source
        source = source.replace(old, new, 1)
    arguments = nest([parameter.shape for parameter in module.entry.parameters], make_inputs(module))
    with np.errstate(all="ignore"):
        return lockstep(module, emitted, arguments, source if edits else None)


@pytest.mark.parametrize(
    "name",
    [
        "attention.before",
        "attention.after",
        "lstm.before",
        "viterbi.before",
        "kmeans.before",
        "bf16_mixed_precision.after",
    ],
)
def test_nothing_is_wrong_with_an_example(name: str) -> None:
    found = _run(name)
    assert found.checked > 5
    assert not found.divergences and not found.unchecked and not found.failure


def test_the_line_and_the_users_line_are_named() -> None:
    first = _run("attention.before", ("/ 5.656854", "/ 5.66")).first
    assert first is not None
    assert (first.instruction.opcode, first.source) == ("divide", "examples/attention.py:10")
    assert "5.66" in first.text and first.leaf is not None


def test_an_error_in_a_loop_has_an_iteration() -> None:
    found = _run("loop", ("= sin[0]", "= sin[0] if i < 3 else 7"))
    assert found.first is not None
    assert (found.first.instruction.name, found.first.iterations) == ("first", (3,))


def test_inserted_statements_are_stepped_over() -> None:
    found = _run("loop", ("        sin = ", "        unused = 1\n        sin = "), ("x, y = y, sin", "x, y = sin, y"))
    assert found.first is not None
    assert found.first.instruction.name == "repeated"
    assert "does not start as iteration 0 left it" in found.first.note


def test_a_text_that_raises_is_judged_as_far_as_it_came() -> None:
    found = _run("attention.before", ("return ", "return undefined + "))
    assert "undefined" in found.failure and found.checked
    assert found.first is None


def test_dask_values_are_computed_at_the_probes() -> None:
    found = _run("attention.before", target="dask")
    assert found.checked >= 5 and not found.divergences


@pytest.mark.parametrize("chunks", ["", "5"])
def test_dask_values_are_compared_in_any_chunks(chunks: str) -> None:
    found = _of_chunks(chunks)
    assert found.checked and (found.divergences, found.failure) == ((), "")


@pytest.mark.parametrize(
    ("edit", "wrong"),
    [(("np.clip(i, 0, 8)", "np.clip(i, 0, 7)"), "start"), (("da.arange(size", "da.arange(1, 1 + size"), "part")],
)
def test_errors_of_code_in_chunks_are_named(edit: tuple[str, str], wrong: str) -> None:
    first = _of_chunks("5", edit).first
    assert first is not None and first.instruction.name == wrong


def _of_chunks(chunks: str, edit: tuple[str, str] = ("", "")) -> Lockstep:
    module = xla2py.load(MOVED)
    emitted = xla2py.emit(module, "dask", chunks=chunks)
    assert edit[0] in emitted.source
    arguments = [np.arange(12, dtype=np.float32), np.int32(9)]
    return lockstep(module, emitted, arguments, emitted.source.replace(*edit, 1) if edit[0] else None)

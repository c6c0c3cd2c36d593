"""What joins in one kernel, and what must not: the fused styles of NumPy and CuPy beside XLA."""

from contextlib import ExitStack

import pytest

import xla2py
from xla2py.tests.ladder.fast_programs import COMBINERS, program
from xla2py.tests.ladder.running import needs_compiler
from xla2py.transpile.equivalence.checking import Checker, Plan
from xla2py.transpile.equivalence.reports.formats import report_to_text

LEAST = "least { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] minimum(a, b) }\n"
A_WHOLE_SUM_BESIDE_A_MINIMUM_OF_LINES = program(
    "x = f32[6,5] parameter(0)",
    "y = f32[6,5] parameter(1)",
    "zero = f32[] constant(0)",
    "whole = f32[] reduce(x, zero), dimensions={0,1}, to_apply=sum",
    "lines = f32[6] reduce(y, zero), dimensions={1}, to_apply=sum",
    "spread = f32[6,5] broadcast(lines), dimensions={0}",
    "rest = f32[6,5] subtract(spread, x)",
    "smallest = f32[] reduce(rest, zero), dimensions={0,1}, to_apply=least",
    "ROOT r = (f32[], f32[]) tuple(whole, smallest)",
)
FEWER_RESULTS_THAN_LINES = program(
    "x = f32[4,3] parameter(0)",
    "zero = f32[] constant(0)",
    "one = f32[] constant(1)",
    "lines = f32[4] reduce(x, zero), dimensions={1}, to_apply=sum",
    "first = f32[2] slice(lines), slice={[0:2]}",
    "ROOT r = f32[2] clamp(zero, first, one)",
)
COMPLEX_LITERALS = program(
    "chosen = pred[] parameter(0)",
    "zero = c64[] constant((0, 0))",
    "one = c64[] constant((1, 0))",
    "ROOT r = c64[] select(chosen, zero, one)",
)

A_SUM_OF_COLUMNS_THAT_IS_A_PART_OF_ANOTHER = program(
    "x = f32[2,3] parameter(0)",
    "y = f32[2,3] parameter(1)",
    "zero = f32[] constant(0)",
    "both = f32[2,3] multiply(x, y)",
    "columns = f32[3] reduce(both, zero), dimensions={0}, to_apply=sum",
    "whole = f32[] reduce(both, zero), dimensions={0,1}, to_apply=sum",
    "ROOT r = (f32[3], f32[]) tuple(columns, whole)",
)
ELEMENTS_AS_THEY_ARE = program(
    "x = f32[4] parameter(0)",
    "nothing = s32[0,4] parameter(1)",
    "ROOT r = f32[4] gather(x, nothing), offset_dims={}, collapsed_slice_dims={}, start_index_map={}, "
    "operand_batching_dims={0}, start_indices_batching_dims={1}, index_vector_dim=0, slice_sizes={1}",
)
LINES_THAT_ARE_TURNED_ROUND = program(
    "x = f32[3,4,5] parameter(0)",
    "y = f32[3] parameter(1)",
    "zero = f32[] constant(0)",
    "lines = f32[3,4] reduce(x, zero), dimensions={2}, to_apply=sum",
    "turned = f32[4,3] transpose(lines), dimensions={1,0}",
    "spread = f32[4,3] broadcast(y), dimensions={1}",
    "ROOT r = f32[4,3] subtract(spread, turned)",
)


@pytest.fixture(scope="module")
def checkers():
    """For each target a checker, whose processes serve all tests."""
    with ExitStack() as stack:
        yield {
            target: stack.enter_context(Checker(Plan((target,), options={"style": "fused"})))
            for target in ("numpy", "cupy")
        }


@needs_compiler
@pytest.mark.parametrize("target", ["numpy", "cupy"])
@pytest.mark.parametrize(
    "text",
    [
        A_WHOLE_SUM_BESIDE_A_MINIMUM_OF_LINES,
        A_SUM_OF_COLUMNS_THAT_IS_A_PART_OF_ANOTHER,
        FEWER_RESULTS_THAN_LINES,
        COMPLEX_LITERALS,
        ELEMENTS_AS_THEY_ARE,
        LINES_THAT_ARE_TURNED_ROUND,
    ],
)
def test_what_joins_gives_what_xla_gives(text, target, checkers):
    pytest.importorskip({"numpy": "numba", "cupy": "cupy"}[target])
    text = text.replace("ENTRY", COMBINERS + LEAST + "ENTRY")
    checkers[target].check(xla2py.load(text))
    report = checkers[target].report()
    assert report.is_good, report_to_text(report)

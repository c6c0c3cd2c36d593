"""Running combinations along an axis that is cut: the results are NumPy's, within the plan."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.targets.chunked import Case, check, check_plan, inputs
from xla2py.tests.whole import crossed, much
from xla2py.transpile.equivalence.verdicts.comparison import Budget

dask = pytest.importorskip("dask", reason="Dask is not installed")

LOGADDEXP = """
    high = f32[] maximum(a, b)
    low = f32[] minimum(a, b)
    apart = f32[] subtract(low, high)
    exp = f32[] exponential(apart)
    more = f32[] log-plus-one(exp)
    ROOT c = f32[] add(high, more)"""
GUARDED = """
    apart = f32[] subtract(a, b)
    is_nan = pred[] compare(apart, apart), direction=NE
    sum = f32[] add(a, b)
    high = f32[] maximum(a, b)
    size = f32[] abs(apart)
    low = f32[] negate(size)
    exp = f32[] exponential(low)
    more = f32[] log-plus-one(exp)
    safe = f32[] add(high, more)
    ROOT c = f32[] select(is_nan, sum, safe)"""
LINE = """
    p = f32[] multiply(a, c)
    q = f32[] multiply(b, c)
    r = f32[] add(q, d)
    ROOT t = (f32[], f32[]) tuple(p, r)"""


def running(step: str, init: str, *, n: int = 40, reverse: bool = False, dtype: str = "f32", source: str = "x") -> str:
    """From the first place to each, along the first of two axes."""
    pad = f"0_{n - 1}x0_0" if reverse else f"{n - 1}_0x0_0"
    body = f"ROOT c = {dtype}[] {step}(a, b)" if step.isalpha() else step
    return f"""
step {{ a = {dtype}[] parameter(0)  b = {dtype}[] parameter(1)  {body} }}
ENTRY main {{
  x = {dtype}[{n},3] parameter(0)
  sum = {dtype}[{n},3] add(x, x)
  init = {dtype}[] constant({init})
  ROOT r = {dtype}[{n},3] reduce-window({source}, init), window={{size={n}x1 pad={pad}}}, to_apply=step
}}"""


def lines(*, n: int = 40, reverse: bool = False) -> str:
    """Compositions of x -> a x + b."""
    pad = f"0_{n - 1}x0_0" if reverse else f"{n - 1}_0x0_0"
    return f"""
step {{ a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] parameter(2)  d = f32[] parameter(3)  {LINE} }}
ENTRY main {{
  x = f32[{n},3] parameter(0)
  y = f32[{n},3] parameter(1)
  one = f32[] parameter(2)
  zero = f32[] constant(0)
  ROOT r = (f32[{n},3], f32[{n},3]) reduce-window(x, y, one, zero), window={{size={n}x1 pad={pad}}}, to_apply=step
}}"""


REDUCE = """
step { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] OPCODE(a, b) }
ENTRY main {
  x = s32[40,3,7] parameter(0)
  init = s32[] constant(INIT)
  ROOT r = s32[3] reduce(x, init), dimensions={0,2}, to_apply=step
}"""

PEAKS, SCANS, BITS = "accumulate_in_chunks(np.m", "cumulative_in_chunks(", "da.reduction("
LOGARITHMS = "accumulate_in_chunks(np.logaddexp"
CASES = {
    "highest so far": Case(running("maximum", "-inf"), PEAKS),
    "lowest so far": Case(running("minimum", "inf"), PEAKS),
    "highest of what is to come": Case(running("maximum", "-inf", reverse=True), PEAKS),
    "highest of what is computed": Case(running("maximum", "-inf", source="sum"), PEAKS),
    "lowest of integers": Case(running("minimum", "2147483647", dtype="s32"), PEAKS),
    "highest of narrow numbers": Case(running("maximum", "-inf", dtype="bf16"), PEAKS),
    "logarithms of sums": Case(running(LOGADDEXP, "-inf"), SCANS),
    "logarithms of sums that are to come": Case(running(LOGADDEXP, "-inf", reverse=True), SCANS),
    "JAX's logarithms of sums": Case(running(GUARDED, "-inf"), LOGARITHMS),
    "JAX's logarithms of sums that are to come": Case(running(GUARDED, "-inf", reverse=True), LOGARITHMS),
    "JAX's logarithms of sums from elsewhere": Case(running(GUARDED, "1"), SCANS),
    "bits": Case(running("xor", "5", dtype="s32"), SCANS),
    "exclusive or": Case(REDUCE.replace("OPCODE", "xor").replace("INIT", "0"), BITS),
    "all bits": Case(REDUCE.replace("OPCODE", "and").replace("INIT", "-1"), BITS),
}


@pytest.mark.parametrize(("name", "chunks"), crossed(CASES, ["1", "6", "13"]))
def test_each_chunk_goes_on_from_those_before(name, chunks):
    check(CASES[name], chunks)


@pytest.mark.parametrize(("reverse", "chunks"), crossed([False, True], ["6", "1", "13"]))
def test_two_arrays_by_a_function_whose_order_matters(reverse, chunks):
    rng = np.random.default_rng(0)
    given = [rng.normal(size=(40, 3)).astype(np.float32) for _ in range(2)] + [np.float32(1.5)]
    given[0][7, 1] = np.nan
    check(Case(lines(reverse=reverse), SCANS), chunks, given, Budget(relative=1e-5, absolute=1e-6))


def test_what_is_empty_is_not_done_in_chunks():
    generated = xla2py.emit(running("maximum", "-inf").replace("40,3", "40,0"), "dask", chunks="6")
    assert "accumulate_in_chunks" not in generated.source
    assert generated.load().main(np.zeros((40, 0), np.float32)).compute().shape == (40, 0)


LARGE = {
    "highest": (running("maximum", "-inf", n=1_000_000), "cummax"),
    "highest of what is computed": (running("maximum", "-inf", n=1_000_000, source="sum"), "cummax"),
    "logarithms": (running(LOGADDEXP, "-inf", n=1_000_000), "cumulative"),
    "JAX's logarithms": (running(GUARDED, "-inf", n=1_000_000), "cumlogaddexp", "convert"),
}


@pytest.mark.parametrize("name", much([*LARGE][1::2], LARGE))
def test_a_run_takes_no_more_than_is_planned(name):
    text, *phases = LARGE[name]
    check_plan(text, inputs(Case(text, "")), *phases, chunks="256KiB")

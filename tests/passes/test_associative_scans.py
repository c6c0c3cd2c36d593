"""HLO's scan where it says that its steps are associative, as JAX 0.11 lowers running sums for GPUs."""

import ml_dtypes
import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import main

INTEGERS = np.arange(12, dtype=np.int32).reshape(3, 4) * 7 % 5


def scan(operation="add", start="0", says="is_associative=true", kind="s32", outputs="c, c"):
    return f"""HloModule m

step {{
  a = {kind}[3] parameter(0)
  b = {kind}[3] parameter(1)
  c = {kind}[3] {operation}(a, b)
  ROOT both = ({kind}[3], {kind}[3]) tuple({outputs})
}}

ENTRY main {{
  x = {kind}[3,4] parameter(0)
  start = {kind}[] constant({start})
  starts = {kind}[3] broadcast(start), dimensions={{}}
  ROOT r = ({kind}[3,4], {kind}[3]) scan(x, starts), dimensions={{1}}, num_carries=1, {says}, to_apply=step
}}"""


@pytest.mark.parametrize(
    ("operation", "start", "combine", "written"),
    [
        ("add", "0", np.add, "x.cumsum(axis=-1, dtype=np.int32)"),
        ("multiply", "1", np.multiply, "x.cumprod(axis=-1, dtype=np.int32)"),
        ("maximum", "-2147483648", np.maximum, "np.maximum.accumulate(x, axis=-1)"),
    ],
)
@pytest.mark.parametrize("is_reverse", [False, True])
def test_running_combinations(operation, start, combine, written, is_reverse):
    says = "is_associative=true, is_reverse=true" if is_reverse else "is_associative=true"
    text = scan(operation, start, says)
    assert "scan(" not in main(text) and (is_reverse or written in main(text))
    found, last = xla2py.emit(text).load().main(INTEGERS)
    flip = slice(None, None, -1 if is_reverse else 1)
    expected = combine.accumulate(INTEGERS[:, flip], axis=1)[:, flip]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(last, expected[:, 0 if is_reverse else -1])
    assert found.dtype == last.dtype == np.int32


def test_narrow_floats_are_rounded_once():
    x = np.full((3, 4), 1.00390625, ml_dtypes.bfloat16)
    found, _ = xla2py.emit(scan(kind="bf16")).load().main(x)
    np.testing.assert_array_equal(found, x.astype(np.float32).cumsum(axis=1).astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize(
    "given",
    [
        {"says": "is_associative=false"},
        {"says": "is_reverse=false"},
        {"start": "3"},
        {"operation": "subtract"},
        {"outputs": "b, c"},
        {"outputs": "c, a"},
    ],
    ids=str,
)
def test_other_scans_stay(given):
    text = scan(**given)
    assert "scan(step, " in main(text)
    found, last = xla2py.emit(text).load().main(INTEGERS)
    carry, expected = np.full(3, int(given.get("start", 0)), np.int32), []
    for column in INTEGERS.T:
        total = column - carry if given.get("operation") == "subtract" else column + carry
        names = {"a": column, "b": carry, "c": total}
        output, carry = (names[name] for name in given.get("outputs", "c, c").split(", "))
        expected.append(output)
    np.testing.assert_array_equal(found, np.stack(expected, axis=1))
    np.testing.assert_array_equal(last, carry)

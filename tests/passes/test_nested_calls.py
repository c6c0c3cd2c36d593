"""Functions that call the next one twice, over many levels: the text grows with the levels, not with the calls."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.counted_loops import counted_loop
from xla2py.tests.passes.raising import ROUNDED
from xla2py.tests.whole import crossed
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.equivalence.verdicts.comparison import compare
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.source import UnsupportedError
from xla2py.transpile.passes.outlining.traced_calls import is_movable, work

FIRST = """
level_0 {
  x = f32[4] parameter(0)
  s = f32[4] sine(x)
  t = f32[4] tanh(s)
  c = f32[4] cosine(t)
  a = f32[4] add(s, c)
  ROOT r = f32[4] multiply(a, t)
}
"""
NEXT = """
level_{number} {{
  x = f32[4] parameter(0)
  one = f32[] constant(0.9)
  ones = f32[4] broadcast(one), dimensions={{}}
  y = f32[4] multiply(x, ones)
  a = f32[4] call(x), to_apply=level_{below}
  b = f32[4] call(y), to_apply=level_{below}
  ROOT r = f32[4] maximum(a, b)
}}
"""
CALL = "HloModule m\nCALLED\nENTRY main { x = f32[4] parameter(0)  ROOT r = f32[4] call(x), to_apply=level_LAST }"
LOOP = counted_loop(
    5,
    {"x": "f32[4]"},
    "new_x = f32[4] call(x), to_apply=level_LAST",
    given="x = f32[4] parameter(0)",
    behind="ROOT r = f32[4] copy(x_end)",
    head="CALLED",
)
ENTRIES = {"call": CALL, "loop": LOOP}


def nested(entry: str, levels: int) -> str:
    called = (NEXT.format(number=number, below=number - 1) for number in range(1, levels + 1))
    return entry.replace("CALLED", "".join([FIRST, *called])).replace("LAST", str(levels))


@pytest.mark.parametrize(("entry", "style", "target"), crossed(ENTRIES, ["readable", "fast"], ["numpy", "cupy"]))
def test_each_level_is_a_function(entry, style, target):
    """Twenty levels are a million calls."""
    few, many = (len(xla2py.emit(nested(ENTRIES[entry], n), target=target, style=style).source) for n in (10, 20))
    assert few < many < 3 * few


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("style", ["readable", "fast"])
def test_levels_compute_what_they_say(style, entry):
    text = nested(ENTRIES[entry], 7)
    x = np.array([0.3, -1.2, 2.5, 0.01], np.float32)
    (result,) = compare(run_hlo_in_child(text, x), xla2py.emit(text, style=style).load().main(x), ROUNDED)
    assert result.status.is_good, str(result)


def test_where_no_function_is_called_the_program_has_an_end():
    with pytest.raises(UnsupportedError, match="XP302: the program has more than 1,000,000 operations"):
        xla2py.emit(nested(CALL, 30), target="dask")


def test_what_calls_reach_is_counted_once_for_each_computation():
    call = parse_module(nested(CALL, 60)).entry.root
    assert is_movable(call)
    assert work([call]) == 2**60 * 5 + (2**60 - 1) * 2

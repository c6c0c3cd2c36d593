"""How tables of numbers are written: evenly spaced ones by their ends, long rows in full lines."""

import ast

import black
import numpy as np
import pytest

import xla2py
from xla2py.tests.passes.raising import EXACT, assert_agrees, entry
from xla2py.transpile.emission.functions.constants import evenly_spaced
from xla2py.transpile.emission.naming.source_reads import SourceTables

RANDOM = np.random.default_rng(0)


def module(values, target="numpy"):
    text = ", ".join(map(str, values.ravel()))
    rows = [text] if values.ndim == 1 else [f"{{{', '.join(map(str, row))}}}" for row in values]
    shape = f"f32[{','.join(map(str, values.shape))}]"
    program = entry(
        f"x = {shape} parameter(0)", f"c = {shape} constant({{{', '.join(rows)}}})", f"y = {shape} add(x, c)"
    )
    return program, xla2py.emit(program, target=target).source


@pytest.mark.parametrize("ends", [(-10, 10, 51), (0, 1, 100), (0.1, -0.3, 9)])
@pytest.mark.parametrize(("target", "name"), [("numpy", "np"), ("cupy", "cp"), ("dask", "np")])
def test_evenly_spaced_numbers_are_written_by_their_ends(ends, target, name):
    text, source = module(np.linspace(*ends, dtype=np.float32), target)
    assert f"TABLE_1 = {name}.linspace({', '.join(map(str, ends))}, dtype={name}.float32)\n" in source
    if target == "numpy":
        assert_agrees(text, np.linspace(*ends, dtype=np.float32), without="ranges", budget=EXACT)


@pytest.mark.parametrize(
    "values",
    [
        np.linspace(0, 1, 7, dtype=np.float32),
        np.geomspace(1, 100, 20, dtype=np.float32),
        np.full(20, 0.5, np.float32),
        np.linspace(0, np.inf, 9, dtype=np.float32),
        np.nextafter(np.linspace(0, 1, 20, dtype=np.float32), np.float32(2)),
        np.linspace(0, 1, 20, dtype=np.float16).reshape(2, 10),
        np.where(np.arange(17) == 8, np.float32(-0.0), np.linspace(-1, 1, 17, dtype=np.float32)),
    ],
)
def test_other_numbers_are_not(values):
    with np.errstate(invalid="ignore"):
        assert evenly_spaced(values, "np") is None


def test_long_rows_fill_their_lines():
    text, source = module(RANDOM.random(40).astype(np.float32))
    table = source[source.index("TABLE_1") : source.index("# fmt: skip")]
    assert table.count("\n") < 9 and max(map(len, table.splitlines())) <= 88
    assert black.format_str(source, mode=black.Mode()) == source
    assert_agrees(text, np.zeros(40, np.float32), without="constants", budget=EXACT)


def test_long_rows_of_a_matrix_begin_lines():
    text, source = module(RANDOM.random((3, 16)).astype(np.float32))
    table = source[source.index("TABLE_1") : source.index("# fmt: skip")]
    assert table.count("\n    [") == 3 and table.count("\n     0.") == 6
    assert black.format_str(source, mode=black.Mode()) == source
    assert_agrees(text, np.zeros((3, 16), np.float32), without="constants", budget=EXACT)


@pytest.mark.parametrize("shape", [(9,), (4, 5)])
def test_other_tables_are_left_to_black(shape):
    _, source = module(RANDOM.random(shape).astype(np.float32).round(3))
    assert "fmt" not in source


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (np.array([0.5, 0, 2], np.float32), "weights"),
        (np.array([True, False, True]), ""),
        (np.array([0, 0, 2], np.int32), ""),
        (np.array([3, 0, 1], np.uint8), "places"),
    ],
)
def test_literals_have_the_values_of_tables(array, name):
    """A literal names no array that equals it only after a cast; one that would fill the memory is not computed."""
    text = "weights = np.array([0.5, 0, 2])\nplaces = np.array([3, 0, 1])\nmany = np.array([[0] * 10000000000000])"
    assert SourceTables({"f.py": ast.parse(text)}).of(array) == name


NUMBERS = "{1, 2.5, 3, 7, 1, 8, 2, 9, 4.25}"


def test_arguments_are_not_called_as_tables_of_functions_behind():
    calls = [("sine", "c"), ("tanh", "d"), ("cosine", "c"), ("exponential", "d")]
    steps = "".join(
        f"  y{k + 1} = f32[9] {op}(y{k})\n  y{k + 2} = f32[9] multiply(y{k + 1}, {table})\n"
        for k, (op, table) in zip(range(0, 8, 2), calls, strict=True)
    )
    program = f"""inner {{
  y0 = f32[9] parameter(0)
  c = f32[9] constant({NUMBERS})
  d = f32[9] constant({NUMBERS.replace("2.5", "3.5")})
{steps}  ROOT y = f32[9] add(y8, y0)
}}
ENTRY main {{
  p = f32[9] parameter(0), metadata={{op_name="TABLE"}}
  q = f32[9] parameter(1), metadata={{op_name="TABLE"}}
  one = f32[9] call(p), to_apply=inner
  two = f32[9] call(q), to_apply=inner
  ROOT r = f32[9] add(one, two)
}}
"""
    text = xla2py.emit(program, debug=True).source
    assert "TABLE_2 = np.array(" in text and "def main(table: Array, table_2: Array)" in text

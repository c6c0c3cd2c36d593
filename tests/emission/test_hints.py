"""Names come from the first hint that says something; idioms are rows, and names can be explained."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from xla2py.transpile.commands.emit import command
from xla2py.transpile.emission import emit
from xla2py.transpile.emission.naming import idioms
from xla2py.transpile.emission.naming.hints import HINTS

LAYER_NORM = """
HloModule layer_norm
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[4,8] parameter(0)
  zero = f32[] constant(0)
  eight = f32[] constant(8)
  eights = f32[4] broadcast(eight), dimensions={}
  total = f32[4] reduce(x, zero), dimensions={1}, to_apply=sum
  mean = f32[4] divide(total, eights)
  means = f32[4,8] broadcast(mean), dimensions={0}
  centered = f32[4,8] subtract(x, means)
  squares = f32[4,8] multiply(centered, centered)
  power = f32[4] reduce(squares, zero), dimensions={1}, to_apply=sum
  variance = f32[4] divide(power, eights)
  deviation = f32[4] sqrt(variance)
  deviations = f32[4,8] broadcast(deviation), dimensions={0}
  y = f32[4,8] divide(centered, deviations)
  e = f32[4,8] exponential(y)
  ROOT out = f32[4,8] multiply(e, y)
}
"""


def test_the_result_of_layer_norms_is_named_by_one_row(monkeypatch):
    assert "normalized = " in emit(LAYER_NORM).source
    rows = [replace(row, name="standardized") if row.name == "normalized" else row for row in idioms.IDIOMS]
    monkeypatch.setattr(idioms, "IDIOMS", rows)
    source = emit(LAYER_NORM).source
    assert "standardized = " in source and "normalized" not in source


def test_explained_names_say_which_hint_won_and_which_it_beat():
    texts = {}
    explained = emit(LAYER_NORM, observe=lambda name, text: texts.setdefault(name, text)).source
    assert explained == emit(LAYER_NORM).source
    head, *lines = texts["names"].split("\n")
    assert head == "main:"
    row = next(line.split() for line in lines if "normalized" in line)
    assert row[:3] == ["normalized", "an", "idiom;"] and "(its operation)" in " ".join(row)


@pytest.mark.parametrize(("given", "shown"), [(["--explain-names"], True), (["--print-after", "all"], False)])
def test_the_command_explains_names_where_it_is_asked_to(given, shown):
    result = CliRunner().invoke(command, ["-", *given], input=LAYER_NORM)
    assert result.exit_code == 0 and "normalized = " in result.stdout
    assert ("  normalized  an idiom" in result.stderr) == shown


def test_every_hint_is_told_from_the_others():
    assert len({hint.source for hint in HINTS}) == len(HINTS)

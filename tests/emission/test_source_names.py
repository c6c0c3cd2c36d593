"""Names from the author's own Python: where an expression's value is told from what else was made for it."""

import pytest

import xla2py

SOURCE = """\
def loss(x):
    y = jnp.sin(x) * 2
    return y.sum()
"""

# The value of line 2 is `y`; the cosine is for the gradient alone.
PLACE = 'source_file="loss.py" source_line=2 source_column=8'
TEXT = f"""
HloModule loss

ENTRY main {{
  x = f32[4] parameter(0)
  dy = f32[4] parameter(1)
  two = f32[] constant(2)
  twos = f32[4] broadcast(two), dimensions={{}}
  sine = f32[4] sine(x), metadata={{op_name="jit(loss)/jvp()/sin" {PLACE}}}
  y.1 = f32[4] multiply(sine, twos), metadata={{op_name="jit(loss)/jvp()/mul" {PLACE}}}
  cosine = f32[4] cosine(x), metadata={{op_name="jit(loss)/jvp()/cos" {PLACE}}}
  gradient = f32[4] multiply(dy, cosine), metadata={{op_name="jit(loss)/transpose(jvp())/mul" {PLACE}}}
  one = f32[4] exponential(gradient)
  more = f32[4] add(one, gradient)
  other = f32[4] exponential(y.1)
  both = f32[4] add(other, y.1)
  ROOT results = (f32[4], f32[4]) tuple(more, both)
}}
"""


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "loss.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def test_a_factor_of_the_gradient_does_not_get_the_name_of_the_value(sources):
    text = xla2py.emit(TEXT, sources=sources).source
    assert "y = np.sin(x) * 2" in text
    assert "d_y = dy * np.cos(x)" in text

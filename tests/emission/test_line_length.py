"""Lines of another length: black's own layout, prose included, the same values, and the command that says so."""

from pathlib import Path

import numpy as np
import pytest

from xla2py import emit
from xla2py.tests.recording.tools import black_layout
from xla2py.transpile.emission.formatting import narrowed
from xla2py.transpile.errors import UsageError

EXAMPLES = Path(__file__).parents[2] / "examples" / "hlo"
TEXT = """ENTRY main {
  a = f32[4,8] parameter(0), metadata={op_name="first_operand_of_the_product"}
  b = f32[8,4] parameter(1), metadata={op_name="second_operand_of_the_product"}
  c = f32[4,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = f32[4,4] tanh(c)
  e = f32[4,4] exponential(c)
  f = f32[4,4] sine(d)
  g = f32[4,4] multiply(f, e)
  h = f32[4,4] add(g, c)
  ROOT i = f32[4,4] sqrt(h)
}
"""


@pytest.mark.parametrize("line_length", [72, 100, 120])
@pytest.mark.parametrize(
    "name, target", [("lstm.before.hlo", "numpy"), ("kmeans.before.hlo", "cupy"), ("cross_entropy.after.hlo", "dask")]
)
def test_modules_are_in_blacks_layout_at_any_length(name, target, line_length):
    source = emit(EXAMPLES / name, target, line_length=line_length).source
    assert black_layout(source, line_length) == source
    longer = [line for line in source.splitlines() if len(line) > line_length and not line.startswith("# ")]
    assert not [
        line for line in longer if '"' not in line and ";" not in line and "//" not in line
    ]  # strings, CUDA C++
    assert f" --line-length {line_length}\n" in source


def test_long_lines_have_what_short_ones_name():
    lines = {length: emit(TEXT, checks=False, line_length=length, name="m").source for length in (72, 88, 120)}
    assert lines[88] == emit(TEXT, checks=False, name="m").source and "--line-length" not in lines[88]
    bodies = {length: text.partition("def main")[2] for length, text in lines.items()}
    assert bodies[120].count("\n") < bodies[72].count("\n")
    x = np.random.default_rng(0).random((4, 8), np.float32)
    results = [emit(TEXT, line_length=length).load().main(x, x.T.copy()) for length in lines]
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_prose_is_wrapped_where_it_is_too_long():
    text = f'def f(x):\n    """{"word " * 15}end."""\n    # {"note " * 16}end\n    return x'
    lines = narrowed(text, 72).split("\n")
    assert max(map(len, lines)) <= 72 and lines[3].strip() == '"""' and lines[-1] == "    return x"
    assert narrowed(text, 100) == text
    kept = f'def f(x):\n    """One.\n\n    {"word " * 15}end.\n    """'
    assert narrowed(kept, 72).split("\n")[:3] == ["def f(x):", '    """One.', ""]
    header = f"# regenerate: xla2py emit {'long_' * 20}.hlo -t numpy"
    assert narrowed(header, 72) == header


@pytest.mark.parametrize("line_length", [20, 1000, True, "88"])
def test_lengths_that_lines_cannot_have(line_length):
    with pytest.raises(UsageError, match="XP416: line_length: expected a number from 72 to 320"):
        emit(TEXT, line_length=line_length)


def test_the_command_and_its_file_of_settings(xla2py, folder):
    (folder / "m.hlo").write_text(TEXT)
    code, given, _ = xla2py("emit", "m.hlo", "--line-length", "100")
    assert (code, given) == (0, emit(TEXT, line_length=100, name="m.hlo", nested=False).source)
    (folder / "pyproject.toml").write_text("[tool.xla2py]\nline-length = 100\n[tool.ruff]\nline-length = 72\n")
    assert xla2py("emit", "m.hlo")[1] == given
    (folder / "pyproject.toml").write_text("[tool.xla2py]\nline-length = true\n")
    assert "expected a number from 72 to 320" in xla2py("emit", "m.hlo")[2]
    assert xla2py("emit", "m.hlo", "--line-length", "9")[0] == 2

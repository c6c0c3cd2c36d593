"""``--annotate full``: the HLO of each statement above it, readable, harmless and as black leaves it."""

import ast
import re
from pathlib import Path

import pytest

import xla2py
from xla2py.tests.recording.tools import black_layout
from xla2py.transpile.compilation import optional_names, stage_names
from xla2py.transpile.emission.module.provenance import MOST, comments
from xla2py.transpile.emission.naming.hints import EXPLAINED
from xla2py.transpile.errors import UsageError

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "hlo").glob("*.before.hlo"))


def code(source):
    """The module without comments and without its header's options."""
    return ast.dump(ast.parse(source))


@pytest.mark.parametrize("path", EXAMPLES[::4], ids=lambda path: path.stem)
def test_only_comments_are_added_and_black_keeps_them(path):
    module = xla2py.load(path)
    short, full = (xla2py.emit(module, annotate=annotate).source for annotate in ("short", "full"))
    assert code(short) == code(full)
    assert black_layout(full) == full
    main = full[full.index("\ndef main") :]
    added = [line for line in main.splitlines() if re.match(r"\s+# \S+ = \S+", line)]
    assert added
    assert max(map(len, added)) <= 88


def test_the_instructions_stand_above_their_statement():
    text = """
    ENTRY main {
      x = f32[3] parameter(0)
      two = f32[] constant(2)
      twos = f32[3] broadcast(two), dimensions={}
      doubled = f32[3] multiply(x, twos)
      ROOT result = f32[3] exponential(doubled)
    }
    """
    source = xla2py.emit(text, annotate="full", checks=False).source
    expected = (
        "    # doubled = f32[3] multiply(x, twos)\n"
        "    # result = f32[3] exponential(doubled)\n"
        "    return np.exp(x * 2)\n"
    )
    assert source.endswith(expected)


def test_names_cannot_leave_their_comment():
    root = xla2py.load("ENTRY main { x = f32[3] parameter(0) ROOT y = f32[3] negate(x) }").entry.root
    assert comments([root.replace(name="y\nimport os\u202e\r")], 80) == ["y?import os?? = f32[3] negate(x)"]


def test_many_instructions_are_counted():
    operations = "\n".join(f"  v{k} = f32[3] negate(v{k - 1})" for k in range(1, 20))
    module = xla2py.load(f"ENTRY main {{\n  v0 = f32[3] parameter(0)\n{operations}\n  ROOT r = f32[3] negate(v19)\n}}")
    chosen = comments(module.entry.instructions, 20)
    assert len(chosen) == MOST + 1
    assert chosen[0] == f"{20 - MOST} more, then"
    assert all(len(text) <= 20 for text in chosen)


def test_passes_are_told_apart_by_name():
    seen = {}
    xla2py.emit(xla2py.load(EXAMPLES[0]), observe=seen.__setitem__)
    assert list(seen)[:4] == ["scopes_through_calls", "special_functions", "outlining", "to_array"]
    assert set(seen) <= {*stage_names(), EXPLAINED}
    assert seen["to_array"] != seen["keepdims"]
    without = {}
    xla2py.emit(xla2py.load(EXAMPLES[0]), observe=without.__setitem__, disable_passes=["keepdims"])
    assert set(seen) - set(without) == {"keepdims"}


def test_stages_are_named_before_they_run():
    begun, done = [], []
    xla2py.emit(xla2py.load(EXAMPLES[0]), begin=begun.append, observe=lambda name, text: done.append(name))
    assert [*begun, EXPLAINED] == [*done[:-1], "writing", "formatting", done[-1]]


def test_every_switch_in_the_passes_has_a_name():
    texts = [path.read_text("utf-8") for path in (ROOT / "transpile" / "passes").rglob("*.py")]
    used = {name for text in texts for name in re.findall(r'"(\w+)" (?:not )?in [\w.]*disabled', text)}
    assert used
    assert used <= set(optional_names())


def test_an_unknown_pass_is_refused():
    with pytest.raises(UsageError) as error:
        xla2py.emit(xla2py.load(EXAMPLES[0]), disable_passes=["mean"])
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "XP641"
    assert "did you mean 'means'?" in diagnostic.hint
    assert all(name in diagnostic.hint for name in optional_names())


CALLED_ONCE = """HloModule jit_{name}

FileNames
1 "/home/u/run.py"

FunctionNames
1 "{function}"

FileLocations
1 {{file_name_id=1 function_name_id=1 line=7 end_line=7 column=4 end_column=9}}

StackFrames
1 {{file_location_id=1 parent_frame_id=1}}

ENTRY main {{
  x = f32[3] parameter(0)
  y = f32[3] sine(x), metadata={{op_name="a" stack_frame_id=1}}
  z = f32[3] multiply(y, y), metadata={{op_name="b" stack_frame_id=1}}
  ROOT w = f32[3] add(z, y), metadata={{op_name="c" stack_frame_id=1}}
}}
"""


@pytest.mark.parametrize(
    ("name", "function", "is_told"), [("sinc", "run", False), ("run", "run", True), ("_lambda", "f.<lambda>", True)]
)
def test_the_line_that_called_the_tracer_is_no_line_of_the_function(name, function, is_told):
    source = xla2py.emit(CALLED_ONCE.format(name=name, function=function)).source
    assert ("# run.py:7" in source) is is_told

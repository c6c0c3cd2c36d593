"""Names from the author's own Python: where an expression's value is told from what else was made for it."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.transpile.emission.naming.layers import _word
from xla2py.transpile.emission.naming.source import SourceNames
from xla2py.transpile.hlo.parser import parse_module

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
    assert "d_x = dy * np.cos(x)" in text


def test_comments_above_a_compiled_loop_have_the_names_of_the_loop(sources):
    pytest.importorskip("numba", reason="Numba is not installed")
    text = TEXT.replace("cosine(", "exponential(").replace("sine(", "exponential(").replace("f32[4]", "f32[4000]")
    loop = xla2py.emit(text, sources=sources, style="fast").source
    assert "# y = exp * 2\n" in loop and " y = exp * f4(2)\n" in loop


MODEL = """\
def step(h, x, w):
    gate = jax.nn.sigmoid(x @ w)
    kept = (1 - gate) * h
    return kept + gate

def count(rows, at):
    index = at // 2
    row = rows[index]
    return row * 2
"""
HEADER = """
HloModule model

FileNames
1 "model.py"

FunctionNames
1 "step"
2 "count"

FileLocations
1 {file_name_id=1 function_name_id=1 line=2 end_line=2 column=11 end_column=32}
2 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=11 end_column=25}
3 {file_name_id=1 function_name_id=2 line=7 end_line=7 column=12 end_column=19}
4 {file_name_id=1 function_name_id=2 line=8 end_line=8 column=10 end_column=21}
5 {file_name_id=1 function_name_id=2 line=9 end_line=9 column=11 end_column=18}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=1}
3 {file_location_id=3 parent_frame_id=1}
4 {file_location_id=4 parent_frame_id=1}
5 {file_location_id=5 parent_frame_id=1}
"""


def written(tmp_path, *lines):
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    body = "\n".join(["ENTRY main {", *lines, "}"])
    return xla2py.emit(HEADER + body, sources=tmp_path, annotate="none").source


def test_an_expression_that_runs_twice_gives_its_name_to_both_values(tmp_path):
    gate, kept = 'metadata={op_name="logistic" stack_frame_id=1}', 'metadata={op_name="mul" stack_frame_id=2}'
    text = written(
        tmp_path,
        *("h = f32[3,4] parameter(0)", "x = f32[3,4] parameter(1)", "y = f32[3,4] parameter(2)"),
        *("w = f32[4,4] parameter(3)", "one = f32[] constant(1)", "ones = f32[3,4] broadcast(one), dimensions={}"),
        f"dot.1 = f32[3,4] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, {gate}",
        f"first = f32[3,4] logistic(dot.1), {gate}",
        f"rest.1 = f32[3,4] subtract(ones, first), {kept}",
        f"kept.1 = f32[3,4] multiply(rest.1, h), {kept}",
        "after.1 = f32[3,4] add(kept.1, first)",
        f"dot.2 = f32[3,4] dot(y, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, {gate}",
        f"second = f32[3,4] logistic(dot.2), {gate}",
        f"rest.2 = f32[3,4] subtract(ones, second), {kept}",
        f"kept.2 = f32[3,4] multiply(rest.2, after.1), {kept}",
        "ROOT after.2 = f32[3,4] add(kept.2, second)",
    )
    assert "gate = sigmoid(x @ w)" in text
    assert "gate_2 = sigmoid(y @ w)" in text
    assert "dot" not in text  # a part of the expression is not its value


def test_a_value_that_a_later_expression_only_hands_on_keeps_its_first_name(tmp_path):
    index, row = 'metadata={op_name="div" stack_frame_id=3}', 'metadata={op_name="gather" stack_frame_id=4}'
    text = written(
        tmp_path,
        *("rows = f32[8,4] parameter(0)", "at = u32[3] parameter(1)", "two = u32[] constant(2)"),
        *("twos = u32[3] broadcast(two), dimensions={}", "zero = u32[] constant(0)"),
        "zeros = u32[3] broadcast(zero), dimensions={}",
        f"index.1 = u32[3] divide(at, twos), {index}",
        f"same.1 = u32[3] add(index.1, zeros), {row}",
        f"places = u32[3,1] reshape(same.1), {row}",
        "taken = f32[3,4] gather(rows, places), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
        f"index_vector_dim=1, slice_sizes={{1,4}}, {row}",
        "result = f32[3,4] add(taken, taken)",
        "ROOT all = (f32[3,4], u32[3]) tuple(result, index.1)",
    )
    assert "index = at // 2" in text
    assert "row = " in text


def test_parts_of_an_expression_do_not_get_its_name_on_dask():
    examples = Path(__file__).resolve().parents[2] / "examples"
    hlo = examples / "hlo" / "attention.before.hlo"
    text = xla2py.emit(hlo, "dask", chunks="8KiB", sources=examples.parent).source
    main, blocks = re.split(r"(?=\ndef peak_block)", text)
    assert "    peak = reduce_parts(peak_parts, " in main and "    weights_total = reduce_parts(" in main
    assert "    weights = " not in main and "    weights = " in blocks


# An author's function, the program's lines, where ``@2:10`` is a place in the function, and what is written.
AUTHORS = {
    "a product and its bias of one name are one statement": (
        "def layer(x, w, b):\n    out = x @ w\n    out = out + b\n    return out, jnp.exp(out)\n",
        """
        x = f32[4,3] parameter(0)
        w = f32[3,5] parameter(1)
        b = f32[5] parameter(2)
        product = f32[4,5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, @2:10
        given = f32[4,5] broadcast(b), dimensions={1}
        sum = f32[4,5] add(product, given), @3:10
        exp = f32[4,5] exponential(sum)
        ROOT results = (f32[4,5], f32[4,5]) tuple(sum, exp)
        """,
        "    out = x @ w + b",
    ),
    "a product and its factor are not": (
        "def layer(x, w, scale):\n    out = x @ w\n    out = out * scale\n    return out, jnp.exp(out)\n",
        """
        x = f32[4,3] parameter(0)
        w = f32[3,5] parameter(1)
        scale = f32[5] parameter(2)
        product = f32[4,5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, @2:10
        given = f32[4,5] broadcast(scale), dimensions={1}
        sum = f32[4,5] multiply(product, given), @3:10
        exp = f32[4,5] exponential(sum)
        ROOT results = (f32[4,5], f32[4,5]) tuple(sum, exp)
        """,
        "    out = x @ w\n    out = out * scale",
    ),
    "a step of an expression has the name of its value": (
        STEPS := "def scores(q, k):\n    scores = (jnp.exp(q) @ k) ** 2\n    return scores * scores\n",
        STEPS_TEXT := """
        q = f32[40,8] parameter(0)
        k = f32[8,40] parameter(1)
        exp = f32[40,8] exponential(q), @2:13
        dot = f32[40,40] dot(exp, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}, @2:13
        squared = f32[40,40] multiply(dot, dot), @2:13
        ROOT root = f32[40,40] multiply(squared, squared)
        """,
        "    scores = np.exp(q) @ k\n    scores = scores * scores\n",
    ),
    "one more reads the step": (
        STEPS,
        STEPS_TEXT.replace("multiply(squared, squared)", "multiply(squared, dot)"),
        lambda source: "scores = np.exp(q) @ k" not in source,
    ),
    "a part of an array that is read again keeps its name": (
        CENTRE := "def pattern(image):\n    centre = image[1:3]\n"
        "    return (centre > image[:2]) & (centre > image[2:]) & (centre > 0)\n",
        CENTRE_TEXT := """
        image = f32[4] parameter(0)
        centre.1 = f32[2] slice(image), slice={[1:3]}, @2:13
        low = f32[2] slice(image), slice={[0:2]}, @3:21
        high = f32[2] slice(image), slice={[2:4]}, @3:45
        one = pred[2] compare(centre.1, low), direction=GT, @3:12
        other = pred[2] compare(centre.1, high), direction=GT, @3:36
        both = pred[2] and(one, other), @3:11
        zero = f32[] constant(0)
        zeros = f32[2] broadcast(zero), dimensions={}
        last = pred[2] compare(centre.1, zeros), direction=GT, @3:60
        ROOT all = pred[2] and(both, last), @3:11
        """,
        "    centre = image[1:3]\n    return (centre > image[:2]) & (centre > image[2:]) & (centre > 0)\n",
    ),
    "one that is read less often does not": (
        CENTRE,
        CENTRE_TEXT.replace("compare(centre.1, high)", "compare(low, high)"),
        "image[1:3] > image[:2]",
    ),
    "an augmented assignment names what it assigns": (
        "def blur(x):\n    filt = jnp.exp(x)\n    filt /= jnp.sum(filt)\n    return jnp.square(filt)\n",
        """
        x = f32[8] parameter(0)
        zero = f32[] constant(0)
        filt = f32[8] exponential(x), @2:11
        total = f32[] reduce(filt, zero), dimensions={0}, to_apply=add, @3:12
        totals = f32[8] broadcast(total), dimensions={}, @3:4
        ratio = f32[8] divide(filt, totals), @3:4
        ROOT square = f32[8] multiply(ratio, ratio)
        """,
        "filt = np.exp(x)\n    filt = filt / filt.sum()\n    return np.square(filt)",
    ),
    "what only a change in place reads has the name of the changed array": (
        NOISY := "def noisy(x, noise):\n    k = jnp.exp(x)\n    covariance = k.at[2].set(noise)\n"
        "    return covariance * covariance\n",
        NOISY_TEXT := """
        x = f32[8] parameter(0)
        noise = f32[1] parameter(1)
        two = s32[] constant(2)
        k = f32[8] exponential(x), @2:8
        changed = f32[8] dynamic-update-slice(k, noise, two), @3:17
        ROOT result = f32[8] multiply(changed, changed)
        """,
        "covariance = np.exp(x)\n    covariance[2] = noise",
    ),
    "what others read too does not": (
        NOISY,
        NOISY_TEXT.replace("multiply(changed, changed)", "add(changed, k)"),
        "k = np.exp(x)\n    covariance = k.copy()\n    covariance[2] = noise",
    ),
    "a value that an object holds has the name of the object": (
        MOVED := "def layer(x, w):\n    moved = Grid(x + w, 3)\n    return jnp.exp(moved.data) + moved.data\n",
        MOVED_TEXT := """
        x = f32[8] parameter(0)
        w = f32[8] parameter(1)
        total = f32[8] add(x, w), @2:17
        exp = f32[8] exponential(total)
        ROOT result = f32[8] add(exp, total)
        """,
        "    moved = x + w\n",
    ),
    "what a function is given is only a step of its value": (
        MOVED.replace("Grid", "move"),
        MOVED_TEXT,
        "    x_plus_w = x + w\n",
    ),
    "a value whose part an attribute is has its name": (
        MOVED.replace("Grid(x + w, 3)", "(x**o + w**o).o"),
        MOVED_TEXT.replace("2:17", "2:13"),
        "    moved = x + w\n",
    ),
    "one that is transposed does not": (
        MOVED.replace("Grid(x + w, 3)", "(x + w).mT"),
        MOVED_TEXT.replace("2:17", "2:13"),
        "    x_plus_w = x + w\n",
    ),
    "a word that says nothing gives way where it would need a number": (
        GIVEN := "def layer(y, scale):\n    z = y\n    y = y / scale\n    return jnp.exp(y) + y + z\n",
        GIVEN_TEXT := """
        y = f32[8] parameter(0)
        scale = f32[8] parameter(1)
        ratio = f32[8] divide(y, scale), @3:8
        exp = f32[8] exponential(ratio)
        sum = f32[8] add(exp, ratio)
        ROOT result = f32[8] add(sum, y)
        """,
        "    y_over_scale = y / scale\n",
    ),
    "a word that says something does so, too": (
        GIVEN.replace("y = y", "tau = tau").replace("(y, scale)", "(tau, scale)").replace("(y)", "(tau)"),
        GIVEN_TEXT.replace("y =", "tau =").replace("(y,", "(tau,").replace(", y)", ", tau)").replace("3:8", "3:10"),
        "    tau_over_scale = tau / scale\n",
    ),
    "a mask inside an expression does not have its name": (
        "def layer(x, w):\n    up = jnp.where(x > 0, x, x)\n    z = jnp.where(x > 0, w, up)\n    return z / w\n",
        ASKED := """
        x = f32[8] parameter(0)
        w = f32[8] parameter(1)
        zeros = f32[8] broadcast(f32[] constant(0)), dimensions={}
        above = pred[8] compare(x, zeros), direction=GT, @2:9
        same = f32[8] select(above, x, x), @2:9
        one = f32[8] select(above, w, same), @3:8
        two = f32[8] select(above, same, w)
        ROOT result = f32[8] divide(one, two)
        """,
        "    mask = x > 0\n",
    ),
    "a mask that is the value does": (
        "def layer(x, w):\n    up = x > 0\n    z = jnp.where(up, w, x)\n    return z / w\n",
        ASKED.replace("same = f32[8] select(above, x, x), @2:9", "same = f32[8] copy(x)"),
        "    up = x > 0\n",
    ),
    "the name of a tree is that of none of its leaves": (
        "def play(p, x):\n    state = step(p, x)\n    return state\n",
        """
        p = pred[] parameter(0)
        x = f32[3] parameter(1)
        both = (f32[3], f32[3]) conditional(p, x, x), true_computation=first, false_computation=second, @2:12
        one = f32[3] get-tuple-element(both), index=0, @2:12
        two = f32[3] get-tuple-element(both), index=1, @2:12
        twice = f32[3] add(one, one)
        ROOT results = (f32[3], f32[3]) tuple(twice, two)
        """,
        lambda source: "state = " not in source,
    ),
}
CALLED = """HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
first { x = f32[3] parameter(0)  board = f32[3] negate(x)  reward = f32[3] exponential(x)
  ROOT results = (f32[3], f32[3]) tuple(board, reward) }
second { x = f32[3] parameter(0)  board = f32[3] sine(x)  reward = f32[3] cosine(x)
  ROOT results = (f32[3], f32[3]) tuple(board, reward) }
"""


@pytest.mark.parametrize("name", AUTHORS)
def test_values_have_the_names_of_the_expressions_that_they_are_of(name, tmp_path):
    author, lines, written = AUTHORS[name]
    (tmp_path / "author.py").write_text(author, encoding="utf-8")
    place = r'metadata={source_file="author.py" source_line=\1 source_column=\2}'
    text = CALLED + "ENTRY main {" + re.sub(r"@(\d+):(\d+)", place, lines) + "}\n"
    source = xla2py.emit(text, sources=tmp_path, annotate="none").source
    assert written(source) if callable(written) else written in source


LAYERS = """\
def dense(params, x):
    out = x @ params["w"]
    out = out + params["b"]
    return out

def model(params, x):
    hidden = dense(params["first"], x)
    return jnp.tanh(hidden) * dense(params["second"], hidden * 2)
"""


def layers(params, x):
    import jax.numpy as jnp

    names = {"jnp": jnp}
    exec(compile(LAYERS, "layers.py", "exec"), names)
    return names["model"](params, x)


@pytest.fixture
def params():
    return {word: {"w": np.ones((8, 8), np.float32), "b": np.ones(8, np.float32)} for word in ("first", "second")}


def test_values_of_layers_are_called_after_the_caller_or_else_the_weights(params):
    module = xla2py.from_jax(layers, params, np.ones((3, 8), np.float32))
    source = xla2py.emit(replace(module, sources={})).source
    assert 'first = x @ params["first"]["w"] + params["first"]["b"]' in source
    source = xla2py.emit(replace(module, sources={"layers.py": LAYERS})).source
    assert 'hidden = x @ params["first"]["w"] + params["first"]["b"]' in source and "out" not in source


def test_gradients_that_are_returned_as_a_tree_are_called_after_its_leaves(params):
    import jax

    def loss(params, x):
        return jax.numpy.sin(x @ params["first"]["w"] + params["first"]["b"]).sum()

    def gradients(params, x):
        found = jax.grad(loss)(params, x)
        return found, (found["first"]["b"] ** 2).sum()

    module = xla2py.from_jax(gradients, params, np.ones((3, 8), np.float32))
    source = xla2py.emit(replace(module, sources={})).source
    assert '{"b": d_b' in source and "    d_b = " in source


def test_a_key_that_says_nothing_gives_no_name():
    assert _word(("params", "query", "kernel")) == "query"
    assert _word(("params", "layers", "1", "weight")) == "layer_1"
    assert _word(("state", "first", "kernel", "value")) == "first"
    assert _word(("params", "attention", "qkv")) == _word(("value",)) == _word(("w",)) == ""
    assert _word(("params", "w")) == _word(("params", "0", "w")) == _word(("variables", "params", "kernel")) == ""


def test_the_stack_of_the_first_call_of_a_kept_jaxpr_is_left_out():
    module = parse_module(
        """
        HloModule model

        FileNames
        1 "model.py"

        FunctionNames
        1 "model"
        2 "layer"

        FileLocations
        1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=4 end_column=9}
        2 {file_name_id=1 function_name_id=2 line=3 end_line=3 column=4 end_column=9}
        3 {file_name_id=1 function_name_id=2 line=2 end_line=2 column=4 end_column=9}
        4 {file_name_id=1 function_name_id=1 line=8 end_line=8 column=4 end_column=9}

        StackFrames
        1 {file_location_id=1 parent_frame_id=1}
        2 {file_location_id=2 parent_frame_id=2}
        3 {file_location_id=1 parent_frame_id=3}
        4 {file_location_id=3 parent_frame_id=4}
        5 {file_location_id=4 parent_frame_id=3}
        6 {file_location_id=3 parent_frame_id=6}

        ENTRY main {
          x = f32[3] parameter(0)
          ROOT y = f32[3] add(x, x), metadata={op_name="add" stack_frame_id=4}
        }
        """
    )
    names = SourceNames(module)
    assert names._own_frame(4) == 2  # the line that calls now, not the one that called first
    assert names._own_frame(6) == 6  # called from another line

"""``del`` after the last use of large arrays: only where it lowers the peak, and never of what is still read."""

import ast
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.counted_loops import counted_loop
from xla2py.tests.passes.raising import entry
from xla2py.tests.recording.lazy_jax import jax
from xla2py.tests.whole import much
from xla2py.transpile.emission.functions import deallocation as releases
from xla2py.transpile.equivalence.inputs.generate import make_inputs, nest
from xla2py.transpile.equivalence.verdicts.comparison import flatten

LARGE = 16 * 2**20  # float32 elements of 64 MiB


SUMS = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"


def stages(size, count=5):
    """Arrays of which each needs two sums over the one before it."""
    lines = [f"x = f32[{size}] parameter(0)", "t0 = f32[] parameter(1)"]
    for k in range(count):
        lines += [
            f"b{k} = f32[{size}] broadcast(t{k}), dimensions={{}}",
            f"p{k} = f32[{size}] multiply(x, b{k})",
            f"a{k} = f32[{size}] {('cosine', 'tanh', 'sine')[k % 3]}(p{k})",
            f"d{k} = f32[] dot(a{k}, a{k}), {SUMS}",
            f"e{k} = f32[] dot(a{k}, x), {SUMS}",
            f"t{k + 1} = f32[] divide(e{k}, d{k})",
        ]
    return entry(*lines, f"s = f32[] negate(t{count})")


def deleted(source):
    """The names in ``del`` statements, in order."""
    return [
        target.id
        for statement in ast.walk(ast.parse(source))
        if isinstance(statement, ast.Delete)
        for target in statement.targets
    ]


@pytest.mark.parametrize("target", ["numpy", "cupy"])
def test_large_arrays_are_let_go_after_their_last_use(target):
    emitted = xla2py.emit(stages(LARGE), target)
    body = emitted.source[emitted.source.index("def main") :].split("\n\n")[0]
    assert deleted(emitted.source) == ["cos", "tanh", "sin"]  # nothing large is made after the others
    for name in ("cos", "tanh", "sin"):
        before, after = body.split(f"    del {name}\n")
        assert re.search(rf"\b{name}\b", before.splitlines()[-1])
        read = re.search(rf"(?<!\.)\b{name}\b", after)
        assert read is None or after[read.start() :].startswith(f"{name} = ")  # of another value
    assert emitted.line_map()


def test_small_arrays_and_the_switch():
    assert not deleted(xla2py.emit(stages(LARGE // 2)).source)
    assert not deleted(xla2py.emit(stages(LARGE), disable_passes=["releases"]).source)
    assert not deleted(xla2py.emit(stages(LARGE), "dask").source)  # its arrays are made later


def test_what_saves_less_than_a_quarter_is_no_line():
    assert not deleted(xla2py.emit(stages(LARGE, 2)).source)  # the second needs the first, x and their product


def small_is_large(monkeypatch):
    monkeypatch.setattr(releases, "LARGE", 2**20)
    return stages(2**18)


def test_the_peak_that_is_measured_falls(monkeypatch):
    text = small_is_large(monkeypatch)
    arguments = np.linspace(0.5, 1, 2**18, dtype=np.float32), np.float32(1)
    results, peaks = [], []
    for disabled in ([], ["releases"]):
        main = xla2py.emit(text, disable_passes=disabled).load().main
        main(*arguments)
        tracemalloc.start()
        results.append(main(*arguments))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert results[0] == results[1]
    assert round(peaks[0] / 2**20) == 3  # two arrays and a product beside the argument
    assert round(peaks[1] / 2**20) >= 5


def everything(steps, given):
    """Let go of all names that may be let go."""
    return releases._grouped(releases._possible(steps)), 0


FOLDER = Path(xla2py.__file__).parent / "examples" / "hlo"
EXAMPLES = ("adaptive_ode", "conjugate_gradient", "mlp_train_step", "rotary_embedding", "transformer_block", "viterbi")
NAMES = [f"{name}.{when}" for name in EXAMPLES for when in ("before", "after")][:: much(2, 1)]


@pytest.mark.parametrize("name", NAMES)
def test_programs_run_without_every_name_that_is_read_no_more(name, monkeypatch):
    module = xla2py.load(FOLDER / f"{name}.hlo")
    arguments = nest([parameter.shape for parameter in module.entry.parameters], make_inputs(module, 0))
    wanted = xla2py.emit(module).load().main(*arguments)
    monkeypatch.setattr(releases, "LARGE", 0)
    monkeypatch.setattr(releases, "_chosen", everything)
    emitted = xla2py.emit(module)
    assert deleted(emitted.source)
    compared = zip(flatten(wanted), flatten(emitted.load().main(*arguments)), strict=True)
    for (_, one), (_, other) in compared:
        np.testing.assert_array_equal(one, other)


def test_what_a_loop_reads_again_is_let_go_behind_it():
    text = counted_loop(
        5,
        {"total": f"f32[{LARGE}]", "rate": f"f32[{LARGE}]"},
        f"grown = f32[{LARGE}] multiply(total, rate)\nnew_total = f32[{LARGE}] add(grown, rate)",
        given=f"""x = f32[{LARGE}] parameter(0)
        rate = f32[{LARGE}] exponential(x)
        total = f32[{LARGE}] cosine(x)""",
        behind=f"""inner = f32[] dot(total_end, total_end), {SUMS}
        b = f32[{8 * LARGE}] broadcast(inner), dimensions={{}}
        y = f32[{8 * LARGE}] parameter(1)
        z = f32[{8 * LARGE}] multiply(y, b)
        e = f32[{8 * LARGE}] exponential(z)
        d = f32[] dot(e, e), {SUMS}
        ROOT s = f32[] add(d, inner)""",
    )
    emitted = xla2py.emit(text)
    assert deleted(emitted.source) == []  # two of 27
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(releases, "_PART_TO_SAVE", 0)
        patch.setattr(releases, "_PART_TO_WASTE", 0)
        source = xla2py.emit(text).source
    (main,) = [part for part in ast.parse(source).body if getattr(part, "name", "") == "main"]
    assert [ast.unparse(part) for part in main.body[4:-2]] == [
        "for _ in range(5):\n    total = total * exp + exp",
        "del exp",
        "squared_norm = total @ total",
        "del total",
    ]


def test_only_what_counts_gets_a_line():

    def attention(x, wq, wk, wv, w1, w2):
        q, k, v = x @ wq, x @ wk, x @ wv
        scores = jax.nn.softmax(q @ k.T / 32, axis=-1)
        h = x + scores @ v
        u = jax.nn.gelu(h @ w1)
        return h + u @ w2

    sizes = [(16384, 1024), (1024, 1024), (1024, 1024), (1024, 1024), (1024, 16384), (16384, 1024)]
    shapes = [jax.ShapeDtypeStruct(size, np.float32) for size in sizes]
    assert deleted(xla2py.emit(xla2py.from_jax(attention, *shapes)).source) == ["scores"]

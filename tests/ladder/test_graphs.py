"""``replay`` on the twin: what is captured gives what ``main`` gives, and what cannot be is refused by name."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py
from xla2py.targets.cupy import captures
from xla2py.targets.cupy.twin import graphs
from xla2py.targets.cupy.twin.device_array import HiddenWait
from xla2py.targets.cupy.twin.graphs import CaptureError
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.ladder.samples import sample
from xla2py.tests.ladder.static import problems
from xla2py.tests.operations.case import Case, module
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.test_examples import LOWER, inputs
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.verdicts.comparison import Budget, compare, flatten
from xla2py.transpile.errors import UnsupportedError, UsageError
from xla2py.transpile.target import load_target

CUPY = load_target("cupy")
FORCED = replace(CUPY, graphs=replace(CUPY.graphs, cannot_hold=lambda node: None))


@pytest.fixture(autouse=True)
def begins(monkeypatch):
    """Streams and what has run, as in a process that begins; to be called for the next."""

    def begin():
        monkeypatch.setattr(graphs, "_DEVICE", graphs._State())
        graphs._DEVICE.stream = graphs.Stream(null=True)

    begin()
    return begin


def replayed(emitted, *runs):
    """What ``replay`` gives for several lists of arguments, one after the other, and what ``main`` gives for them."""
    with twin():
        module = emitted.load()
        given = [to_device(list(arguments)) for arguments in runs]
        results = [module.replay(*arguments) for arguments in given]
        return to_host(results), to_host([module.main(*arguments) for arguments in given])


def differences(expected, found):
    leaves = compare([x for _, x in flatten(expected)], [x for _, x in flatten(found)], Budget(0.0, 0.0))
    return [str(leaf) for leaf in leaves if not leaf.status.is_good]


def program(*lines, head=""):
    return f"HloModule m\n{head}ENTRY main {{\n" + "\n".join(f"  {line}" for line in lines) + "\n}\n"


CHAIN = program(
    "x = f32[4,6] parameter(0)",
    "y = f32[4,6] parameter(1)",
    "a = f32[4,6] multiply(x, y)",
    "b = f32[4,6] tanh(a)",
    "c = f32[4,6] add(b, x)",
    "ROOT t = (f32[4,6], f32[4,6], f32[4,6]) tuple(b, c, x)",
)
RNG = np.random.default_rng(5)
RUNS = [tuple(RNG.normal(size=(2, 4, 6)).astype(np.float32)) for _ in range(3)]


@needs_compiler
@pytest.mark.parametrize("style", ["readable", "fast"])
def test_replays_give_what_main_gives(style):
    emitted = xla2py.emit(CHAIN, "cupy", style=style, graph=True)
    assert problems(emitted.source) == []
    found, expected = replayed(emitted, *RUNS)
    assert differences(expected, found) == []
    assert differences(expected[0], found[1]) != []
    assert "--graph" in emitted.source.split("regenerate:")[1].splitlines()[0]


@needs_compiler
def test_results_are_copies_and_arguments_are_checked():
    with twin():
        module = xla2py.emit(CHAIN, "cupy", graph=True).load()
        first = module.replay(*to_device(list(RUNS[0])))
        kept = [array.on_host.copy() for array in first]
        module.replay(*to_device(list(RUNS[1])))
        np.testing.assert_array_equal([array.on_host for array in first], kept)
        for wrong in (RUNS[0][0][:1], RUNS[0][0].astype(np.float64)):
            with pytest.raises(TypeError, match=r"captured for float32\[4, 6\], called with float"):
                module.replay(*to_device([wrong, RUNS[0][1]]))


@needs_compiler
def test_each_device_has_its_graph():
    with twin():
        module = xla2py.emit(CHAIN, "cupy", graph=True).load()
        for number in (0, 1, 0):
            with graphs.Device(number):
                module.replay(*to_device(list(RUNS[0])))
        assert sorted(module.replay.captured) == [0, 1]


FAULTS = {
    "nothing has run before": ("function(*self.arguments)  # compiles the kernels, loads the constants", "pass"),
    "the pool goes": ("self.pool", "pool"),
    "in the common pool": ("with stream, cp.cuda.using_allocator(self.pool.malloc):", "with stream:"),
    "on the default stream": ("with stream, ", "with "),
    "no waiting for the arguments": ("        stream.wait_event(before.record())\n", ""),
    "no waiting for what has run before": ("        before.wait_event(stream.record())\n", ""),
    "never launched": ("        self.graph.launch()\n", ""),
    "arguments stay": ("        each(refill, self.arguments, arguments)\n", ""),
    "results are the graph's": ("return each(cp.copy, self.results)", "return self.results"),
}


@needs_compiler
@pytest.mark.parametrize("name", FAULTS)
def test_the_twin_finds(name):
    emitted = xla2py.emit(CHAIN, "cupy", style="fast", graph=True)
    good, bad = FAULTS[name]
    assert good in emitted.source
    wrong = replace(emitted, source=emitted.source.replace(good, bad))
    try:
        found, expected = replayed(wrong, *RUNS)
    except (CaptureError, RuntimeError):
        return
    assert differences(expected, found) != []


SUM = "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
LARGER = "larger { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }\n"
OWN = "own { a = f32[] parameter(0)\n b = f32[] parameter(1)\n d = f32[] multiply(a, b)\n ROOT c = f32[] sine(d) }\n"
WHILE = """more { s = f32[] parameter(0)
 n = f32[] constant(3)
 ROOT p = pred[] compare(s, n), direction=LT }
next { s = f32[] parameter(0)
 ROOT p = f32[] add(s, s) }
"""
BRANCH = """one { a = f32[] parameter(0)
 ROOT b = f32[] sine(a) }
two { a = f32[] parameter(0)
 ROOT b = f32[] tan(a) }
"""
SCATTER = (
    "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply="
)
X, PLACES = "x = f32[4] parameter(0)", ("i = s32[3,1] parameter(1)", "y = f32[3] parameter(2)")
DOT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
MATRIX = "x = f32[4,4] parameter(0)"
INDEXED = (np.arange(4, dtype=np.float32), np.int32([[1], [0], [1]]), np.float32([2, 3, 4]))
SQUARE = (np.eye(4, dtype=np.float32) + 1,)
JOINED = "ROOT r = f32[{0}] concatenate({1}), dimensions={{0}}"

# What is refused, with the reason, and something much like it that is not.
REFUSED = {
    "a product": (
        ("x = c64[4,4] parameter(0)", f"ROOT r = c64[4,4] dot(x, x), {DOT}"),
        (np.eye(4, dtype=np.complex64),),
        captures.BLAS,
        ("x = s32[4,4] parameter(0)", f"ROOT r = s32[4,4] dot(x, x), {DOT}"),
        (np.eye(4, dtype=np.int32),),
    ),
    "a factorisation": (
        (MATRIX, "ROOT r = f32[4,4] cholesky(x), lower=true"),
        SQUARE,
        captures.SOLVER,
        (MATRIX, "ROOT r = f32[4,4] transpose(x), dimensions={1,0}"),
        SQUARE,
    ),
    "a transform": (
        (X, "ROOT r = c64[3] fft(x), fft_type=RFFT, fft_length={4}"),
        INDEXED[:1],
        captures.PLAN,
        (X, "ROOT r = f32[4] sine(x)"),
        INDEXED[:1],
    ),
    "rounds of a scatter": (
        (OWN, X, *PLACES, f"ROOT r = f32[4] scatter(x, i, y), {SCATTER}own"),
        INDEXED,
        captures.WAIT,
        (SUM, X, *PLACES, f"ROOT r = f32[4] scatter(x, i, y), {SCATTER}sum"),
        INDEXED,
    ),
    "a loop": (
        (WHILE, "x = f32[] parameter(0)", "ROOT r = f32[] while(x), condition=more, body=next"),
        (np.float32(1),),
        captures.WAIT,
        ("x = f32[] parameter(0)", "ROOT r = f32[] add(x, x)"),
        (np.float32(1),),
    ),
    "a branch": (
        (
            BRANCH,
            "x = f32[] parameter(0)",
            "p = pred[] parameter(1)",
            "ROOT r = f32[] conditional(p, x, x), true_computation=one, false_computation=two",
        ),
        (np.float32(1), np.bool_(True)),
        captures.WAIT,
        ("x = f32[] parameter(0)", "p = pred[] parameter(1)", "ROOT r = f32[] select(p, x, x)"),
        (np.float32(1), np.bool_(True)),
    ),
    "numbers of a generator": (
        ("a = f32[] constant(0)", "b = f32[] constant(1)", "ROOT r = f32[4] rng(a, b), distribution=rng_uniform"),
        (),
        captures.COUNT,
        ("x = u64[2] parameter(0)", "ROOT r = (u64[2], u32[8]) rng-bit-generator(x), algorithm=rng_three_fry"),
        (np.uint64([3, 4]),),
    ),
    "many addresses": (
        (X, JOINED.format(36, ", ".join(["x"] * 9))),
        INDEXED[:1],
        captures.ADDRESSES,
        (X, JOINED.format(32, ", ".join(["x"] * 8))),
        INDEXED[:1],
    ),
}


def text(lines):
    heads = [line for line in lines if "{ " in line and "parameter" in line and line.endswith("\n")]
    return program(*(line for line in lines if line not in heads), head="".join(heads))


@needs_compiler
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_captured_is_refused(name, begins):
    lines, arguments, reason, others, other_arguments = REFUSED[name]
    with pytest.raises(UnsupportedError, match=r"cannot be captured: ") as error:
        xla2py.emit(text(lines), "cupy", graph=True)
    assert [(d.code, d.message.split(": ", 1)[1]) for d in error.value.diagnostics] == [("XP307", reason)]
    assert all(d.span is not None for d in error.value.diagnostics)
    forced = xla2py.emit(text(lines), FORCED, graph=True)
    if reason != captures.COUNT:
        with pytest.raises((CaptureError, HiddenWait)):
            replayed(forced, arguments)
    else:
        found, expected = replayed(forced, (), ())
        assert differences(found[0], found[1]) == []
        assert differences(expected[0], expected[1]) != []
    begins()
    found, expected = replayed(xla2py.emit(text(others), "cupy", graph=True), other_arguments, other_arguments)
    assert differences(expected, found) == []


def test_all_that_is_refused_is_told_at_once():
    lines = ("x = c64[4,4] parameter(0)", "a = c64[4,4] cholesky(x), lower=true")
    dot = f"ROOT r = c64[4,4] dot(a, x), {DOT}"
    with pytest.raises(UnsupportedError) as error:
        xla2py.emit(text((*lines, dot)), "cupy", graph=True)
    assert sorted(d.message.split(" ")[0] for d in error.value.diagnostics) == ["cholesky", "dot"]


@needs_compiler
@pytest.mark.parametrize("opcode", sorted(cases_by_opcode()))
def test_an_operation_is_captured_or_refused(opcode):
    for one in sample(opcode, much(1, 10**6)):
        assert captured_or_refused(one) in ("captured", "refused"), str(one)


def captured_or_refused(one: Case) -> str:
    try:
        emitted = xla2py.emit(module([one], one.body), "cupy", format=False, graph=True)
    except UnsupportedError as error:
        return "refused" if {d.code for d in error.diagnostics} == {"XP307"} else str(error)
    found, expected = replayed(emitted, one.inputs, one.inputs)
    return "\n".join(differences(expected, found)) or "captured"


@needs_compiler
def test_kernels_of_rows_are_captured():
    lines = (
        LARGER,
        "x = f32[4,6] parameter(0)",
        "lowest = f32[] constant(-inf)",
        "peak = f32[4] reduce(x, lowest), dimensions={1}, to_apply=larger",
        "peaks = f32[4,6] broadcast(peak), dimensions={0}",
        "lower = f32[4,6] subtract(x, peaks)",
        "ROOT r = f32[4,6] exponential(lower)",
    )
    emitted = xla2py.emit(text(lines), "cupy", style="fast", graph=True)
    assert "RowKernel(" in emitted.source
    found, expected = replayed(emitted, RUNS[0][:1], RUNS[1][:1])
    assert differences(expected, found) == []


@needs_compiler
@pytest.mark.parametrize("style", ["readable", "fast"])
def test_an_example_is_captured(style):
    emitted = xla2py.emit(LOWER.hlo_file("black_scholes", "before").read_text(), "cupy", style=style, graph=True)
    arguments = [array.copy() for array in inputs("black_scholes")]
    found, expected = replayed(emitted, arguments, arguments)
    assert differences(expected, found) == []


def test_replicas_and_functions_of_the_user_are_not_captured():
    several = CHAIN.replace("HloModule m", "HloModule m, replica_count=2")
    with pytest.raises(UnsupportedError, match="several replicas cannot be captured"):
        xla2py.emit(several, "cupy", graph=True)
    foreign = text((X, 'ROOT r = f32[4] custom-call(x), custom_call_target="own"'))
    with pytest.raises(UnsupportedError, match=captures.FOREIGN):
        xla2py.emit(foreign, "cupy", graph=True, custom_calls={"own": "kernels:own"})


def test_trees_are_gone_through():
    emitted = xla2py.emit(CHAIN, "cupy", graph=True)
    with twin():
        module = emitted.load()
        nest = {"a": [1, (2, None)], "b": 3}
        assert module.each(lambda x: -x, nest) == {"a": [-1, (-2, None)], "b": -3}
        assert module.each(lambda x, y: x + y, nest, nest) == {"a": [2, (4, None)], "b": 6}


def leaves(*paths):
    names = [f'x{k} = f32[4] parameter({k}), metadata={{op_name="{path}"}}' for k, path in enumerate(paths)]
    return program(*names, "ROOT r = f32[4] add(x0, x1)")


def test_objects_are_no_arguments_of_a_graph():
    """A graph would have to make objects of their classes. Without trees, their arrays are arguments themselves."""
    of_object = leaves("state.mean", "state.scale['a']")
    with pytest.raises(UnsupportedError, match="the argument state cannot be captured: it is an object") as error:
        xla2py.emit(of_object, "cupy", graph=True, nested=True)
    assert [(d.code, d.span is not None) for d in error.value.diagnostics] == [("XP307", True)]
    assert "def main(state_mean" in xla2py.emit(of_object, "cupy", graph=True).source
    assert (
        'state["mean"]' in xla2py.emit(leaves("state['mean']", "state['a'][0]"), "cupy", graph=True, nested=True).source
    )
    assert "state.mean" in xla2py.emit(of_object, "cupy", nested=True).source


def test_only_cupy_has_graphs():
    for target in ("numpy", "dask"):
        with pytest.raises(UsageError, match="has no graphs"):
            xla2py.emit(CHAIN, target, graph=True)

"""The arrays that ``main`` returns are the caller's own: ``y = main(x)`` and ``y += 1`` changes ``y`` alone."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.targets.running import leaves
from xla2py.transpile.equivalence.inputs.generate import nest
from xla2py.transpile.fuzzing.families import FAMILIES, random_program

EVERY = 90  # of the cases of an operation


def entry(results, body, parameters="f32[4,4]", regions=""):
    lines = [f"p{k} = {shape} parameter({k})" for k, shape in enumerate(parameters.split("; "))]
    return f"HloModule m\n\n{regions}ENTRY main {{\n" + "\n".join([*lines, body]) + f"\nROOT r = {results}\n}}\n"


ADDED = """body { c = (s32[], f32[4,4], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  x = f32[4,4] get-tuple-element(c), index=1
  y = f32[4,4] get-tuple-element(c), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  z = f32[4,4] add(x, y)
  ROOT r = (s32[], f32[4,4], f32[4,4]) tuple(next, z, FOLLOWING)
}
condition { c = (s32[], f32[4,4], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  n = s32[] constant(TRIPS)
  ROOT r = pred[] compare(i, n), direction=LT
}
"""
LOOPED = """zero = s32[] constant(0)
init = (s32[], f32[4,4], f32[4,4]) tuple(zero, p0, p1)
w = (s32[], f32[4,4], f32[4,4]) while(init), condition=condition, body=body
a = f32[4,4] get-tuple-element(w), index=1
b = f32[4,4] get-tuple-element(w), index=2"""
BRANCHES = """same { ROOT x = f32[4,4] parameter(0) }
twice { x = f32[4,4] parameter(0)
  ROOT y = f32[4,4] add(x, x) }
"""
TWO = "f32[4,4]; f32[4,4]"
PAIR = "(f32[4,4], f32[4,4]) tuple"
SUM = "y = f32[4,4] add(p0, p0)\n"
SLICES = (
    f"{SUM}a = f32[4,2] slice(y), slice={{[0:4], [0:2]}}\nb = f32[4,2] slice(y), slice={{[0:4], [2:4]}}\n"
    "c = f32[2,4] slice(y), slice={[1:3], [0:4]}"
)


def looped(following, trips):
    return ADDED.replace("FOLLOWING", following).replace("TRIPS", str(trips))


# The program, and the line that returns its results.
CASES = {
    "an argument": (entry("f32[4,4] copy(p0)", ""), "return p0.copy()"),
    "views": (
        entry(
            "(f32[4,4], f32[16], f32[2,4]) tuple(t, f, s)",
            "t = f32[4,4] transpose(p0), dimensions={1,0}\nf = f32[16] reshape(p0)\n"
            "s = f32[2,4] slice(p0), slice={[0:2], [0:4]}",
        ),
        "return p0.T.copy(), p0.reshape(16).copy(), p0[:2].copy()",
    ),
    "what cannot be written": (
        entry("f32[3,4,4] broadcast(p0), dimensions={1,2}", ""),
        "return np.broadcast_to(p0, (3, 4, 4)).copy()",
    ),
    "one array twice": (entry(f"{PAIR}(y, y)", SUM), "return total, total.copy()"),
    "a view of a result": (
        entry(f"{PAIR}(y, t)", f"{SUM}t = f32[4,4] transpose(y), dimensions={{1,0}}"),
        "return total, total.T.copy()",
    ),
    "parts that have nothing in common": (
        entry("(f32[4,2], f32[4,2]) tuple(a, b)", SLICES),
        "return total[:, :2], total[:, 2:]",
    ),
    "parts that have something in common": (
        entry("(f32[4,2], f32[2,4]) tuple(a, c)", SLICES),
        "return total[:, :2], total[1:3].copy()",
    ),
    "a constant of the module": (
        entry("f32[10] constant({1.5,2.25,3,5,8,13,21,34,55,89})", ""),
        "return TABLE_1.copy()",
    ),
    "a constant in its place": (entry("f32[3] constant({1,2,3})", ""), "return np.array([1, 2, 3], dtype=np.float32)"),
    "an array of a loop that runs": (entry("f32[4,4] copy(a)", LOOPED, TWO, looped("y", 3)), "return p0"),
    "an array of a loop that may not run": (
        entry(f"{PAIR}(a, b)", LOOPED, TWO, looped("x", 0)),
        "return p0.copy(), p1.copy()",
    ),
    "what a loop passes on": (entry(f"{PAIR}(a, b)", LOOPED, TWO, looped("y", 3)), "return p0, p1.copy()"),
    "an array of a branch": (
        entry(
            "f32[4,4] conditional(p1, p0, p0), true_computation=same, false_computation=twice",
            "",
            "f32[4,4]; pred[]",
            BRANCHES,
        ),
        "return p0.copy()\n    return p0 + p0",
    ),
    "an array of a branch within a branch": (
        entry(
            "f32[4,4] conditional(p1, p0, p0), true_computation=inner, false_computation=twice",
            "",
            "f32[4,4]; pred[]",
            BRANCHES
            + """inner { x = f32[4,4] parameter(0)
  e = f32[1,1] slice(x), slice={[0:1], [0:1]}
  s = f32[] reshape(e)
  zero = f32[] constant(0)
  p = pred[] compare(s, zero), direction=GT
  ROOT y = f32[4,4] conditional(p, x, x), true_computation=same, false_computation=twice
}
""",
        ),
        "value = p0.copy()\n        else:\n            value = p0 + p0\n        return value\n    return p0 + p0",
    ),
    "an array that another branch hands on": (
        entry(
            f"{PAIR}(b, a)",
            "a = f32[4,4] conditional(p1, p0, p0), true_computation=same, false_computation=twice\n"
            "b = f32[4,4] conditional(p2, a, a), true_computation=same, false_computation=twice",
            "f32[4,4]; pred[]; pred[]",
            BRANCHES,
        ),
        "return value, p0_2.copy()",
    ),
    "a choice": (entry("f32[] select(p0, p1, p2)", "", "pred[]; f32[]; f32[]"), "return (p1 if p0 else p2).copy()"),
    "new arrays": (entry(f"{PAIR}(y, z)", f"{SUM}z = f32[4,4] multiply(y, y)"), "return total, total * total"),
    "an element": (entry("f32[] reshape(s)", "s = f32[1,1] slice(p0), slice={[0:1], [0:1]}"), "return p0[0, 0]"),
}


def arguments(text):
    module = xla2py.load(text)
    rng = np.random.default_rng(0)
    return module, [
        np.asarray(rng.integers(0, 2, parameter.shape.dimensions), parameter.shape.element_type.dtype)
        for parameter in module.entry.parameters
    ]


def complaints(source, given, results):
    """The results that cannot be written, and those that share memory with what was given or with each other."""
    others, found = [*given, *(each for each in vars(source).values() if isinstance(each, np.ndarray))], []
    for result in results:
        if isinstance(result, np.ndarray):
            if not result.flags.writeable or any(np.shares_memory(result, other) for other in others):
                found.append(result)
            others.append(result)
    return found


def test_slices_that_no_pass_writes_as_indices_can_be_written():
    attributes = "index_vector_dim=1, slice_sizes={1,4}, offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}"
    gathered = f"g = f32[3,4] gather(p0, p1), {attributes}\n"
    text = entry("(f32[3,4], f32[3,4]) tuple(g, h)", f"{gathered}h = f32[3,4] add(g, g)", "f32[4,4]; s32[3,1]")
    module, given = arguments(text)
    source = xla2py.emit(module, disable_passes=["gathers"]).load()
    assert not complaints(source, given, source.main(*given))


def run(text, given, **options):
    module = xla2py.emit(text, format=False, **options).load()
    with np.errstate(all="ignore"):
        results = leaves(module.main(*nest([each.shape for each in xla2py.load(text).entry.parameters], given)))
    return complaints(module, given, results)


@pytest.mark.parametrize("case", CASES)
def test_results_are_copied_where_they_would_alias(case):
    text, returned = CASES[case]
    source = xla2py.emit(text, debug=True).source
    assert returned in source
    assert run(text, arguments(text)[1]) == []


@pytest.mark.parametrize("case", [case for case, (_, returned) in CASES.items() if "copy" in returned])
def test_without_the_copies_they_do(case):
    text, _ = CASES[case]
    generated = xla2py.emit(text, results="may-alias")
    assert "copy()" not in generated.source and "--results may-alias" in generated.source
    assert run(text, arguments(text)[1], results="may-alias") != []


@pytest.mark.parametrize("target", ["cupy", "array-api", "dask"])
def test_an_element_of_other_libraries_is_an_array(target):
    text = CASES["an element"][0]
    copied = {"cupy": "return p0[0, 0].copy()", "array-api": "return xp.asarray(p0[0, 0], copy=True)", "dask": ""}
    assert copied[target] in xla2py.emit(text, target).source
    assert "copy" in xla2py.emit(CASES["an argument"][0], target).source.split("return ")[1]


@pytest.mark.parametrize(
    ("target", "returned"), [("numpy", "return mask, mask"), ("cupy", "return cp.full((), mask), cp.full((), mask)")]
)
def test_a_number_that_no_array_is_in_is_not_copied(target, returned):
    mask = "c = bf16[] constant(0)\nm = pred[] compare(c, c), direction=GE"
    assert returned in xla2py.emit(entry("(pred[], pred[]) tuple(m, m)", mask), target).source


@pytest.mark.parametrize("style", ["readable", "fused"])
def test_no_random_program_returns_what_is_not_its_own(style):
    programs = [random_program(family, seed) for family in FAMILIES for seed in range(2)]
    given = [[np.array(each) for each in program.inputs] for program in programs]
    assert [p.name for p, own in zip(programs, given, strict=True) if run(p.text, own, style=style)] == []


STORING = """body { c = (s32[], f32[4], f32[3,4], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  rows = f32[3,4] get-tuple-element(c), index=2
  x = f32[4,4] get-tuple-element(c), index=3
  one = s32[] constant(1)
  next = s32[] add(i, one)
  zero = s32[] constant(0)
  part = f32[1,4] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,4}
  another = f32[4] reshape(part)
  begun = f32[1,4] dynamic-slice(rows, i, zero), dynamic_slice_sizes={1,4}
  sum = f32[1,4] add(part, begun)
  stored = f32[3,4] dynamic-update-slice(rows, sum, one, zero)
  ROOT r = (s32[], f32[4], f32[3,4], f32[4,4]) tuple(next, another, stored, x)
}
condition { c = (s32[], f32[4], f32[3,4], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  n = s32[] constant(1000)
  ROOT r = pred[] compare(i, n), direction=LT
}
"""
STORED = """zero = s32[] constant(0)
none = f32[] constant(0)
rows = f32[3,4] broadcast(none), dimensions={}
first = f32[1,4] slice(p0), slice={[0:1], [0:4]}
start = f32[4] reshape(first)
init = (s32[], f32[4], f32[3,4], f32[4,4]) tuple(zero, start, rows, p0)
w = (s32[], f32[4], f32[3,4], f32[4,4]) while(init), condition=condition, body=body
a = f32[4] get-tuple-element(w), index=1
b = f32[3,4] get-tuple-element(w), index=2"""


@pytest.mark.compiled
def test_a_part_of_an_argument_that_a_compiled_loop_hands_on_is_copied():
    text = entry("(f32[4], f32[3,4]) tuple(a, b)", STORED, regions=STORING)
    assert "_loop(" in xla2py.emit(text, style="fused").source
    assert run(text, arguments(text)[1], style="fused") == []


def test_no_operation_returns_what_is_not_its_own():
    cases = [one for found in cases_by_opcode().values() for one in found[::EVERY]]
    assert [str(one) for one in cases if run(one.text(), [np.copy(each) for each in one.inputs])] == []

"""What the targets refuse: by the name of the operation, with the reason, all of it at once."""

import re
from importlib import import_module

import pytest

import xla2py
from xla2py.tests.targets.programs.structure import BY_TWO_INDICES
from xla2py.transpile.emission.expression import TEMPLATES
from xla2py.transpile.errors import UnsupportedError

COMPUTATIONS = """HloModule m
largest { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b) }
both { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] and(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
small { a = f32[] parameter(0)
  b = f32[] constant(100)
  ROOT c = pred[] compare(a, b), direction=LT }
doubled { a = f32[] parameter(0)
  ROOT b = f32[] add(a, a) }
few { s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(101)
  ROOT c = pred[] compare(i, n), direction=LT }
next { s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  b = f32[] add(a, a)
  ROOT t = (s32[], f32[]) tuple(j, b) }
"""

SAID = None
NUMPY_ONLY = "it needs {}(), which is written for NumPy arrays".format
NOTHING = "nothing is written for {}".format

# Shapes of the parameters x, y, z; the instruction; the reasons on CuPy and on Dask.
REFUSED = [
    # element types
    ("f8e5m2[4]", "f8e5m2[4] copy(x)", "there is no dtype for f8e5m2", SAID),
    ("s4[4]", "s4[4] copy(x)", "there is no dtype for s4", "blocks do not keep the type s4"),
    ("c64[4] c64[4]", "c64[4] atan2(x, y)", "there is no loop for complex numbers", SAID),
    # wrong results
    ("f32[4]", "s32[4] convert(x)", SAID, NUMPY_ONLY("to_int")),
    (
        "s32[4] s32[4]",
        "s32[4] divide(x, y)",
        SAID,
        NUMPY_ONLY("int_divide"),
    ),
    (
        "u8[4] u8[4]",
        "u8[4] remainder(x, y)",
        SAID,
        NUMPY_ONLY("int_remainder"),
    ),
    ("f32[4]", "f32[4] sign(x)", SAID, NUMPY_ONLY("sign")),
    ("s8[4]", "s8[4] popcnt(x)", SAID, NUMPY_ONLY("popcount")),
    (
        "s32[4] s32[4]",
        "s32[4] shift-left(x, y)",
        SAID,
        SAID,
    ),
    # what is a function of the prelude on NumPy
    ("f32[4]", "f32[4] erf(x)", SAID, NUMPY_ONLY("erf")),
    ("f32[4] f32[]", "f32[9] pad(x, y), padding=1_1_1", SAID, NUMPY_ONLY("pad")),
    (
        "f32[4] s32[]",
        "f32[2] dynamic-slice(x, y), dynamic_slice_sizes={2}",
        SAID,
        NUMPY_ONLY("dynamic_slice"),
    ),
    ("s32[4]", "s16[4,2] bitcast-convert(x)", SAID, NUMPY_ONLY("bitcast_convert")),
    # what the libraries lack
    ("c64[4]", "c64[4] fft(x), fft_type=FFT, fft_length={4}", SAID, NOTHING("fft")),
    ("f32[4]", "f32[4] sort(x), dimensions={0}, to_apply=less", SAID, NOTHING("sort")),
    (
        "f32[4] f32[]",
        "f32[6] pad(x, y), padding=1_1",
        SAID,
        "the value to pad with is computed",
    ),
    (
        "s32[4] s32[]",
        "s32[] reduce(x, y), dimensions={0}, to_apply=both",
        SAID,
        "dask's bitwise functions have no reduce",
    ),
    (
        "f32[5,2] s32[3,4]",
        "f32[3,4,2] gather(x, y), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, "
        "slice_sizes={1,2}",
        SAID,
        "a lazy index must have 1 dimension, and this has 2",
    ),
    (
        "f32[0] f32[]",
        "f32[1] pad(x, y), padding=0_1",
        SAID,
        "dask cannot pad an empty array",
    ),
    ("f32[0,3]", "f32[3,0] reshape(x)", SAID, "dask cannot reshape an empty array"),
    ("f32[0,3] f32[]", "f32[0] reduce(x, y), dimensions={1}, to_apply=largest", SAID, "dask cannot max an empty array"),
    # loops and branches
    (
        "f32[]",
        "f32[] while(x), condition=small, body=doubled",
        SAID,
        "the number of iterations is not known, and each test would compute",
    ),
    (
        "pred[] f32[] f32[]",
        "f32[] conditional(x, y, z), true_computation=doubled, false_computation=doubled",
        SAID,
        "branching on a lazy value would compute it",
    ),
]


def module(shapes: str, *instructions: str) -> str:
    lines = [f"{'xyz'[k]} = {shape} parameter({k})" for k, shape in enumerate(shapes.split())]
    lines += [f"r{k} = {instruction}" for k, instruction in enumerate(instructions)]
    return f"{COMPUTATIONS}ENTRY main {{\n  " + "\n  ".join([*lines[:-1], f"ROOT {lines[-1]}"]) + "\n}\n"


def complaints(text: str, target: str) -> list[str]:
    """What the one error says about a program; nothing where the target says it."""
    try:
        xla2py.emit(text, target=target)
    except UnsupportedError as error:
        assert all(diagnostic.code == "XP301" and diagnostic.span for diagnostic in error.diagnostics)
        return [diagnostic.message for diagnostic in error.diagnostics]
    return []


@pytest.mark.parametrize(("shapes", "instruction", "on_cupy", "on_dask"), REFUSED, ids=[row[1] for row in REFUSED])
def test_the_reason_is_named(shapes, instruction, on_cupy, on_dask):
    text = module(shapes, instruction)
    opcode = instruction.split(" ")[1].split("(")[0]
    if opcode == "copy":  # says nothing: what is refused is the parameter
        opcode = "parameter"
    for target, title, reason in (("cupy", "CuPy", on_cupy), ("dask", "Dask", on_dask)):
        wanted = [] if reason is SAID else [f"{opcode} is not supported on {title}: {reason}"]
        assert complaints(text, target) == wanted
    assert complaints(text, "numpy") == []


def test_all_refusals_come_at_once_and_like_stands_with_like():
    text = module(
        "f32[4] s32[4] f8e5m2[4]",
        "f32[4] erf(x)",
        "s32[4] convert(x)",
        "f32[4] erf(r0)",
        "f32[4] exponential(r2)",
        "s32[4] divide(r1, y)",
        "(f32[4], s32[4], f8e5m2[4]) tuple(r3, r4, z)",
    )
    assert complaints(text, "dask") == [
        "erf is not supported on Dask: it needs erf(), which is written for NumPy arrays",
        "erf is not supported on Dask: it needs erf(), which is written for NumPy arrays",
        "convert is not supported on Dask: it needs to_int(), which is written for NumPy arrays",
        "divide is not supported on Dask: it needs int_divide(), which is written for NumPy arrays",
    ]
    with pytest.raises(UnsupportedError) as caught:
        xla2py.emit(text, target="dask")
    lines = text.splitlines()
    places = [lines[text[: d.span.start].count("\n")].split(" = ")[0].strip() for d in caught.value.diagnostics]
    assert places == ["r0", "r2", "r1", "r4"]


def test_lazy_indices_are_along_one_dimension():
    assert complaints(BY_TWO_INDICES.text, "cupy") == []
    assert complaints(BY_TWO_INDICES.text, "dask") == [
        "gather is not supported on Dask: lazy indices must be along one dimension"
    ]


def test_long_loops_are_not_unrolled_into_task_graphs():
    text = module("(s32[],f32[])", "(s32[], f32[]) while(x), condition=few, body=next")
    assert complaints(text, "dask") == [
        "while is not supported on Dask: the number of iterations is not known, and each test would compute"
    ]
    counted = (
        COMPUTATIONS
        + """ENTRY main {
  x = f32[] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[]) tuple(zero, x)
  ROOT end = (s32[], f32[]) while(start), condition=few, body=next
}
"""
    )
    assert complaints(counted, "cupy") == []
    reason = "its 101 iterations would be unrolled into the task graph, more than 100"
    assert complaints(counted, "dask") == [f"while is not supported on Dask: {reason}"]


# What the array dialect has and these targets leave to NumPy.
HOST = {"infeed", "outfeed", "to_host", "from_host"}
BETWEEN_REPLICAS = {"collective", "send", "recv", "replica_id", "partition_id"}  # which Dask writes as NumPy
LEFT_TO_NUMPY = {
    "cupy": {"prelude"},
    "dask": {"prelude", "fft", "sort", "argsort", "take_along_axis", "axis_size"} | HOST | BETWEEN_REPLICAS,
}
WRITTEN_BY_STATEMENTS = {"parameter", "literal", "integer", "loop", "conditional", "setitem"}


def macros(folder: str) -> set[str]:
    """The operations that a folder of macros writes: macros whose first parameter is a node."""
    names = set()
    for path in (TEMPLATES / folder).glob("*.j2"):
        for found in re.finditer(r"macro (\w+)\(node\b([^)]*)\)", path.read_text(encoding="utf-8")):
            names.add(found[1].rstrip("_"))
    return names - {"reduction", "listed", "recut", "guarded", "narrowed", "as_array", "mask", "ddof"}


@pytest.mark.parametrize("target", ["cupy", "dask"])
def test_a_table_decides_about_every_operation_that_has_words(target):
    rules = import_module(f"xla2py.targets.{target}.refusals").RULES
    listed = {opcode.replace("-", "_") for opcode in rules}
    written = macros("array") | macros(target)
    assert written - listed == LEFT_TO_NUMPY[target]
    assert listed - written - {"update_at"} == WRITTEN_BY_STATEMENTS

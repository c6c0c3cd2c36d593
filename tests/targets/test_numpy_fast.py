"""The style ``fast`` of NumPy: loops that Numba compiles give what HLO means."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")


import xla2py
from xla2py.tests.ladder.fast_programs import COMBINERS, program, rows_of, softmax
from xla2py.tests.operations.case import module
from xla2py.tests.operations.runner import judge
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.numpy_fast import as_in_xla, differences, emitted, kernels, results
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.inputs.generate import make_inputs, nest
from xla2py.transpile.equivalence.lockstep.run import lockstep
from xla2py.transpile.equivalence.verdicts.comparison import compare
from xla2py.transpile.errors import UsageError
from xla2py.transpile.fuzzing.families import random_program
from xla2py.transpile.target import load_target

EXAMPLES = Path(__file__).parents[2] / "examples" / "hlo"
TABLE = np.arange(24, dtype=np.float32).reshape(4, 6) - 7


ADD_INTEGERS = """add {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}"""


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(5, 3), (2, 40), (3, 1100), (1, 7), (9, 1)])
def test_lines_are_one_kernel(shape, axis):
    text, x = softmax(*shape, axis), rows_of(shape)
    assert differences(text, [x]) == []
    assert len(kernels(emitted(text))) == 1 or 1 in shape


def test_rows_are_numbers_and_columns_arrays():
    rows, columns = (emitted(softmax(8, 6, axis)).source for axis in (1, 0))
    assert "peak_key = max(peak_key, max_key_f32(x[i, j]))" in rows
    assert "exp = np.empty(6, np.float32)" in rows
    assert "peak[j] = np.maximum(peak[j], x[i, j])" in columns
    assert "total[j] += exp[i, j]" in columns


def test_what_is_the_same_along_a_line_is_stored_for_each_element():
    text = program(
        "x = s32[2] parameter(0)",
        "z = s32[] constant(0)",
        "zeros = s32[2] broadcast(z), dimensions={}",
        "t = s32[] reduce(x, z), dimensions={0}, to_apply=add",
        "all = s32[2] broadcast(t), dimensions={}",
        "twice = s32[] reduce(all, z), dimensions={0}, to_apply=add",
        "twices = s32[2] broadcast(twice), dimensions={}",
        "product = s32[2] multiply(zeros, twices)",
        "mask = pred[2] compare(zeros, all), direction=GE",
        "ROOT r = (s32[], pred[2], s32[2]) tuple(t, mask, product)",
    )
    text = text.replace("ENTRY", f"{ADD_INTEGERS}\nENTRY")
    module = xla2py.emit(text, style="fused", format=False, disable_passes=("axis_maps",), debug=True)
    assert len(kernels(module)) == 1
    assert differences(text, [np.int32([2, -5])], module) == []


def test_what_one_piece_needs_of_a_sum_waits_for_the_sum():
    text = program(
        "x = f32[1,64] parameter(0)",
        "y = f32[1,25] parameter(1)",
        "zero = f32[] constant(0)",
        "total = f32[] reduce(x, zero), dimensions={0,1}, to_apply=sum",
        "twice = f32[] add(total, total)",
        "rest = f32[1,39] broadcast(twice), dimensions={}",
        "joined = f32[1,64] concatenate(y, rest), dimensions={1}",
        "last = f32[] reduce(joined, zero), dimensions={0,1}, to_apply=sum",
        "first = f32[1,64] broadcast(twice), dimensions={}",
        "ROOT r = (f32[], f32[1,64]) tuple(last, first)",
    ).replace("ENTRY", COMBINERS + "ENTRY")
    ones = [np.ones((1, 64), np.float32), np.ones((1, 25), np.float32)]
    assert "else total" in emitted(text).source
    assert differences(text, ones) == []


def test_the_readable_lines_stand_in_the_kernel():
    source = emitted(softmax(8, 6)).source
    assert "    # exp = np.exp(x - x.max(axis=-1, keepdims=True))\n" in source


def test_long_sums_are_done_in_float64():
    text = program(
        "x = f32[3,5000] parameter(0)",
        "zero = f32[] constant(0)",
        "y = f32[3,5000] multiply(x, x)",
        "ROOT r = f32[3] reduce(y, zero), dimensions={1}, to_apply=sum",
    ).replace("ENTRY", COMBINERS + "ENTRY")
    module = emitted(text)
    assert "_wide = plus(" in module.source
    x = np.full((3, 5000), 1.1, np.float32)
    (total,) = results(module, [x])
    assert np.array_equal(total, (x * x).sum(axis=1, dtype=np.float64).astype(np.float32))


@pytest.mark.parametrize(
    ("operation", "called"),
    [
        ("f32[2,1048576] multiply(x, x)", "(x, np.empty((2, 1048576), np.float32))"),
        ("f32[1048576] reduce(x, zero), dimensions={0}, to_apply=sum", "(x, np.empty(1048576, np.float32))"),
        ("f32[2] reduce(x, zero), dimensions={1}, to_apply=sum", "(x, np.empty(2, np.float32))"),
        ("pred[2,1048576] compare(x, x), direction=LT", "(x, np.empty((2, 1048576), np.bool_))"),
    ],
)
def test_the_caller_makes_the_only_result(operation, called):
    text = program("x = f32[2,1048576] parameter(0)", "zero = f32[] constant(0)", f"ROOT r = {operation}").replace(
        "ENTRY", COMBINERS + "ENTRY"
    )
    assert called in emitted(text).source


@pytest.mark.compiled
def test_the_caller_makes_large_ones_of_several_results():
    """NumPy has the system hand out huge pages for arrays of 4 MiB and more, Numba does not."""
    x = np.linspace(-2, 3, 2**20, dtype=np.float32)
    module = xla2py.emit(xla2py.from_jax(lambda x: (x * 2 + 1, x * 2 > 1), x), style="fast")
    assert "_kernel(x, np.empty(1048576, np.float32))" in module.source
    made, is_more = module.load().main(x)
    assert np.array_equal(made, x * 2 + 1) and np.array_equal(is_more, x * 2 > 1)


def test_few_operations_against_the_order_of_memory_stay_as_they_are():
    x = np.linspace(-2, 3, 2**14, dtype=np.float32).reshape(128, 128)
    few = xla2py.emit(xla2py.from_jax(lambda x: (x + x.T) / 2, x), style="fast")
    more = xla2py.emit(xla2py.from_jax(lambda x: jnp.exp(x + x.T) / 2, x), style="fast")
    assert [len(kernels(each)) for each in (few, more)] == [0, 1]
    assert np.array_equal(few.load().main(x), (x + x.T) / 2)


def test_scatters_count_from_the_end():
    places, values = np.arange(5000, dtype=np.int32) % 90 - 40, np.ones(5000, np.float32)
    module = xla2py.emit(
        xla2py.from_jax(lambda i, v: jnp.zeros(37).at[i].add(v), places, values), style="fast", threads="2"
    )
    assert "scatter_on_zeros(i, v, (37,), np.float32, np.add, from_end=True)" in module.source
    kept = places[(places >= -37) & (places < 37)] % 37
    assert np.array_equal(module.load().main(places, values), np.bincount(kept, minlength=37))


@pytest.mark.parametrize(("count", "expected"), [(500, 0), (600, 2)])
def test_hundreds_of_updates_are_compiled(count, expected):
    places, values = np.arange(count, dtype=np.int32) * 7 % 40 - 2, np.arange(count, dtype=np.float32)
    module = as_in_xla(lambda i, v: (jnp.zeros(37).at[i].add(v), jnp.ones(37).at[i].max(v)), places, values)
    main = module.source.split("def main")[1].split("\n\n\n")[0]
    assert main.count("scatter_on_zeros(") + main.count("scatter_in_order(") == expected


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_few_of_long_rows_go_through_a_heap(dtype):
    x = np.random.default_rng(0).integers(-900, 900, (16, 400)).astype(dtype)
    if dtype is np.float32:
        x[0, :4], x[1, 7:9] = (np.nan, -np.nan, -0.0, 0.0), np.inf
    for k, is_heap in ((12, True), (13, False)):
        module = xla2py.emit(xla2py.from_jax(lambda x, k=k: jax.lax.top_k(x, k), x), style="fast")
        assert ("by_heap(x, " in module.source) == is_heap
        for made, wanted in zip(module.load().main(x), jax.lax.top_k(x, k), strict=True):
            assert np.array_equal(made, wanted, equal_nan=True)


def test_loops_work_in_copies_that_their_callers_make():
    x = np.linspace(0, 1, 50, dtype=np.float32)

    def heat(x):
        return jax.lax.fori_loop(0, 20, lambda _, x: x.at[1:-1].set((x[:-2] + x[2:]) / 2), x)

    module, before = xla2py.emit(xla2py.from_jax(heat, x), style="fast"), x.copy()
    assert "return x_loop(x.copy())" in module.source
    assert np.allclose(module.load().main(x), heat(x), 1e-6) and np.array_equal(x, before)


def test_parts_that_a_loop_reads_have_names_of_their_own():
    def recurrent(w, x):
        def step(h, x):
            h = jnp.tanh(x + h @ w[:, :4] - jnp.cos(h) @ w[:, 4:])
            return h, h

        return jax.lax.scan(step, jnp.zeros((3, 4)), x)[1]

    w, x = (np.random.default_rng(0).normal(size=shape).astype(np.float32) for shape in ((4, 8), (5, 3, 4)))
    module = xla2py.emit(xla2py.from_jax(recurrent, w, x), style="fast")
    assert "return hs_loop(" in module.source
    np.testing.assert_allclose(module.load().main(w, x), recurrent(w, x), 1e-5, 1e-6)


def test_places_in_columns_are_found_row_by_row():
    x = np.random.default_rng(0).normal(size=(70, 65)).astype(np.float32)
    for axis, count in ((0, 1), (1, 0)):
        module = xla2py.emit(xla2py.from_jax(lambda x, axis=axis: x.argmax(axis), x), style="fast")
        assert len(kernels(module)) == count
        assert np.array_equal(module.load().main(x), x.argmax(axis))


def test_results_of_rank_0_keep_their_types():
    text = program(
        "x = f32[40] parameter(0)",
        "zero = f32[] constant(0)",
        "low = f32[] constant(-inf)",
        "y = f32[40] multiply(x, x)",
        "s = f32[] reduce(y, zero), dimensions={0}, to_apply=sum",
        "m = f32[] reduce(y, low), dimensions={0}, to_apply=larger",
        "ROOT r = (f32[], f32[], f32[40]) tuple(s, m, y)",
    ).replace("ENTRY", COMBINERS + "ENTRY")
    x = np.linspace(-1, 2, 40, dtype=np.float32)
    assert differences(text, [x]) == []
    assert [type(each) for each in emitted(text).load(keep_compiled=False).main(x)[:2]] == [np.float32] * 2


# The operations that loops compute, for which a few cases of each table are run.
OPERATIONS = (
    "abs add and ceil clamp compare convert cosine count-leading-zeros divide exponential floor is-finite log maximum "
    "minimum mulhi multiply negate not or pad popcnt power remainder round-nearest-afz round-nearest-even rsqrt select "
    "shift-left shift-right-arithmetic shift-right-logical sign subtract tanh xor erf logistic reduce concatenate"
).split()
OTHERS = ("bf16", "f16", "f8", "f4", "s4", "u4", "s2", "u2", "s1[", "u1[")


def cases_of(opcode):
    found = [case for case in cases_by_opcode()[opcode] if not any(kind in case.text() for kind in OTHERS)]
    return found[:: max(1, len(found) // 3)][:3]


def assert_right(case, actual, expected):
    wrong = [str(leaf) for leaf in compare(expected, actual, case.budget) if not leaf.status.is_good]
    assert not wrong, f"{wrong}\n{case.text()}"


@pytest.mark.parametrize("opcode", sorted({*OPERATIONS} - {"mulhi"}))  # whose integers wrap, as Python's do not
def test_operations_give_what_xla_gives(opcode):
    cases = cases_of(opcode)
    for case, expected in zip(cases, judge(cases), strict=True):
        with np.errstate(all="ignore"):
            actual = results(emitted(case.text()), [array.copy() for array in case.inputs])
        assert_right(case, actual, expected)


@pytest.mark.compiled
def test_each_operation_is_compiled():
    """A case of each, of other types from one to the next, in one module."""
    cases = [found[k % len(found)] for k, found in enumerate(map(cases_of, OPERATIONS))]
    text = module(cases, *(case.body for case in cases))
    with np.errstate(all="ignore"):
        made = emitted(text).load(keep_compiled=False).main(*(array.copy() for case in cases for array in case.inputs))
    for case, actual, expected in zip(cases, made, judge(cases), strict=True):
        assert_right(case, actual, expected)


# -- what is worth a kernel


def test_small_arrays_stay_in_numpy():
    small, large = (
        program(
            f"x = f32[{count}] parameter(0)", f"y = f32[{count}] multiply(x, x)", f"ROOT r = f32[{count}] add(y, x)"
        )
        for count in (64, 65536)
    )
    assert kernels(xla2py.emit(small, style="fast")) == []
    assert len(kernels(xla2py.emit(large, style="fast"))) == 1


def test_what_saves_several_small_arrays_is_a_kernel():
    lines = [
        "x = f32[64] parameter(0)",
        *(f"y{k} = f32[64] multiply(x, {'x' if k == 0 else f'y{k - 1}'})" for k in range(4)),
    ]
    assert len(kernels(xla2py.emit(program(*lines, "ROOT r = f32[64] add(y3, x)"), style="fast"))) == 1


@pytest.mark.parametrize(("count", "bound", "expected"), [(2**13, "zero", 1), (2**12, "zero", 0), (2**13, "x", 0)])
def test_large_arrays_are_compared_with_numbers_in_a_kernel(count, bound, expected):
    text = program(
        f"x = f32[{count}] parameter(0)",
        f"z = f32[{count}] parameter(1)",
        "number = f32[] constant(0)",
        f"zero = f32[{count}] broadcast(number), dimensions={{}}",
        f"ROOT r = f32[{count}] maximum(z, {bound})",
    )
    assert len(kernels(xla2py.emit(text, style="fast"))) == expected


@pytest.mark.parametrize(
    ("shape", "opcode", "expected"),
    [
        ("256,8", "select", 1),
        ("64,8", "select", 0),
        ("64,40", "select", 0),
        ("256,8", "add", 0),
        ("1024,8", "add", 1),
        ("128,64", "add", 0),
    ],
)
def test_short_rows_meet_arrays_in_a_kernel(shape, opcode, expected):
    length, kind = shape.split(",")[1], "pred" if opcode == "select" else "f32"
    text = program(
        f"x = f32[{shape}] parameter(0)",
        f"y = f32[{shape}] parameter(1)",
        f"row = {kind}[{length}] parameter(2)",
        f"rows = {kind}[{shape}] broadcast(row), dimensions={{1}}",
        f"ROOT r = f32[{shape}] {opcode}(rows, x{', y' if opcode == 'select' else ''})",
    )
    found = xla2py.emit(text, style="fast", format=False, checks=False)
    assert len(kernels(found)) == expected
    x = np.arange(np.prod([*map(int, shape.split(","))]), dtype=np.float32).reshape([*map(int, shape.split(","))])
    assert not differences(
        text, [x, -x, np.arange(int(length), dtype=np.float32) % 3 > 1 if kind == "pred" else x[0]], found
    )


def test_short_loops_are_as_long_as_the_result_where_they_read_a_part():
    x = np.linspace(-3, 3, 64 * 40, dtype=np.float32).reshape(64, 40)
    module = as_in_xla(lambda x: jnp.exp(x[:, 25:] * 2) * x[:, 3:18] + 1, x, style="fused")
    assert "for j in range(product.shape[1]):" in module.source


def test_one_operation_stays_in_numpy():
    text = program("x = f32[65536] parameter(0)", "ROOT r = f32[65536] exponential(x)")
    assert "njit" not in xla2py.emit(text, style="fast").source


@pytest.mark.parametrize(("opcode", "function"), [("exponential", "np.exp("), ("log", "np.log("), ("tanh", "np.tanh(")])
@pytest.mark.parametrize(("shape", "is_called"), [("512,8", True), ("64,64", False), ("8,8", False)])
def test_functions_of_short_lines_stay_in_numpy(opcode, function, shape, is_called):
    text = program(
        f"x = f32[{shape}] parameter(0)",
        *(f"y{k} = f32[{shape}] multiply(x, {'x' if k == 0 else f'y{k - 1}'})" for k in range(4)),
        f"z = f32[{shape}] {opcode}(y3)",
        f"s = f32[{shape}] add(z, x)",
        f"t = f32[{shape}] multiply(s, z)",
        f"ROOT r = f32[{shape}] add(t, x)",
    )
    generated = xla2py.emit(text, style="fast")
    assert (function in "".join(line for line in generated.source.splitlines() if "#" not in line)) == is_called
    assert len(kernels(generated)) == 1 + is_called


# -- start-up


@pytest.mark.compiled
def test_compiled_code_is_kept_for_other_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = program("x = f32[65536] parameter(0)", "y = f32[65536] multiply(x, x)", "ROOT r = f32[65536] add(y, x)")
    (tmp_path / "m.hlo").write_text(text)
    script = (
        "import sys, numpy, xla2py\n"
        "module = xla2py.emit(open(sys.argv[1]).read(), style='fast').load()\n"
        "module.main(numpy.ones(65536, numpy.float32))\n"
        "(kernel,) = (each for name, each in vars(module).items() if name.endswith('_kernel'))\n"
        "print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "m.hlo")]
    ran = [subprocess.run(command, capture_output=True, text=True) for _ in range(2)]
    assert [each.stdout.split() for each in ran] == [["0", "1"], ["1", "0"]], ran[0].stderr


def test_a_missing_numba_is_told_before_anything_is_written(monkeypatch):
    monkeypatch.setattr("xla2py.transpile.target.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs numba and scipy") as refused:
        xla2py.emit(program("x = f32[4] parameter(0)", "ROOT r = f32[4] add(x, x)"), style="fast")
    assert refused.value.diagnostics[0].code == "XP417"
    assert load_target("numpy").kernels.missing() == ("numba", "scipy")


def test_a_module_without_numba_says_so(tmp_path):
    text = program("x = f32[65536] parameter(0)", "y = f32[65536] multiply(x, x)", "ROOT r = f32[65536] add(y, x)")
    xla2py.emit(text, style="fast").save(tmp_path / "module.py")
    script = "import sys; sys.modules['numba'] = None; import module"
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert "numba" in ran.stderr.splitlines()[-1]


# -- proof


@pytest.mark.parametrize("name", ["viterbi", "cross_entropy"])
def test_lockstep_finds_nothing(name):
    module = xla2py.load(EXAMPLES / f"{name}.before.hlo")
    module_fast = xla2py.emit(module, style="fast")
    assert kernels(module_fast)
    arguments = nest([parameter.shape for parameter in module.entry.parameters], make_inputs(module))
    with np.errstate(all="ignore"):
        found = lockstep(module, module_fast, arguments)
    assert (found.divergences, found.failure) == ((), "")
    assert found.checked


@pytest.mark.compiled
@pytest.mark.parametrize("family", ["lines", "loops", "structured"])
def test_random_programs_give_what_xla_gives(family):
    for seed in range(much(1, 3)):
        drawn = random_program(family, seed)
        assert differences(drawn.text, [array.copy() for array in drawn.inputs]) == []


def test_numpy_copies_pieces_that_follow_each_other_in_lines():
    x, i = np.linspace(-2, 3, 6400, dtype=np.float32).reshape(100, 64), np.arange(100, dtype=np.int32)[::-1].copy()

    def joined(x, i, axis):
        return jnp.concatenate([x, x[i], jnp.broadcast_to(x[:1], x.shape)], axis)

    def rotated(x):
        parts = jnp.concatenate([-x[:, 32:], x[:, :32]], 1)
        return jnp.tanh(x * jnp.sqrt(jnp.abs(x)) + parts * x * 2 + 1)

    lines, columns = (as_in_xla(lambda x, i, axis=axis: joined(x, i, axis), x, i) for axis in (1, 0))
    assert kernels(lines) == [] and len(kernels(columns)) == 1
    assert len(kernels(as_in_xla(rotated, x))) == 1


def test_types_of_names_are_not_imported(tmp_path, wrong_types):
    text = program(
        "x = f64[80,80] parameter(0)",
        "y = f64[80,80] exponential(x)",
        "z = f64[80,80] multiply(y, x)",
        "ROOT r = f64[80,80] add(z, y)",
    )
    module = xla2py.emit(text, style="fast")
    assert len(kernels(module)) == 1
    assert_strict(module, tmp_path, wrong_types)


def test_loops_are_strictly_typed(tmp_path, wrong_types):
    """Flags are Python's or NumPy's, and integers that loops carry have a type from the beginning."""

    def search(table, x):
        def add(c):
            return c[0] + 1, c[1] + table[c[0]]

        def step(c):
            count, is_first, total = c
            start = jnp.where(is_first, 0, 1)
            _, total = jax.lax.while_loop(lambda c: (c[0] < 7) & (c[1] < 50), add, (start, total))
            return count + 1, jnp.where(total > x, False, is_first), total * x

        return jax.lax.while_loop(lambda c: (c[0] < 9) & (c[2] < 99), step, (0, True, jnp.float32(0)))

    table = np.linspace(0, 3, 7, dtype=np.float32)
    as_in_xla(search, table, np.float32(0.5))
    module = xla2py.emit(xla2py.from_jax(search, table, np.float32(0.5)), style="fast")
    assert len(kernels(module)) == 1
    assert_strict(module, tmp_path, wrong_types)


def assert_strict(module, folder, wrong_types):
    module.save(folder / "m.py")
    assert wrong_types(folder, "m.py") == ""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "m.py"]
    assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 0


def test_a_kernel_is_given_the_sum_whose_shape_it_reads():
    """An outlined function reads sums without the axis that the other readers of the same sums keep."""

    def scale(x, y):
        total = y.sum(-1, keepdims=True)
        return jnp.sqrt((total / x[..., None] + 1) / (total + 1))

    def products(x, y):
        def of_row(_):
            z = scale(x, y)[..., 0][..., None] * (x[..., None] * (y / y.sum(-1, keepdims=True)))
            corrected = z * (x[..., None] * scale(x, y) - z)
            return jnp.where(jnp.eye(5) > 0, corrected[:, :, None], -(z[..., None] * z[:, :, None]))

        return jax.vmap(of_row)(y)

    x = np.linspace(0.5, 2, 25, dtype=np.float32).reshape(5, 5)
    as_in_xla(products, x, x[::-1].copy())


@pytest.mark.parametrize("parts, is_chosen", [("x, x", False), ("x, y", True)])
def test_a_stack_of_one_array_is_that_array(parts, is_chosen):
    text = (
        "ENTRY e { x = f32[1,4] parameter(0)  y = f32[1,4] parameter(1)  "
        f"z = f32[2,4] concatenate({parts}), dimensions={{0}}  ROOT r = f32[2,4] negate(z) }}"
    )
    module = emitted(text)
    assert differences(text, [np.float32([[1, 2, 3, 4]]), np.float32([[5, 6, 7, 8]])], module) == []
    assert ("if i == 0 else" in module.source) == is_chosen

"""The style ``fast`` of NumPy: loops that Numba compiles give what HLO means, type by type."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("numba", reason="Numba is not installed")

import jax
import jax.numpy as jnp

import xla2py
from xla2py.targets.base import load_target
from xla2py.tests.ladder.fast_programs import COMBINERS, program, rows_of, softmax
from xla2py.tests.operations.runner import judge
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.targets.numpy_fast import assert_as_in_xla, differences, emitted, kernels, results
from xla2py.transpile.equivalence.comparison import compare
from xla2py.transpile.equivalence.inputs import make_inputs, nest
from xla2py.transpile.equivalence.lockstep import lockstep
from xla2py.transpile.errors import UsageError
from xla2py.transpile.fuzzing.families import random_program
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES

EXAMPLES = Path(__file__).parents[2] / "examples" / "hlo"
TABLE = np.arange(24, dtype=np.float32).reshape(4, 6) - 7
INTEGERS = np.array([-(2**31), -7, -1, 0, 1, 5, 2**31 - 1], np.int32)


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
    text = program(
        "x = f32[2,1048576] parameter(0)",
        "zero = f32[] constant(0)",
        f"ROOT r = {operation}",
    ).replace("ENTRY", COMBINERS + "ENTRY")
    module = emitted(text)
    assert called in module.source
    assert differences(text, [np.linspace(-2, 3, 2**21, dtype=np.float32).reshape(2, -1)], module) == []


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
    module = xla2py.emit(xla2py.from_jax(lambda i, v: jnp.zeros(37).at[i].add(v), places, values), style="fast")
    assert "scatter_on_zeros(i, v, (37,), np.float32, np.add, from_end=True)" in module.source
    kept = places[(places >= -37) & (places < 37)] % 37
    assert np.array_equal(module.load().main(places, values), np.bincount(kept, minlength=37))


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
    assert "return out_loop(" in module.source
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


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("s32[7] multiply(s, x)", "i4("),
        ("s32[7] subtract(s, y)", "i4("),
        ("s32[7] negate(s)", "i4(-"),
        ("s32[7] maximum(s, y)", "max("),
    ],
)
def test_integers_wrap_in_every_step(expression, said):
    lines = program(
        "x = s32[7] parameter(0)", "y = s32[7] parameter(1)", "s = s32[7] add(x, y)", f"ROOT r = {expression}"
    )
    assert differences(lines, [INTEGERS, INTEGERS[::-1].copy()]) == []
    assert said in emitted(lines).source


@pytest.mark.parametrize("kind", ["u8", "u16", "u32", "u64"])
@pytest.mark.parametrize(
    "expression",
    [
        "select(less, mixed, fives)",
        "maximum(mixed, fives)",
        "minimum(masked, mixed)",
        "clamp(five, mixed, x)",
        "select(less, masked, shifted)",
    ],
)
def test_numbers_without_a_sign_never_become_floats(kind, expression):
    """Numba joins an int64 and a uint64 to a float64."""
    lines = program(
        *(f"x = {kind}[7] parameter(0)", f"y = {kind}[7] parameter(1)", f"five = {kind}[] constant(5)"),
        *(f"fives = {kind}[7] broadcast(five), dimensions={{}}", f"mixed = {kind}[7] xor(x, y)"),
        *(f"masked = {kind}[7] and(x, fives)", f"shifted = {kind}[7] shift-right-logical(mixed, masked)"),
        *("less = pred[7] compare(x, y), direction=LT", f"chosen = {kind}[7] {expression}"),
        *(f"times = {kind}[7] multiply(chosen, x)", f"ROOT r = {kind}[7] xor(times, y)"),
    )
    largest = np.iinfo(ELEMENT_TYPES[kind].dtype).max
    x = np.array([0, 1, 5, largest // 3, largest // 2 + 1, largest - 1, largest], ELEMENT_TYPES[kind].dtype)
    assert differences(lines, [x, x[::-1].copy()]) == []


@pytest.mark.parametrize("step", ["add(x, ones)", "subtract(x, least)", "multiply(x, sevens)"])
def test_numbers_of_64_bits_wrap_around(step):
    """LLVM is told that int64 does not, and would take ``x + 1 > x`` for true."""
    lines = program(
        *("x = s64[7] parameter(0)", "one = s64[] constant(1)", "ones = s64[7] broadcast(one), dimensions={}"),
        *("seven = s64[] constant(7)", "sevens = s64[7] broadcast(seven), dimensions={}"),
        *("low = s64[] constant(-9223372036854775808)", "least = s64[7] broadcast(low), dimensions={}"),
        *("zero = s64[] constant(0)", "zeros = s64[7] broadcast(zero), dimensions={}", f"y = s64[7] {step}"),
        *("size = s64[7] abs(y)", "masked = s64[7] and(size, sevens)", "after = pred[7] compare(y, x), direction=GT"),
        "falls = pred[7] compare(y, zeros), direction=LT",
        "ROOT r = (s64[7], pred[7], pred[7]) tuple(masked, after, falls)",
    )
    bounds = np.iinfo(np.int64)
    x = np.array([0, 1, -1, bounds.max // 5, bounds.max - 1, bounds.max, bounds.min], np.int64)
    assert differences(lines, [x]) == []


def test_a_product_of_32_bits_without_a_sign_wraps_around():
    lines = program(
        *("x = u32[4] parameter(0)", "most = u32[] constant(4294967291)", "k = u32[4] broadcast(most), dimensions={}"),
        *("y = u32[4] multiply(x, k)", "three = u32[] constant(3)", "threes = u32[4] broadcast(three), dimensions={}"),
        "ROOT r = u32[4] divide(y, threes)",
    )
    assert differences(lines, [np.array([0, 1, 2**31 + 5, 2**32 - 1], np.uint32)]) == []


def test_floats_stay_floats_of_their_type():
    """Numba computes float32 with a Python number or an integer in float64."""
    text = program(
        "x = f32[64] parameter(0)",
        "n = s32[64] iota(), iota_dimension=0",
        "f = f32[64] convert(n)",
        "c = f32[] constant(0.1)",
        "d = f32[64] broadcast(c), dimensions={}",
        "a = f32[64] multiply(x, d)",
        "b = f32[64] add(a, f)",
        "e = f32[64] divide(b, d)",
        "ROOT r = f32[64] subtract(e, x)",
    )
    x = np.linspace(-3, 9, 64, dtype=np.float32)
    (made,) = results(emitted(text), [x])
    tenth = np.float32(0.1)
    assert np.abs(made - ((x * tenth + np.arange(64, dtype=np.float32)) / tenth - x)).max() <= 2e-4
    assert "f64" not in emitted(text).source


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_extremes_keep_nan_of_either_sign(axis, sign):
    x = TABLE.copy()
    x[1, 2], x[2] = np.copysign(np.float32(np.nan), sign), -np.inf
    for opcode, start, reduce in (("maximum", "-inf", np.max), ("minimum", "inf", np.min)):
        line = f"f32[{x.shape[1 - axis]}]"
        text = program(
            "x = f32[4,6] parameter(0)",
            "y = f32[4,6] negate(x)",
            f"start = f32[] constant({start})",
            f"ROOT r = {line} reduce(y, start), dimensions={{{axis}}}, to_apply=extreme",
        ).replace("ENTRY", COMBINERS.replace("larger", "extreme").replace("maximum", opcode) + "ENTRY")
        (made,) = results(emitted(text), [x])
        assert np.array_equal(made, reduce(-x, axis=axis), equal_nan=True)


def test_sums_of_two_numbers_are_not_reordered():
    """The error of a sum, which any other order of the operations makes 0."""
    text = program(
        "x = f32[512] parameter(0)",
        "y = f32[512] parameter(1)",
        "s = f32[512] add(x, y)",
        "b = f32[512] subtract(s, x)",
        "e = f32[512] subtract(y, b)",
        "zero = f32[] constant(0)",
        "ROOT r = f32[] reduce(e, zero), dimensions={0}, to_apply=sum",
    ).replace("ENTRY", COMBINERS + "ENTRY")
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=512).astype(np.float32) * scale for scale in np.float32([1000, 1]))
    (made,) = results(emitted(text), [x, y])
    expected = (y - ((x + y) - x)).sum()
    assert expected != 0
    assert abs(made - expected) <= 1e-6


# The operations that loops compute, for which a few cases of each table are run.
OPERATIONS = (
    "abs add and ceil clamp compare convert cosine count-leading-zeros divide exponential floor is-finite log maximum "
    "minimum mulhi multiply negate not or pad popcnt power remainder round-nearest-afz round-nearest-even rsqrt select "
    "shift-left shift-right-arithmetic shift-right-logical sign subtract tanh xor erf logistic reduce concatenate"
).split()
OTHERS = ("bf16", "f16", "f8", "f4", "s4", "u4", "s2", "u2", "s1[", "u1[")


@pytest.mark.parametrize("opcode", OPERATIONS)
def test_operations_give_what_xla_gives(opcode):
    found = [case for case in cases_by_opcode()[opcode] if not any(kind in case.text() for kind in OTHERS)]
    cases = found[:: max(1, len(found) // 3)][:3]
    for case, expected in zip(cases, judge(cases), strict=True):
        with np.errstate(all="ignore"):
            actual = results(emitted(case.text()), [array.copy() for array in case.inputs])
        wrong = [str(leaf) for leaf in compare(expected, actual, case.budget) if not leaf.status.is_good]
        assert not wrong, f"{wrong}\n{case.text()}"


@pytest.mark.parametrize("kind", ["s8", "u16", "s32", "s64", "u64", "s4"])
def test_integers_shift_by_any_amount_and_have_powers(kind):
    """Amounts that are negative or as large as the width, exponents that are negative; all of it joins one kernel."""
    bits, is_signed = ELEMENT_TYPES[kind].bits, ELEMENT_TYPES[kind].is_signed
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    numbers = [least, least + 1, most, most - 1, 0, 1, 2, 3, *([-1, -2, -3] if is_signed else [bits])]
    amounts = [0, 1, 2, bits - 1, min(bits, most), most, *([-1, least] if is_signed else [most - 1, 3])]
    dtype = ELEMENT_TYPES[kind].dtype
    x, n = (part.ravel() for part in np.meshgrid(np.array(numbers, dtype), np.array(amounts, dtype)))
    of_two = "shift-left shift-right-logical shift-right-arithmetic power mulhi".split()
    lines = [f"r{k} = {kind}[{len(x)}] {opcode}(x, n)" for k, opcode in enumerate(of_two)]
    lines += [f"r5 = {kind}[{len(x)}] popcnt(x)", f"r6 = {kind}[{len(x)}] count-leading-zeros(x)"]
    text = program(
        f"x = {kind}[{len(x)}] parameter(0)",
        f"n = {kind}[{len(x)}] parameter(1)",
        *lines,
        f"ROOT r = ({', '.join([f'{kind}[{len(x)}]'] * 7)}) tuple({', '.join(f'r{k}' for k in range(7))})",
    )
    module = emitted(text)
    assert len(kernels(module)) >= 1 and "int_power(x, n)" not in module.source.split("def main")[1].split("def ")[0]
    expected = xla2py.emit(text).load().main(x, n)
    assert [np.array_equal(one, same) for one, same in zip(results(module, [x, n]), expected, strict=True)] == [
        True
    ] * 7


def of_bits(x, n):
    """The bits of floats, floats of bits, and Python's quotients and remainders of them."""
    bits, signed = jax.lax.bitcast_convert_type(x, jnp.int32), jax.lax.bitcast_convert_type(n, jnp.int32)
    uniform = jax.lax.bitcast_convert_type((n >> 9) | jnp.uint32(0x3F800000), jnp.float32) - 1
    return (bits & 0x7FFFFF) + 1, uniform * 2 + x, signed // 3 - signed % 7, n // 3 + n % 7, signed % 8 + signed // 8


def test_bits_are_numbers_of_another_type_and_quotients_those_of_python():
    x = np.array([0, -0.0, 1.5, np.inf, -np.inf, -2, 3e30, 7], np.float32)
    n = np.array([0, 1, 2**31, 2**32 - 1, 5, 9, 2**31 - 1, 2**31 + 1], np.uint32)
    module = xla2py.emit(xla2py.from_jax(of_bits, x, n), style="fused", format=False, checks=False)
    main = module.source.split("def main")[1].split("def ")[0]
    assert "//" not in main and ".view(" not in main
    assert_as_in_xla(module, of_bits, (x, n), 0)


def test_truths_are_added_by_or_and_multiplied_by_and():
    lines = [f"{op} = pred[4] {op}(x, y)" for op in ("add", "multiply", "maximum", "minimum")]
    text = program(
        "x = pred[4] parameter(0)",
        "y = pred[4] parameter(1)",
        *lines,
        "ROOT r = (pred[4], pred[4], pred[4], pred[4]) tuple(add, multiply, maximum, minimum)",
    )
    x, y = np.array([0, 0, 1, 1], np.bool_), np.array([0, 1, 0, 1], np.bool_)
    assert len(kernels(emitted(text))) >= 1
    assert differences(text, [x, y]) == []


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


def test_one_operation_stays_in_numpy():
    text = program("x = f32[65536] parameter(0)", "ROOT r = f32[65536] exponential(x)")
    assert "njit" not in xla2py.emit(text, style="fast").source


# -- start-up


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
    monkeypatch.setattr("xla2py.targets.base.find_spec", lambda name: None)
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


@pytest.mark.parametrize("family", ["lines", "loops", "structured"])
def test_random_programs_give_what_xla_gives(family):
    for seed in range(3):
        drawn = random_program(family, seed)
        assert differences(drawn.text, [array.copy() for array in drawn.inputs]) == []

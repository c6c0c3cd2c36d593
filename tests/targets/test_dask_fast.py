"""The style ``fast`` of Dask: block functions with loops of Numba give what XLA gives, whatever the blocks are."""

import sys
from importlib import import_module
from inspect import getsource

import numpy as np
import pytest

import xla2py
from xla2py.targets.dask.planning.estimates import PROCESS_BYTES
from xla2py.targets.dask.writing.kernels import KERNELS
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.recording.lazy_jax import jax, jnp
from xla2py.tests.targets.running import differences, leaves, on_numpy, uneven
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.lockstep.run import lockstep
from xla2py.transpile.errors import UnsupportedError, UsageError
from xla2py.transpile.fuzzing.families import random_program

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")
pytest.importorskip("numba", reason="Numba is not installed")

ROWS, COLUMNS = 43, 36


def normalised(x, scale):
    """Rows, columns and a number of what is computed along both axes."""
    y = jnp.tanh(jax.nn.softmax(x * 2 + 1, axis=-1)) * jnp.exp(scale) + x
    return y, y.sum(0), (y * y).mean()


def turned(x, scale):
    """Reads that go backwards, in other orders and by two steps, along axes that are whole."""
    ends = jnp.concatenate([x[:, ::-1], x[:, :3] * scale], axis=1)
    return jnp.pad(ends, ((0, 0), (2, 1)))[:, ::2].T - 1, jnp.cumsum(x * scale, axis=1)


def found(x, scale):
    """Places of rows, and elements at places that are computed."""
    best = jnp.argmax(x * scale, axis=1)
    return best, jnp.take(x + scale, jnp.array([4, 0, 29]), axis=1) * 2, jnp.take_along_axis(x, best[:, None], axis=1)


def merged(x, scale):
    """An axis that is cut behind a reshape."""
    return jax.nn.sigmoid((x + scale).reshape(ROWS, -1, 6)).max(axis=2) * 2, (x * x + scale).reshape(-1, 6).sum(1)


def outer(x, scale):
    """Two axes that are cut, each in its own way."""
    near = jnp.exp(-jnp.square(x[:, None, 0] - x[None, :, 1]))
    return (near * scale).sum(0), near + 1


def narrow(x, scale):
    y = x.astype(jnp.bfloat16) * scale.astype(jnp.bfloat16)
    return jax.nn.silu(y), (x * 9).astype(jnp.int8) * jnp.int8(77) + jnp.int8(3)


FUNCTIONS = [normalised, turned, found, merged, outer, narrow]


def arguments(rows=ROWS, columns=COLUMNS):
    rng = np.random.default_rng(rows)
    return rng.normal(size=(rows, columns)).astype(np.float32), rng.normal(size=(rows, 1)).astype(np.float32)


def emitted(function, chunks="13", style="fused", **options):
    return xla2py.emit(xla2py.from_jax(function, *arguments()), "dask", style=style, chunks=chunks, **options)


def assert_close(results, wanted):
    for result, expected in zip(results, wanted, strict=True):
        expected = np.asarray(expected)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        tolerance = 0.02 if expected.dtype.name == "bfloat16" else 2e-5
        np.testing.assert_allclose(
            result.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_values_are_those_of_xla_in_any_chunks(function):
    x, scale = arguments()
    generated = emitted(function, debug=True)
    assert "_kernel(" in generated.source
    module, wanted = generated.load(keep_compiled=False), jax.jit(function)(x, scale)
    given = [(x, scale), (da.from_array(x, chunks=(17, 7)), da.from_array(scale, chunks=9))]
    x.flags.writeable = False
    given += [(np.asfortranarray(x), scale)]
    for each in given:
        assert_close(dask.compute(*module.main(*each), scheduler="sync"), wanted)
    for rows in (1, 20, ROWS):
        assert_close(dask.compute(*module.main(x, scale, chunks={"x": (rows, -1)}), scheduler="threads"), wanted)


def test_kernels_read_the_sizes_of_blocks_and_know_the_others():
    source = emitted(normalised, "1KiB", "fast").source
    (kernel,) = (text for text in source.split("\n\n\n") if "_kernel(" in text and text.startswith("@njit"))
    assert "nogil=True" in kernel and "for i in range(x.shape[0]):" in kernel
    assert f"np.empty((x.shape[0], {COLUMNS}), np.float32)" in kernel and str(ROWS) not in kernel


def test_what_is_cut_tells_kernels_apart():
    """Both add a row to a square, but only one is a square of a block."""
    size = 24
    x = np.random.default_rng(3).normal(size=(size, size)).astype(np.float32)

    def twice(x):
        whole = jnp.exp(x[:, 0] * jnp.arange(size, dtype=np.float32)) + 1
        return jnp.exp(x * jnp.arange(size, dtype=np.float32)[:, None]) + 1, whole @ x, x @ whole

    module = xla2py.emit(xla2py.from_jax(twice, x), "dask", style="fused", chunks="5")
    results = dask.compute(*module.load().main(x), scheduler="sync")
    for result, wanted in zip(results, jax.jit(twice)(x), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4)


@pytest.mark.compiled
@pytest.mark.parametrize("opcode", much(["pad", "select"], list(cases_by_opcode())[::4]))
def test_the_results_are_those_of_numpy(opcode):
    one = cases_by_opcode()[opcode][-1]
    text, given = one.text(), one.inputs
    generated = xla2py.emit(text, "dask", style="fused", chunks="2", format=False, debug=True)
    module = generated.load()
    module.TILE_BYTES = module.WINDOW_BYTES = 1  # tasks work through their blocks row by row
    with np.errstate(all="ignore"), dask.config.set(scheduler="sync"):
        results = dask.compute(*leaves(module.main(*map(uneven, given))))
    assert differences(on_numpy(text, given), list(results), one.budget) == []


@pytest.mark.compiled
@pytest.mark.parametrize("seed", much([3], [0, 3, 6]))
def test_random_programs_of_lines_are_those_of_numpy(seed):
    program = random_program("lines", seed)
    generated = xla2py.emit(program.text, "dask", style="fused", chunks="3", format=False)
    assert "@njit" in generated.source
    with np.errstate(all="ignore"):
        results = dask.compute(*leaves(generated.load().main(*map(uneven, program.inputs))), scheduler="sync")
    np.testing.assert_equal([x.shape for x in results], [x.shape for x in on_numpy(program.text, program.inputs)])
    for result, wanted in zip(results, on_numpy(program.text, program.inputs), strict=True):
        np.testing.assert_allclose(result.astype(float), np.asarray(wanted).astype(float), rtol=1e-5, atol=1e-5)


WHOLE_BESIDE_PARTS = """
HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY main { x = f32[1,32] parameter(0)
  y = f32[1,3] parameter(1)
  zero = f32[] constant(0)
  padded = f32[1,32] pad(y, zero), padding=0_0x29_0
  total = f32[1] reduce(padded, zero), dimensions={1}, to_apply=sum
  totals = f32[1,32] broadcast(total), dimensions={0}
  ROOT d = f32[1,32] subtract(x, totals) }"""


def test_a_loop_over_a_whole_axis_takes_no_array_that_is_cut():
    given = np.arange(32, dtype=np.float32)[None], np.float32([[1, 1, 3]])
    main = xla2py.emit(WHOLE_BESIDE_PARTS, "dask", style="fast", chunks="3").load(keep_compiled=False).main
    np.testing.assert_array_equal(main(*given).compute(scheduler="sync"), given[0] - 5)


def scattered(x, i, u):
    return x.at[i].add(u), x.at[i].set(u[:1]), x.at[i].max(u), x.astype(jnp.float16).at[i].add(u.astype(jnp.float16))


def scattered_numbers(x, i, u):
    places = i, (i * 7) % 8
    return x.at[places].multiply(u[:, 0]), (x * 9).astype(jnp.int32)[:, 0].at[i].add(i)


@pytest.mark.parametrize("function", [scattered, scattered_numbers])
@pytest.mark.parametrize("chunks", ["64B", "1KiB"])
def test_scatters_into_blocks_are_loops_of_the_same_plan(function, chunks):
    rng = np.random.default_rng(2)
    given = rng.normal(size=(24, 8)), rng.integers(-30, 30, 70), rng.normal(size=(70, 8))
    given = [array.astype(kind) for array, kind in zip(given, ("f4", "i4", "f4"), strict=True)]
    traced = xla2py.from_jax(function, *given)
    readable, fast = (xla2py.emit(traced, "dask", style=style, chunks=chunks) for style in ("readable", "fast"))
    assert [phase.name for phase in fast.plan.phases] == [phase.name for phase in readable.plan.phases]
    assert "scatter_loop" in fast.source or "scatter_numbers_loop" in fast.source
    results = dask.compute(*fast.load(keep_compiled=False).main(*given), scheduler="sync")
    assert_close(results, jax.jit(function)(*given))
    turned = [np.asfortranarray(array) for array in given]
    assert_close(dask.compute(*fast.load(keep_compiled=False).main(*turned), scheduler="sync"), results)


GENERATED = """ENTRY main { state = u64[3] parameter(0)
  both = (u64[3], u8[50,30]) rng-bit-generator(state), algorithm=rng_philox
  ROOT bits = u8[50,30] get-tuple-element(both), index=1 }"""


@pytest.mark.parametrize("chunks", ["300B", "1MiB"])
def test_random_numbers_of_blocks_are_loops_of_the_same_plan(chunks):
    def drawn(words):
        first, second = jax.random.split(jax.random.wrap_key_data(words))
        return jax.random.bits(first, (70, 30)), jax.random.normal(second, (50, 30)) * 2

    words, state = np.array([7, 2**32 - 6], np.uint32), np.array([5, 2**64 - 3, 9], np.uint64)
    for program, argument, wanted in [
        (xla2py.from_jax(drawn, words), words, jax.jit(drawn)(words)),
        (GENERATED, state, [xla2py.emit(GENERATED).load().main(state)]),
    ]:
        readable, fast = (xla2py.emit(program, "dask", style=style, chunks=chunks) for style in ("readable", "fast"))
        assert [phase.name for phase in fast.plan.phases] == [phase.name for phase in readable.plan.phases]
        assert "_loop(" in fast.source
        assert_close(dask.compute(*leaves(fast.load(keep_compiled=False).main(argument)), scheduler="sync"), wanted)


def test_numbers_that_have_a_key_each_are_drawn():
    words = np.array([7, 9], np.uint32)

    def drawn(words):
        return jax.random.gamma(jax.random.wrap_key_data(words), 2.5, (6,))

    module = xla2py.emit(xla2py.from_jax(drawn, words), "dask", style="fast")
    found = dask.compute(*leaves(module.load(keep_compiled=False).main(words)), scheduler="sync")
    np.testing.assert_allclose(found[0], jax.jit(drawn)(words), rtol=1e-4)


def test_searches_and_windows_of_blocks_are_loops():
    """Along axes that are cut, of whatever size blocks are."""

    def function(table, x):
        near = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 3), (1, 1), "SAME")
        return jnp.searchsorted(table, x) * 2, near

    rng = np.random.default_rng(1)
    table, x = np.sort(rng.normal(size=50).astype(np.float32)), rng.normal(size=(400, 30)).astype(np.float32)
    x[3, 4] = np.nan
    module = xla2py.emit(xla2py.from_jax(function, table, x), "dask", style="fast", chunks="4KiB")
    assert "compiled_search(" in module.source and "compiled_pool(" in module.source
    assert_close(
        dask.compute(*module.load(keep_compiled=False).main(table, x), scheduler="sync"), jax.jit(function)(table, x)
    )


def test_modules_for_any_size():
    sizes = xla2py.array(f"N, {COLUMNS}"), xla2py.array("N, 1")
    programs = xla2py.from_jax(normalised, *sizes).planned_for(N=1_000_000)
    module = xla2py.emit(programs, "dask", style="fast", chunks="1MiB").load()
    assert "_kernel(" in getsource(module.main_block)
    for rows in (5, 211):
        given = arguments(rows)
        results = dask.compute(*module.main(*given, chunks={"x": (3 + rows // 4, -1)}), scheduler="sync")
        assert_close(results, jax.jit(normalised)(*given))


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


def scaled(x, scale):
    return jnp.exp(x * scale) + 1


@pytest.mark.compiled
@pytest.mark.parametrize("is_saved", [True, False], ids=["saved", "loaded"])
def test_workers_in_processes_of_their_own(is_saved, client, tmp_path, monkeypatch):
    given, generated = arguments(), emitted(scaled)
    if is_saved:
        monkeypatch.syspath_prepend(tmp_path)
        generated.save(tmp_path / "scaled_in_blocks.py")
        module = import_module("scaled_in_blocks")
        client.upload_file(str(tmp_path / "scaled_in_blocks.py"))
    else:
        module = generated.load()
    try:
        assert_close([client.compute(module.main(*given)).result()], [jax.jit(scaled)(*given)])
    finally:
        sys.modules.pop("scaled_in_blocks", None)


@pytest.mark.whole
def test_compiled_code_is_kept_beside_the_module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    emitted(normalised).save(tmp_path / "kept_in_blocks.py")
    try:
        module = import_module("kept_in_blocks")
        dask.compute(*module.main(*arguments()), scheduler="sync")
        assert list((tmp_path / "__pycache__").glob("kept_in_blocks.*kernel*.nbc"))
    finally:
        sys.modules.pop("kept_in_blocks", None)


def test_plans_have_room_for_numba():
    readable, fast = (emitted(normalised, "1MiB", style).plan.peak_bytes for style in ("readable", "fast"))
    assert fast - readable == KERNELS.compiler_bytes
    assert emitted(normalised, "", "fast", memory="400MiB").plan.peak_bytes <= 400 << 20
    least = (PROCESS_BYTES + KERNELS.compiler_bytes) >> 20
    with pytest.raises(UnsupportedError, match=f"compiles block functions, take {least} MiB"):
        emitted(normalised, "", "fast", memory="200MiB")


def test_a_missing_numba_is_told_before_anything_is_written(monkeypatch):
    monkeypatch.setattr("xla2py.transpile.target.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"XP417.*for Dask needs numba and scipy"):
        emitted(normalised)


@pytest.mark.parametrize("style", ["readable", "fused"])
def test_lockstep_goes_through_block_functions_of_several_arrays(style):
    module = xla2py.from_jax(normalised, *arguments())
    outcome = lockstep(module, xla2py.emit(module, "dask", style=style), arguments())
    assert (outcome.divergences, outcome.failure) == ((), "") and outcome.checked


def test_values_are_not_called_as_the_types_that_kernels_use():
    @jax.jit
    def f4(x):
        return jnp.sin(x) + jnp.cos(x) * x

    def pair(x):
        return f4(x) * f4(x + 1) + 1, f4(x * 2)

    text = xla2py.emit(xla2py.from_jax(pair, np.ones((30, 30), np.float32)), "dask", style="fast", debug=True).source
    assert "import f4, njit" in text


def test_blocks_of_reshaped_arrays_are_read_along_axes_that_are_cut():
    """NumPy infers the length of such an axis, which the verifier of kernels cannot know."""
    shape = "[2,2,2,2,1,5]"
    text = (
        "ENTRY e { x = f32[2,4,3,2,5] parameter(0)  k = f32[4,2,1,3,1] parameter(1)  c = f32[2,4,2,1,5] "
        "convolution(x, k), window={size=1x3x1 stride=2x2x1 pad=0_0x0_1x0_0 rhs_dilate=2x1x2}, "
        f"dim_labels=bf012_oi012->bf012, feature_group_count=2  y = f32{shape} reshape(c)  "
        f"f = pred{shape} is-finite(y)  zero = f32[] constant(0)  zeros = f32{shape} broadcast(zero), dimensions={{}}  "
        f"one = f32[] constant(1)  ones = f32{shape} broadcast(one), dimensions={{}}  "
        f"ROOT r = f32{shape} select(f, ones, zeros) }}"
    )
    x = np.where(np.arange(240) % 7, 1, np.inf).astype(np.float32).reshape(2, 4, 3, 2, 5)
    k = np.ones((4, 2, 1, 3, 1), np.float32)
    made = xla2py.emit(text, "dask", style="fused", chunks="3", debug=True).load(keep_compiled=False).main(x, k)
    np.testing.assert_array_equal(made.compute(scheduler="sync"), xla2py.emit(text).load().main(x, k))

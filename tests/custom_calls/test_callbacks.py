"""Calls back into Python: left out where nobody reads what they give, else functions that main may be handed."""

from dataclasses import replace

import numpy as np
import pytest

import xla2py
from xla2py.transpile import cli
from xla2py.transpile.equivalence.checking import check
from xla2py.transpile.hlo.parser import parse_module

CALL = (
    'custom_call_target="xla_ffi_python_cpu_callback", api_version=API_VERSION_TYPED_FFI, '
    "backend_config={{index = {0} : ui64}}"
)
PRINTED = f"""HloModule printed
ENTRY main {{
  x = f32[3] parameter(0)
  debug_print.1 = () custom-call(x), custom_call_has_side_effect=true, {CALL.format(0)}
  unread.1 = (f32[3], f32[]) custom-call(x), {CALL.format(1)}
  ROOT y = f32[3] add(x, x)
}}
"""
USED = f"""HloModule used
ENTRY main {{
  t = token[] parameter(0)
  x = f32[3] parameter(1)
  io_callback.1 = (token[], f32[], s32[2]) custom-call(t, x), custom_call_has_side_effect=true, {CALL.format(0)}
  done = token[] get-tuple-element(io_callback.1), index=0
  total = f32[] get-tuple-element(io_callback.1), index=1
  counts = s32[2] get-tuple-element(io_callback.1), index=2
  spread = f32[3] broadcast(total), dimensions={{}}
  pure_callback.1 = f32[3] custom-call(x), {CALL.format(1)}
  pure_callback.2 = f32[3] custom-call(pure_callback.1), {CALL.format(1)}
  pure_callback.3 = f32[3] custom-call(x), {CALL.format(2)}
  a = f32[3] add(spread, pure_callback.2)
  b = f32[3] add(a, pure_callback.3)
  ROOT r = (token[], f32[3], s32[2]) tuple(done, b, counts)
}}
"""
CHECKED = f"""HloModule checked

fails {{
  x = f32[3] parameter(0)
  ROOT checked = f32[3] custom-call(x), {CALL.format(0)}, metadata={{op_name="jit(f)/error_if"}}
}}

passes {{
  ROOT x = f32[3] parameter(0)
}}

ENTRY main {{
  x = f32[3] parameter(0)
  limit = f32[] constant({{limit}})
  zero = f32[] constant(0)
  total = f32[] reduce(x, zero), dimensions={{{{0}}}}, to_apply={{{{
    a = f32[] parameter(0)
    b = f32[] parameter(1)
    ROOT s = f32[] add(a, b)
  }}}}
  bad = pred[] compare(total, limit), direction=GT
  chosen = f32[3] conditional(bad, x, x), true_computation=fails, false_computation=passes
  ROOT root = f32[3] negate(chosen)
}}
""".replace("{{", "{").replace("}}", "}")
TARGETS = ["numpy", "dask"]
X = np.float32([1, 2, 3])


@pytest.mark.parametrize("target", [*TARGETS, "cupy"])
def test_what_nobody_reads_is_left_out_and_noted(target):
    source = xla2py.emit(PRINTED, target=target).source
    assert "call_back" not in source and "Callable" not in source
    assert "left out, as nothing reads what it gives: debug_print, unread_callback" in source


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_branch_calls_that_never_runs_is_left_out(target):
    text = CHECKED.replace("compare(total, limit), direction=GT", "constant(false)").replace("{limit}", "5")
    emitted = xla2py.emit(replace(parse_module(text), host_functions=(np.sin,)), target=target)
    assert "left out, as nothing reads what it gives: error_if_callback" in emitted.source
    np.testing.assert_array_equal(np.asarray(emitted.load().main(X)), -X)


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_calls_back_once_in_each_round(target):
    jax = pytest.importorskip("jax")

    def doubled(x):
        rounds.append(float(x))
        return np.float32(2 * x)

    def step(state):
        k, x = state
        x = x.at[jax.numpy.where(k < 2, k, k - 1)].set(x[k] + 1)
        return k + 1, x + jax.pure_callback(doubled, jax.ShapeDtypeStruct((), np.float32), x.sum())

    def main(x):
        return jax.lax.while_loop(lambda state: (state[0] < 3) & (state[1].sum() < 1e6), step, (0, x))

    rounds: list[float] = []
    _, expected = jax.jit(main)(X)
    wanted, rounds = rounds, []
    _, values = xla2py.emit(xla2py.from_jax(main, X), target=target).load().main(X, pure_callback=doubled)
    np.testing.assert_array_equal(np.asarray(values), expected)
    assert rounds == wanted and len(rounds) == 3


@pytest.mark.parametrize("target", TARGETS)
def test_functions_are_handed_over_by_name(target):
    emitted = xla2py.emit(USED, target=target)
    assert "calls back: io_callback, pure_callback, pure_callback_2, where it gets there" in emitted.source
    functions = {
        "io_callback": lambda x: (np.float32(x.sum()), np.int32([4, 5])),
        "pure_callback": lambda x: np.float32(10 * x),
        "pure_callback_2": np.sin,
    }
    values, counts = emitted.load().main(X, **functions)
    np.testing.assert_allclose(np.asarray(values), 6 + 100 * X + np.sin(X), rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(counts), [4, 5])


def test_reaching_a_callback_without_its_function_is_an_error_at_its_line():
    main = xla2py.emit(USED).load().main
    with pytest.raises(RuntimeError, match="hand it to main by the name in this line") as caught:
        main(X)
    assert "call_back(io_callback, x)" in str(caught.traceback[-2].statement)


@pytest.mark.parametrize("target", TARGETS)
def test_a_check_that_passes_runs_as_traced(target):
    main = xla2py.emit(CHECKED.replace("{limit}", "100"), target=target).load().main
    np.testing.assert_array_equal(np.asarray(main(X)), -X)
    main = xla2py.emit(CHECKED.replace("{limit}", "1"), target=target).load().main
    with pytest.raises(RuntimeError, match="error_if"):
        np.asarray(main(X))
    np.testing.assert_array_equal(np.asarray(main(X, error_if_callback=np.square)), -X * X)


def test_xla_is_compared_where_no_callback_is_reached():
    for text in (PRINTED, CHECKED.replace("{limit}", "100")):
        (program,) = check(parse_module(text)).programs
        assert program.is_compared and not program.differs
    assert "fails" in program.unreached[0]


def test_run_says_what_it_cannot_supply(capsys, tmp_path):
    (tmp_path / "checked.hlo").write_text(CHECKED.replace("{limit}", "-1000"))
    assert cli.run(["run", str(tmp_path / "checked.hlo")]) == 2
    assert "error[XP409]: run cannot supply what the program calls back" in capsys.readouterr().err
    (tmp_path / "printed.hlo").write_text(PRINTED)
    assert cli.run(["run", str(tmp_path / "printed.hlo")]) == 0


def test_programs_of_jax():
    jax = pytest.importorskip("jax")

    def function(x):
        jax.debug.print("{x}", x=x)
        kind = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return x + jax.pure_callback(lambda x: np.sin(x), kind, x)

    text = jax.jit(function).lower(X).as_text(dialect="hlo")
    np.testing.assert_allclose(xla2py.emit(text).load().main(X, pure_callback=np.sin), X + np.sin(X), rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_functions_of_this_process_are_handed_over(target):
    jax, experimental = pytest.importorskip("jax"), pytest.importorskip("jax.experimental")
    asked = []

    def doubled(x):
        asked.append(x.shape)
        return 2 * x

    def parts(x):
        return np.float32(x.sum()), x + 1

    def traced(x):
        jax.debug.print("x is {x}", x=x)
        y = jax.pure_callback(doubled, jax.ShapeDtypeStruct((3,), np.float32), x)
        total, more = experimental.io_callback(
            parts, (jax.ShapeDtypeStruct((), np.float32), jax.ShapeDtypeStruct((3,), np.float32)), y
        )
        return total * more

    emitted = xla2py.emit(xla2py.from_jax(traced, X), target)
    np.testing.assert_allclose(np.asarray(emitted.load().main(X)), 12 * (2 * X + 1))
    assert asked == [(3,)]
    assert "left out, as nothing reads what it gives: debug_print" in emitted.source
    with pytest.raises(RuntimeError, match="EQX_ON_ERROR=nan"):
        np.asarray(emitted.load().main(X, pure_callback=None))
    own = emitted.load().main(X, pure_callback=lambda x: x)
    np.testing.assert_allclose(np.asarray(own), 6 * (X + 1))


@pytest.mark.parametrize("target", TARGETS)
def test_functions_of_ordered_callbacks_are_handed_over(target):
    jax, experimental = pytest.importorskip("jax"), pytest.importorskip("jax.experimental")
    asked = []

    def doubled(x, k):
        asked.append(int(k))
        return 2 * x

    def step(x, k):
        jax.lax.cond(k > 1, lambda: jax.debug.print("{k}", k=k, ordered=True), lambda: None)
        return experimental.io_callback(doubled, jax.ShapeDtypeStruct((3,), np.float32), x, k, ordered=True), None

    emitted = xla2py.emit(xla2py.from_jax(lambda x: jax.lax.scan(step, x, np.arange(3))[0], X), target)
    np.testing.assert_array_equal(np.asarray(emitted.load().main(X)), 8 * X)
    assert asked == [0, 1, 2]
    assert "left out, as nothing reads what it gives: debug_print" in emitted.source

"""Many small matrices, each factored by itself: where their number is cut, each task takes some of them."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.targets.chunked import plan_of
from xla2py.tests.targets.running import leaves, uneven
from xla2py.tests.whole import crossed

dask = pytest.importorskip("dask", reason="Dask is not installed")

MANY, SIDE = 11, 4


def call(routine: str, results: list[str], *, operands: str = "a", config: str = "") -> str:
    """All results of a LAPACK routine on [11, 4, 4]."""
    tau = f"\n  tau = f32[{MANY},{SIDE}] parameter(1)" if "tau" in operands else ""
    gets = "".join(f"\n  r{k} = {kind} get-tuple-element(f), index={k}" for k, kind in enumerate(results))
    several = f"({', '.join(results)})"
    end = f"ROOT r = {several} tuple({', '.join(f'r{k}' for k in range(len(results)))})"
    made = several if len(results) > 1 else results[0]
    return f"""ENTRY main {{
  a = f32[{MANY},{SIDE},{SIDE}] parameter(0){tau}
  {"f" if len(results) > 1 else "ROOT f"} = {made} custom-call({operands}), custom_call_target="lapack_s{routine}_ffi",
    api_version=API_VERSION_TYPED_FFI{", backend_config={" + config + "}" if config else ""}{
        gets + chr(10) + "  " + end if len(results) > 1 else ""
    }
}}"""


MATRIX, VECTOR, NUMBER = f"f32[{MANY},{SIDE},{SIDE}]", f"f32[{MANY},{SIDE}]", f"s32[{MANY}]"
PROGRAMS = {
    "getrf": call("getrf", [MATRIX, f"s32[{MANY},{SIDE}]", NUMBER]),
    "geqrf": call("geqrf", [MATRIX, VECTOR]),
    "orgqr": call("orgqr", [MATRIX], operands="a, tau"),
    "syevd": call("syevd", [MATRIX, VECTOR, NUMBER], config=f"mode = {ord('V')} : ui8, uplo = {ord('L')} : ui8"),
    "gesdd": call("gesdd", [MATRIX, VECTOR, MATRIX, MATRIX, NUMBER], config=f"mode = {ord('A')} : ui8"),
}
TRACE = f"""
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
ENTRY main {{
  a = {MATRIX} parameter(0)
  i = s32[{SIDE},{SIDE}] iota(), iota_dimension=0
  j = s32[{SIDE},{SIDE}] iota(), iota_dimension=1
  mask = pred[{SIDE},{SIDE}] compare(i, j), direction=EQ
  masks = pred[{MANY},{SIDE},{SIDE}] broadcast(mask), dimensions={{1,2}}
  zero = f32[] constant(0)
  zeros = {MATRIX} broadcast(zero), dimensions={{}}
  kept = {MATRIX} select(masks, a, zeros)
  ROOT r = f32[{MANY}] reduce(kept, zero), dimensions={{1,2}}, to_apply=add
}}"""
PROGRAMS["trace"] = TRACE


def arguments(text: str) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    arrays = [
        rng.standard_normal(parameter.array_shape.dimensions).astype(np.float32)
        for parameter in xla2py.load(text).entry.parameters
    ]
    arrays[0][3] = np.eye(SIDE)
    arrays[0][5, 0, 0] = np.nan
    return arrays


@pytest.mark.parametrize(("name", "made_of"), crossed(PROGRAMS, [np.copy, uneven]))
def test_each_task_takes_some_of_the_matrices(name, made_of):
    text = PROGRAMS[name]
    generated = xla2py.emit(text, "dask", chunks="256B")
    assert '"a": (4, -1, -1)' in generated.source and "# one chunk" not in generated.source
    given = arguments(text)
    wanted = leaves(xla2py.emit(text).load().main(*given))
    main = generated.load().main
    for chunks in (None, {"a": (1, -1, -1)}, {"a": ((2, 9), -1, -1)}):
        found = leaves(main(*map(made_of, given), chunks=chunks))
        values = dask.compute(*found, scheduler="sync")
        for lazy, value, same in zip(found, values, wanted, strict=True):
            assert lazy.npartitions > 1
            assert (lazy.dtype, value.shape) == (same.dtype, same.shape)
            np.testing.assert_allclose(value, same, rtol=1e-5, atol=1e-5)


def test_a_single_matrix_is_needed_whole():
    text = PROGRAMS["getrf"].replace(f"[{MANY},", "[").replace(f"[{MANY}]", "[]").replace(f"[{SIDE},{SIDE}]", "[40,40]")
    text = text.replace(f"[{SIDE}]", "[40]")
    plan = plan_of(text, chunks="256B")
    assert any(phase.note.startswith("one chunk: getrf along ") for phase in plan.phases)

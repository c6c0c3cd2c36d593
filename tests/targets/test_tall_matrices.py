"""Factors of tall matrices that are cut along their rows: LAPACK's, signs and all."""

from itertools import product
from math import inf

import numpy as np
import pytest

import xla2py
from xla2py.templates.prelude import tiles_of_tall_matrices
from xla2py.templates.prelude.householder import geqrf
from xla2py.tests.targets.chunked import check_plan
from xla2py.tests.targets.running import leaves, uneven
from xla2py.tests.whole import crossed

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")

NAMES = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}


def reflectors(m: int, n: int, kind: str = "f32") -> str:
    return f"""ENTRY main {{
  a = {kind}[{m},{n}] parameter(0)
  ROOT r = ({kind}[{m},{n}], {kind}[{min(m, n)}]) custom-call(a), custom_call_target="lapack_{NAMES[kind]}geqrf_ffi",
    api_version=API_VERSION_TYPED_FFI
}}"""


def factors(m: int, n: int, kind: str = "f32") -> str:
    make_q = "ungqr" if kind.startswith("c") else "orgqr"
    return f"""ENTRY main {{
  a = {kind}[{m},{n}] parameter(0)
  f = ({kind}[{m},{n}], {kind}[{n}]) custom-call(a), custom_call_target="lapack_{NAMES[kind]}geqrf_ffi",
    api_version=API_VERSION_TYPED_FFI
  packed = {kind}[{m},{n}] get-tuple-element(f), index=0
  tau = {kind}[{n}] get-tuple-element(f), index=1
  q = {kind}[{m},{n}] custom-call(packed, tau), custom_call_target="lapack_{NAMES[kind]}{make_q}_ffi",
    api_version=API_VERSION_TYPED_FFI
  top = {kind}[{n},{n}] slice(packed), slice={{[0:{n}], [0:{n}]}}
  i = s32[{n},{n}] iota(), iota_dimension=0
  j = s32[{n},{n}] iota(), iota_dimension=1
  above = pred[{n},{n}] compare(i, j), direction=LE
  zero = {kind}[] constant({"(0, 0)" if kind.startswith("c") else "0"})
  zeros = {kind}[{n},{n}] broadcast(zero), dimensions={{}}
  r = {kind}[{n},{n}] select(above, top, zeros)
  ROOT both = ({kind}[{m},{n}], {kind}[{n},{n}]) tuple(q, r)
}}"""


def singular(m: int, n: int, kind: str = "f32", *, vectors: str = "S") -> str:
    real, least = {"c64": "f32", "c128": "f64"}.get(kind, kind), min(m, n)
    sides = (m, n) if vectors == "A" else (least, least)
    u, v = f"{kind}[{m},{sides[0]}]", f"{kind}[{sides[1]},{n}]"
    parts = {"u": (u, 2), "s": (f"{real}[{least}]", 1), "v": (v, 3)}
    asked = {"N": "s"}.get(vectors, "usv")
    gets = "\n  ".join(f"{k} = {parts[k][0]} get-tuple-element(f), index={parts[k][1]}" for k in asked)
    return f"""ENTRY main {{
  a = {kind}[{m},{n}] parameter(0)
  f = ({kind}[{m},{n}], {real}[{least}], {u}, {v}, s32[]) custom-call(a),
    custom_call_target="lapack_{NAMES[kind]}gesdd_ffi", api_version=API_VERSION_TYPED_FFI,
    backend_config={{mode = {ord("A" if vectors == "A" else "S")} : ui8}}
  {gets}
  ROOT r = ({", ".join(parts[k][0] for k in asked)}) tuple({", ".join(asked)})
}}"""


def values_only(m: int, n: int, kind: str = "f32") -> str:
    return singular(m, n, kind, vectors="N")


def matrix(m: int, n: int, kind: str = "f32") -> np.ndarray:
    parts = np.random.default_rng(8).standard_normal((2, m, n))
    dtype = {"f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}[kind]
    return (parts[0] + (1j * parts[1] if kind.startswith("c") else 0)).astype(dtype)


WRITTEN = {
    factors: "qr_in_chunks(",
    reflectors: "geqrf_in_chunks(",
    singular: " svd_in_chunks(",
    values_only: "svdvals_in_chunks(",
}


@pytest.mark.parametrize(
    ("case", "chunks", "made_of"), crossed(product(WRITTEN, NAMES), ["7", "13"], [np.copy, uneven])
)
def test_the_factors_are_those_of_numpy(case, chunks, made_of):
    program, kind = case
    written, text, a = WRITTEN[program], program(60, 4, kind), matrix(60, 4, kind)
    generated = xla2py.emit(text, "dask", chunks=chunks)
    assert written in generated.source and "# one chunk" not in generated.source
    wanted, found = (
        leaves(main(x)) for main, x in ((xla2py.emit(text).load().main, a), (generated.load().main, made_of(a)))
    )
    values = dask.compute(*found, scheduler="sync")
    for lazy, value, same in zip(found, values, wanted, strict=True):
        assert (lazy.dtype, lazy.shape) == (value.dtype, value.shape) == (same.dtype, same.shape)
        np.testing.assert_allclose(value, same, rtol=0, atol=200 * np.finfo(same.dtype).eps)


MATRICES = {
    "a column of zeros": lambda a: a * (np.arange(4) != 1),
    "a triangle and zeros": lambda a: np.triu(a),
    "only zeros": np.zeros_like,
    "columns of any size": lambda a: a * 10.0 ** np.arange(-8, 8, 4),
    "rows of other sizes": lambda a: a * 10.0 ** np.linspace(-2, 2, 60)[:, None],
    "one row": lambda a: a * (np.arange(60) == 41)[:, None] * (np.arange(4) == 0),
}


@pytest.mark.parametrize(("name", "rows"), crossed(MATRICES, [1, 9, (5, 1, 30, 24), 60]))
def test_reflectors_of_odd_matrices(name, rows):
    a = MATRICES[name](matrix(60, 4, "f64"))
    packed, tau = (
        x.compute(scheduler="sync") for x in tiles_of_tall_matrices.geqrf_in_chunks(da.from_array(a, (rows, 4)))
    )
    wanted, same = geqrf(a)
    assert np.abs(tau - same).max() < 1e-13
    assert np.abs(np.tril(packed, -1) - np.tril(wanted, -1)).max() < 1e-12
    scale = np.abs(a).max(axis=0)
    assert (np.abs(np.triu(packed - wanted)) <= 1e-13 * scale * 60).all()


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_what_lapack_gives_no_number_for_is_none_here(special):
    a = matrix(60, 4)
    a[33, 2] = special
    with np.errstate(all="ignore"):
        q, r = (x.compute(scheduler="sync") for x in tiles_of_tall_matrices.qr_in_chunks(da.from_array(a, (13, 4))))
        same = np.linalg.qr(a)
    assert not np.isfinite(same.Q).all() and not np.isfinite(same.R).all()
    assert not np.isfinite(q[~np.isfinite(same.Q)]).any() and not np.isfinite(r[~np.isfinite(same.R)]).any()


def test_singular_values_of_what_is_not_finite_are_nan():
    a = matrix(60, 4)
    a[33, 2] = np.inf
    with np.errstate(all="ignore"):
        found = dask.compute(*tiles_of_tall_matrices.svd_in_chunks(da.from_array(a, (13, 4))), scheduler="sync")
    assert all(np.isnan(x).all() for x in found)


@pytest.mark.parametrize("text", [reflectors(15, 8), reflectors(8, 60), factors(15, 8), singular(60, 4, vectors="A")])
def test_what_is_not_tall_is_factored_whole(text):
    source = xla2py.emit(text, "dask", chunks="3").source
    assert "_in_chunks(" not in source.split("def in_chunks")[0]


@pytest.mark.parametrize("program, name", [(factors, "qr"), (singular, "svd"), (values_only, "svdvals")])
def test_a_plan_says_what_a_run_takes(program, name):
    # threads that take turns hold less: eight times
    check_plan(program(300_000, 16), [matrix(300_000, 16)], name, below=inf, times=8, chunks="2MiB")

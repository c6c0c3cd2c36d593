"""Factors of matrices and triangular systems that are cut: tile by tile, or each task with columns of its own."""

import numpy as np
import pytest

import xla2py
from xla2py.targets.dask.planning.chunk_program import size_in_bytes
from xla2py.tests.targets.chunked import plan_of
from xla2py.tests.targets.running import leaves, uneven
from xla2py.tests.whole import crossed

pytest.importorskip("dask", reason="Dask is not installed")


def factor(*sizes: int, lower: str = "true", kind: str = "f32") -> str:
    shape = f"{kind}[{','.join(map(str, sizes))}]"
    return f"ENTRY main {{ a = {shape} parameter(0)  ROOT r = {shape} cholesky(a), lower={lower} }}"


def system(n: int, k: int, left: str = "true", transpose: str = "NO_TRANSPOSE") -> str:
    shape = f"f32[{n},{k}]" if left == "true" else f"f32[{k},{n}]"
    return f"""
ENTRY main {{
  a = f32[{n},{n}] parameter(0)
  b = {shape} parameter(1)
  ROOT x = {shape} triangular-solve(a, b), left_side={left}, lower=true, unit_diagonal=false, transpose_a={transpose}
}}
"""


SOLVED = """
ENTRY main {
  a = f32[11,11] parameter(0)
  b = f32[11,4] parameter(1)
  c = f32[11,11] add(a, a)
  l = f32[11,11] cholesky(c), lower=true
  y = f32[11,4] triangular-solve(l, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
  ROOT x = f32[11,4] triangular-solve(l, y), left_side=true, lower=true, unit_diagonal=false, transpose_a=TRANSPOSE
}
"""
TILED = {
    "a factor": (factor(11, 11), ["cholesky_in_chunks(a)"]),
    "an upper factor": (factor(11, 11, lower="false"), ["cholesky_in_chunks(a, lower=False)"]),
    "factors": (factor(3, 11, 11), ["cholesky_in_chunks(a)"]),
    "factors of complex matrices": (factor(11, 11, kind="c64"), ["cholesky_in_chunks(a)"]),
    "a system": (system(11, 5), ["triangular_solve_in_chunks(a, b, lower=True)"]),
    "a system from the right": (system(11, 5, "false"), ["triangular_solve_in_chunks(a.read().T, b.read().T).T"]),
    "a transposed system": (system(11, 5, transpose="TRANSPOSE"), ["triangular_solve_in_chunks(a.read().T, b)"]),
    "a solution": (
        SOLVED,
        [
            "cholesky_in_chunks(total)",
            "triangular_solve_in_chunks(factor, b, lower=True)",
            "triangular_solve_in_chunks(factor.T, solution",
        ],
    ),
}


def matrices(text: str) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    found = []
    for parameter in xla2py.load(text).entry.parameters:
        shape = parameter.shape.dimensions
        a = rng.standard_normal(shape)
        if parameter.shape.element_type.name == "c64":
            a = a + 1j * rng.standard_normal(shape)
        if shape[-1] == shape[-2]:
            a = a @ a.conj().mT + shape[-1] * np.eye(shape[-1])
        found.append(a.astype(parameter.shape.element_type.dtype))
    return found


@pytest.mark.parametrize(
    ("name", "chunks", "made_of"), crossed([*TILED, *TILED], ["4", "1", "9", "3"], [np.copy, uneven])
)
def test_tiles_give_what_whole_matrices_give(name, made_of, chunks):
    text, written = TILED[name]
    inputs = matrices(text)
    wanted = leaves(xla2py.emit(text).load().main(*inputs))
    generated = xla2py.emit(text, "dask", chunks=chunks)
    assert [part for part in written if part not in generated.source] == []
    for found, same in zip(leaves(generated.load().main(*map(made_of, inputs))), wanted, strict=True):
        value = found.compute(scheduler="sync")
        assert value.dtype == same.dtype
        np.testing.assert_allclose(value, same, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("text", [system(5, 40), system(5, 40, "false")], ids=["columns", "rows"])
def test_right_hand_sides_are_cut_where_the_matrix_is_not(text):
    source = xla2py.emit(text, "dask", chunks="6").source
    assert "Tiled(solution_block, (None, " in source
    assert "triangular_solve_in_chunks" not in source and "# one chunk" not in source
    inputs = matrices(text)
    wanted = xla2py.emit(text).load().main(*inputs)
    module = xla2py.emit(text, "dask", chunks="6").load()
    module.TILE_BYTES = 1
    np.testing.assert_allclose(module.main(*inputs).compute(scheduler="sync"), wanted, rtol=1e-3, atol=1e-4)


def test_batches_of_small_matrices_are_cut_between_them():
    plan = plan_of(factor(100000, 64, 64), memory="2GiB")
    ((_, (batch, *whole)),) = plan.chunks
    assert 1 < batch < 100000 and whole == [-1, -1]


def test_a_matrix_larger_than_memory_is_planned_in_square_tiles():
    plan = plan_of(factor(30000, 30000), memory="1GiB")
    ((_, (rows, columns)),) = plan.chunks
    assert rows == columns and plan.peak_bytes <= size_in_bytes("1GiB")
    (phase,) = plan.phases
    assert (phase.name, phase.tasks, phase.note) == ("cholesky", (-(-30000 // rows)) ** 2, "")

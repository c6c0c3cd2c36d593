"""Factors and triangular systems of matrices in tiles do what those of whole matrices do."""

import gc
import itertools

import numpy as np
import pytest

from xla2py.templates.prelude.linalg import cholesky, triangular_solve

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")

from xla2py.templates.prelude.chunked import Chunked  # noqa: E402
from xla2py.templates.prelude.tiles_of_matrices import cholesky_in_chunks, triangular_solve_in_chunks  # noqa: E402
from xla2py.tests.whole import crossed  # noqa: E402

CHUNKS = [(7,), (3, 3, 1), (1,) * 7, (2, 5), (5, 1, 1)]
TOLERANCE = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-10, "complex64": 1e-4}
N = 7


@pytest.fixture(autouse=True)
def no_file_is_left(tmp_path):
    with dask.config.set(temporary_directory=str(tmp_path), scheduler="sync"):
        gc.freeze()  # what there is already is not looked through again
        yield
        gc.collect()
        gc.unfreeze()
        assert not list(tmp_path.iterdir())


def positive_definite(batch, dtype):
    rng = np.random.default_rng(len(batch))
    root = rng.standard_normal((*batch, N, N)) + (1j * rng.standard_normal((*batch, N, N)) if dtype[0] == "c" else 0)
    a = (root @ root.conj().mT + N * np.eye(N)).astype(dtype)
    a[..., np.triu_indices(N, 1)[0], np.triu_indices(N, 1)[1]] += a.dtype.type(0.25)  # the triangles differ
    return a


def assert_same(found, wanted):
    value = found.compute()
    assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape) == (found.dtype, found.shape)
    tolerance = TOLERANCE[wanted.dtype.name]
    np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)


def in_blocks(x, *sizes):
    """A lazy array, its last axes cut as given, each matrix of a batch by itself."""
    return da.from_array(x, chunks=(*((1,) * n for n in x.shape[: x.ndim - len(sizes)]), *sizes))


@pytest.mark.parametrize(("dtype", "batch", "lower"), crossed(TOLERANCE, [(2, 3), (), (2,)], [True, False]))
def test_cholesky(dtype, batch, lower):
    a = positive_definite(batch, dtype)
    for sizes in CHUNKS:
        assert_same(cholesky_in_chunks(in_blocks(a, sizes, sizes), lower), cholesky(a, lower))


@pytest.mark.parametrize(("place", "lower"), crossed(range(N), [True, False]))
def test_a_matrix_that_is_not_positive_definite_gives_nan_and_others_of_the_batch_do_not(place, lower):
    a = positive_definite((2,), "float64")
    a[1, place, place] = -1
    for sizes in CHUNKS:
        found = cholesky_in_chunks(in_blocks(a, sizes, sizes), lower)
        assert_same(found, cholesky(a, lower))
        assert np.isnan(found.compute()).sum(axis=(1, 2)).tolist() == [0, N * (N + 1) // 2]


@pytest.mark.parametrize("lower", [True, False])
def test_one_triangle_is_read(lower):
    a = positive_definite((), "float64")
    unread = np.triu(np.ones((N, N), bool), 1) if lower else np.tril(np.ones((N, N), bool), -1)
    wanted = cholesky(a, lower)
    a[unread] = np.nan
    for sizes in CHUNKS:
        assert_same(cholesky_in_chunks(in_blocks(a, sizes, sizes), lower), wanted)


@pytest.mark.parametrize(("dtype", "batch"), [("float32", ()), ("complex64", (2,)), ("float16", ())])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit_diagonal", [True, False])
def test_triangular_systems(dtype, batch, lower, unit_diagonal):
    a = positive_definite(batch, dtype)
    a = a / a.dtype.type(10) if unit_diagonal else a
    b = positive_definite(batch, dtype)[..., :4]
    keywords = {"lower": lower, "unit_diagonal": unit_diagonal}
    wanted = triangular_solve(a, b, **keywords)
    for sizes, others in zip(CHUNKS, itertools.cycle([(4,), (1, 3)])):
        found = triangular_solve_in_chunks(in_blocks(a, sizes, sizes), in_blocks(b, sizes, others), **keywords)
        assert_same(found, wanted)


def test_a_zero_on_the_diagonal_divides_as_floats_do():
    a, b = np.triu(np.ones((N, N), np.float32)), np.ones((N, 2), np.float32)
    a[2, 2] = 0
    with np.errstate(all="ignore"):
        for sizes in CHUNKS:
            found = triangular_solve_in_chunks(in_blocks(a, sizes, sizes), in_blocks(b, sizes, (1, 1)))
            assert_same(found, triangular_solve(a, b))


def test_chunks_that_are_no_squares_are_made_so():
    a, b = positive_definite((), "float64"), np.ones((N, 3))
    lazy = da.from_array(a, chunks=((4, 3), (1, 6)))
    assert_same(cholesky_in_chunks(lazy), cholesky(a))
    assert_same(triangular_solve_in_chunks(lazy, da.from_array(b, chunks=2)), triangular_solve(a, b))


def test_files_are_read_by_the_tasks(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "a.npy"
    np.save(path, positive_definite((), "float64"))
    a = np.load(path, mmap_mode="r")
    matrix = Chunked(a, ((4, 3), (4, 3)))
    assert_same(cholesky_in_chunks(matrix), cholesky(np.array(a)))
    sides = Chunked(a, ((4, 3), (2, 5)))
    assert_same(triangular_solve_in_chunks(matrix, sides), triangular_solve(np.array(a), np.array(a)))


def test_tasks_of_many_tiles_are_a_third_of_those_of_dask():
    a = da.from_array(np.eye(100), chunks=2)
    count, of_dask = (
        len(dict(dask.optimize(array)[0].__dask_graph__()))
        for array in (cholesky_in_chunks(a), da.linalg.cholesky(a, lower=True))
    )
    assert count <= of_dask / 3  # how many of them are fused is not always the same

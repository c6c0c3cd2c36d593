"""Dask arrays as arguments and results of programs for several devices: chunks are shards that stay on workers."""

from __future__ import annotations

import sys

import dask.array as da
import numpy as np
import pytest

import xla2py
from xla2py.tests.replicas.test_cluster import assert_clean, imported_from

PROGRAM = """HloModule divided, num_partitions=4
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[2,6] parameter(0), sharding={devices=[4,1]<=[4]}
  w = f32[6] parameter(1), sharding={replicated}
  all = f32[2,6] broadcast(w), dimensions={1}
  scaled = f32[2,6] multiply(x, all)
  zero = f32[] constant(0)
  total = f32[2] reduce(scaled, zero), dimensions={1}, to_apply=add
  sums = f32[2] all-reduce(total), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
  ROOT r = (f32[2,6], f32[2]) tuple(scaled, sums), sharding={{devices=[4,1]<=[4]}, {replicated}}
}
"""
X, W = np.arange(48, dtype=np.float32).reshape(8, 6), np.arange(6, dtype=np.float32)


@pytest.fixture
def module(tmp_path):
    xla2py.emit(PROGRAM, target="dask").save(tmp_path / "divided.py")
    return imported_from(tmp_path / "divided.py")


def assert_right(scaled, sums):
    np.testing.assert_array_equal(scaled, X * W)
    np.testing.assert_array_equal(sums, (X * W).sum(axis=1).reshape(4, 2).sum(axis=0))


def transferred(client):
    """The keys that workers have fetched from others."""
    logs = client.run(lambda dask_worker: [key for each in dask_worker.transfer_incoming_log for key in each["keys"]])
    return [key for log in logs.values() for key in log]


def test_chunks_are_shards_and_nothing_moves(module, workers):
    client = workers.client
    addresses = [workers.address(name) for name in workers.workers()]
    turned = addresses[1:] + addresses[:1]
    chunks = [client.scatter(X[2 * k : 2 * k + 2], workers=[turned[k]], hash=False) for k in range(4)]
    graph = {("x-on-workers", k, 0): chunk for k, chunk in enumerate(chunks)}
    x = da.Array(graph, "x-on-workers", ((2,) * 4, (6,)), dtype=np.float32)
    before = transferred(client)
    scaled, sums = module.main(client, x, W)
    assert transferred(client) == before
    assert isinstance(scaled, da.Array) and scaled.chunks == x.chunks and isinstance(sums, da.Array)
    assert module.run_replicas(client, module.split([x, W]), gather=False).moved == 0
    parts = client.compute([scaled.partitions[k] for k in range(4)])
    assert_right(np.concatenate(client.gather(parts)), client.compute(sums).result())
    assert [client.who_has(parts)[part.key] for part in parts] == [(address,) for address in turned]
    del chunks, graph, x, scaled, sums, parts
    assert_clean(workers)


def test_the_results_say_how_many_bytes_moved(module, workers):
    """All shards of ``x`` and the only chunk of ``w`` are on one worker; three others need theirs."""
    client, first = workers.client, workers.address(workers.workers()[0])
    chunks = [client.scatter(X[2 * k : 2 * k + 2], workers=[first], hash=False) for k in range(4)]
    x = da.Array({("x-on-one", k, 0): chunk for k, chunk in enumerate(chunks)}, "x-on-one", ((2,) * 4, (6,)), X.dtype)
    w = da.Array({("w-on-one", 0): client.scatter(W, workers=[first], hash=False)}, "w-on-one", ((6,),), W.dtype)
    assert module.run_replicas(client, module.split([x, W])).moved == 3 * X.nbytes // 4
    results = module.run_replicas(client, module.split([x, w]))
    assert results.moved == 3 * X.nbytes // 4 + 3 * W.nbytes
    assert_right(*module.join(results))
    del chunks, x, w, results
    assert_clean(workers)


def test_lazy_arrays_in_other_chunks_are_computed(module, workers):
    scaled, sums = module.main(workers.client, da.from_array(X, chunks=(3, 4)), da.from_array(W))
    assert_right(*workers.client.gather(workers.client.compute([scaled, sums])))
    again = module.main(workers.client, scaled, W)[0]  # of what the last run has left
    np.testing.assert_array_equal(workers.client.compute(again).result(), X * W * W)
    del scaled, sums, again
    assert_clean(workers)


def test_arrays_in_memory_give_arrays_in_memory(module, workers):
    for client in (None, workers.client):
        results = module.main(client, X, W)
        assert all(isinstance(each, np.ndarray) for each in results)
        assert_right(*results)
    assert_right(*module.main(None, da.from_array(X, chunks=2), W))


def test_whole_arrays_where_the_runtime_is_a_file_of_its_own(tmp_path, monkeypatch):
    xla2py.emit(PROGRAM, target="dask", helpers="shared").save(tmp_path / "divided.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "_xla2py_dask", raising=False)
    module = imported_from(tmp_path / "divided.py")
    monkeypatch.delitem(sys.modules, "_xla2py_dask")
    assert_right(*module.main(None, da.from_array(X, chunks=2), W))


def test_what_is_no_client_is_told(module):
    for call in (module.main, module.run_replicas):
        with pytest.raises(TypeError, match=r"expected a client of dask\.distributed first, got ndarray"):
            call(X, W)


def test_an_array_that_cannot_be_computed_says_why(module, workers):
    def fail(block):
        raise ZeroDivisionError("in a chunk")

    x = da.from_array(X, chunks=2).map_blocks(fail, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    with pytest.raises(ZeroDivisionError, match="in a chunk"):
        module.main(workers.client, x, W)
    assert_clean(workers)


def test_a_result_that_went_with_its_worker_is_an_error(module, workers):
    from concurrent.futures import CancelledError

    scaled, _ = module.main(workers.client, da.from_array(X, chunks=(2, 6)), W)
    workers.kill(workers.workers()[0])
    with pytest.raises((CancelledError, KeyError, RuntimeError)):
        workers.client.compute(scaled).result(timeout=30)
    del scaled, _
    assert_clean(workers)

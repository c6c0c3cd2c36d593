"""Modules as a notebook runs them: the scheduler is in the client's process, and modules come and change after it."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from distributed import Client, LocalCluster

import xla2py
from xla2py.tests.replicas import programs
from xla2py.tests.replicas.programs import SeveralDevices, entry
from xla2py.tests.replicas.test_cluster import assert_same_bits, imported


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def summing(operation: str) -> SeveralDevices:
    lines = [f"y = f32[6] {operation}(x)", "ROOT r = f32[6] all-reduce(y), to_apply=add"]
    return SeveralDevices("", entry(*lines, sizes="6"), 2)


def test_a_module_that_is_imported_and_reloaded_after_the_workers_have_started(client, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    inputs = summing("negate").inputs()
    total = sum(arrays[0] for arrays in inputs)
    xla2py.emit(summing("negate").module(), target="dask").save(tmp_path / "of_notebook.py")
    module = importlib.import_module("of_notebook")
    try:
        for result in module.run_replicas(client, inputs, timeout=30):
            np.testing.assert_allclose(result, -total, rtol=1e-6)
        (tmp_path / "of_notebook.py").unlink()
        xla2py.emit(summing("abs").module(), target="dask").save(tmp_path / "of_notebook.py")
        module = importlib.reload(module)
        assert_same_bits(module.run_replicas(client, inputs, timeout=30), module.run_local(inputs))
        wrong = [inputs[0], [np.ones(5, np.float32)]]
        with pytest.raises(TypeError, match="expected float32"):
            module.run_replicas(client, wrong, timeout=30)
    finally:
        del sys.modules["of_notebook"]


def test_a_module_in_chunks_that_is_changed_and_reloaded(client, tmp_path, monkeypatch):
    """The workers have imported the old one; both functions have one name, ``y_block``."""
    monkeypatch.syspath_prepend(str(tmp_path))
    client.run(lambda path: sys.path.insert(0, path), str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    x = np.arange(40, dtype=np.float32).reshape(20, 2)
    text = "ENTRY main {{ x = f32[20,2] parameter(0)  one = f32[] constant({}) ones = f32[20,2] broadcast(one), "
    text += "dimensions={{}}  ROOT y = f32[20,2] add(x, ones) }}"
    names = []
    for number in (1, 20):
        (tmp_path / "in_chunks.py").unlink(missing_ok=True)
        xla2py.emit(text.format(number), "dask", chunks="5").save(tmp_path / "in_chunks.py")
        loaded = sys.modules.get("in_chunks")
        module = importlib.reload(loaded) if loaded else importlib.import_module("in_chunks")
        names.append([name for name in vars(module) if name.endswith("_block")])
        for _ in range(2):
            result = module.main(x).compute(scheduler=client)
            np.testing.assert_array_equal(result, x + number)
    assert names[0] == names[1] != []
    del sys.modules["in_chunks"]


def test_snapshots_need_no_module_on_the_workers(client, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    program = SeveralDevices("", programs.COUNTED.replace("{{0,1},{2,3}}", "{{0,1}}"), 2)
    xla2py.emit(program.module(), target="dask").save(tmp_path / "with_snapshots.py")
    module, inputs = importlib.import_module("with_snapshots"), program.inputs()
    try:
        results = module.run_replicas(client, inputs, timeout=30, snapshot=tmp_path / "snapshots", every=2)
        assert_same_bits(results, module.run_local(inputs))
        assert not list((tmp_path / "snapshots").iterdir())
    finally:
        del sys.modules["with_snapshots"]


WRAPPING = """
mix {{ a = u32[] parameter(0)
  s = u32[] constant(2654435761)
  m = u32[] multiply(a, s)
  ROOT r = u32[] add(m, s) }}
ENTRY main {{
  x = u32[] parameter(0)
  m = u32[] call(x), to_apply=mix
  n = u32[] call(m), to_apply=mix
  ROOT r = u32[] all-reduce(n), to_apply=add
}}
"""


def test_integers_that_wrap_around(client, tmp_path):
    """Their functions are decorated with ``np.errstate``, which pickle cannot take."""
    add = "add { a = u32[] parameter(0)\n  b = u32[] parameter(1)\n  ROOT r = u32[] add(a, b) }\n"
    program = SeveralDevices("", add + WRAPPING.format(), 2)
    module = imported(program, tmp_path)
    inputs = [[np.uint32(4_000_000_000)], [np.uint32(7)]]
    assert "@np.errstate" in next(tmp_path.glob("*.py")).read_text()
    assert_same_bits(module.run_replicas(client, inputs, timeout=30), module.run_local(inputs))


def test_a_closed_client_is_an_error_that_says_so(client, tmp_path):
    closed = Client(client.scheduler.address, set_as_default=False)
    closed.close()
    module = imported(summing("negate"), tmp_path)
    with pytest.raises(module.ReplicaError, match="the client is closed"):
        module.run_replicas(closed, summing("negate").inputs())


def test_workers_within_the_process_of_the_client(tmp_path):
    """They are connected by no sockets."""
    program = SeveralDevices("", entry("ROOT r = f32[400,800] all-reduce(x), to_apply=add", sizes="400,800"), 2)
    module, inputs = imported(program, tmp_path), program.inputs()
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as made, Client(made, set_as_default=False) as client:
        assert all(address.startswith("inproc://") for address in client.nthreads())
        for _ in range(2):
            assert_same_bits(module.run_replicas(client, inputs, timeout=30), module.run_local(inputs))

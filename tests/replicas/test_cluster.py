"""Replicas on real workers: the same bits as on threads, and every fault is an error that says what happened."""

from __future__ import annotations

import importlib.util
import signal
import threading
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import xla2py
from xla2py.tests.replicas import programs
from xla2py.tests.replicas.clusters import cluster
from xla2py.tests.replicas.programs import SeveralDevices, entry
from xla2py.transpile.equivalence.comparison import flatten


def imported(program: SeveralDevices, folder: Path) -> ModuleType:
    """The emitted module, saved and imported as a user would."""
    path = folder / f"program_{abs(hash(program.text))}.py"
    xla2py.emit(program.module(), target="dask").save(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_same_bits(one: list, other: list) -> None:
    left, right = ([array for _, array in flatten(tuple(results))] for results in (one, other))
    assert len(left) == len(right) > 0
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


EVERYTHING = [
    *programs.control(),
    *(one for one in programs.others() if one.replicas == 4),
    *(one for one in programs.element_types() if one.name == "bf16"),
    *(one for one in programs.reducers() if "message" in one.name or "nothing" in one.name),
]


@pytest.mark.parametrize("program", EVERYTHING, ids=str)
def test_workers_compute_what_threads_compute(workers, tmp_path, program):
    module, inputs = imported(program, tmp_path), program.inputs()
    assert_same_bits(module.run_replicas(workers.client, inputs, timeout=30), module.run_local(inputs))


def test_nothing_is_left_on_the_cluster(workers, tmp_path):
    program = next(programs.control())
    module, inputs = imported(program, tmp_path), program.inputs()
    module.run_replicas(workers.client, inputs, timeout=30)
    assert_clean(workers)


def assert_clean(workers) -> None:
    """No tasks, and no connections between workers."""

    def peers(dask_worker):
        return [str(comm) for comm, op in dask_worker._comms.items() if op == "join_replica"]

    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        left = workers.leftovers() + [p for found in workers.client.run(peers).values() for p in found]
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(left)


@pytest.mark.parametrize(("count", "tls"), [(2, True), (8, False)])
def test_other_clusters(tmp_path, count, tls):
    line = "ROOT r = f32[400,800] all-reduce(x), to_apply=add"
    program = SeveralDevices("", entry(line, sizes="400,800"), count)
    module, inputs = imported(program, tmp_path), program.inputs()
    with cluster(tmp_path / "cluster", count, tls) as made:
        results = module.run_replicas(made.client, inputs, timeout=60)
    assert_same_bits(results, module.run_local(inputs))


ENDLESS = programs.CONTROL.replace("constant(0.01)", "constant(-1)")


def interrupted(workers, module, fault, timeout: float = 20.0):
    """The error that ends an endless program after a fault, and how long after."""
    inputs = SeveralDevices("", ENDLESS).inputs()
    at = []

    def strike():
        time.sleep(1.5)
        at.append(time.monotonic())
        fault()

    striking = threading.Thread(target=strike)
    striking.start()
    with pytest.raises(Exception) as raised:
        module.run_replicas(workers.client, inputs, timeout=timeout)
    striking.join()
    return raised.value, time.monotonic() - at[0]


def test_a_killed_worker_ends_the_run_by_name(workers, tmp_path):
    module = imported(SeveralDevices("", ENDLESS), tmp_path)
    victim = workers.workers()[0]
    error, seconds = interrupted(workers, module, lambda: workers.kill(victim))
    assert type(error).__name__ == "ReplicaLost"
    assert "was lost" in str(error)
    assert seconds < 15
    assert_clean(workers)


def test_a_hung_worker_ends_the_run_at_the_timeout(workers, tmp_path):
    module = imported(SeveralDevices("", ENDLESS), tmp_path)
    victim = workers.workers()[1]
    error, seconds = interrupted(workers, module, lambda: workers.signal(victim, signal.SIGSTOP), timeout=3)
    workers.signal(victim, signal.SIGCONT)
    assert type(error).__name__ == "ReplicaTimeout"
    assert "waited 3 s" in str(error) or "no sign of life" in str(error)
    assert seconds < 30
    assert_clean(workers)


def diverging(other: str) -> SeveralDevices:
    text = (
        programs.BRANCHES.split("ENTRY")[0]
        + f"""alone {{ a = f32[4] parameter(0)
  ROOT r = f32[4] negate(a) }}
ENTRY main {{
  x = f32[4] parameter(0)
  p = pred[] parameter(1)
  ROOT one = f32[4] conditional(p, x, x), true_computation=together, false_computation={other}
}}
"""
    )
    return SeveralDevices("", text)


@pytest.mark.parametrize("other", ["alone", "around"])
@pytest.mark.parametrize("runner", ["threads", "workers"])
def test_diverging_replicas_are_an_error(request, tmp_path, runner, other):
    module = imported(diverging(other), tmp_path)
    inputs = [[np.ones(4, np.float32), np.bool_(k != 2)] for k in range(4)]
    with pytest.raises(Exception, match=r"replica \d") as raised:
        if runner == "threads":
            module.run_local(inputs)
        else:
            client = request.getfixturevalue("workers").client
            module.run_replicas(client, inputs, timeout=20)
    assert type(raised.value).__name__ == "ReplicaMismatch"
    assert "all_reduce of float32[4] (line" in str(raised.value)


def test_the_error_of_a_replica_is_raised_as_it_is(workers, tmp_path):
    module = imported(next(programs.control()), tmp_path)
    inputs = SeveralDevices("", ENDLESS).inputs()
    inputs[2] = [np.ones(5, np.float32)]
    with pytest.raises(TypeError, match="expected float32"):
        module.run_replicas(workers.client, inputs, timeout=20)
    with pytest.raises(TypeError, match="expected float32"):
        module.run_local(inputs)
    assert_clean(workers)

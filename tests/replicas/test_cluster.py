"""Replicas on real workers: the same bits as on threads, and every fault is an error that says what happened."""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from distributed.comm import CommClosedError, connect

import xla2py
from xla2py.templates.prelude.replica_transport import TCP_USER_TIMEOUT
from xla2py.tests.replicas import programs
from xla2py.tests.replicas.clusters import cluster
from xla2py.tests.replicas.programs import SeveralDevices, entry
from xla2py.transpile.equivalence.verdicts.comparison import flatten

pytestmark = pytest.mark.long


def imported(program: SeveralDevices, folder: Path) -> ModuleType:
    """The emitted module, saved and imported as a user would."""
    path = folder / f"program_{abs(hash(program.text))}.py"
    xla2py.emit(program.module(), target="dask").save(path)
    return imported_from(path)


def imported_from(path: Path) -> ModuleType:
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


def test_a_runtime_in_a_file_of_its_own_travels_with_the_program(workers, tmp_path, monkeypatch):
    """Workers can import neither the module nor the file beside it."""
    program = SeveralDevices("", programs.COUNTED)
    monkeypatch.syspath_prepend(str(tmp_path))
    xla2py.emit(program.module(), target="dask", helpers="shared").save(tmp_path / "counted.py")
    assert "def run_replicas" not in (tmp_path / "counted.py").read_text(encoding="utf-8")
    module, inputs = imported_from(tmp_path / "counted.py"), program.inputs()
    assert_same_bits(module.run_replicas(workers.client, inputs, timeout=30), module.run_local(inputs))
    del sys.modules["_xla2py_dask"]


@pytest.mark.skipif(sys.platform != "linux", reason="the option is Linux's")
def test_a_connection_waits_for_a_replica_that_computes_as_long_as_it_likes(workers, tmp_path):
    """Dask's own are given up where what is sent is not received within half a minute."""
    program = next(programs.reducers())
    module = imported(program, tmp_path)

    def limits(g):
        g.all_reduce(np.ones(3), np.add)  # all are connected then
        options = socket.IPPROTO_TCP, TCP_USER_TIMEOUT
        sockets = [*g.network.outgoing.values(), *g.network.incoming.values()]
        found = [each.getsockopt(*options) for each in sockets]
        g.all_reduce(np.ones(3), np.add)  # until when none has ended
        return found

    count = program.replicas
    found = run_as_replica(workers.client, module, limits, [[]] * count)
    assert found == [[0] * (2 * count - 2)] * count


def test_nothing_is_left_on_the_cluster(workers, tmp_path):
    program = next(programs.control())
    module, inputs = imported(program, tmp_path), program.inputs()
    module.run_replicas(workers.client, inputs, timeout=30)
    assert_clean(workers)


def test_a_run_lets_go_of_its_files_and_places_at_its_end(workers, tmp_path):
    """Not only when the garbage collector comes."""
    program = next(programs.control())
    module, inputs = imported(program, tmp_path), program.inputs()

    def held(dask_worker):
        import gc  # of the worker

        import psutil

        gc.disable()
        return psutil.Process().num_fds(), len(getattr(dask_worker, "replica_endpoints", ()))

    try:
        module.run_replicas(workers.client, inputs, timeout=30)
        before = workers.client.run(held)
        for _ in range(6):
            module.run_replicas(workers.client, inputs, timeout=30)
        assert_clean(workers)
        after = workers.client.run(held)
    finally:
        workers.client.run(gc.enable)
    assert all(after[worker][0] - before[worker][0] < 5 and after[worker][1] < 3 for worker in before), (before, after)


def assert_clean(workers) -> None:
    """No tasks, and no connections between workers."""

    def peers(dask_worker):
        return [str(comm) for comm, op in dask_worker._comms.items() if op == "join_replica"]

    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        gc.collect(1)  # errors hold what their frames hold
        left = workers.leftovers() + [p for found in workers.client.run(peers).values() for p in found]
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(left)


def summed(count):
    """A module that adds an array of each of so many replicas, and inputs."""
    line = "ROOT r = f32[400,800] all-reduce(x), to_apply=add"
    return SeveralDevices("", entry(line, sizes="400,800"), count)


def test_a_cluster_that_encrypts(launcher, tmp_path):
    program = summed(2)
    module, inputs = imported(program, tmp_path), program.inputs()
    with cluster(tmp_path / "cluster", launcher, 2, tls=True) as made:
        results = module.run_replicas(made.client, inputs, timeout=60)
    assert_same_bits(results, module.run_local(inputs))


def test_eight_workers(eight_workers, tmp_path):
    program = summed(8)
    module, inputs = imported(program, tmp_path), program.inputs()
    assert_same_bits(module.run_replicas(eight_workers.client, inputs, timeout=60), module.run_local(inputs))


ENDLESS = programs.CONTROL.replace("constant(0.01)", "constant(-1)")


def connected(workers):
    """Wait until each replica of a run has met all others; gives the address and the endpoint of each."""

    def endpoints(dask_worker):
        def met(endpoint):
            others = len(endpoint.others)
            return len(endpoint.outgoing) == len(endpoint.incoming) == others and not endpoint.has_ended

        known = dask_worker.__dict__.get("replica_endpoints", {})
        return [key for key, endpoint in known.items() if met(endpoint)]

    found = []
    while len(found) < 4:
        known = workers.client.run(endpoints)
        found = [(address, endpoint) for address, own in known.items() for endpoint in own]
    return found


def interrupted(workers, module, fault, timeout: float = 20.0, **options):
    """The error that ends an endless program after a fault, and how long after."""
    inputs = SeveralDevices("", ENDLESS).inputs()
    at = []

    def strike():
        connected(workers)
        at.append(time.monotonic())
        fault()

    striking = threading.Thread(target=strike)
    striking.start()
    with pytest.raises(Exception) as raised:
        module.run_replicas(workers.client, inputs, timeout=timeout, **options)
    striking.join()
    return raised.value, time.monotonic() - at[0]


def test_a_killed_worker_ends_the_run_by_name(workers, tmp_path):
    module = imported(SeveralDevices("", ENDLESS), tmp_path)
    victim = workers.workers()[0]
    error, seconds = interrupted(workers, module, lambda: workers.kill(victim))
    assert isinstance(error, module.ReplicaLost)
    assert "was lost" in str(error)
    assert seconds < 15  # most often 0.1 s; the timeout is 20
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


def test_a_worker_that_hangs_while_much_is_sent_to_it_ends_the_run_at_the_timeout(workers, tmp_path):
    module = imported(next(programs.control()), tmp_path)

    def replica(g):
        x = g.all_reduce(np.ones(1 << 25, np.int8), np.maximum)
        if g.device == 3:
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(0.5)  # until it is stopped
        for _ in range(8 if g.device == 0 else 0):  # more than the connection holds
            g.network.exchange({3: x}, {}, "transfer")

    def wake():
        for name in workers.workers():
            workers.signal(name, signal.SIGCONT)

    waking = threading.Timer(15, wake)
    waking.start()
    try:
        with pytest.raises(module.ReplicaTimeout, match="replica 0 waited 2 s for replica 3 in transfer"):
            run_as_replica(workers.client, module, replica, [[]] * 4, timeout=2)
    finally:
        waking.cancel()
        wake()
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


ONE_SIDED = """to { a = f32[4] parameter(0)
  ROOT r = f32[4] collective-permute(a), source_target_pairs={{0,1}} }
alone { a = f32[4] parameter(0)
  ROOT r = f32[4] negate(a) }
ENTRY main {
  x = f32[4] parameter(0)
  p = pred[] parameter(1)
  ROOT one = f32[4] conditional(p, x, x), true_computation=to, false_computation=alone
}
"""


@pytest.mark.parametrize("sender", [0, 3])
@pytest.mark.parametrize("runner", ["threads", "workers"])
def test_what_nobody_takes_is_an_error(request, tmp_path, runner, sender):
    """Replica 0 sends to 1, which goes another way; where 3 takes the way of sending, it has nothing to send."""
    module = imported(SeveralDevices("", ONE_SIDED), tmp_path)
    inputs = [[np.ones(4, np.float32), np.bool_(k == sender)] for k in range(4)]

    def run():
        if runner == "threads":
            return module.run_local(inputs)
        return module.run_replicas(request.getfixturevalue("workers").client, inputs, timeout=20)

    if sender == 0:
        with pytest.raises(
            module.ReplicaMismatch, match=r"(?=.*replica 0)(?=.*collective_permute).*replica 1 has ended"
        ):
            run()
    else:
        assert_same_bits(run(), [[-np.ones(4, np.float32)]] * 3 + [[np.zeros(4, np.float32)]])


def test_too_few_workers_are_an_error(workers, tmp_path):
    module, inputs = imported(next(programs.control()), tmp_path), next(programs.control()).inputs()
    two = sorted(workers.client.nthreads())[:2]
    with pytest.raises(module.ReplicaTimeout, match="4 replicas need as many worker threads; there are 2"):
        module.run_replicas(workers.client, inputs, timeout=0.5, workers=two)


def test_large_constants_travel_and_are_checked(workers, tmp_path):
    numbers = ", ".join(map(str, np.random.default_rng(0).permutation(200)))
    lines = [f"k = f32[200] constant({{{numbers}}})", "y = f32[200] add(x, k)"]
    lines += ["ROOT r = f32[200] all-reduce(y), to_apply=add"]
    program = SeveralDevices("", entry(*lines, sizes="200"))
    path = tmp_path / "constants.py"
    xla2py.emit(program.module(), target="dask", constants="auto").save(path)

    def run():
        return imported_from(path).run_replicas(workers.client, program.inputs(), timeout=20)

    assert_same_bits(run(), imported_from(path).run_local(program.inputs()))
    with np.load(path.with_suffix(".npz")) as stored:
        changed = {name: array + 1 for name, array in stored.items()}
    np.savez(path.with_suffix(".npz"), **changed)
    with pytest.raises(ValueError, match="has changed since the module was made"):
        run()
    path.with_suffix(".npz").unlink()
    with pytest.raises(FileNotFoundError, match="constants"):
        run()


def test_who_does_not_know_the_token_or_takes_a_place_that_is_taken_is_refused(workers, tmp_path):
    module = imported(SeveralDevices("", ENDLESS), tmp_path)
    refused: list = []

    async def attack(address, token, device):
        names = {"token": token, "device": device, "source": (device + 1) % 4}
        for wrong in ({"token": "0" * 32}, {"device": 9}, {"source": 9}, {"source": "1"}, {}):
            stranger = await connect(address)
            await stranger.write({"op": "join_replica", "reply": False, **names, **wrong})
            with pytest.raises(CommClosedError):
                await stranger.read()
            refused.append(wrong)

    def strike():
        address, (token, device) = connected(workers)[0]
        workers.client.sync(attack, address, token, device)
        workers.kill(workers.workers()[0])

    error, _ = interrupted(workers, module, strike)
    assert isinstance(error, module.ReplicaLost)
    assert "was lost" in str(error)
    assert len(refused) == 5
    assert_clean(workers)


def message(head: bytes) -> bytes:
    return struct.pack("!I", len(head)) + head


@pytest.mark.parametrize(
    "garbage",
    [
        b"x" * 100,
        message(b"no JSON"),
        message(b"[1]"),
        message(b'["t", null, "O", [1]]'),
        message(b'["t", null, "float32", [-1]]'),
        message(b'["t", [], "float32", []]') + b"1234",
    ],
    ids=range(6),
)
def test_a_replica_that_sends_no_array_ends_the_run(workers, tmp_path, garbage):
    module = imported(next(programs.control()), tmp_path)

    def replica(g, x):
        if g.device == 3:
            g.network.outgoing[0].send(garbage)
        return g.all_reduce(x, np.add)

    arguments = [[np.ones(3, np.float32)]] * 4
    with pytest.raises(module.ReplicaLost, match="replica 3 sent what is no array"):
        run_as_replica(workers.client, module, replica, arguments)
    assert_clean(workers)


def test_the_cause_that_comes_last_is_told(tmp_path):
    """Its replica ends between two looks at all of them."""
    module = imported(next(programs.control()), tmp_path)

    class Failure:
        def __init__(self, error, *first):
            self.error, self.first = error, list(first)

        @property
        def status(self):
            return self.first.pop() if self.first else "error"

        def exception(self):
            return self.error

    ends = Failure(module.ReplicaLost("the cause"), "pending"), Failure(module.ReplicaStopped("another one failed"))
    assert str(module.Run(None, [], 1.0).failure(ends, ())) == "the cause"


def run_as_replica(client, module, replica, arguments, timeout: float = 30.0):
    """Run a replica that a test writes itself on workers."""
    return module.Replicas(replica, module.Group, len(arguments), 1).run_replicas(client, arguments, timeout=timeout)


def test_what_a_replica_sends_before_it_computes_arrives_meanwhile(workers, tmp_path):
    """More than connections hold; and it may write into the array at once."""
    module = imported(next(programs.control()), tmp_path)

    sign = tmp_path / "arrived"

    def replica(g, x):
        if g.device == 0:
            g.network.exchange({1: x}, {}, "transfer")
            x[:] = 7
            deadline = time.monotonic() + 25
            while not sign.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
        if g.device == 1:
            x = g.network.take(0, "transfer")
            sign.touch()
        return sign.exists(), x[::1000]

    given = np.arange(1 << 23, dtype=np.float32)
    results = run_as_replica(workers.client, module, replica, [[given], [given], [given[:1]], [given[:1]]])
    assert results[0][0]
    np.testing.assert_array_equal(results[1][1], given[::1000])


@pytest.mark.parametrize("size", [1, 50_001, 1_500_007])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "bfloat16"])
def test_large_sums_have_the_same_bits_everywhere(workers, tmp_path, size, dtype):
    module = imported(next(programs.control()), tmp_path)
    groups = [[2, 0, 3], [1]]

    def replica(g, x, combine):
        return [g.all_reduce(x, combine), g.all_reduce(x, np.maximum, groups), x]

    generator = np.random.default_rng(size)
    given = [(10 * generator.standard_normal(size)).astype(dtype) for _ in range(4)]
    add = np.add if dtype != "bool" else lambda a, b: a ^ b
    arguments = [[x, add] for x in given]
    results = run_as_replica(workers.client, module, replica, arguments)
    local = module.Replicas(replica, module.Group, 4, 1).run_local(arguments)
    assert_same_bits([tuple(result) for result in results], [tuple(result) for result in local])
    for device, (total, largest, own) in enumerate(results):
        np.testing.assert_array_equal(total, add(add(add(given[0], given[1]), given[2]), given[3]), strict=True)
        assert (largest == (given[1] if device == 1 else np.maximum.reduce([given[k] for k in groups[0]]))).all()
        np.testing.assert_array_equal(own, given[device])


def test_the_error_of_a_replica_is_raised_as_it_is(workers, tmp_path):
    module = imported(next(programs.control()), tmp_path)
    inputs = SeveralDevices("", ENDLESS).inputs()
    inputs[2] = [np.ones(5, np.float32)]
    with pytest.raises(TypeError, match="expected float32"):
        module.run_replicas(workers.client, inputs, timeout=20)
    with pytest.raises(TypeError, match="expected float32"):
        module.run_local(inputs)
    assert_clean(workers)


@pytest.mark.parametrize("rejoin", [None, 0.2])
def test_a_killed_worker_that_nobody_starts_again_ends_a_run_with_snapshots_too(workers, tmp_path, rejoin):
    module = imported(SeveralDevices("", ENDLESS), tmp_path)
    victim = workers.workers()[0]
    options = {"snapshot": tmp_path / "snapshots", "rejoin": rejoin}
    error, _ = interrupted(workers, module, lambda: workers.kill(victim), **options)
    assert isinstance(error, module.ReplicaLost)
    assert "was lost" in str(error)
    assert "no other worker came within" in error.__notes__[-1]
    assert_clean(workers)

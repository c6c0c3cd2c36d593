"""Worker processes: answers, exceptions, and calls that crash, hang or need too much memory."""

import os
import time
from dataclasses import replace

import numpy as np
import pytest

from xla2py.transpile.emission import emit
from xla2py.transpile.equivalence.reference.participants import Workers
from xla2py.transpile.equivalence.reference.worker import MIB, Limits, RemoteError, Worker, WorkerDied, WorkerTimeout
from xla2py.transpile.equivalence.verdicts.comparison import Status
from xla2py.transpile.errors import UsageError


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    yield worker
    worker.stop()


def test_a_worker_answers_with_time_and_memory(worker):
    answer = worker.ask(np.ones, 8 * MIB)
    assert answer.value.sum() == 8 * MIB
    assert answer.seconds > 0
    assert answer.peak_bytes == 0 or answer.peak_bytes >= 64 * MIB


def test_an_exception_arrives_with_its_traceback(worker):
    with pytest.raises(RemoteError, match="ZeroDivisionError") as caught:
        worker.ask(divmod, 1, 0)
    assert "Traceback" in caught.value.traceback


def test_our_own_errors_arrive_as_they_are(worker):
    with pytest.raises(UsageError, match="XP402: wrong"):
        worker.ask(exec, "from xla2py.transpile.errors import *\nraise UsageError(Diagnostic('XP402', 'wrong'))")


def test_a_crash_and_a_hang_cost_a_restart(worker):
    with pytest.raises(WorkerDied, match="SIGABRT"):
        worker.ask(os.abort)
    with pytest.raises(WorkerDied, match="exit code 3"):
        worker.ask(os._exit, 3)
    with pytest.raises(WorkerTimeout, match=r"within 0\.2 seconds"):
        worker.ask(time.sleep, 60, limits=Limits(seconds=0.2))
    assert worker.ask(abs, -1).value == 1


ON_LINUX = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="tells memory on Linux")


@ON_LINUX
def test_a_process_that_holds_much_is_replaced(worker, monkeypatch):
    first = worker.ask(os.getpid).value
    assert worker.ask(os.getpid).value == first
    monkeypatch.setattr(f"{Worker.__module__}._MOST_HELD", 0)
    assert worker.ask(os.getpid).value != first


@ON_LINUX
def test_memory_is_limited_for_one_call(worker):
    with pytest.raises(RemoteError, match="MemoryError"):
        worker.ask(np.ones, 64 * MIB, limits=Limits(memory=128 * MIB))
    assert worker.ask(np.ones, 64 * MIB).value.size == 64 * MIB


ADD = "ENTRY e { x = f32[3] parameter(0)  y = f32[3] parameter(1)  ROOT z = f32[3] add(x, y) }"
X = np.float32([1, 2, 3])


@pytest.fixture(scope="module")
def workers():
    with Workers(Limits(seconds=30)) as workers:
        yield workers


def test_an_emitted_module_and_an_edited_one_run(workers):
    generated = emit(ADD)
    run = workers.run_generated(generated, [X, X])
    assert (run.participant, run.failure, run.results[0].tolist()) == ("numpy", None, [2, 4, 6])
    edited = replace(generated, source=generated.source.replace("x + y", "x - y"))
    assert workers.run_generated(edited, [X, X]).results[0].tolist() == [0, 0, 0]


def test_processes_end_with_their_check(shared_processes):
    workers = Workers()
    workers.run_reference("interpreter", ADD, [X, X])
    process = workers.worker("interpreter")._process
    assert process.poll() is None
    shared_processes(workers)
    assert process.poll() is not None


@pytest.mark.parametrize(
    ("body", "failure", "message"),
    [
        ("x[0] = 1\n    return x", Status.CRASH, "read-only"),
        ("return undefined", Status.CRASH, "NameError"),
        ("import os; os.abort()", Status.CRASH, "SIGABRT"),
        ("while True: pass", Status.TIMEOUT, "seconds"),
    ],
)
def test_every_way_to_fail_is_a_result(body, failure, message):
    source = f"import numpy as np\n\n\ndef main(x, y):\n    {body}\n"
    with Workers(Limits(seconds=1 if failure is Status.TIMEOUT else 60)) as workers:
        run = workers.run_generated(replace(emit(ADD), source=source), [X, X])
    assert run.failure is failure
    assert message in run.message


def test_dask_gets_its_arguments_in_several_blocks(workers):
    source = "import numpy as np\n\n\ndef main(x):\n    return np.array(x.npartitions)\n"
    run = workers.run_generated(replace(emit(ADD, "dask"), source=source), [np.zeros((3, 4, 1))])
    assert run.results[0] == 4


def test_references_run_and_refuse(workers):
    for reference in ("xla", "interpreter"):
        run = workers.run_reference(reference, ADD, [X, X])
        assert run.results[0].tolist() == [2, 4, 6]
    run = workers.run_reference("xla", "nonsense", [])
    assert run.failure is Status.UNSUPPORTED
    assert "XP461" in run.message

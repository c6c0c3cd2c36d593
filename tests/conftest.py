"""Programs, and the ``xla2py`` command run in this process, for the tests of the command; what all tests share."""

import ctypes
import gc
import os
import resource
import sys
from collections import defaultdict
from itertools import takewhile
from pathlib import Path

import pytest

from xla2py.tests.recording.answers import ANSWERS
from xla2py.tests.recording.tools import strict_types
from xla2py.tests.whole import is_whole
from xla2py.transpile import cli, compilation
from xla2py.transpile.compilation import stages
from xla2py.transpile.equivalence.reference import xla as xla_reference, xla_process as reference_process
from xla2py.transpile.equivalence.reference.participants import Workers
from xla2py.transpile.equivalence.reference.xla_process import ReferenceWorker
from xla2py.transpile.kernels.verifier import verify_kernels

gc.set_threshold(20_000, 20, 20)

MODEL = """
ENTRY main {
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  ROOT z = f32[3] add(x, y)
}
"""
TABLE = f"""
ENTRY main {{
  x = s32[100] parameter(0)
  t = s32[100] constant({{{", ".join(str(k * k) for k in range(100))}}})
  ROOT z = s32[100] add(x, t)
}}
"""
TUPLE = """
ENTRY main {
  p = (bf16[2], (s32[])) parameter(0)
  ROOT q = (bf16[2], (s32[])) copy(p)
}
"""
BROKEN = "ENTRY main {\n  ROOT z = f32[3] add(x, x)\n}\n"
UNSUPPORTED = """
ENTRY main {
  x = f32[3] parameter(0)
  a = f32[3] custom-call(x), custom_call_target="somebody's kernel"
  b = f32[3] custom-call(a), custom_call_target="somebody's kernel"
  ROOT c = f32[3] custom-call(b), custom_call_target="another kernel"
}
"""
NAMED = """
HloModule named
ENTRY main {
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  a = f32[3] add(x, y), metadata={op_name="jit(step)/add" source_file="src/step.py" source_line=2 source_column=15}
  b = f32[3] negate(a), metadata={op_name="jit(step)/neg" source_file="src/step.py" source_line=3 source_column=11}
  ROOT r = (f32[3], f32[3]) tuple(b, a)
}
"""
INFEED = """
ENTRY main {
  t = token[] after-all()
  ROOT a = (f32[3], token[]) infeed(t)
}
"""
PROGRAMS = {
    "model": MODEL,
    "table": TABLE,
    "tuple": TUPLE,
    "infeed": INFEED,
    "broken": BROKEN,
    "unsupported": UNSUPPORTED,
}


def pytest_collection_finish():
    """A module that a test writes, imports and changes within a second would be taken for its old self. Tests that run
    in a process of their own need no plugins, which take longer to import than they run.
    """
    sys.dont_write_bytecode = True
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


@pytest.fixture(autouse=True, scope="session")
def verified_programs():
    """Every program of the array dialect that a test makes is verified, with its kernels, after the last of its stages,
    or after each.
    """
    run = compilation.run_stages

    def run_stages(draft, *given):
        run(draft, *given)
        if draft.lowered is not None:
            draft.verifier.verify(draft.lowered, "the last stage")
            for function in draft.lowered.functions:
                verify_kernels(function)

    with pytest.MonkeyPatch.context() as patch:
        if is_whole():
            patch.setattr(stages, "verifies", lambda draft: True)
        else:
            patch.setattr(compilation, "run_stages", run_stages)
        yield


@pytest.fixture(autouse=True, scope="session")
def megabytes():
    """Return, in a list, the megabytes that this process held after the last collection."""
    return [resident()]


@pytest.fixture(autouse=True, scope="module")
def settled_memory(megabytes):
    """The garbage collector seldom scans objects that exist before the tests of a file: they are old.

    Only where the process has grown, it frees those that nobody has any more, and JAX forgets what it compiled.
    """
    if resident() > megabytes[0] + 400:
        if "jax" in sys.modules:
            sys.modules["jax"].clear_caches()
        gc.collect()
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)
        megabytes[0] = resident()
    gc.freeze()
    gc.unfreeze()  # they are in the oldest generation now


def resident():
    """The megabytes that this process holds, 0 where the system does not tell."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() >> 20 if statm.exists() else 0


@pytest.fixture(autouse=True)
def own_modules(tmp_path_factory):
    """Remove the modules that a test imported from its own files: the files of other tests have the same names."""
    last = next(reversed(sys.modules))
    yield
    folder = str(tmp_path_factory.getbasetemp())
    for name in list(takewhile(lambda name: name != last, reversed(sys.modules))):
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
            del sys.modules[name]


@pytest.fixture(autouse=True)
def plain_functions(request, own_modules, monkeypatch):
    """Emitted functions of Numba run as plain Python, but in tests with the mark ``compiled`` and in ``make prove``.

    The marked tests have every operation, element type and form of loop between them. What only compiling shows is
    which types Numba gives to numbers, and what it refuses.
    """
    if "numba" in sys.modules and not is_whole() and not request.node.get_closest_marker("compiled"):
        monkeypatch.setattr("numba.core.config.DISABLE_JIT", True)


UNOPTIMISED = "--xla_backend_optimization_level=0"
SHORT_KERNELS = "--xla_cpu_use_fusion_emitters=false"  # emits kernels the short way


def worker_with(*flags):
    """A worker of the reference, which starts when it is first asked, with XLA's flags.

    Its answers are recorded for these flags, also where the installed XLA lacks one: it ends the process at those.
    """
    known = [flag for flag in flags if flag != SHORT_KERNELS or ANSWERS.version == "0.10"]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XLA_FLAGS", " ".join([os.environ.get("XLA_FLAGS", ""), *known]))
        worker = ReferenceWorker()
    worker.flags = flags
    return worker


@pytest.fixture(autouse=True, scope="session")
def unoptimised_reference():
    """The reference in a child process leaves its kernels as they are, which run once, and emits them the short way.

    XLA in this process does not, see ``unoptimised_xla`` and ``fused_reference``.
    """
    worker = worker_with(UNOPTIMISED, SHORT_KERNELS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_process, "_WORKER", worker)
        yield
    worker.stop()


@pytest.fixture(scope="session")
def fused_worker():
    worker = worker_with(UNOPTIMISED)
    yield worker
    worker.stop()


@pytest.fixture
def fused_reference(fused_worker, monkeypatch):
    """The reference emits kernels as it does for users: the short way knows no clamp of truth values, for example."""
    monkeypatch.setattr(reference_process, "_WORKER", fused_worker)


@pytest.fixture(autouse=True, scope="session")
def shared_processes():
    """The processes of a check that has ended serve the next one: to start XLA takes longer than most checks.

    Gives the method that does end them.
    """
    idle = defaultdict(list)
    start, end = Workers.worker, Workers.stop

    def worker(self, participant):
        if participant not in self._workers and idle[participant]:
            self._workers[participant] = idle[participant].pop()
        return start(self, participant)

    def stop(self):
        while self._workers:
            participant, process = self._workers.popitem()
            idle[participant].append(process)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workers, "worker", worker)
        patch.setattr(Workers, "stop", stop)
        yield end
    for processes in idle.values():
        for process in processes:
            process.stop()


@pytest.fixture(scope="module")
def unoptimised_xla():
    """XLA in this process leaves its kernels as they are: to make code fast that runs once is half of compiling it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(xla_reference.OPTIONS, "xla_backend_optimization_level", 0)
        yield


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory):
    """The types of NumPy are read once, for the tests of all processes."""
    return tmp_path_factory.getbasetemp().parent / "mypy"


@pytest.fixture(scope="session")
def wrong_types(mypy_cache):
    """A function that checks files of a folder strictly and gives what is wrong."""
    return lambda folder, *arguments: strict_types(folder, mypy_cache, *arguments)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working folder with a few programs, away from the checkout's pyproject.toml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for name, text in PROGRAMS.items():
        Path(f"{name}.hlo").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def xla2py(folder, capsys):
    """Run the command in this process; gives exit code, stdout and stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = cli.run(arguments)
        return (code, *capsys.readouterr())

    return call

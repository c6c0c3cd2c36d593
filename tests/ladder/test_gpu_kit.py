"""The kit for a machine with a GPU, on the twin: every step works and says what it found, whatever happens to it."""

import importlib.util
import os
import subprocess
import sys
import time
from inspect import getsource
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

from xla2py.benchmarks.gpu_kit.device import Device
from xla2py.benchmarks.gpu_kit.facts import FACTS, fact, machine
from xla2py.benchmarks.gpu_kit.large_programs import ARGUMENTS, agreement
from xla2py.benchmarks.gpu_kit.programs import STYLES, example, operation, world
from xla2py.benchmarks.gpu_kit.times import COLUMNS, PROGRAM_COLUMNS, program_times, times
from xla2py.benchmarks.gpu_kit.xla_kernels import xla_kernels
from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.tests.test_examples import LOWER

KIT = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu.py"


@pytest.fixture(scope="module")
def kit():
    spec = importlib.util.spec_from_file_location("gpu_kit", KIT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TWIN = Device(twin=True)


def test_kernels_of_xla_are_counted():
    """On the CPU each step of a loop is a kernel, as on a GPU."""
    assert xla_kernels(TWIN, "gelu") == {"launches": 1, "bytes": 2 * 64 * 128 * 4}
    assert xla_kernels(TWIN, "stencil, 10 steps")["launches"] >= 10


@needs_compiler
def test_the_facts_are_asked():
    other = [name for name in FACTS if not fact(TWIN, name)["as assumed"]]
    assert other == ["a transform is captured"]  # the twin keeps plans out of graphs


def test_examples_are_compared():
    for style in STYLES:
        good = {"agrees": True, "graph": "", "waits": "", "error": ""}
        assert example(TWIN, f"adaptive_ode, before, {style}") == good
        assert example(TWIN, f"black_scholes, before, {style}") == good | {"graph": "agrees"}


def test_operations_are_compared():
    assert operation(TWIN, "add") | {"cases": 0} == {"cases": 0, "wrong": 0, "first": ""}


@pytest.mark.parametrize("opcode", ["all-reduce", "all-to-all", "collective-permute"])
def test_a_world_of_one_process(opcode):
    assert world(TWIN, opcode) == {"agrees": True}


@needs_compiler
def test_times_are_taken():
    """Of the CPU, but by the same lines: all columns, but for graphs of what cannot be captured."""
    pytest.importorskip("jax")
    found = times(TWIN, "black_scholes")
    assert set(found) == set(COLUMNS)
    assert all(time > 0 for time in found.values())
    assert {column for column, time in times(TWIN, "adaptive_ode").items() if time is None} == {
        column for column in COLUMNS if "graph" in column
    }


@needs_compiler
def test_common_programs_are_compared_and_timed():
    """With the small arrays of the costs in place of those for a GPU."""
    pytest.importorskip("jax")
    from xla2py.tests.ladder.costed_programs import PROGRAMS

    assert set(ARGUMENTS) == set(PROGRAMS) - {"batch norm, channels last, larger"}
    assert agreement(TWIN, "attention") == {"agrees": True, "error": ""}
    found = program_times(TWIN, "embedding, gradient")
    assert list(found) == PROGRAM_COLUMNS
    assert [column for column, time in found.items() if time is None] == [c for c in PROGRAM_COLUMNS if "cudnn" in c]
    assert agreement(TWIN, "convolution") == {"agrees": True, "error": ""}


def test_a_time_that_cannot_be_taken_leaves_the_others(monkeypatch):
    def fails(*_):
        raise ValueError("no")

    monkeypatch.setattr("xla2py.benchmarks.gpu_kit.times.own", fails)
    record = times(TWIN, "black_scholes")
    assert record["error"] == "readable device: ValueError: no"
    assert record["jax default wall"] > 0


def test_the_machine_is_told():
    assert machine(TWIN, "this machine")["device"] == "the twin on the CPU"


def test_all_examples_and_operations_are_in_the_steps(kit):
    asked = {name.split(",")[0] for name in kit.STEPS["examples"][0]}
    assert asked == set(LOWER.NAMES) == set(kit.STEPS["times"][0])
    assert set(kit.TIMED) < set(kit.STEPS)
    assert kit.STEPS["operations"][0] == list(cases_by_opcode())


ITEMS = "abcdef"
# What the kit's own steps import takes longer than a test: these are left out where others take their place.
OWN = "facts large_programs libraries programs times xla_kernels".split()
STEPS_OF = [*(f"xla2py.benchmarks.gpu_kit.{name}" for name in OWN), "xla2py.tests.operations.tables"]
STEPS_OF.append("xla2py.tests.test_examples")


def faulty(device, item):
    """Raises, ends its process, is killed, and does not come back."""
    if item == "b":
        raise ValueError("no")
    if item == "c":
        os._exit(7)
    if item == "d":
        os.kill(os.getpid(), 9)
    if item == "e":
        time.sleep(30)
    return {"agrees": True}


def test_one_failure_ends_nothing_else(kit, tmp_path, monkeypatch):
    """Another process goes on behind what one died of; an earlier line that was cut off is asked again."""
    (tmp_path / "facts.jsonl").write_text('{"item": "a", "agr', encoding="utf-8")
    script = (
        "import os, sys, time\nfrom pathlib import Path\nfrom unittest.mock import MagicMock\n"
        f"for name in {STEPS_OF}: sys.modules[name] = MagicMock()\n"
        f"sys.path.insert(0, sys.argv[1])\nimport gpu\n{getsource(faulty)}\n"
        f"gpu.STEPS = {{'facts': ({list(ITEMS)}, faulty)}}\n"
        "sys.exit(gpu.work(gpu.Device(twin=True), Path(sys.argv[2]), float('inf')))"
    )
    command = [sys.executable, "-c", script, str(KIT.parent), str(tmp_path)]
    kit.drive(command, tmp_path, time.time() + 120, most=3)
    found = {record["item"]: record.get("error", "") for record in kit.answers(tmp_path, "facts")}
    assert found == {
        "a": "",
        "b": "ValueError: no",
        "c": "its process ended with 7",
        "d": "its process ended with -9",
        "e": "took more than 3 s",
        "f": "",
    }
    monkeypatch.setattr(kit, "STEPS", {"facts": (list(ITEMS), faulty)})
    text, bad = kit.report(tmp_path)
    assert bad == 4
    assert "### Facts: 6 of 6, 4 bad" in text


def test_several_processes_share_the_items(kit, tmp_path):
    command = [sys.executable, "-W", "ignore", str(KIT), "--twin", "--out", str(tmp_path)]
    kit.drive_together(command, tmp_path, time.time() + 60, ["machine", "facts"], 2)
    assert sorted(record["item"] for record in kit.answers(tmp_path, "facts")) == sorted(FACTS)
    assert len(kit.answers(tmp_path, "machine")) == 1


def test_time_is_up(kit, tmp_path):
    command = [sys.executable, str(KIT), "--twin", "--out", str(tmp_path), "--work-until", str(time.time() + 60)]
    began = time.time()
    kit.drive(command, tmp_path, began + 1.0)
    assert time.time() - began < 30  # the command itself would work for a minute
    assert "not reached" in kit.report(tmp_path)[0]


def test_a_run_that_is_killed_goes_on(tmp_path):
    """Both processes of it, at any moment: what it had found stays, and the same command does the rest."""
    command = [sys.executable, "-W", "ignore", str(KIT), "--twin", "--out", str(tmp_path), "--processes", "1"]
    facts = tmp_path / "facts.jsonl"

    def known():
        return facts.read_text("utf-8").splitlines() if facts.exists() else []

    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.time() + 60
    while len(known()) < 6 and time.time() < deadline:
        time.sleep(0.05)
    first.kill()  # its worker sees that, and stops behind the item that it is at
    first.wait()
    before = known()
    assert len(before) >= 6
    second = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(known()) < len(before) + 10 and second.poll() is None and time.time() < deadline:
        time.sleep(0.05)
    second.terminate()
    second.wait()
    lines = [line for line in known() if line]
    assert known()[: len(before)] == before
    assert len(lines) <= len({line.split(",")[0] for line in lines}) + 1  # at most what was being asked, twice


def test_without_a_gpu_the_kit_says_so(tmp_path):
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(KIT), "--out", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 2
    assert "finds no GPU" in result.stderr
    assert "--twin" in result.stderr


def test_records_are_printed_as_a_table(kit):
    text = kit.table([{"a": 1.25, "b": "x|y"}, {"a": None, "c": "z"}])
    assert text == "| a | b | c |\n| --- | --- | --- |\n| 1.2 | x\\|y |  |\n|  |  | z |"
    assert kit.table([]) == "left out"

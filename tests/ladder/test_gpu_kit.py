"""The kit for a machine with a GPU, on the twin: every step works and says what it found, whatever happens to it."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

from xla2py.tests.ladder.running import needs_compiler
from xla2py.tests.operations.tables import cases_by_opcode

KIT = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu.py"


@pytest.fixture(scope="module")
def kit():
    spec = importlib.util.spec_from_file_location("gpu_kit", KIT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def twin(kit):
    return kit.Device(twin=True)


@needs_compiler
def test_the_facts_are_asked(kit, twin):
    other = [name for name in kit.FACTS if not kit.fact(twin, name)["as assumed"]]
    assert other == ["a transform is captured"]  # the twin keeps plans out of graphs


def test_examples_are_compared(kit, twin):
    for style in kit.STYLES:
        good = {"agrees": True, "graph": "", "waits": "", "error": ""}
        assert kit.example(twin, f"adaptive_ode, before, {style}") == good
        assert kit.example(twin, f"black_scholes, before, {style}") == good | {"graph": "agrees"}


def test_operations_are_compared(kit, twin):
    assert kit.operation(twin, "add") | {"cases": 0} == {"cases": 0, "wrong": 0, "first": ""}


@pytest.mark.parametrize("opcode", ["all-reduce", "all-to-all", "collective-permute"])
def test_a_world_of_one_process(kit, twin, opcode):
    assert kit.world(twin, opcode) == {"agrees": True}


def test_all_examples_and_operations_are_in_the_steps(kit):
    asked = {name.split(",")[0] for name in kit.STEPS["examples"][0]}
    assert asked == set(kit.LOWER.NAMES) == set(kit.STEPS["times"][0])
    assert kit.STEPS["operations"][0] == list(cases_by_opcode())


ITEMS = "abcdef"


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
        "import sys\nfrom pathlib import Path\nsys.path.insert(0, sys.argv[1])\nimport gpu\n"
        "from xla2py.tests.ladder import test_gpu_kit as own\n"
        "gpu.STEPS = {'facts': (list(own.ITEMS), own.faulty)}\n"
        "sys.exit(gpu.work(gpu.Device(twin=True), Path(sys.argv[2]), float('inf')))"
    )
    command = [sys.executable, "-c", script, str(KIT.parent), str(tmp_path)]
    kit.drive(command, tmp_path, time.time() + 120, most=5)
    found = {record["item"]: record.get("error", "") for record in kit.answers(tmp_path, "facts")}
    assert found == {
        "a": "",
        "b": "ValueError: no",
        "c": "its process ended with 7",
        "d": "its process ended with -9",
        "e": "took more than 5 s",
        "f": "",
    }
    monkeypatch.setattr(kit, "STEPS", {"facts": (list(ITEMS), faulty)})
    text, bad = kit.report(tmp_path, is_twin=True)
    assert bad == 4
    assert "### Facts: 6 of 6, 4 bad" in text


def test_time_is_up(kit, tmp_path):
    command = [sys.executable, str(KIT), "--twin", "--out", str(tmp_path), "--work-until", str(time.time() + 60)]
    began = time.time()
    kit.drive(command, tmp_path, began + 1.0)
    assert time.time() - began < 5
    assert "not reached" in kit.report(tmp_path, is_twin=True)[0]


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

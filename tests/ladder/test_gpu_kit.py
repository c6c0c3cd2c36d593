"""The kit for a machine with a GPU, on the twin: every step works and says what it found."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")

from xla2py.tests.ladder.running import needs_compiler

KIT = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu.py"


@pytest.fixture(scope="module")
def kit():
    spec = importlib.util.spec_from_file_location("gpu_kit", KIT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_compiler
def test_the_facts_are_asked(kit):
    found = {record["fact"]: record for record in kit.facts(kit.Device(twin=True))}
    assert set(found) == set(kit.FACTS)
    assert [name for name, record in found.items() if not record["as assumed"]] == []


def test_examples_are_compared(kit):
    records = kit.examples(kit.Device(twin=True))
    for style in kit.STYLES:
        good = {"example": "adaptive_ode, before", "style": style, "agrees": True, "waits": "", "error": ""}
        assert next(records) == good


def test_operations_are_compared_until_time_is_up(kit):
    records = kit.operations(kit.Device(twin=True), deadline=float("inf"))
    assert next(records) | {"opcode": ""} == {"opcode": "", "cases": 1, "wrong": 0, "first": ""}
    assert next(kit.operations(kit.Device(twin=True), deadline=0.0))["first"] == "no time was left"


def test_records_are_printed_as_a_table(kit):
    assert kit.table([{"a": 1.25, "b": "x"}]) == "| a | b |\n| --- | --- |\n| 1.2 | x |"
    assert kit.table([]) == "left out"

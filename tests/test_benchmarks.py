"""What benchmarks make of figures, and one that runs; never how long anything takes."""

import math
from argparse import Namespace
from collections import Counter
from functools import partial

import numpy as np
import pytest

import xla2py
from xla2py.benchmarks import collectives, cpu, emit_programs, out_of_core
from xla2py.benchmarks.cpu_kit.programs import PROGRAMS
from xla2py.tests.targets.running import on_numpy
from xla2py.tests.whole import much
from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_in_child
from xla2py.transpile.equivalence.verdicts.comparison import compare
from xla2py.transpile.equivalence.verdicts.tolerances import budgets_for
from xla2py.transpile.hlo.printer import print_module


def test_means_count_no_ratio_below_a_half():
    assert cpu.mean([0.01, 2.0]) == pytest.approx(1.0)
    assert cpu.mean([4.0, 1.0]) == pytest.approx(2.0)
    assert math.isnan(cpu.mean([]))


def test_tables_leave_out_what_was_not_measured():
    times = {"add": {"readable": 2.0, "jax.jit": 1.0}, "sort": {"readable": 3.0, "by hand": 2.0, "jax.jit": 30.0}}
    lines = cpu.table([("element-wise", "add"), ("sort", "sort")], times.__getitem__).splitlines()
    assert [line.count("|") for line in lines] == [12] * 5
    assert lines[2] == "| element-wise | add | 2 |  |  |  | 1 |  | 2.00 |  |  |"
    assert lines[3] == "| sort | sort | 3 |  | 2 |  | 30 | 1.50 | 0.10 |  |  |"
    assert lines[4] == "| | geometric mean |  |  |  |  |  | **1.50** | **1.00** |  |  |"


def test_programs_have_names_of_their_own():
    names = Counter(program.name for program in PROGRAMS)
    assert len(names) >= 120 and set(names.values()) == {1}


def test_the_page_has_a_place_for_the_table():
    page = cpu.PAGE.read_text("utf-8")
    assert page.count(cpu.BEGIN) == page.count(cpu.END) == 1


@pytest.mark.parametrize("name", ["select, 8e3", "Viterbi", "LU by rows"])
def test_variants_of_a_program_agree(name):
    calls = cpu.variants(name)
    assert {"readable", "by hand", "jax.jit"} <= calls.keys()


def test_statements_are_those_of_modules_without_what_is_copied():
    (program,) = [each for each in PROGRAMS if each.name == "select, 8e3"]
    module = xla2py.emit(xla2py.from_jax(program.function, *program.arguments()), format=False)
    assert "def check_arguments" in module.source
    head = ["docstring", "import typing", "import numpy", "if", "raise", "Array = "]
    assert cpu.statements(program, "readable") == len([*head, "def main", "check", "return"])


def test_collectives_are_compared_on_processes(capsys):
    """The processes of the ring check what it gives."""
    names, sizes = ["all_gather", "all_to_all"], ["1KiB", "1MiB"]
    collectives.compared(2, Namespace(collectives=names, sizes=sizes, rounds=1, mpi=None, only_mpi=False))
    lines = capsys.readouterr().out.splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines]
    assert [row[:3] for row in rows] == [["2", f"`{name}`", size] for name in names for size in sizes]
    assert all(float(ratio) > 0 for *_, ratio in rows)


@pytest.mark.parametrize("name", much([*out_of_core.BENCHMARKS][::2], out_of_core.BENCHMARKS))
def test_programs_out_of_core_do_what_is_done_by_hand(name):
    da, dask = pytest.importorskip("dask.array"), pytest.importorskip("dask")
    pytest.importorskip("jax")
    one, generator = out_of_core.BENCHMARKS[name], np.random.default_rng(1)
    rows = one.rows(1 << 18)
    large, small = [generator.random(shape, np.float32) for shape in one.large(rows)], one.small(rows)
    module = xla2py.emit(one.text(rows), "dask", chunks="32KiB").load()
    chunks = [(shape[0] // 4, *shape[1:]) if len(shape) < 4 else shape for shape in one.large(rows)]
    lazy = (da.from_array(x, chunks=size) for x, size in zip(large, chunks, strict=True))
    (found,), (by_hand,) = dask.compute(module.main(*large, *small)), dask.compute(one.by_hand(*lazy, *small))
    np.testing.assert_allclose(found, by_hand, rtol=2e-3, atol=1e-3)
    assert len(out_of_core.BENCHMARKS) >= 50


LARGE_PROGRAMS = {
    "training step": lambda: emit_programs.hlo_of(partial(emit_programs.training_step, 2)),
    "simulation step": lambda: emit_programs.hlo_of(partial(emit_programs.simulation_step, 8)),
    "chain": lambda: emit_programs.chain(40),
}


@pytest.mark.parametrize("name", LARGE_PROGRAMS)
def test_large_programs_do_at_a_smaller_size_what_xla_does(name):
    module = xla2py.load(LARGE_PROGRAMS[name]())
    given = [np.abs(array) / 16 for array in make_inputs(module, seed=2)]  # sums of squares, and weights that are small
    expected = run_hlo_in_child(print_module(module), *given)
    results = compare(expected, on_numpy(module, given), budgets_for(module))
    assert all(result.status.is_good for result in results), "\n".join(map(str, results))

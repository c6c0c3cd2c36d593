"""What benchmarks make of figures, and one that runs; never how long anything takes."""

import math
from collections import Counter

import pytest

from xla2py.benchmarks import collectives, cpu
from xla2py.benchmarks.cpu_kit import arrays, models


def test_means_count_no_ratio_below_a_half():
    assert cpu.mean([0.01, 2.0]) == pytest.approx(1.0)
    assert cpu.mean([4.0, 1.0]) == pytest.approx(2.0)
    assert math.isnan(cpu.mean([]))


def test_tables_leave_out_what_was_not_measured():
    times = {"add": {"readable": 2.0, "jax.jit": 1.0}, "sort": {"readable": 3.0, "by hand": 2.0, "jax.jit": 30.0}}
    lines = cpu.table([("element-wise", "add"), ("sort", "sort")], times.__getitem__).splitlines()
    assert [line.count("|") for line in lines] == [10] * 5
    assert lines[2] == "| element-wise | add | 2 |  |  | 1 |  | 2.00 |  |"
    assert lines[3] == "| sort | sort | 3 |  | 2 | 30 | 1.50 | 0.10 |  |"
    assert lines[4] == "| | geometric mean |  |  |  |  | **1.50** | **1.00** |  |"


def test_programs_have_names_of_their_own():
    names = Counter(program.name for program in (*arrays.PROGRAMS, *models.PROGRAMS))
    assert len(names) >= 60 and set(names.values()) == {1}


def test_the_page_has_a_place_for_the_table():
    page = cpu.PAGE.read_text("utf-8")
    assert page.count(cpu.BEGIN) == page.count(cpu.END) == 1


@pytest.mark.parametrize("name", ["select, 8e3", "Viterbi"])
def test_variants_of_a_program_agree(name):
    calls = cpu.variants(name)
    assert {"readable", "by hand", "jax.jit"} <= calls.keys()


def test_collectives_are_compared_on_processes(capsys):
    """The processes of the ring check what it gives."""
    collectives.compared(2, ["1KiB", "1MiB"], ["all_reduce", "all_gather"], 1, None)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1:3] for line in lines] == [
        [c, s] for c in ("all_reduce", "all_gather") for s in ("1KiB", "1MiB")
    ]
    assert ["times raw TCP" in line for line in lines] == [True, True, False, False]

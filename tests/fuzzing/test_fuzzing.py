"""Fuzzing: programs with wanted operations, buckets, resuming; and the command."""

import json
from pathlib import Path

import numpy as np
import pytest

from xla2py.transpile.emission import emit
from xla2py.transpile.equivalence.reference.participants import Workers
from xla2py.transpile.equivalence.reports.results import Run
from xla2py.transpile.equivalence.verdicts.comparison import Budget, Status, compare_leaf
from xla2py.transpile.errors import UsageError
from xla2py.transpile.fuzzing import fuzzer
from xla2py.transpile.fuzzing.families import opcodes, program_with, random_program
from xla2py.transpile.fuzzing.fuzzer import bucket_of_difference, bucket_of_failure, folder_name
from xla2py.transpile.hlo.parser import parse_module


@pytest.mark.parametrize(
    "wanted", [["dot"], ["while"], ["popcnt", "fft"], ["convolution", "sort"], ["topk"], ["async-done"], ["fusion"]]
)
def test_programs_have_the_operations_wanted(wanted):
    for seed in range(5):
        program = program_with(wanted, seed)
        assert opcodes(program) & set(wanted)
        assert program.text == program_with(wanted, seed).text


def test_an_operation_that_is_never_drawn_is_a_coded_error():
    with pytest.raises(UsageError, match="XP606"):
        program_with(["infeed"], 0)


def test_a_product_of_many_large_numbers_is_drawn():
    assert "multiply" in opcodes(program_with([], 100073))


def test_differences_fall_into_buckets_by_operation_type_and_size():
    module = parse_module(
        "ENTRY e { a = f32[2] parameter(0)  b = f32[2] negate(a)  c = (f32[2], f32[2]) tuple(a, b)  "
        "d = f32[2] get-tuple-element(c), index=0  e = f32[2] exponential(d)  ROOT r = (f32[2], f32[2]) tuple(e, b) }"
    )
    one, other = np.float32([1, 1]), np.float32([1, 1.05])
    leaf = compare_leaf(one, other, Budget(), (0,))
    assert bucket_of_difference(module, leaf) == ("exponential", "float32", "differs below 10%")
    leaf = compare_leaf(one, np.float32([1, np.nan]), Budget(), (1,))
    assert bucket_of_difference(module, leaf) == ("negate", "float32", "nan")
    assert folder_name(("negate", "float32", "differs below 10%")) == "negate-float32-differs-below-10"


def test_failures_fall_into_buckets_by_exception_and_function():
    trace = (
        'File "<xla2py generated m for numpy 7f>", line 9, in main\n..\nFile "<xla2py generated m>", line 3, in gather'
    )
    run = Run("numpy", Status.CRASH, "IndexError: index 7", trace)
    assert bucket_of_failure(run) == ("gather", "numpy", "crash IndexError")
    assert bucket_of_failure(Run("dask", Status.TIMEOUT, "no answer"))[2].startswith("timeout")


def test_a_campaign_finds_nothing_and_goes_on_where_it_stopped(xla2py):
    code, out, _ = xla2py("fuzz", "--seeds", "6", "-o", "found")
    assert code == 0
    assert out.startswith("6 programs")
    state = json.loads(Path("found/fuzz.json").read_text())
    assert (state["next_seed"], state["programs"], state["buckets"]) == (6, 6, {})
    code, out, err = xla2py("fuzz", "--seeds", "8", "-o", "found")
    assert "going on at seed 6" in err
    assert out.startswith("8 programs")
    assert xla2py("fuzz", "--first-seed", "8", "--seeds", "1", "-o", "found")[1].startswith("9 programs")
    for first_seed in ("10", "7000000"):
        assert "XP605" in xla2py("fuzz", "--first-seed", first_seed, "--seeds", "1", "-o", "found")[2]
    assert "XP605" in xla2py("fuzz", "--ops", "dot", "-o", "found")[2]
    assert "XP606" in xla2py("fuzz", "--ops", "dott", "-o", "other")[2]


def test_programs_take_the_campaigns_in_turn(xla2py):
    code, out, _ = xla2py("fuzz", "--seeds", "8", "--campaigns", "edge,large", "-t", "numpy,dask", "-o", "found")
    assert code == 0, out
    state = json.loads(Path("found/fuzz.json").read_text())
    assert state["campaigns"] == ["edge", "large"]
    assert "XP605" in xla2py("fuzz", "--campaigns", "ties", "-t", "numpy,dask", "-o", "found")[2]


def test_a_campaign_changes_only_inputs_that_may_be_others():
    program = program_with(["select-and-scatter"], 0)
    changed = fuzzer.in_campaign(program, "ties", 0)
    same = [a.tobytes() == b.tobytes() for a, b in zip(program.inputs, changed.inputs, strict=True)]
    assert program.fixed and all(same[k] for k in program.fixed) and not all(same)
    scalars = random_program("scalars", 3)
    assert fuzzer.in_campaign(scalars, "edge", 0) is scalars


def test_what_xla_does_not_run_is_judged_by_the_first_target(xla2py):
    code, out, _ = xla2py("fuzz", "--ops", "topk,mulhi,scan", "--seeds", "6", "-t", "numpy,dask", "-o", "found")
    assert code == 0, out
    verdicts = json.loads(Path("found/fuzz.json").read_text())["verdicts"]
    assert verdicts["numpy"] == {"not compared": 6}  # with itself
    assert not {"unsupported", "not compared"} & verdicts["dask"].keys()
    header, *rows = out.splitlines()[1:]
    assert header.split("  ")[-2:] == ["not compared", "wrong"] and rows[0].split()[-2:] == ["6", "0"]


def test_a_reference_that_fails_is_no_refusal_of_the_target():
    program = random_program("scalars", 3)
    failed = Run("xla", Status.CRASH, "gone")
    with Workers() as workers:
        assert fuzzer.check_program(program, failed, "numpy", workers) == (None, [])


def test_what_ran_out_of_time_is_not_reduced():
    """Each attempt would wait as long."""
    program = random_program("scalars", 3)
    finding = fuzzer.Finding(program, "numpy", "readable", "", Status.TIMEOUT, ("", "", ""), "no answer")
    assert fuzzer._reduced(finding, workers=None) == (program.text, program.inputs)


def test_targets_that_work_in_chunks_do_two_thirds_of_the_programs_in_some():
    assert [fuzzer.chunks_for("dask", seed) for seed in range(4)] == ["", "3", "2", ""]
    assert fuzzer.chunks_for("numpy", 1) == ""
    finding = fuzzer.Finding(random_program("parts", 3), "dask", "fast", "3", Status.DIFFERS, ("", "", ""), "")
    assert fuzzer._command(finding) == "xla2py check program.hlo -t dask --style fast --chunks 3 --args inputs.npz\n"


def test_a_fault_is_bucketed_with_a_program_that_shows_it(xla2py, monkeypatch):
    def broken(*arguments, **options):
        generated = emit(*arguments, **options)
        return generated.__class__(generated.source.replace("np.sort(", "-np.sort("), generated.name, "numpy")

    monkeypatch.setattr(fuzzer, "emit", broken)
    code, out, _ = xla2py("fuzz", "--ops", "sort", "--seeds", "12", "-o", "found")
    assert code == 1
    (place, *_) = [path for path in Path("found").iterdir() if path.is_dir()]
    assert place.name.startswith("sort") and str(place) in out
    assert {path.name for path in place.iterdir()} == {
        *("program.hlo", "original.hlo", "inputs.npz", "command.txt", "finding.txt")
    }
    assert len(parse_module((place / "program.hlo").read_text()).entry.instructions) <= 2
    monkeypatch.chdir(place)
    command = Path("command.txt").read_text().split()[1:]
    assert xla2py(*command)[0] == 0  # as the emitter itself is right

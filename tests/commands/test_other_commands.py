"""The commands other than ``emit``."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from xla2py.tests.counted_loops import counted_loop


def test_run_makes_arguments_and_shows_statistics(xla2py):
    code, out, err = xla2py("run", "model.hlo")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [[n, "float32[3]"] for n in ("x", "y", "result")]
    assert "arguments made with seed 0" in err
    assert xla2py("run", "model.hlo")[1] == out
    assert xla2py("run", "model.hlo", "--seed", "1")[1] != out


@pytest.mark.parametrize("names", [("x", "y"), ("arr_0", "arr_1")])
def test_run_takes_and_writes_arrays(xla2py, names):
    arrays = dict(zip(names, np.arange(6, dtype=np.float32).reshape(2, 3), strict=True))
    np.savez("in.npz", **arrays)
    code, _, err = xla2py("run", "model.hlo", "--args", "in.npz", "-o", "out.npz")
    assert code == 0
    assert "seed" not in err
    with np.load("out.npz") as results:
        assert results["result"].tolist() == [3.0, 5.0, 7.0]


def test_run_explains_every_argument_that_does_not_fit(xla2py):
    np.savez("in.npz", x=np.zeros(4, np.float32), w=np.zeros(3, np.float32))
    code, out, err = xla2py("run", "model.hlo", "--args", "in.npz")
    assert (code, out) == (2, "")
    assert err.count("error[XP502]") == 3
    assert "has no array 'y'" in err and "'w' that main does not take" in err
    assert "array 'x' is float32[4], main takes float32[3]" in err


def test_run_does_not_unpickle(xla2py):
    np.savez("in.npz", x=np.array([{}], dtype=object))
    code, _, err = xla2py("run", "model.hlo", "--args", "in.npz")
    assert code == 2
    assert "error[XP407]" in err


@pytest.mark.parametrize(("content", "told"), [("one array", "an .npy file of one array"), ("text", "no archive")])
def test_arguments_of_other_files_are_refused_by_their_kind(xla2py, content, told):
    if content == "text":
        Path("in.npz").write_text(content)
    else:
        with open("in.npz", "wb") as file:
            np.save(file, np.ones(3, np.float32))
    code, _, err = xla2py("run", "model.hlo", "--args", "in.npz")
    assert code == 2 and f"error[XP407]: in.npz is not an .npz file of arrays: it is {told}" in err


def test_run_nests_tuples_and_keeps_narrow_types(xla2py):
    numbers = np.array([1.5, -2], ml_dtypes.bfloat16)
    np.savez("in.npz", **{"p.0": numbers, "p.1.0": np.int32(7)})
    code, out, _ = xla2py("run", "tuple.hlo", "--args", "in.npz", "-o", "out.npz")
    assert code == 0
    assert re.search(r"^result\.0 +bfloat16\[2\]", out, re.MULTILINE)
    with np.load("out.npz") as results:
        assert results["result.0"].view(ml_dtypes.bfloat16).tolist() == [1.5, -2]
        assert results["result.1.0"] == 7


def test_inspect_shows_signature_costs_and_operations(xla2py):
    code, out, err = xla2py("inspect", "model.hlo")
    assert (code, err) == (0, "")
    for line in (r"^x +f32\[3\] +12 B$", r"^arithmetic +3 operations$", r"^peak memory +about 36 B$", r"^add +1$"):
        assert re.search(line, out, re.MULTILINE), line
    assert "unsupported" not in out


SINE = "new_x = f32[2,2] sine(x)"
WHOLE = """w = s32[2,2] convert(x)
  d = s32[2,2] dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  new_x = f32[2,2] convert(d)"""


@pytest.mark.parametrize(
    ("line", "found"), [(SINE, r"every loop is compiled in the style fast"), (WHOLE, r"^ +\d+ +matmul of s32 +9$")]
)
def test_inspect_names_the_loops_that_stay_python(xla2py, tmp_path, line, found):
    given, behind = "x = f32[2,2] parameter(0)", "ROOT y = f32[2,2] copy(x_end)"
    (tmp_path / "loop.hlo").write_text(counted_loop(9, {"x": "f32[2,2]"}, line, given, behind))
    code, out, err = xla2py("inspect", str(tmp_path / "loop.hlo"), "--style", "fast")
    assert (code, err) == (0, "")
    assert re.search(found, out, re.MULTILINE), out


def test_inspect_says_what_is_unsupported_where(xla2py):
    code, out, err = xla2py("inspect", "unsupported.hlo")
    assert (code, err) == (0, "")
    assert re.search(r"^numpy +2 +4, 5 .*somebody's kernel", out, re.MULTILINE)
    assert re.search(r"^numpy +1 +6 .*another kernel", out, re.MULTILINE)


def test_inspect_plans_nothing_that_the_target_cannot_express(xla2py):
    code, out, err = xla2py("inspect", "unsupported.hlo", "-t", "dask")
    assert (code, err) == (0, "")
    assert out.endswith("\nDask cannot express the program\n")


def test_inspect_plans_no_chunks_of_replicas_as_emit_writes_none(xla2py):
    text = """HloModule both, replica_count=2
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT sum = f32[] add(a, b) }
    ENTRY main { x = f32[4] parameter(0)  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=add }"""
    Path("both.hlo").write_text(text)
    code, out, err = xla2py("inspect", "both.hlo", "-t", "dask")
    assert (code, err) == (0, "")
    assert out.endswith("\nDask runs the program in one piece\n")
    assert "CHUNKS" not in xla2py("emit", "both.hlo", "-t", "dask")[1]


def test_inspect_calls_arguments_in_chunks_as_emit_does(xla2py):
    text = """HloModule sums
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT sum = f32[] add(a, b) }
    ENTRY main { table.1 = f32[1000000,8] parameter(0), metadata={op_name="table"}  zero = f32[] constant(0)
      pair.2 = (f32[8], f32[8]) parameter(1)  bias = f32[8] get-tuple-element(pair.2), index=1
      ones = f32[1000000,8] broadcast(bias), dimensions={1}  moved = f32[1000000,8] add(table.1, ones)
      ROOT total = f32[8] reduce(moved, zero), dimensions={0}, to_apply=add }"""
    Path("sums.hlo").write_text(text)
    code, out, err = xla2py("inspect", "sums.hlo", "-t", "dask", "--chunks", "1MiB")
    assert (code, err) == (0, "")
    assert re.search(r"^table +\(", out, re.MULTILINE) and re.search(r"\btable, pair\.1\b|\bpair\.1, table\b", out)
    assert "table.1" not in out


def test_inspect_calls_what_phases_compute_as_the_emitted_main_does(xla2py):
    text = """HloModule standardised
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT sum = f32[] add(a, b) }
    ENTRY main { table = f32[1000000,8] parameter(0)  zero = f32[] constant(0)  count = f32[] constant(1e6)
      total = f32[8] reduce(table, zero), dimensions={0}, to_apply=add
      counts = f32[8] broadcast(count), dimensions={}  mean = f32[8] divide(total, counts)
      means = f32[1000000,8] broadcast(mean), dimensions={1}  centered = f32[1000000,8] subtract(table, means)
      squares = f32[1000000,8] multiply(centered, centered)
      spread = f32[8] reduce(squares, zero), dimensions={0}, to_apply=add
      ROOT both = (f32[1000000,8], f32[8]) tuple(centered, spread) }"""
    Path("standardised.hlo").write_text(text)
    code, out, err = xla2py("inspect", "standardised.hlo", "-t", "dask", "--chunks", "1MiB")
    assert (code, err) == (0, "")
    phases = re.findall(r"^ +\d  (.*?)  .*B  (.*)$", out, re.MULTILINE)
    assert phases == [("table_mean", "table"), ("result.0, result.1", "table, table_mean")]
    assert "    table_mean = total / 1e6" in xla2py("emit", "standardised.hlo", "-t", "dask", "--chunks", "1MiB")[1]


def test_inspect_counts_what_a_gpu_is_asked(xla2py):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    code, out, err = xla2py("inspect", "model.hlo", "-t", "cupy")
    assert (code, err) == (0, "")
    assert re.search(r"^readable +1 +36 B +1\.00 +1 +1$", out, re.MULTILINE)
    assert re.search(r"^fast +1 +36 B", out, re.MULTILINE)
    assert "--graph" not in out  # it would copy arguments and results


def test_inspect_says_where_a_graph_saves_the_time_of_the_host(xla2py):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    over = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    products = [f"  y{i + 1} = f32[8,8] dot(y{i}, w), {over}" for i in range(9)]
    given = ["  y0 = f32[8,8] parameter(0)", "  w = f32[8,8] parameter(1)"]
    lines = ["HloModule steps", "ENTRY e {", *given, *products, "  ROOT r = f32[8,8] add(y9, w)", "}"]
    Path("steps.hlo").write_text("\n".join(lines))
    code, out, err = xla2py("inspect", "steps.hlo", "-t", "cupy")
    assert (code, err) == (0, "")
    assert "\nthe host's calls take longer than the device's work: --graph launches all kernels at once\n" in out


def test_lockstep_runs_what_is_emitted_with_the_same_options(xla2py):
    pytest.importorskip("dask", reason="Dask is not installed")
    code, out, err = xla2py("lockstep", "model.hlo", "-t", "dask", "--chunks", "2")
    assert (code, out) == (0, "") and "1 comparisons" in err


def test_a_lockstep_that_compared_nothing_says_so(xla2py):
    Path("same.hlo").write_text("ENTRY main { ROOT x = f32[3] parameter(0) }")
    code, out, _ = xla2py("lockstep", "same.hlo")
    assert (code, out) == (3, "nothing was compared\n")


def test_a_lockstep_of_what_is_no_python_says_where(xla2py):
    Path("edited.py").write_text("def main(x:\n")
    code, _, err = xla2py("lockstep", "model.hlo", "--edited", "edited.py")
    assert code == 2 and err.startswith("error[XP401]: edited.py, line 1, is not Python: '(' was never closed")


def test_ops_lists_every_opcode_for_the_targets_named(xla2py):
    from xla2py.transpile.hlo.opcodes import OPCODES

    code, out, err = xla2py("ops", "-t", "numpy")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["operation", "topic", "numpy"]
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(OPCODES)


def test_layout_draws(xla2py):
    code, out, err = xla2py("layout", "f32[2,3]{0,1}")
    assert (code, err) == (0, "")
    assert "dimension 0 varies fastest" in out


def test_explain_explains_and_lists(xla2py):
    code, out, err = xla2py("explain", "xp112")
    assert (code, err) == (0, "")
    assert out.startswith("## XP112: there is no such instruction\n")
    assert "XP112  there is no such instruction" in xla2py("explain")[1]


def test_doctor_lists_what_is_installed(xla2py):
    code, out, err = xla2py("doctor")
    assert (code, err) == (0, "")
    assert re.search(r"^core +ready +numpy ", out, re.MULTILINE)
    assert f"numpy {np.__version__}" in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(xla2py, shell):
    code, out, _ = xla2py("completion", shell)
    assert code == 0
    assert "_XLA2PY_COMPLETE" in out

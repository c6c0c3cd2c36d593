"""The XLA adapter: element types, tuples, precision, errors, and a worker that survives crashes."""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from xla2py.transpile.equivalence.reference import xla as xla_reference
from xla2py.transpile.equivalence.reference.xla import compile_hlo, missing_names, run_hlo
from xla2py.transpile.equivalence.reference.xla_process import (
    ReferenceWorker,
    interpret_hlo_in_child,
    run_hlo_in_child,
    run_hlo_on_devices_in_child,
)
from xla2py.transpile.hlo.element_types import ELEMENT_TYPES
from xla2py.transpile.hlo.source import XlaToPythonError

ADD_ONE = """HloModule m
ENTRY e {
  x = f32[3] parameter(0)
  one = f32[] constant(1)
  ones = f32[3] broadcast(one), dimensions={}
  ROOT r = f32[3] add(x, ones)
}
"""


def test_the_installed_jaxlib_has_every_name_the_adapter_uses():
    assert missing_names() == []


def test_a_missing_name_is_named(monkeypatch):
    monkeypatch.setitem(xla_reference.JAXLIB_NAMES, "parse", "jaxlib._hlo.no_such_function")
    assert missing_names() == ["jaxlib._hlo.no_such_function"]


def test_compiled_program_runs_more_than_once():
    program = compile_hlo(ADD_ONE)
    np.testing.assert_array_equal(program(np.float32([1, 2, 3]))[0], np.float32([2, 3, 4]))
    np.testing.assert_array_equal(program(np.float32([5, 6, 7]))[0], np.float32([6, 7, 8]))


def test_tuples_arrive_and_leave_flattened_in_order():
    text = """HloModule m
ENTRY e {
  p = (f32[2], (s32[], u8[1])) parameter(0)
  q = f64[] parameter(1)
  a = f32[2] get-tuple-element(p), index=0
  b = (s32[], u8[1]) get-tuple-element(p), index=1
  c = s32[] get-tuple-element(b), index=0
  d = u8[1] get-tuple-element(b), index=1
  t = (f64[], u8[1]) tuple(q, d)
  ROOT r = ((f64[], u8[1]), s32[], f32[2]) tuple(t, c, a)
}
"""
    results = run_hlo(text, np.float32([1, 2]), np.int32(3), np.uint8([4]), np.float64(5))
    assert [r.dtype.name for r in results] == ["float64", "uint8", "int32", "float32"]
    assert [r.tolist() for r in results] == [5.0, [4], 3, [1.0, 2.0]]


@pytest.mark.parametrize("name", sorted(set(ELEMENT_TYPES) - {"s1", "u1"}))
def test_every_element_type_goes_in_and_comes_out(name):
    dtype = ELEMENT_TYPES[name].dtype
    values = np.array([0, 1, 1, 0] if name != "f8e8m0fnu" else [1, 2, 4, 0.5]).astype(dtype)
    results = run_hlo(f"HloModule m\nENTRY e {{ ROOT p = {name}[4] parameter(0) }}\n", values)
    assert results[0].dtype == dtype
    assert results[0].tobytes() == values.tobytes()


def test_excess_precision_is_off():
    total = run_hlo(
        """HloModule m
ENTRY e {
  x = bf16[] parameter(0)
  y = bf16[] parameter(1)
  s = bf16[] add(x, y)
  ROOT r = bf16[] subtract(s, x)
}
""",
        np.array(256, ml_dtypes.bfloat16),
        np.array(1, ml_dtypes.bfloat16),
    )
    assert total[0] == 0  # 257 is not a bfloat16: the sum was rounded


def test_refusal_is_a_coded_error():
    with pytest.raises(XlaToPythonError, match="XP461"):
        run_hlo("HloModule m\nENTRY e { ROOT p = f32[2] no-such-opcode() }")


def test_absent_jax_is_a_coded_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(XlaToPythonError, match=r"XP460.*jax"):
        compile_hlo(ADD_ONE)


def test_worker_answers_refuses_survives_a_crash_and_a_timeout():
    worker = ReferenceWorker()
    x = np.float32([1, 2, 3])
    assert worker.ask(run_hlo, ADD_ONE, x, timeout=60)[0].tolist() == [2, 3, 4]
    with pytest.raises(XlaToPythonError, match="XP461"):
        worker.ask(run_hlo, "HloModule m\nENTRY e { nonsense }", timeout=60)
    crash = "%a = f32[4] negate(f32[4] negate(f32[4] parameter(0)))"
    with pytest.raises(XlaToPythonError, match="XP462"):
        worker.ask(run_hlo, crash, timeout=60)
    assert worker.ask(run_hlo, ADD_ONE, x, timeout=60)[0].tolist() == [2, 3, 4]
    forever = """HloModule m
cond { i = s32[] parameter(0)  ROOT t = pred[] constant(true) }
body { i = s32[] parameter(0)  one = s32[] constant(1)  ROOT r = s32[] add(i, one) }
ENTRY e { i = s32[] parameter(0)  ROOT w = s32[] while(i), condition=cond, body=body }
"""
    with pytest.raises(XlaToPythonError, match="XP463"):
        worker.ask(run_hlo, forever, np.int32(0), timeout=3)
    worker.stop()


def test_child_runner_matches_the_in_process_runner():
    x = np.array([1, 2.5, -3], np.float32)
    assert run_hlo_in_child(ADD_ONE, x)[0].tobytes() == run_hlo(ADD_ONE, x)[0].tobytes()


REPLICAS = """HloModule m, replica_count=4
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[2] parameter(0)
  y = s32[] parameter(1)
  id = u32[] replica-id()
  total = f32[2] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=sum
  moved = s32[] collective-permute(y), source_target_pairs={{0,1},{1,2}}
  ROOT r = (u32[], f32[2], s32[]) tuple(id, total, moved)
}
"""


def test_replicas_run_on_devices_of_the_worker():
    inputs = [(np.float32([i, 10 * i]), np.int32(i + 5)) for i in range(4)]
    results = run_hlo_on_devices_in_child(REPLICAS, inputs)
    assert [int(replica) for replica, _, _ in results] == [0, 1, 2, 3]
    assert [total.tolist() for _, total, _ in results] == [[1, 10], [1, 10], [5, 50], [5, 50]]
    assert [int(moved) for _, _, moved in results] == [0, 5, 6, 0]


def test_too_few_devices_is_a_coded_error():
    with pytest.raises(XlaToPythonError, match="XP464"):
        run_hlo_on_devices_in_child(REPLICAS, [(np.float32([1, 2]), np.int32(0))] * 64)


def test_partitions_run_as_spmd():
    text = """HloModule m, num_partitions=2
ENTRY e {
  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}
  ROOT y = f32[4] negate(x), sharding={replicated}
}
"""
    results = run_hlo_on_devices_in_child(text, [(np.float32([1, 2]),), (np.float32([3, 4]),)], partitions=2)
    assert [result.tolist() for (result,) in results] == [[-1, -2, -3, -4]] * 2


def test_interpreter_gives_the_same_nested_results():
    text = """HloModule m
ENTRY e {
  p = (f32[2], (s32[], pred[3])) parameter(0)
  a = f32[2] get-tuple-element(p), index=0
  b = (s32[], pred[3]) get-tuple-element(p), index=1
  c = c64[2] parameter(1)
  cc = c64[2] multiply(c, c)
  ROOT r = ((s32[], pred[3]), c64[2], f32[2]) tuple(b, cc, a)
}
"""
    arrays = (np.float32([1, 2]), np.int32(7), np.array([True, False, True]), np.complex64([1 + 2j, -3]))
    reference, opinion = run_hlo(text, *arrays), interpret_hlo_in_child(text, *arrays)
    assert [array.dtype for array in opinion] == [array.dtype for array in reference]
    assert [array.tolist() for array in opinion] == [array.tolist() for array in reference]


@pytest.mark.parametrize("name", sorted(set(ELEMENT_TYPES) - {"s1", "u1"}))
def test_interpreter_takes_and_gives_every_element_type(name):
    dtype = ELEMENT_TYPES[name].dtype
    values = np.array([1, 0, 1, 1] if name != "f8e8m0fnu" else [1, 2, 4, 0.5]).astype(dtype)
    (result,) = interpret_hlo_in_child(
        f"HloModule m\nENTRY e {{ x = {name}[4] parameter(0)  ROOT y = {name}[4] reverse(x), dimensions={{0}} }}",
        values,
    )
    assert result.dtype == dtype
    assert result.tobytes() == values[::-1].tobytes()


def test_optimised_attention_is_attention():
    text = (Path(__file__).parents[2] / "examples" / "hlo" / "attention.after.hlo").read_text()
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(3, 2, 8, 64, 32)).astype(np.float32)
    scores = np.where(np.tri(64, dtype=bool), q @ k.mT / np.sqrt(np.float32(32)), -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    expected = weights / weights.sum(axis=-1, keepdims=True) @ v
    np.testing.assert_allclose(run_hlo(text, q, k, v)[0], expected, rtol=1e-4, atol=1e-5)

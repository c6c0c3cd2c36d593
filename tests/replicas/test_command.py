"""``xla2py run`` and ``xla2py emit`` on programs for several replicas."""

import numpy as np

from xla2py.tests.replicas.programs import SeveralDevices, entry
from xla2py.tests.replicas.test_annotations import PROGRAM as ANNOTATED


def test_run_gives_each_replica_arguments_of_its_own(xla2py, tmp_path):
    program = SeveralDevices("", entry("ROOT r = f32[4,8] all-reduce(x), to_apply=add"), 3)
    (tmp_path / "sum.hlo").write_text(program.text)
    code, _, _ = xla2py("run", str(tmp_path / "sum.hlo"), "-o", str(tmp_path / "out.npz"))
    assert code == 0
    with np.load(tmp_path / "out.npz") as results:
        assert sorted(results) == ["result.0", "result.1", "result.2"]
        for result in results.values():
            np.testing.assert_allclose(result, sum(x for (x,) in program.inputs()), rtol=1e-6)


def test_a_module_for_several_replicas_says_so(xla2py, tmp_path):
    program = SeveralDevices("", entry("ROOT r = f32[4,8] all-reduce(x), to_apply=add"), 2, 2)
    (tmp_path / "sum.hlo").write_text(program.text)
    code, out, _ = xla2py("emit", str(tmp_path / "sum.hlo"), "-t", "dask")
    assert code == 0
    assert "One of 2 replicas of 2 partitions each." in out
    assert '__all__ = ["replica", "run_local", "run_replicas"]' in out
    assert "g.all_reduce(x, np.add, groups=((0, 2), (1, 3)))" in out
    assert "class Group(AllReduce):" in out
    assert "AllGather" not in out


def test_emit_says_where_the_program_of_one_device_is_found(xla2py, tmp_path):
    (tmp_path / "annotated.hlo").write_text(ANNOTATED)
    code, _, refusal = xla2py("emit", "--devices", "spmd", str(tmp_path / "annotated.hlo"))
    assert code != 0 and "XP362" in refusal and "lowered.compile().as_text()" in refusal
    (tmp_path / "local.hlo").write_text("HloModule p, num_partitions=2\nENTRY e { ROOT x = f32[2] parameter(0) }")
    assert xla2py("emit", "--devices", "spmd", str(tmp_path / "local.hlo"))[0] == 0

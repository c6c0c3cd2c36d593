"""Programs of several devices for any size: the names are what each device has."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import xla2py
from xla2py.tests.whole import much
from xla2py.transpile.frontends import load
from xla2py.transpile.frontends.witnesses import files_at_sizes

KERNELS = '''"""Steps that four devices do together."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",))


@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P("d"), P()), out_specs=(P("d"), P(), P()))
def step(x, w):
    h = jnp.tanh(x @ w)
    n = jax.lax.psum(len(x), "d")
    whole = jax.lax.all_gather(x, "d").reshape(-1, x.shape[1])
    around = jax.lax.ppermute(h, "d", [(k, (k + 1) % 4) for k in range(4)])
    mixed = jax.lax.psum(x.T @ h, "d") / (n - 1) + jax.lax.pmean(whole.T @ whole @ w, "d")
    return around * len(x), jax.lax.psum(h.sum(0), "d") / n, mixed
'''
PROGRAM = "device_kernels:step(f32[N,K], f32[K,3])"


TARGETS = much(["dask"], ["numpy", "dask"])
COMMANDS = [("emit", PROGRAM), ("check", PROGRAM, "-t", ",".join(TARGETS))]
SCRIPT = """
import sys
from pathlib import Path
import xla2py
from xla2py.transpile import cli
from xla2py.transpile.frontends.witnesses import function_at_sizes
for command in COMMANDS:
    assert cli.run(command) == 0
    print("END")
print(xla2py.emit(function_at_sizes(PROGRAM, Path()), "cupy", style="fused").source)
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the commands print where JAX has four devices."""
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "device_kernels.py").write_text(KERNELS, encoding="utf-8")
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    run = [sys.executable, "-c", SCRIPT.replace("COMMANDS", repr(COMMANDS)).replace("PROGRAM", repr(PROGRAM))]
    found = subprocess.run(run, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return found.stdout.split("END\n")


@pytest.mark.live_xla
def test_threads_compute_what_devices_compute_at_other_sizes(printed):
    source, checked, _ = printed
    assert (
        "\nx: float32[4 * N, K], rows over `d`\n" in source and '{"x": "float32[N, K]", "w": "float32[K, 3]"}' in source
    )
    assert "reduced / (4 * n)" in source and "/ (4 * n - 1)" in source and "reshape(4 * n, k)" in source
    for target in TARGETS:
        assert len(re.findall(rf"at N = \d+, K = \d+ +{target} +(close|same|equal|identical)", checked)) >= 10


@pytest.mark.live_xla
def test_kernels_of_devices_are_handed_sizes(printed):
    source = printed[2]
    assert (
        "ratio_kernel(n, reduced)" in source and "run_nccl" in source and "whole = gathered.reshape(4 * n, k)" in source
    )


@pytest.mark.parametrize("target", ["numpy", "dask"])
def test_dumps_of_devices_are_one_module(target):
    text = """HloModule m, replica_count=2
add {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }}
ENTRY e {{ x = f32[{0}] parameter(0)
  s = f32[{0}] all-reduce(x), replica_groups={{{{0,1}}}}, to_apply=add
  n = f32[] constant({0})
  ns = f32[{0}] broadcast(n), dimensions={{}}
  ROOT y = f32[{0}] divide(s, ns) }}"""
    programs = files_at_sizes([load(text.format(number)) for number in (3, 5, 8)], {"N": (3, 5, 8)})
    emitted = xla2py.emit(programs, target)
    x = np.arange(11, dtype=np.float32)
    for found in emitted.load().run_local([(x,), (x * 2,)]):
        np.testing.assert_allclose(found, x * 3 / 11, rtol=1e-6)
    with pytest.raises(Exception, match="N is 2, must be at least 3"):
        emitted.load().run_local([(x[:2],), (x[:2],)])

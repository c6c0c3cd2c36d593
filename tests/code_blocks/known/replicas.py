from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, PartitionSpec

import xla2py
from xla2py.transpile.equivalence.inputs.generate import make_inputs

mesh = jax.make_mesh((1,), ("data",), axis_types=(AxisType.Auto,))
step = jax.shard_map(
    lambda params, images: params + jax.lax.psum(images.sum(), "data"),
    mesh=mesh,
    in_specs=(PartitionSpec(), PartitionSpec("data")),
    out_specs=PartitionSpec(),
)
params, images = jnp.ones(3), jnp.ones((4, 2))
program = xla2py.load("examples/replicas/data_parallel_training.hlo")
replica_args = [make_inputs(program, seed) for seed in range(4)]
xla2py.emit(program, "dask").save("training.py")
import training

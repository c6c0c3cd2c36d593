"""Training steps of a small classifier on four devices: each has a part of the images, gradients are averaged.

``python examples/replicas/data_parallel_training.py`` writes the HLO of one device beside this file: what XLA's
partitioner makes of the program, before optimisation.
"""

import os
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    os.environ.update(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_force_host_platform_device_count=4")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, PartitionSpec

DEVICES, STEPS, LEARNING_RATE = 4, 20, 0.5


def loss_function(params, images, labels):
    hidden = jax.nn.relu(images @ params["hidden"] + params["bias"])
    log_probabilities = jax.nn.log_softmax(hidden @ params["output"])
    return -jnp.mean(jnp.sum(log_probabilities * labels, axis=1))


def train(params, images, labels):
    """Returns the new parameters, and the mean loss of every step."""

    def step(params, _):
        loss, gradients = jax.value_and_grad(loss_function)(params, images, labels)
        gradients = jax.lax.pmean(gradients, "device")
        params = jax.tree.map(lambda p, g: p - LEARNING_RATE * g, params, gradients)
        return params, jax.lax.pmean(loss, "device")

    return jax.lax.scan(step, params, length=STEPS)


def data():
    """Parameters, images and labels."""
    rng = np.random.default_rng(0)
    params = {
        "hidden": rng.normal(scale=0.2, size=(16, 32)).astype(np.float32),
        "bias": np.zeros(32, np.float32),
        "output": rng.normal(scale=0.2, size=(32, 4)).astype(np.float32),
    }
    images = rng.normal(size=(64, 16)).astype(np.float32)
    return params, images, np.eye(4, dtype=np.float32)[images[:, :4].argmax(axis=1)]


def program():
    mesh = jax.make_mesh((DEVICES,), ("device",), axis_types=(AxisType.Auto,))
    everywhere, split = PartitionSpec(), PartitionSpec("device")
    specs = {"mesh": mesh, "in_specs": (everywhere, split, split), "out_specs": (everywhere, everywhere)}
    return jax.shard_map(train, check_vma=False, **specs), data()


def partitioned_hlo(lowered):
    """The HLO of one device."""
    with tempfile.TemporaryDirectory() as folder:
        dump = {"xla_dump_to": folder, "xla_dump_hlo_pass_re": "spmd-partitioning", "xla_dump_hlo_as_text": True}
        lowered.compile(compiler_options=dump)
        (path,) = Path(folder).glob("*.after_spmd-partitioning.*.txt")
        return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    here = Path(__file__).resolve()
    sys.path.insert(0, str(here.parents[1]))
    from lower import relative_paths

    function, arguments = program()
    text = relative_paths(partitioned_hlo(jax.jit(function).lower(*arguments)))
    here.with_suffix(".hlo").write_text(text, encoding="utf-8")

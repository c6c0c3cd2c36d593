"""Data-parallel training: an example of JAX's shard_map over four devices computes what XLA computes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np

import xla2py
from xla2py.tests.recording.answers import ANSWERS
from xla2py.tests.recording.questions import Question
from xla2py.tests.replicas.test_cluster import assert_same_bits
from xla2py.transpile.equivalence.verdicts.comparison import Budget, compare

HLO = Path(xla2py.__file__).parent / "examples" / "replicas" / "data_parallel_training.hlo"


@cache
def arguments():
    """Every device has the same parameters and a quarter of the images."""
    params, images, labels = imported(HLO.with_suffix(".py")).data()
    parts = zip(np.split(images, 4), np.split(labels, 4), strict=True)
    return [[params["bias"], params["hidden"], params["output"], *part] for part in parts]


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_xla(folder):
    """What JAX computes with four devices of the CPU: parameters and losses."""
    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    script = (
        "import jax, numpy, sys; sys.path.insert(0, sys.argv[1]); import data_parallel_training as example;"
        "function, arguments = example.program();"
        "numpy.savez(sys.argv[2], *jax.tree.leaves(jax.jit(function)(*arguments)))"
    )

    def live():
        command = [sys.executable, "-c", script, HLO.parent, folder / "x.npz"]
        subprocess.run(command, env={**os.environ, **flags}, check=True)
        with np.load(folder / "x.npz") as stored:
            return list(stored.values())

    example = HLO.with_suffix(".py")
    return ANSWERS.ask(Question(f"values of {example.name}", ("values", script, example.read_text("utf-8"))), live)


def test_training_is_what_xla_computes(tmp_path):
    expected = by_xla(tmp_path)
    actual = xla2py.emit(HLO).load().run_local(arguments())
    wrong = [leaf for leaf in compare(expected, actual[0], Budget(1e-4, 1e-5)) if not leaf.status.is_good]
    assert wrong == []
    losses = actual[0][-1]
    assert losses[0] > 1.2 and losses[-1] < 0.7 * losses[0]
    for other in actual[1:]:
        assert_same_bits([actual[0]], [other])


def test_training_on_workers_gives_the_same_bits(workers, tmp_path):
    path = tmp_path / "training.py"
    xla2py.emit(HLO, target="dask").save(path)
    module = imported(path)
    assert_same_bits(module.run_replicas(workers.client, arguments(), timeout=60), module.run_local(arguments()))

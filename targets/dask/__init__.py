"""The Dask target: the shared macros on ``da``. ``main`` takes arrays with any chunks and returns lazy arrays."""

from dataclasses import replace

from ...transpile.array.support import Features
from ...transpile.target import TEMPLATES, Target
from .. import numpy
from ..numpy.functions import search_of_many
from .library import LIBRARY
from .planning.plan import arrange
from .refusals import refuses
from .writing.kernels import KERNELS

# What replicas on a cluster have in common with those of modules for NumPy, and what else their bodies use.
_RUNTIME = (
    "ragged",
    "replica",
    "replica_collectives",
    "replica_ragged",
    "replica_snapshots",
    "replica_threads",
    "shards",
)
_OWN = ("replica_transport", "replica_workers", "sidecar", "tensors")
_MODULES = [path.stem for prelude in ("prelude", "numpy/prelude") for path in TEMPLATES.joinpath(prelude).glob("*.py")]

TARGET = Target(
    name="dask",
    title="Dask",
    namespace="da",
    imports=(
        "import dask.array as da",
        "import numpy as np",
        "from dask import persist",
        "from dask.tokenize import normalize_token",
        "from numba import njit",
    ),
    macros=TEMPLATES / "dask",
    prelude=(TEMPLATES / "numpy" / "prelude", TEMPLATES / "dask" / "prelude"),
    helpers_of=dict.fromkeys(_RUNTIME, "numpy"),
    refuses=refuses,
    own_function=search_of_many,
    arrange=arrange,
    # The plan must see into functions, tasks read arrays in any order, an index selects a chunk, and a slice is a task.
    features=Features(
        functions_are_called=False,
        arrays_are_mutable=False,
        indices_are_free=False,
        slices_are_fast=False,
        arrays_fit_memory=False,
        operations_are_passes=False,
    ),
    scalars="np",
    kernels=KERNELS,
    library=LIBRARY,
    # A replica is plain NumPy; a cluster runs several.
    replicas=replace(
        numpy.TARGET,
        name="dask",
        title="Dask",
        runners={"run_local": "InThreads", "run_replicas": "OnWorkers"},
        helpers_of={module: "numpy" for module in _MODULES if module not in _OWN},
    ),
)

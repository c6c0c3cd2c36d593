"""The Dask target: the shared text on ``da``; ``main`` takes arrays in any chunks and returns lazy arrays."""

from dataclasses import replace

from .. import numpy
from ..base import Target
from .arrangement import arrange

TARGET = Target(
    name="dask",
    title="Dask",
    namespace="da",
    imports=(
        "import dask.array as da",
        "import numpy as np",
        "from dask import persist",
        "from operator import itemgetter",
    ),
    folder="dask",
    arrange=arrange,
    without=(
        "convolutions",
        "counts",
        "crosses",
        "determinants",
        "differences",
        "fills",
        "functions",
        "gaps",
        "in_place",
        "indices",
        "medians",
        "normalizations",
        "norms",
        "outlining",
        "paddings",
        "polynomials",
        "repeats",
        "searches",
        "softmaxes",
        "tilings",
        "variances",
    ),  # what is to be cut must be seen
    scalars="np",
    # One replica is plain NumPy; a cluster runs several.
    replicas=replace(numpy.TARGET, name="dask", title="Dask", runners=("run_local", "run_replicas")),
)

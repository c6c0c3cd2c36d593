"""All programs that are timed on the CPU."""

from __future__ import annotations

from xla2py.benchmarks.cpu_kit import algorithms, arrays, kernels, models, recurrences, simulations

PROGRAMS = [
    *arrays.PROGRAMS,
    *models.PROGRAMS,
    *kernels.PROGRAMS,
    *simulations.PROGRAMS,
    *algorithms.PROGRAMS,
    *recurrences.PROGRAMS,
]

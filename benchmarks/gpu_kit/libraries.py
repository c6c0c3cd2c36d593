"""Whether programs of JAX libraries, and special functions, give on a GPU what they give elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import xla2py
from xla2py.benchmarks.gpu_kit.device import Device, Record
from xla2py.benchmarks.gpu_kit.programs import STYLES
from xla2py.documentation.library_programs import programs
from xla2py.tests.special_functions.functions import FUNCTIONS, samples
from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.equivalence.verdicts.comparison import compare, flatten
from xla2py.transpile.equivalence.verdicts.tolerances import budget_for

PROGRAMS = programs(Path(__file__).resolve().parents[2])
LIBRARIES = [f"{name}, {style}" for name in PROGRAMS for style in STYLES]
SPECIAL_FUNCTIONS = [f"{name}, {dtype}" for name in FUNCTIONS for dtype in ("float32", "float64")]


def library_program(device: Device, item: str) -> Record:
    """Tell whether a program of a JAX library agrees with NumPy, on inputs that are drawn for it."""
    name, style = item.split(", ")
    return agrees_with_numpy(device, PROGRAMS[name], style)


def agrees_with_numpy(device: Device, text: str, style: str, arguments: list[np.ndarray] | None = None) -> Record:
    """Tell whether a program gives in CuPy what it gives in NumPy, and what differs first."""
    program = xla2py.load(text)
    if arguments is None:
        arguments = make_inputs(program)
    with np.errstate(all="ignore"):
        results = xla2py.emit(program, format=False).load().main(*[array.copy() for array in arguments])
    found = device.run(xla2py.emit(program, "cupy", style=style, format=False), arguments)
    leaves = compare([x for _, x in flatten(results)], found, budget_for(program))
    wrong = [str(leaf) for leaf in leaves if not leaf.status.is_good]
    return {"agrees": not wrong, "error": "".join(wrong[:1])[:300]}


def special_function(device: Device, item: str) -> Record:
    """Tell whether a special function agrees with NumPy's on its edges and on random numbers."""
    import jax

    name, dtype = item.split(", ")
    arguments = samples(name, np.dtype(dtype))
    if name == "zeta":  # where the smallest numbers are flushed to 0, that of infinity is NaN
        arguments = arguments[:, np.isfinite(arguments).all(axis=0)]
    with jax.enable_x64(dtype == "float64"):
        text = jax.jit(FUNCTIONS[name][0]).lower(*arguments).as_text("hlo")
    return agrees_with_numpy(device, text, "readable", list(arguments))

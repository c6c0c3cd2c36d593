"""How a program of the builder is judged: by XLA on the CPU, by the emitted NumPy code, and by written-down values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import xla2py
from xla2py.transpile.emission.module.support_table import SUPPORTED, coverage
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.equivalence.reference.xla_process import run_hlo_on_devices_in_child
from xla2py.transpile.equivalence.verdicts.comparison import compare
from xla2py.transpile.errors import UnsupportedError
from xla2py.transpile.hlo.builder import XlaBuilder, XlaOp
from xla2py.transpile.hlo.element_types import from_dtype
from xla2py.transpile.hlo.ir import HloModule
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.hlo.shapes import ArrayShape

RANDOM = np.random.default_rng(0)

Make = Callable[..., XlaOp]


def build(make: Make, *arrays: Any, replica_count: int = 1) -> HloModule:
    """The module of ``make(b, x, y, ..)``, with a parameter for each array."""
    b = XlaBuilder("worked")
    parameters = [
        b.parameter(number, ArrayShape(from_dtype(array.dtype), array.shape))
        for number, array in enumerate(map(np.asarray, arrays))
    ]
    return b.build(make(b, *parameters), replica_count=replica_count)


def check(make: Make, *arrays: Any, expected: Any, by_xla: bool = True) -> None:
    """XLA and the emitted code give the expected values; ``by_xla=False`` where XLA's CPU cannot run the program."""
    module = build(make, *arrays)
    inputs = [np.asarray(array) for array in arrays]
    if by_xla:
        assert_equal(expected, run_hlo(print_module(module), *inputs))
    check_emitted(module, inputs, expected)


def check_emitted(module: HloModule, inputs: Sequence[Any], expected: Any) -> None:
    """The emitted code gives the expected values, or says that it cannot where the coverage table says so."""
    statuses = coverage("numpy")
    if all(statuses[instruction.opcode] == SUPPORTED for instruction in module.instructions()):
        assert_equal(expected, xla2py.emit(module, format=False).load().main(*inputs))
    else:
        try:
            xla2py.emit(module)
        except UnsupportedError:
            return
        assert any(statuses[i.opcode] != SUPPORTED for i in module.instructions()), "emitted, but not in the table"


def check_on_replicas(make: Make, inputs: Sequence[Sequence[Any]], expected: Sequence[Any]) -> None:
    """Replica ``i`` gets ``inputs[i]`` and has to give ``expected[i]``: by XLA, and by the emitted code."""
    module = build(make, *inputs[0], replica_count=len(inputs))
    arrays = [[np.asarray(array) for array in row] for row in inputs]
    results = run_hlo_on_devices_in_child(print_module(module), arrays)
    emitted = xla2py.emit(module, format=False).load().run_local(arrays)
    for want, by_xla, have in zip(expected, results, emitted, strict=True):
        assert_equal(want, by_xla)
        assert_equal(want, have)


def assert_equal(expected: Any, actual: Any) -> None:
    wrong = [str(leaf) for leaf in compare(expected, actual) if not leaf.status.is_good]
    assert not wrong, "\n".join(wrong)


def opcodes(module: HloModule) -> list[str]:
    """The entry's opcodes in order, parameters left out."""
    return [i.opcode for i in module.entry.instructions if i.opcode != "parameter"]


def f32(*values: Any) -> Any:
    """An f32 array, or scalar for one number."""
    return np.array(values[0] if len(values) == 1 else values, np.float32)


def s32(*values: Any) -> Any:
    """An s32 array, or scalar for one number."""
    return np.array(values[0] if len(values) == 1 else values, np.int32)


def filled(*sizes: int) -> Any:
    """0, 1, 2, .. as f32."""
    return np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)


def random(*sizes: int) -> Any:
    """Normally distributed f32 numbers."""
    return RANDOM.normal(size=sizes).astype(np.float32)


def add(a: XlaOp, c: XlaOp) -> XlaOp:
    return a + c


def maximum(a: XlaOp, c: XlaOp) -> XlaOp:
    return a.builder.max(a, c)


def minimum(a: XlaOp, c: XlaOp) -> XlaOp:
    return a.builder.min(a, c)


def convolved(x: Any, k: Any, stride: Any = (1, 1), low: Any = (0, 0), high: Any = (0, 0)) -> Any:
    """The pseudo-code of ConvWithGeneralPadding, for two spatial dimensions."""
    sizes = [(x.shape[d + 2] + low[d] + high[d] - k.shape[d + 2]) // stride[d] + 1 for d in range(2)]
    result = np.zeros((x.shape[0], k.shape[0], *sizes), np.float32)
    for b, oz, oy, ox in np.ndindex(result.shape):
        for iz, ky, kx in itertools.product(*map(range, k.shape[1:])):
            iy, ix = oy * stride[0] + ky - low[0], ox * stride[1] + kx - low[1]
            if 0 <= iy < x.shape[2] and 0 <= ix < x.shape[3]:
                result[b, oz, oy, ox] += x[b, iz, iy, ix] * k[oz, iz, ky, kx]
    return result

"""The common programs of docs/cupy.md at sizes that keep a GPU busy, beside ``jax.jit`` on the same GPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np

import xla2py
from xla2py.benchmarks.gpu_kit.device import Device, Record
from xla2py.tests.ladder.costed_programs import KEY, PROGRAMS, convolution, places
from xla2py.transpile.equivalence.verdicts.comparison import flatten

GENERATOR = np.random.default_rng(2)


def numbers(*shape: int) -> Any:
    return GENERATOR.standard_normal(shape, np.float32)


def bf16(*shape: int) -> Any:
    return numbers(*shape).astype(ml_dtypes.bfloat16)


# Their arguments; made where they are asked for, as some are half a gigabyte.
ARGUMENTS: dict[str, Callable[[], list[Any]]] = {
    "gelu": lambda: [numbers(8192, 4096)],
    "gelu, bfloat16": lambda: [bf16(8192, 4096)],
    "softmax": lambda: [numbers(8192, 4096)],
    "layer norm": lambda: [numbers(8192, 4096), numbers(4096), numbers(4096)],
    "layer norm, gradients": lambda: [numbers(16384, 1024), numbers(1024), numbers(1024)],
    "batch norm, channels last": lambda: [numbers(64, 56, 56, 64)],
    "attention": lambda: [numbers(8, 16, 1024, 64)] * 3,
    "attention, bfloat16": lambda: [bf16(8, 16, 1024, 64)] * 3,
    "product of heads behind positions": lambda: [numbers(8, 1024, 16, 64)] * 2,
    "product of grouped heads, bfloat16": lambda: [bf16(8, 1024, 4, 4, 64), bf16(8, 1024, 4, 64)],
    "dense layer, bfloat16": lambda: [bf16(8192, 4096), bf16(4096, 4096), bf16(4096)],
    "MLP, training step": lambda: [
        numbers(1024, 4096),
        numbers(4096),
        numbers(4096, 1024),
        numbers(4096, 1024),
        bf16(4096, 1024),
    ],
    "cross entropy": lambda: [numbers(2048, 32768), places(32768, 2048)],
    "cross entropy, gradient": lambda: [numbers(2048, 32768), places(32768, 2048)],
    "embedding": lambda: [numbers(32768, 1024), places(32768, 64, 512)],
    "embedding, gradient": lambda: [numbers(32768, 1024), places(32768, 64, 512)],
    "segment sum": lambda: [numbers(1 << 20, 32), places(16, 1 << 20)],
    "random bits": lambda: [KEY],
    "uniform numbers": lambda: [KEY],
    "normal numbers": lambda: [KEY],
    "convolution": lambda: [numbers(32, 56, 56, 64), numbers(3, 3, 64, 64)],
    "convolution, gradients": lambda: [numbers(32, 56, 56, 64), numbers(3, 3, 64, 64)],
    "convolution, bfloat16": lambda: [bf16(32, 56, 56, 64), bf16(3, 3, 64, 64)],
    "depthwise convolution": lambda: [numbers(32, 56, 56, 64), numbers(3, 3, 1, 64)],
    "max pool 2 x 2": lambda: [numbers(32, 112, 112, 64)],
    "max pool 2 x 2, gradient": lambda: [numbers(32, 112, 112, 64)],
    "max pool 3 x 3, gradient": lambda: [numbers(32, 112, 112, 64)],
    "LSTM, 8 steps": lambda: [
        numbers(8, 64, 512),
        numbers(512, 2048) / 32,
        numbers(512, 2048) / 32,
        numbers(64, 512),
    ],
    "LSTM, 8 steps, gradients": lambda: [
        numbers(8, 64, 512),
        numbers(512, 2048) / 32,
        numbers(512, 2048) / 32,
        numbers(64, 512),
    ],
    "top-k": lambda: [numbers(4096, 4096)],
    "sort of rows": lambda: [numbers(4096, 4096)],
    "argsort of rows": lambda: [numbers(4096, 4096)],
    "cumulative sum": lambda: [numbers(1 << 20)],
    "histogram": lambda: [numbers(1 << 24)],
    "FFT convolution": lambda: [numbers(1 << 16, 128), numbers(1 << 16, 128)],
    "stencil, 10 steps": lambda: [numbers(4096, 4096)],
}
# Those whose text has sizes of its own.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "random bits": lambda key: jax.random.bits(key, (4096, 4096)),
    "uniform numbers": lambda key: jax.random.uniform(key, (4096, 4096)),
    "normal numbers": lambda key: jax.random.normal(key, (4096, 4096)),
    "depthwise convolution": lambda x, w: convolution(x, w, 64),
}


@functools.lru_cache(maxsize=1)
def large_program(name: str, is_small: bool = False) -> tuple[Callable[..., Any], list[Any]]:
    """A program and its arguments on the host; with those of the costs where ``is_small``."""
    function, small = PROGRAMS[name]
    return (function, small) if is_small else (FUNCTIONS.get(name, function), ARGUMENTS[name]())


def agreement(device: Device, name: str) -> Record:
    """Tell whether the style ``fast`` gives what ``jax.jit`` does on the same device, to a thousandth of the largest
    number, or a fiftieth in bfloat16; with convolutions by cuDNN, too.
    """
    function, arguments = large_program(name, device.is_twin)
    program = xla2py.from_jax(function, *arguments)
    with jax.default_matmul_precision("highest"):
        results = jax.jit(function)(*jax.device_put(arguments, device.of_jax()))
    expected = [np.asarray(leaf) for _, leaf in flatten(results)]
    for allow in ((), ("cudnn",)):
        emitted = xla2py.emit(program, "cupy", style="fast", nested=False, format=False, allow=allow)
        if allow and "import cudnn" not in emitted.source:
            continue
        error = max(map(_distance, device.run(emitted, arguments), expected))
        if not error <= 1e-3:
            return {"agrees": False, "error": f"off by {error:.1e}{' with cuDNN' * bool(allow)}"}
    return {"agrees": True, "error": ""}


def _distance(own: np.ndarray, theirs: np.ndarray) -> float:
    """How far numbers are apart, in parts of the largest; of bfloat16, in twentieths of that."""
    coarse = 20.0 if own.dtype == ml_dtypes.bfloat16 else 1.0
    one, two = own.astype(np.float64), theirs.astype(np.float64)
    return float(abs(one - two).max() / max(abs(two).max(), 1e-30) / coarse) if one.shape == two.shape else np.inf

"""The kernels that emitted modules carry compile for GPUs, and take few registers."""

import ast

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

from xla2py.targets.base import load_target  # noqa: E402
from xla2py.tests.ladder.device_compiler import ARCHITECTURES, compiled, elementwise_source, missing  # noqa: E402
from xla2py.transpile.emission.prelude import prelude  # noqa: E402

MOST_REGISTERS = 64
# What letters stand for. float16 needs a header that comes with CUDA's runtime, not with its compiler.
INTEGERS = ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")


def kernels():
    """(name, kernel) of every kernel of the prelude."""
    for name, definition in prelude(load_target("cupy")).definitions.items():
        value = getattr(ast.parse(definition.source).body[0], "value", None)
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "cp.ElementwiseKernel":
            yield name, eval(definition.source.split("=", 1)[1].strip(), {"cp": cupy})


def variants(kernel, floats):
    """The dtypes of the inputs that a kernel is compiled for."""
    letters = sorted({param.ctype for param in kernel.in_params if param.dtype is None})
    if letters == ["X", "Y"]:
        choices = [{"X": x, "Y": y} for x in FLOATS for y in INTEGERS]
    elif letters:
        choices = [{letters[0]: kind} for kind in (FLOATS if floats else INTEGERS)]
    else:
        choices = [{}]
    for choice in choices:
        yield tuple(np.dtype(choice.get(param.ctype) or param.dtype) for param in kernel.in_params)


FLOAT_KERNELS = {"erf", "logistic", "rsqrt", "sign", "round_half_away"}


def test_kernels_compile_for_gpus_and_spill_nothing():
    if missing():
        pytest.skip(missing())
    sources = []
    for name, kernel in kernels():
        for k, dtypes in enumerate(variants(kernel, name in FLOAT_KERNELS)):
            sources.append(elementwise_source(kernel, dtypes).replace(f" {name}(", f" {name}_{k}("))
    usage = compiled(sources)
    assert len(usage) == len(sources) * len(ARCHITECTURES)
    assert [kernel for kernel in usage if kernel.spilled_bytes or kernel.registers > MOST_REGISTERS] == []


def test_what_nvcc_refuses_is_told():
    if missing():
        pytest.skip(missing())
    with pytest.raises(RuntimeError, match="INFINITE"):
        compiled(['extern "C" __global__ void wrong(float *x) { *x = INFINITE; }'])

"""The kernels that emitted modules carry compile for GPUs, and take few registers."""

import ast

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

from xla2py.targets.base import load_target  # noqa: E402
from xla2py.templates.cupy.prelude import windows  # noqa: E402
from xla2py.tests.ladder.device_compiler import (  # noqa: E402
    ARCHITECTURES,
    COMPILERS,
    compiled,
    elementwise_source,
    missing,
)
from xla2py.transpile.emission.prelude import prelude  # noqa: E402

MOST_REGISTERS = 64
INTEGERS = ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
OF_FLOATS = ("erf", "normal_cdf", "logistic", "rsqrt", "sign", "round_half_away", "to_float")  # how their names begin


def kernels():
    """(name, kernel) of every kernel of the prelude."""
    known = prelude(load_target("cupy"))
    for name, definition in known.definitions.items():
        value = getattr(ast.parse(definition.source).body[0], "value", None)
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "cp.ElementwiseKernel":
            namespace = {"cp": cupy}
            for needed in known.closure([name]):
                exec(needed.source, namespace)
            yield name, namespace[name]


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


compilers = pytest.mark.parametrize("compiler", COMPILERS)


@compilers
def test_kernels_compile_for_gpus_and_spill_nothing(compiler):
    if missing(compiler):
        pytest.skip(missing(compiler))
    sources = []
    for name, kernel in kernels():
        for k, dtypes in enumerate(variants(kernel, name.startswith(OF_FLOATS))):
            sources.append(elementwise_source(kernel, dtypes).replace(f" {kernel.name}(", f" {name}_{k}("))
    usage = compiled(sources, compiler)
    assert len(usage) == len(sources) * len(ARCHITECTURES)
    assert [kernel for kernel in usage if kernel.spilled_bytes or kernel.registers > MOST_REGISTERS] == []


@compilers
def test_kernels_of_windows_compile_and_divide_by_constants(compiler):
    """Each for pools of images, as they are compiled when they are called."""
    if missing(compiler):
        pytest.skip(missing(compiler))
    edges = ((0, 0), (1, 1), (1, 1), (0, 0))
    counts, geometry = windows.window_geometry((8, 56, 56, 64), (1, 3, 3, 1), (1, 2, 2, 1), edges)
    assert counts == (8, 28, 28, 64)
    dtypes = {windows.pool_kernel: "ff", windows.choice_kernel: "f", windows.choosers_kernel: "if"}
    texts = {windows.pool_kernel: windows.POOLS[cupy.maximum], windows.choice_kernel: "#define STAYS >=\n"}
    sources = []
    for kernel, letters in dtypes.items():
        inputs = kernel.inputs.replace("WORK", "float32")
        made = cupy.ElementwiseKernel(inputs, *kernel.others, preamble=texts.get(kernel, "") + geometry)
        sources.append(elementwise_source(made, tuple(map(np.dtype, letters))))
    usage = compiled(sources, compiler)
    assert len(usage) == len(sources) * len(ARCHITECTURES)
    assert [one for one in usage if one.spilled_bytes or one.registers > MOST_REGISTERS] == []


@compilers
def test_what_a_compiler_refuses_is_told(compiler):
    if missing(compiler):
        pytest.skip(missing(compiler))
    with pytest.raises(RuntimeError, match="INFINITE"):
        compiled(['extern "C" __global__ void wrong(float *x) { *x = INFINITE; }'], compiler)

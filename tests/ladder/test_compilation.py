"""The kernels that emitted modules carry compile for GPUs, and take few registers."""

import ast

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")


import xla2py  # noqa: E402
from xla2py.targets.cupy.twin.modules import to_device, twin  # noqa: E402
from xla2py.tests.ladder.device_compiler import (  # noqa: E402
    COMPILERS,
    SOME,
    compiled,
    elementwise_source,
    missing,
)
from xla2py.tests.ladder.running import needs_compiler  # noqa: E402
from xla2py.tests.recording.lazy_jax import jax, lax  # noqa: E402
from xla2py.tests.whole import crossed  # noqa: E402
from xla2py.transpile.emission.prelude.library import prelude  # noqa: E402
from xla2py.transpile.target import load_target  # noqa: E402

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
    assert len(usage) == len(sources) * len(SOME)
    assert [kernel for kernel in usage if kernel.spilled_bytes or kernel.registers > MOST_REGISTERS] == []


IMAGES = np.zeros((2, 8, 8, 16), np.float32)
WINDOWS = (1, 3, 3, 1), (1, 2, 2, 1), "SAME"


def pool_gradient(x):
    return jax.grad(lambda x: (lax.reduce_window(x, -np.inf, lax.max, *WINDOWS) ** 2).sum())(x)


def filtered(x):
    numbered = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    deep = lax.conv_general_dilated(x, x[0, :3, :3, :, None] * x[0, 0, 0], (1, 1), "SAME", **numbered)
    flat = x[0, :3, :3, None]
    return deep + lax.conv_general_dilated(x, flat, (1, 1), "SAME", feature_group_count=16, **numbered)


MADE_AT_CALLS = {
    "pools": (pool_gradient, {"pool_kernel", "choice_kernel", "choosers_kernel"}),
    "convolutions": (filtered, {"unfold_kernel", "channel_kernel"}),
    "selection": (lambda x: lax.top_k(x, 5), {"selection_kernel"}),
}


@needs_compiler
@compilers
@pytest.mark.parametrize(("name", "dtype"), crossed(MADE_AT_CALLS, ["float32", "bfloat16"]))
def test_kernels_that_are_made_when_they_are_called_compile_and_spill_nothing(compiler, name, dtype):
    if missing(compiler):
        pytest.skip(missing(compiler))
    function, names = MADE_AT_CALLS[name]
    x = IMAGES.astype(dtype)
    with twin():
        module = xla2py.emit(xla2py.from_jax(function, x), "cupy", format=False).load()
        module.main(to_device(x))
        sources = [source for key in names for source in sources_of(getattr(module, key), np.dtype(dtype))]
    usage = compiled(sources, compiler)
    assert len(usage) == len(sources) * len(SOME) >= len(names) * len(SOME)
    assert [one for one in usage if one.spilled_bytes or one.registers > MOST_REGISTERS] == []


def sources_of(kernel, dtype):
    """Return the texts that a kernel of a module was compiled from so far, for arrays of a dtype."""
    if not hasattr(kernel, "kernels"):
        return [kernel(IMAGES.shape, 5, np.dtype(f"int{8 * dtype.itemsize}"), True, True).kernel.code]
    return [
        elementwise_source(one.real, tuple(np.dtype(param.dtype or dtype) for param in one.real.in_params))
        for one in kernel.kernels.values()
    ]


@compilers
def test_what_a_compiler_refuses_is_told(compiler):
    if missing(compiler):
        pytest.skip(missing(compiler))
    with pytest.raises(RuntimeError, match="INFINITE"):
        compiled(['extern "C" __global__ void wrong(float *x) { *x = INFINITE; }'], compiler)

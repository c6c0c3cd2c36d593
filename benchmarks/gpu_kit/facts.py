"""The machine that is measured on, and the facts that only a GPU can tell."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import xla2py
from xla2py.benchmarks.gpu_kit.device import Device, Record


def machine(device: Device, _: str) -> Record:
    """Return the machine that is measured on."""
    found: Record = {"python": platform.python_version(), "numpy": np.__version__, "xla2py": xla2py.__version__}
    found["date"] = time.strftime("%Y-%m-%d")
    found["CUPY_TF32"] = os.environ.get("CUPY_TF32", "0")
    found["jax precision"] = "highest, and default in the last column"  # products of float32, in float32 as CuPy's
    if device.is_twin:
        return found | {"device": "the twin on the CPU"}
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    found |= {"device": properties["name"].decode(), "cupy": cupy.__version__}
    found["cuda"] = cupy.cuda.runtime.runtimeGetVersion()
    found["cuda driver"] = cupy.cuda.runtime.driverGetVersion()
    found["jax"] = "not on this GPU: pip install 'jax[cuda13]'; its times are left out"
    if device.of_jax() is not None:
        import jax

        found["jax"] = f"{jax.__version__} on {device.of_jax()}"
    return found


# What tests without a GPU assume: code on cp, and the value it is taken to have. `captured(f)`: whether f can be;
# `random(3, 4)`: float32 numbers on the device; `host(x)`; `same(x, y)`: but for 1e-3 of the largest number;
# `refused(f)`: the message of the error.
FACTS: dict[str, tuple[str, Any]] = {
    "float32 subnormals are flushed": ("float((cp.float32(1e-39) * cp.ones(1, 'f'))[0])", 0.0),
    "a subnormal float32 equals 0": ("int((cp.asarray(np.array([1e-39], 'f')) == 0)[0])", 1),
    "subnormals are lost on the way to float64": ("float(cp.asarray(np.array([1e-39], 'f')).astype('d')[0])", 0.0),
    "subnormals are kept by where": (
        "int(cp.where(cp.ones(1, '?'), cp.asarray(np.array([1e-39], 'f')), 0).view('i')[0])",
        713624,
    ),
    "300.0 to int8": ("int(cp.full(1, 300, 'f').astype('b')[0])", 44),
    "NaN to int32": ("int(cp.full(1, cp.nan, 'f').astype('i')[0])", 0),
    "1e10 to int32": ("int(cp.full(1, 1e10, 'f').astype('i')[0])", 2**31 - 1),
    "7 // 0": ("int((cp.full(1, 7, 'i') // cp.zeros(1, 'i'))[0])", 0),
    "clip of NaN": ("float(cp.clip(cp.full(1, cp.nan, 'f'), 0, 1)[0])", float("nan")),
    "clip by NaN": ("float(cp.clip(cp.ones(1, 'f'), cp.full(1, cp.nan, 'f'), 3)[0])", 1.0),
    "maximum of NaN": ("float(cp.maximum(cp.full(1, cp.nan, 'f'), 1)[0])", float("nan")),
    "max over NaN": ("float(cp.asarray(np.array([1, np.nan, 2], 'f')).max())", float("nan")),
    "popcount of int8 -1": ("int(cp.bitwise_count(cp.full(1, -1, 'b'))[0])", 1),
    "fmod of 2**62 + 1 by 10": ("int(cp.fmod(cp.full(1, 2**62 + 1, 'l'), cp.full(1, 10, 'l'))[0])", 4),
    "sign of -0.0": ("float(cp.signbit(cp.sign(cp.full(1, -0.0, 'f')))[0])", 0.0),
    "a kernel of scalars alone": (
        "refused(lambda: cp.ElementwiseKernel('int32 a', 'int32 b', 'b = a', 'same')(cp.int32(1)))",
        "Loop size is undecided.",
    ),
    "a letter that a scalar alone has": (
        "refused(lambda: cp.ElementwiseKernel('X x, Y y', 'Y z', 'z = x + y', 'plus')(x, cp.int32(1)))",
        "'Y'",
    ),
    "where of bfloat16": ("cp.where(x > 0, x.astype('bfloat16'), x.astype('bfloat16')).dtype.name", "float32"),
    "a kernel of no elements": (
        "len(cp.ElementwiseKernel('T a', 'T b', 'b = a', 'same')(cp.zeros(0, 'f')))",
        0,
    ),
    "an index on the device": ("float(cp.arange(3, dtype='f')[cp.full((), 1, 'i')])", 1.0),
    "full of a value on the device": ("float(cp.full(2, cp.full((), 3, 'f'))[0])", 3.0),
    "argsort is stable": ("int(cp.argsort(cp.zeros(2048, 'i'), kind='stable')[7])", 7),
    "argsort of nothing": ("len(cp.argsort(cp.zeros(0, 'i'), kind='stable'))", 0),
    "-NaN comes first in a sorted vector": ("int(cp.isnan(cp.sort(cp.asarray(np.array([1, -np.nan], 'f'))))[0])", 1),
    "NaN comes last in a sorted vector": ("int(cp.isnan(cp.sort(cp.asarray(np.array([np.nan, 1], 'f'))))[1])", 1),
    "-NaN comes first in the order of a vector": ("int(cp.argsort(cp.asarray(np.array([1, -np.nan], 'f')))[0])", 1),
    "-NaN comes last in a sorted row": ("int(cp.isnan(cp.sort(cp.asarray(np.array([[-np.nan, 1]], 'f'))))[0, 1])", 1),
    "a comparison with a 0-d array of the host": ("int((cp.ones(1, 'f') < np.array(2.0))[0])", 1),
    "first NaN of argmax": ("int(cp.asarray(np.array([0, np.nan, np.nan, 3], 'f')).argmax())", 1),
    "a sum is captured": ("captured(lambda: x.sum(axis=0))", True),
    "a sort is captured": ("captured(lambda: cp.argsort(x, kind='stable'))", True),
    "8 arrays are joined in a capture": ("captured(lambda: cp.concatenate([x] * 8))", True),
    "9 arrays are joined in a capture": ("captured(lambda: cp.concatenate([x] * 9))", False),
    "a product is captured": ("captured(lambda: x @ x)", False),
    "a transform is captured": ("captured(lambda: cp.fft.rfft(x))", True),
    "a division by 0 in a triangular system": (
        "float(solve_triangular(cp.zeros((1, 1), 'f'), cp.ones((1, 1), 'f'))[0, 0])",
        float("inf"),
    ),
    "a division by 0 in one of a batch": (
        "float(solve_triangular(cp.zeros((2, 1, 1), 'f'), cp.ones((2, 1, 1), 'f'))[1, 0, 0])",
        float("inf"),
    ),
}
# cuSOLVER goes other ways than LAPACK: by Jacobi's method to the eigenvalues of batches, and to the singular values of
# batches of up to 32 by 32. It has to get there also where the squares of entries are no float32.
_SOLVERS = {
    "eigenvalues": ("random(40, 40)", "same(cp.linalg.eigvalsh(a), np.linalg.eigvalsh(host(a)))"),
    "eigenvalues of a batch": ("random(3, 40, 40)", "same(cp.linalg.eigvalsh(a), np.linalg.eigvalsh(host(a)))"),
    "eigenvectors of a batch": ("random(3, 9, 9)", "(lambda v: same(v.mT @ v, cp.eye(9)))(cp.linalg.eigh(a)[1])"),
    "singular values": ("random(30, 40)", "same(cp.linalg.svd(a, compute_uv=False), np.linalg.svdvals(host(a)))"),
    "singular values of a batch": (
        "random(3, 30, 40)",
        "same(cp.linalg.svd(a, compute_uv=False), np.linalg.svdvals(host(a)))",
    ),
    "singular vectors of a small batch": (
        "random(3, 5, 7)",
        "(lambda u, s, vh: same(u @ (s[..., None] * vh), a))(*cp.linalg.svd(a, full_matrices=False))",
    ),
    "QR of a batch": (
        "random(3, 9, 5)",
        "same(abs(cp.triu(cp.linalg.qr(a, 'raw')[0].mT)[:, :5]), abs(np.linalg.qr(host(a), 'r')))",
    ),
}
FACTS |= {
    f"{name}{of}": (f"(lambda a: {code})({matrix} * np.float32({scale}))", True)
    for name, (matrix, code) in _SOLVERS.items()
    for of, scale in {"": 1, " of tiny numbers": 1e-30, " of huge numbers": 1e30}.items()
}


def fact(device: Device, name: str) -> Record:
    """Return what was assumed and what is true."""
    code, assumed = FACTS[name]
    with device.active() as cp:
        value = _evaluated(code, cp, device)
    same = value == assumed or (value != value and assumed != assumed)
    return {"assumed": repr(assumed), "found": repr(value), "as assumed": bool(same)}


def _evaluated(code: str, cp: Any, device: Device) -> Any:
    """The value on the host; the twin refuses to wait, so its values are read past it."""

    def host(x: Any) -> Any:
        return x.on_host if device.is_twin else cp.asnumpy(x)

    def number(kind: type) -> Callable[[Any], Any]:
        return lambda value: kind(host(value))

    def random(*shape: int) -> Any:
        return cp.asarray(np.random.default_rng(1).normal(size=shape).astype(np.float32))

    def same(x: Any, y: Any) -> bool:
        one, two = (value if isinstance(value, np.ndarray) else host(value) for value in (x, y))
        return bool((abs(one - two) <= 1e-3 * abs(two).max()).all())

    from cupyx.scipy.linalg import solve_triangular

    names = {"cp": cp, "np": np, "float": number(float), "int": number(int), "host": host, "random": random}
    names |= {"same": same, "x": cp.ones((4, 4), dtype="f"), "solve_triangular": solve_triangular}
    names |= {"refused": _refusal}
    return eval(code, names | {"captured": lambda function: _is_captured(cp, function)})


def _refusal(function: Callable[[], Any]) -> str:
    """What CuPy says to a call that it refuses."""
    try:
        function()
    except Exception as error:
        return str(error)
    return ""


def _is_captured(cp: Any, function: Callable[[], Any]) -> bool:
    """Tell whether CuPy lets a stream be captured while a function works on it."""
    pool, stream, before = cp.cuda.MemoryPool(), cp.cuda.Stream(non_blocking=True), cp.cuda.get_current_stream()
    stream.wait_event(before.record())
    try:
        with stream, cp.cuda.using_allocator(pool.malloc):
            function()
            stream.begin_capture()
            try:
                function()
            finally:
                stream.end_capture()
    except Exception:
        return False
    finally:
        before.wait_event(stream.record())
    return True

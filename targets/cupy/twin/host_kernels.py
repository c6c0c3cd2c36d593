"""The kernels of emitted modules on the CPU: their C++ is compiled with g++, and their threads run in several orders.

``ElementwiseKernel`` loops over the elements, forwards and backwards. ``RawKernel`` gives every CUDA thread of a block
its own stack (``hostcuda.h``), so that barriers, shuffles and atomics work as on a device. A result that depends on the
order is an error: a barrier is missing, or two threads write to the same place. A write outside of an array is an error
too. CuPy's own code reads the parameter lists and types.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from ....transpile.errors import Diagnostic, UsageError
from . import graphs
from .differences import empty

HEADER = Path(__file__).with_name("hostcuda.h")
COMPILER = shutil.which("g++")
FLAGS = (
    *("-O1", "-w", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC"),
    # g++ takes longer for libraries, exceptions and code at exit, which no kernel uses, than for a kernel.
    *("-std=c++14", "-fno-exceptions", "-nodefaultlibs", "-nostartfiles", "-fno-use-linker-plugin"),
)
LIBRARIES = ("-lm", "-lgcc", "-lc")
ORDERS = (0, 1, 2)  # of threads: as numbered, and two others
_C_TYPES = {
    "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
}


# Names that a kernel cannot have, since CuPy declares it ``extern "C"``.
_MATHEMATICS = frozenset(
    "exp exp2 exp10 expm1 log log2 log10 log1p sqrt rsqrt cbrt rcbrt hypot sin cos tan asin acos atan atan2 sinh cosh "
    "tanh asinh acosh atanh pow erf erfc erfinv erfcinv erfcx normcdf normcdfinv lgamma tgamma fma fmod floor "
    "remainder ceil trunc round rint fabs fmin fmax abs min max copysign ldexp j0 j1 y0 y1".split()
)

_HEADERS = re.compile(r"#include <cupy/\w+\.cuh>")  # hostcuda.h replaces them


class OrderMatters(AssertionError):
    """The result of a kernel depends on the order of its threads."""


@cache
def compiled(source: str) -> ctypes.CDLL:
    """Return the shared library of C++ source, from a cache folder if it was compiled before. Raises UsageError (XP465)
    without g++.
    """
    if COMPILER is None:
        raise UsageError(Diagnostic("XP465", "g++ is not installed, which compiles kernels where there is no GPU"))
    folder = Path(tempfile.gettempdir()) / f"xla2py-host-kernels-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    key = hashlib.sha256("\n".join([source, HEADER.read_text("utf-8"), *FLAGS]).encode()).hexdigest()[:32]
    library = folder / f"{key}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            file, built = Path(work) / "kernel.cpp", Path(work) / "kernel.so"
            file.write_text(_HEADERS.sub("", source), encoding="utf-8")
            header = _header(folder, "complex" in source)
            command = [COMPILER, *FLAGS, "-include", str(header), "-o", str(built), str(file), *LIBRARIES]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode:
                raise RuntimeError(f"g++ refuses a kernel:\n{result.stderr[:2000]}\n{source}")
            built.replace(library)
    return ctypes.CDLL(str(library))


@cache
def _header(folder: Path, has_complex: bool) -> Path:
    """Return the path of a copy of the header with its precompiled form beside it, which makes g++ five times as
    fast. Few kernels have complex numbers.
    """
    assert COMPILER is not None
    text = "#define HOSTCUDA_COMPLEX\n" * has_complex + HEADER.read_text("utf-8")
    copy = folder / f"hostcuda-{hashlib.sha256(text.encode()).hexdigest()[:16]}.h"
    precompiled = copy.with_suffix(".h.gch")
    if not precompiled.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            made = Path(work) / "made.gch"
            copy.write_text(text, encoding="utf-8")
            subprocess.run([COMPILER, *FLAGS, "-x", "c++-header", "-o", str(made), str(copy)], check=True)
            made.replace(precompiled)
    return copy


class ElementwiseKernel:
    """A replacement for ``cupy.ElementwiseKernel``."""

    def __init__(self, in_params: str, out_params: str, operation: str, name: str = "kernel", **options: Any) -> None:
        assert name not in _MATHEMATICS, f"NVRTC refuses a kernel that is called {name}, as a function of C is"
        self.real = cupy.ElementwiseKernel(in_params, out_params, operation, name, **options)
        self.params = (*self.real.in_params, *self.real.out_params)
        self.operation, self.name, self.preamble = operation, name, options.get("preamble", "")

    def __call__(self, *arguments: Any, size: int | None = None, block_size: int = 128) -> Any:
        from .device_array import DeviceArray, operand

        count = self.real.nin
        if len(arguments) not in (count, self.real.nargs):
            raise TypeError(f"{self.name} takes {count} arguments")
        values = [
            _size(param, each) if isinstance(each, int) else operand(each)
            for param, each in zip(self.params, arguments, strict=False)
        ]
        for value in values:
            if not isinstance(value, np.ndarray | np.generic):
                raise TypeError(f"{self.name} of a bare {type(value).__name__}")
        given_out = values[count:]
        # Letters are type variables: arrays determine them, and a number is converted to the type of its letter.
        are_arrays = [isinstance(each, DeviceArray) for each in arguments]
        types = tuple(value.dtype if is_array else None for value, is_array in zip(values, are_arrays, strict=True))
        in_types, out_types, _ = self.real._decide_params_type(types[:count], types[count:])
        raw = [param.raw for param in self.params]
        orders = ORDERS[:1] if any(raw[count:]) else ORDERS[:2]  # a raw output may depend on the order
        shapes = [
            np.shape(value)
            for value, is_raw, is_array in zip(values, raw, are_arrays, strict=False)
            if is_array and not is_raw
        ]
        if bool(shapes) == (size is not None):
            raise ValueError(
                "Loop size is undecided."
                if size is None
                else "Specified 'size' can be used only if all of the ndarray are 'raw'."
            )
        shape = np.broadcast_shapes(*shapes) if size is None else (size,)

        def compute() -> list[np.ndarray]:
            inputs = [
                np.ascontiguousarray(value if is_raw else np.broadcast_to(value, shape), dtype)
                for value, is_raw, dtype in zip(values, raw, in_types, strict=False)
            ]
            results = []
            for order in orders:
                outputs = [
                    np.ascontiguousarray(given_out[k]).copy() if given_out else empty(shape, dtype)
                    for k, dtype in enumerate(out_types)
                ]
                self._run(int(np.prod(shape)), [*inputs, *outputs], (*in_types, *out_types), order)
                results.append(outputs)
            _agree(results, self.name)
            for target, made in zip(given_out, results[0], strict=False):
                target[...] = made
            return given_out or results[0]

        name, written = f"{self.name} of {in_types}", given_out or None
        made_arrays = [DeviceArray(made) for made in graphs.work(name, compute, values[:count], written)]
        return made_arrays[0] if len(made_arrays) == 1 else tuple(made_arrays)

    def _run(self, n: int, arrays: list[np.ndarray], types: tuple[np.dtype[Any], ...], order: int) -> None:
        library = compiled(self.source(types))
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
        sizes = [ctypes.c_longlong(array.size) for array in arrays]
        is_outside = library.run(ctypes.c_longlong(n), ctypes.c_int(order), *pointers, *sizes)
        assert not is_outside, f"{self.name} reads or writes beside an array"

    def source(self, types: tuple[np.dtype[Any], ...]) -> str:
        """Return C++ with a loop around the operation, and the type letters defined.

        Names of the loop begin with an underscore, as no parameter's name does.
        """
        _require_headers(f"{self.preamble}{self.operation}", [dtype.name for dtype in types])
        letters = {}
        pointers, sizes, elements, raws = [], [], [], []
        for k, (param, dtype) in enumerate(zip(self.params, types, strict=True)):
            kind = _C_TYPES[dtype.name]
            if param.dtype is None:
                letters[param.ctype] = kind
            pointers.append(f"{kind} *_pointer_{k}")
            sizes.append(f"long long _size_{k}")
            if param.raw:
                raws.append(f"Raw<{kind}> {param.name}{{_pointer_{k}, _size_{k}}};")
            else:
                const = "const " if param.is_const else ""
                elements.append(f"{const}{kind} &{param.name} = _pointer_{k}[i];")
        typedefs = "".join(f"typedef {kind} {letter};\n" for letter, kind in sorted(letters.items()))
        return (
            f"{typedefs}{self.preamble}\n"
            f'extern "C" int run(long long n, int _order, {", ".join(pointers + sizes)}) {{\n'
            f"  is_read_outside = false;\n  {_flushing(dtype.name for dtype in types)}{' '.join(raws)}\n"
            "  for (long long _at = 0; _at < n; _at++) {\n"
            f"    long long i = _order ? n - 1 - _at : _at;\n    {' '.join(elements)}\n"
            f"    {{ {self.operation}; }}\n  }}\n  return is_read_outside;\n}}\n"
        )


def _require_headers(text: str, dtypes: Sequence[str]) -> None:
    """Raise AssertionError if a kernel uses a 16-bit float without its header. CuPy includes the header of each
    argument type.
    """
    code = re.sub("//.*", "", text)
    for name in ("float16", "bfloat16"):
        is_there = name in dtypes or f"cupy/{name}.cuh" in code
        assert is_there or not re.search(rf"\b{name}\b", code), f"NVRTC does not know {name} in\n{text}"


def _size(param: Any, number: int) -> Any:
    """Return an integer argument of a kernel in the type of its parameter, or as it is if the parameter has no fixed
    type.
    """
    return number if param.dtype is None or param.raw else np.dtype(param.dtype).type(number)


def _flushing(dtypes: Iterable[str]) -> str:
    """Return the statement by which a kernel flushes subnormals. A GPU does not flush those of float64, but a CPU can
    only flush both or none.
    """
    return "" if {"float64", "complex128"} & set(dtypes) else "Flushing flushing; "


def _agree(results: list[list[np.ndarray]], name: str, *, are_sums: bool = False) -> None:
    """Raise OrderMatters if results differ. Sums by atomic functions may differ by rounding."""
    first, *others = results
    for other in others:
        for one, two in zip(first, other, strict=True):
            is_close = are_sums and np.allclose(one, two, 1e-4, 1e-4 * np.abs(one).max(initial=0), equal_nan=True)
            if one.tobytes() != two.tobytes() and not is_close:
                raise OrderMatters(f"{name} gives another result when its threads run in another order")


class _Fenced:
    """A copy of an array between two fences of bytes that must not change. Read as floats they are NaN, different for
    each array.
    """

    FENCE = 1024  # bytes

    def __init__(self, array: np.ndarray, number: int) -> None:
        self.fence = np.tile(np.array([0xF0 + number % 15, 0xFF], np.uint8), self.FENCE // 2)
        self.memory = np.concatenate([self.fence, np.empty(array.nbytes, np.uint8), self.fence])
        self.array = self.memory[self.FENCE : self.FENCE + array.nbytes].view(array.dtype).reshape(array.shape)
        self.array[...] = array

    @property
    def is_whole(self) -> bool:
        around = self.memory[: self.FENCE], self.memory[-self.FENCE :]
        return all(np.array_equal(part, self.fence) for part in around)


class RawKernel:
    """A replacement for ``cupy.RawKernel``, called with a grid, a block, and arrays and numbers of C types."""

    def __init__(self, code: str, name: str, **options: Any) -> None:
        self.code, self.name, self.options = code, name, options
        self.signature = _parameters(code, name)

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Any, shared_mem: int = 0) -> None:
        from .device_array import DeviceArray

        if len(arguments) != len(self.signature):
            raise TypeError(f"{self.name} takes {len(self.signature)} arguments")
        arrays = [each.on_host for each in arguments if isinstance(each, DeviceArray)]
        for array in arrays:
            assert array.flags.c_contiguous, f"{self.name} ignores strides"
        assert all(grid), f"{self.name}: CUDA refuses a grid of no blocks"
        assert 0 < np.prod(block) <= 1024, f"{self.name}: CUDA refuses a block of {block}"

        def compute() -> None:
            results = []
            for order in ORDERS:
                fenced = iter([_Fenced(array, number) for number, array in enumerate(arrays)])
                given = [next(fenced) if isinstance(each, DeviceArray) else each for each in arguments]
                self._launch(grid, block, given, shared_mem, order)
                made = [each for each in given if isinstance(each, _Fenced)]
                assert all(each.is_whole for each in made), f"{self.name} writes beside an array"
                results.append([each.array for each in made])
            _agree(results, self.name, are_sums="atomicAdd" in self.code)
            for array, new in zip(arrays, results[0], strict=True):
                array[...] = new

        is_read = ["const" in kind for kind, is_pointer in self.signature if is_pointer]
        reads = [array for array, only in zip(arrays, is_read, strict=True) if only]
        graphs.work(self.name, compute, reads, [a for a, only in zip(arrays, is_read, strict=True) if not only])

    def _launch(
        self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Any, shared_mem: int, order: int
    ) -> None:
        library = compiled(self.source())
        sizes = [ctypes.c_int(size) for triple in (grid, block) for size in (*triple, 1, 1)[:3]]
        values: list[Any] = []
        for (kind, is_pointer), each in zip(self.signature, arguments, strict=True):
            if is_pointer:
                assert isinstance(each, _Fenced), f"{self.name} wants an array"
                wanted, given = _ELEMENTS[kind.replace("const", "").strip()], each.array.dtype
                assert given.name == wanted, f"{self.name} wants {wanted}, and gets {given}"
                values.append(each.array.ctypes.data_as(ctypes.c_void_p))
            else:
                values.append(_NUMBERS[kind.replace("const", "").strip()](each))
        if library.launch(*sizes, ctypes.c_int(shared_mem), ctypes.c_int(order), *values):
            raise OrderMatters(f"the threads of {self.name} wait at different barriers")

    def _dtypes(self) -> list[str]:
        """Return the dtypes of the parameters that are arrays."""
        return [_ELEMENTS[kind.replace("const", "").strip()] for kind, is_pointer in self.signature if is_pointer]

    def source(self) -> str:
        """Return the kernel as a C++ function that a scheduler calls for each thread."""
        code = re.sub(r'extern\s+"C"\s+__global__\s+void(\s+__launch_bounds__\([^)]*\))?', "static void", self.code)
        code = re.sub(r"extern\s+__shared__\s+(\w+)\s+(\w+)\[\];", r"\1 *\2 = (\1 *)hostcuda_dynamic_shared;", code)
        parameters = [f"{kind} {'*' if is_pointer else ''}a{k}" for k, (kind, is_pointer) in enumerate(self.signature)]
        names = ", ".join(f"a{k}" for k in range(len(self.signature)))
        return (
            f"{code}\n"
            'extern "C" int launch(int gx, int gy, int gz, int bx, int by, int bz, int shared, int seed, '
            f"{', '.join(parameters)}) {{\n"
            f"  {_flushing(self._dtypes())}\n"
            f"  return hostcuda_launch(gx, gy, gz, bx, by, bz, shared, seed, [=] {{ {self.name}({names}); }});\n}}\n"
        )


_ELEMENTS = {
    "bool": "bool",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned": "uint32",
    "long long": "int64",
    "unsigned long long": "uint64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "complex<float>": "complex64",
    "complex<double>": "complex128",
}
_NUMBERS: dict[str, Any] = {
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "long long": ctypes.c_longlong,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}


def _parameters(code: str, name: str) -> list[tuple[str, bool]]:
    """Return (type, is a pointer) of each parameter of a kernel."""
    found = re.search(rf"__global__[^;{{]*?\b{re.escape(name)}\s*\(([^)]*)\)", code)
    assert found, f"no kernel is called {name}"
    parameters = []
    for text in filter(None, (part.strip() for part in found[1].split(","))):
        kind, _ = re.fullmatch(r"(.*?[\s*])(\w+)", text, re.DOTALL).groups()  # type: ignore[union-attr]
        parameters.append((kind.replace("*", "").replace("__restrict__", "").strip(), "*" in kind))
    return parameters


KINDS = {"ElementwiseKernel": ElementwiseKernel, "RawKernel": RawKernel}

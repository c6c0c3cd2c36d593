"""Kernels compiled for GPUs, without one: CuPy's own source of them through NVRTC, the compiler that CuPy calls, or
nvcc, and what ptxas says of the result.

NVRTC is in the wheel nvidia-cuda-nvrtc, installed beside CuPy or on ``LD_LIBRARY_PATH``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from cupy._core import _carray, _kernel, core
from cupy_backends.cuda.libs import nvrtc

from xla2py.tests.whole import much

NVCC = shutil.which("nvcc")
ARCHITECTURES = ("80", "90", "100")
SOME = much(("90",), ARCHITECTURES)
HEADERS = (*core._cupy_header_list, "cupy/float16.cuh", "cupy/bfloat16.cuh")


@dataclass(frozen=True)
class Usage:
    """What a thread of a kernel takes, on one architecture."""

    kernel: str
    registers: int
    spilled_bytes: int


def _nvrtc(text: str, architectures: Sequence[str]) -> str:
    """What NVRTC says of a program, with the options that CuPy gives it. Raises RuntimeError where it refuses it."""
    said = []
    for architecture in architectures:
        options = (*core.assemble_cupy_compiler_options(()), "-ftz=true", f"-arch=sm_{architecture}")
        program = nvrtc.createProgram(text, "kernels.cu", (), ())
        try:
            nvrtc.compileProgram(program, (*options, "--device-as-default-execution-space", "--ptxas-options=-v"))
        except nvrtc.NVRTCError as error:
            raise RuntimeError(nvrtc.getProgramLog(program)) from error
        else:
            said.append(nvrtc.getProgramLog(program))
        finally:
            nvrtc.destroyProgram(program)
    return "".join(said)


def _nvcc(text: str, architectures: Sequence[str]) -> str:
    """What nvcc says of a program. Raises RuntimeError where it refuses it."""
    if NVCC is None:
        raise RuntimeError("nvcc is not installed")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernels.cu"
        file.write_text(text, encoding="utf-8")
        includes = [part for part in core.assemble_cupy_compiler_options(()) if part.startswith("-I")]
        command = [NVCC, "-fatbin", "-std=c++17", "-ftz=true", "-Xptxas", "-v", *includes]
        for architecture in architectures:
            command += ["-gencode", f"arch=compute_{architecture},code=sm_{architecture}"]
        command += ["-o", str(Path(folder) / "kernels.fatbin"), str(file)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(result.stderr)
    return result.stderr


COMPILERS: dict[str, Callable[[str, Sequence[str]], str]] = {"nvrtc": _nvrtc, "nvcc": _nvcc}


@cache
def missing(compiler: str) -> str:
    """Why a compiler cannot compile kernels here; nothing if it can."""
    try:
        compiled(['extern "C" __global__ void nothing(float *x) { *x = 1.0f; }'], compiler)
    except Exception as error:  # also what the search for NVRTC's library raises
        return f"{compiler} cannot compile kernels here: {' '.join(str(error).split())[:200]}"
    return ""


def elementwise_source(kernel: Any, dtypes: tuple[np.dtype[Any], ...]) -> str:
    """The CUDA C++ that CuPy makes of an ``ElementwiseKernel`` for vectors of these dtypes, without its headers."""
    types_in, types_out, type_map = kernel._decide_params_type(dtypes, ())
    infos = [_kernel._ArgInfo(1, cupy.ndarray, np.dtype(t), 1, True, True) for t in (*types_in, *types_out)]
    infos.append(_kernel._ArgInfo(2, _carray.Indexer, None, 1, True, True))
    return str(
        _kernel._get_elementwise_kernel_code(
            tuple(infos), type_map, kernel.params, kernel.operation, kernel.name, kernel.preamble, "", ""
        )
    )


def compiled(sources: Iterable[str], compiler: str, architectures: Sequence[str] = SOME) -> list[Usage]:
    """Compile kernels together, for some architectures. Raises RuntimeError with what the compiler says."""
    text = "".join(f"#include <{header}>\n" for header in HEADERS)
    text += "".join(f"namespace kernel_{k} {{\n{source}\n}}\n" for k, source in enumerate(sources))
    usage = r"entry function '(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers"
    said = re.findall(usage, COMPILERS[compiler](text, architectures), re.DOTALL)
    return [Usage(name, int(registers), int(spilled)) for name, spilled, registers in said]

"""Kernels compiled for GPUs, without one: CuPy's own source of them through nvcc, and what ptxas says of the result."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from cupy._core import _carray, _kernel, core

COMPILER = shutil.which("nvcc")
ARCHITECTURES = ("80", "90")


@dataclass(frozen=True)
class Usage:
    """What a thread of a kernel takes, on one architecture."""

    kernel: str
    registers: int
    spilled_bytes: int


@cache
def missing() -> str:
    """Why kernels cannot be compiled here; nothing if they can."""
    if COMPILER is None:
        return "nvcc is not installed"
    try:
        compiled(['extern "C" __global__ void nothing(float *x) { *x = 1.0f; }'])
    except RuntimeError as error:
        return f"nvcc cannot compile CuPy's headers here: {str(error)[:200]}"
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


def compiled(sources: Iterable[str]) -> list[Usage]:
    """Compile kernels together, for all architectures. Raises RuntimeError with what nvcc says."""
    assert COMPILER is not None
    text = "".join(f"#include <{header}>\n" for header in core._cupy_header_list)
    text += "".join(f"namespace kernel_{k} {{\n{source}\n}}\n" for k, source in enumerate(sources))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernels.cu"
        file.write_text(text, encoding="utf-8")
        includes = [part for part in core.assemble_cupy_compiler_options(()) if part.startswith("-I")]
        command = [COMPILER, "-fatbin", "-std=c++17", "-ftz=true", "-Xptxas", "-v", *includes]
        for architecture in ARCHITECTURES:
            command += ["-gencode", f"arch=compute_{architecture},code=sm_{architecture}"]
        command += ["-o", str(Path(folder) / "kernels.fatbin"), str(file)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(result.stderr)
    said = re.findall(
        r"entry function '(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers", result.stderr, re.DOTALL
    )
    return [Usage(name, int(registers), int(spilled)) for name, spilled, registers in said]

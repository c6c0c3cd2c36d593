"""XLA on the CPU, through jaxlib, as the reference for HLO programs.

This is the only module that uses jaxlib's private names: :data:`JAXLIB_NAMES` lists them all, and :func:`missing_names`
returns those that the installed jaxlib lacks. jax is imported on first use only.

Malformed HLO can abort the process inside XLA: run text that was not verified through
:func:`.xla_process.run_hlo_in_child`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from ...hlo.carriers import Array
from ...hlo.element_types import from_dtype
from ...hlo.parser import parse_module
from ...hlo.printer import print_module
from ...hlo.source import Diagnostic, SourceText, XlaToPythonError
from .plain_interface import from_plain, leaf_types, to_plain, with_plain_interface
from .reference_rewrites import needs_rewrite, rewrite_for_xla

CompiledHlo = Callable[..., list[Array]]

OPTIONS: dict[str, bool | int] = {"xla_allow_excess_precision": False}  # XLA's options that are not its defaults

JAXLIB_NAMES: dict[str, str] = {
    "parse": "jaxlib._hlo.hlo_module_from_text",
    "to_stablehlo": "jaxlib._jax.mlir.hlo_to_stablehlo",
    "compile_options": "jaxlib.xla_client.CompileOptions",
    "device_assignment": "jaxlib.xla_client.DeviceAssignment",
    "device_list": "jaxlib.xla_client.DeviceList",
    "initialize_lapack": "jaxlib.lapack._lapack.initialize",
    "eval_module": "jaxlib.mlir.dialects.stablehlo.eval_module",
    "ir": "jaxlib.mlir.ir",
    "make_ir_context": "jax._src.interpreters.mlir.make_ir_context",
    "dtype_to_ir_type": "jax._src.interpreters.mlir.dtype_to_ir_type",
    "enable_x64": "jax.enable_x64",
}


def missing_names() -> list[str]:
    """Return the dotted names that this adapter needs and the installed jax and jaxlib lack."""
    return [name for name in JAXLIB_NAMES.values() if _resolve(name) is None]


def compile_hlo(text: str) -> CompiledHlo:
    """Compile HLO text for the CPU; return a function from the flattened parameters to the flattened results.

    Tuple parameters and tuple results are flattened in order. Values are rounded after every instruction (excess
    precision off), 64-bit types stay 64 bits wide. Optimised modules are rewritten first (see
    :mod:`.reference_rewrites`). Raises ``XlaToPythonError`` XP460 if jax is not installed and XP461 if XLA refuses the
    program.
    """
    jax = _jax()
    device = jax.devices("cpu")[0]
    executable = _compile(text, [device], replicas=1, partitions=1)

    def run(*arrays: Array) -> list[Array]:
        with _refusals(text), _name("enable_x64")(True):
            buffers = [jax.device_put(array, device) for array in arrays]
            return [np.asarray(result) for result in executable.execute(buffers)]

    return run


def run_hlo(text: str, *arrays: Array) -> list[Array]:
    """Compile and run HLO text once; see :func:`compile_hlo`."""
    return compile_hlo(text)(*arrays)


def run_hlo_on_devices(text: str, inputs: Sequence[Sequence[Array]], partitions: int = 1) -> list[list[Array]]:
    """Run one program on several CPU devices at once; see :func:`compile_hlo`.

    ``inputs[i]`` are the flattened parameters of device ``i``; the results have the same order. Replica ``r``,
    partition ``p`` is device ``r * partitions + p``. The process must have started with as many devices
    (``XLA_FLAGS=--xla_force_host_platform_device_count=N``), else ``XlaToPythonError`` XP464 is raised.
    """
    jax = _jax()
    devices = jax.devices("cpu")[: len(inputs)]
    if len(devices) < len(inputs):
        raise XlaToPythonError(
            Diagnostic("XP464", f"the program needs {len(inputs)} CPU devices, XLA has {len(devices)}")
        )
    executable = _compile(text, devices, len(inputs) // partitions, partitions)
    sharding = jax.sharding
    everywhere = sharding.NamedSharding(sharding.Mesh(np.array(devices), "device"), sharding.PartitionSpec())
    with _refusals(text), _name("enable_x64")(True):
        arguments = [
            jax.make_array_from_single_device_arrays(
                parts[0].shape, everywhere, [jax.device_put(*pair) for pair in zip(parts, devices, strict=True)]
            )
            for parts in zip(*inputs, strict=True)
        ]
        results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        return [[np.asarray(parts[i]) for parts in results] for i in range(len(inputs))]


def interpret_hlo(text: str, *arrays: Array) -> list[Array]:
    """Run HLO text in StableHLO's reference interpreter: an independent implementation, but slow, so for small inputs
    only.

    Inputs, results and errors are those of :func:`run_hlo`. The interpreter may abort the process on operations that it
    does not support.
    """
    module = rewrite_for_xla(parse_module(text))
    inputs = [
        part
        for array in arrays
        for part in to_plain(np.ascontiguousarray(array).reshape(array.shape), from_dtype(array.dtype))
    ]
    ir, mlir_type = _name("ir"), _name("dtype_to_ir_type")
    with _refusals(text), _name("make_ir_context")(), ir.Location.unknown():
        program = ir.Module.parse(_stablehlo(print_module(with_plain_interface(module))))
        values = [ir.DenseElementsAttr.get(array, type=mlir_type(array.dtype), shape=array.shape) for array in inputs]
        results = [np.array(ir.DenseElementsAttr(result)) for result in _name("eval_module")(program, values)]
    return from_plain(results, leaf_types(module.entry.root.shape))


def _compile(text: str, devices: list[Any], replicas: int, partitions: int) -> Any:
    options = _name("compile_options")()
    options.env_option_overrides = list(OPTIONS.items())
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = replicas
    options.num_partitions = build.num_partitions = partitions
    assignment = _name("device_assignment").create(np.arange(len(devices)).reshape(replicas, partitions))
    options.device_assignment = build.device_assignment = assignment
    build.use_spmd_partitioning = partitions > 1
    _initialize_lapack()
    plain = print_module(rewrite_for_xla(parse_module(text))) if needs_rewrite(text) else text
    with _refusals(text):
        return devices[0].client.compile_and_load(_stablehlo(plain), _name("device_list")(tuple(devices)), options)


def _stablehlo(text: str) -> bytes:
    code: bytes = _name("to_stablehlo")(_name("parse")(text).as_serialized_hlo_module_proto())
    return code


def _resolve(dotted: str) -> Any:
    """Return the object of a dotted name, or ``None``."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found
    return None


@cache
def _name(key: str) -> Any:
    found = _resolve(JAXLIB_NAMES[key])
    if found is None:
        raise XlaToPythonError(
            Diagnostic(
                "XP460",
                f"the XLA reference needs {JAXLIB_NAMES[key]}, which the installed jaxlib does not have",
                hint="pip install 'jax>=0.10' 'jaxlib>=0.10'",
            )
        )
    return found


def _jax() -> Any:
    try:
        return importlib.import_module("jax")
    except ImportError as error:
        raise XlaToPythonError(
            Diagnostic("XP460", "the XLA reference needs jax, which is not installed", hint="pip install 'xla2py[jax]'")
        ) from error


@cache
def _initialize_lapack() -> None:
    """Register the functions of the ``lapack_*`` custom calls; without them, XLA calls a null pointer."""
    _name("initialize_lapack")()


@contextmanager
def _refusals(text: str) -> Iterator[None]:
    """Turn XLA's exceptions in the context into a coded error."""
    try:
        yield
    except XlaToPythonError:
        raise
    except Exception as error:
        message = str(error).strip() or type(error).__name__
        source = SourceText(text, "<hlo>")
        raise XlaToPythonError(Diagnostic("XP461", f"XLA refuses the program: {message}", source=source)) from error

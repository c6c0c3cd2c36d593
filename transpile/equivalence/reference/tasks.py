"""The tasks of workers: functions that run in a child process and take and return flat NumPy arrays."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from importlib import import_module
from types import FrameType
from typing import Any, ClassVar

import numpy as np

from ...emission.module.generated import GeneratedModule
from ...hlo.attributes import ReplicaGroups
from ...hlo.carriers import Array
from ...hlo.device_groups import device_count, device_groups, device_pairs
from ...hlo.ir import HloModule, Instruction
from ...hlo.parser import parse_module
from ...hlo.printer import print_module
from ...hlo.shapes import ArrayShape, Shape, without_layouts
from ...target import load_target
from ..verdicts.comparison import flatten
from ..verdicts.subnormals import flushed
from .reference_rewrites import NOTES, Rewriter, rewritten
from .runtime import Runtime
from .xla import CompiledHlo, compile_hlo, interpret_hlo, run_hlo_on_devices

Operands = tuple[Instruction, ...]
_GROUPED = "all-gather all-reduce all-to-all collective-broadcast ragged-all-to-all reduce-scatter".split()


def run_generated(
    generated: GeneratedModule, arguments: Sequence[Any], without_subnormals: bool = False
) -> list[Array]:
    """Load an emitted module and call its ``main``; return the arrays of the result in order, as NumPy arrays.

    ``arguments`` are those of ``main``: NumPy arrays, tuples of them, ``None`` for a token. They are made read-only, so
    code that writes into its arguments fails. ``without_subnormals`` flushes subnormal numbers to zero, as XLA does.
    """
    for _, array in flatten(list(arguments)):
        array.setflags(write=False)
    target = load_target(generated.target)
    arguments = map_arrays(target.library.cut, arguments)
    with flushed() if without_subnormals else nullcontext(), Runtime(target) as runtime:
        results = generated.load(keep_compiled=False).main(*runtime.adopt(list(arguments)))
        return runtime.fetch(target.library.materialise(results, without_subnormals))


def executed_lines(generated: GeneratedModule, arguments: Sequence[Any]) -> frozenset[int]:
    """Return the lines of an emitted module's text that its ``main`` executes for the arguments, in this thread."""
    module = generated.load(keep_compiled=False)
    name, lines = inspect.unwrap(module.main).__code__.co_filename, set[int]()

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            lines.add(frame.f_lineno)
        return local

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename == name else None

    before = sys.gettrace()
    with Runtime(load_target(generated.target)) as runtime, flushed(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adopted = runtime.adopt(list(arguments))
        sys.settrace(called)
        try:
            module.main(*adopted)
        finally:
            sys.settrace(before)
    return frozenset(lines)


def run_replicas(generated: GeneratedModule, replica_args: Sequence[Sequence[Any]]) -> list[Array]:
    """Load an emitted module for several devices and run them as threads; return the arrays of all, device by device.

    ``replica_args[k]`` are the arguments of device ``k``, as :func:`run_generated` takes those of ``main``.
    """
    for _, array in flatten(list(replica_args)):
        array.setflags(write=False)
    target = load_target(generated.target)
    with Runtime(target.replicas or target) as runtime:
        return runtime.fetch(
            generated.load(keep_compiled=False).run_local([runtime.adopt(list(each)) for each in replica_args])
        )


def run_xla_on_devices(text: str, inputs: Sequence[Sequence[Array]]) -> list[Array]:
    """Run HLO text, the program of one device, on several CPU devices of XLA; return the arrays of all, device by
    device.
    """
    plain = print_module(partitions_as_replicas(parse_module(text)))
    return [array for results in run_hlo_on_devices(plain, inputs) for array in results]


def map_arrays(function: Callable[[Array], Any], value: Any) -> Any:
    """Return the value with every array in its tuples and lists replaced."""
    if isinstance(value, tuple | list):
        return tuple(map_arrays(function, part) for part in value)
    return None if value is None else function(value)


def run_xla(text: str, arguments: Sequence[Array]) -> list[Array]:
    """Run HLO text on XLA's CPU backend; see :func:`.xla.run_hlo`."""
    return _compiled(text)(*arguments)


@lru_cache(maxsize=4)
def _compiled(text: str) -> CompiledHlo:
    return compile_hlo(text)


def run_interpreter(text: str, arguments: Sequence[Array]) -> list[Array]:
    """Run HLO text in StableHLO's interpreter; see :func:`.xla.interpret_hlo`."""
    return interpret_hlo(text, *arguments)


def prepare_numpy() -> None:
    """Import modules whose import would otherwise count for the first program."""
    for name in ("numpy.linalg", "numpy.fft", "ml_dtypes"):
        import_module(name)


def prepare_target(name: str) -> None:
    """Load the library of a target or its twin, which would otherwise count for the first module."""
    prepare_numpy()
    target = load_target(name)
    with Runtime(target):
        target.library.prepare()


def prepare_xla() -> None:
    """Import XLA's dependencies and start its threads."""
    run_xla("HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }\n", [np.zeros((), np.float32)])


# -- programs for several devices


def partitions_as_replicas(module: HloModule) -> HloModule:
    """Return the program of one device, rewritten as by :func:`.reference_rewrites.rewrite_for_xla`, with replicas as
    devices.

    Partition ``p`` of replica ``r`` becomes replica ``r * num_partitions + p``. Remaining shardings are dropped as
    annotations, and a collective in two steps becomes one.
    """
    return rewritten(module, _OfOneDevice(module), {"replica_count": device_count(module)})


class _OfOneDevice(Rewriter):
    def __init__(self, module: HloModule) -> None:
        super().__init__(NOTES | {"sharding", "channel_id", "use_global_device_ids"})
        self.sizes = module.replica_count, module.num_partitions

    def _grouped(self, old: Instruction, operands: Operands) -> Instruction:
        groups = device_groups(old, *self.sizes)
        listed = ",".join("{" + ",".join(map(str, group)) + "}" for group in groups)
        return self._collective(old, operands, replica_groups=ReplicaGroups(groups, "{" + listed + "}"))

    def _permute(self, old: Instruction, operands: Operands) -> Instruction:
        return self._collective(old, operands, source_target_pairs=device_pairs(old, *self.sizes))

    def _collective(self, old: Instruction, operands: Operands, **devices: Any) -> Instruction:
        """Return a collective that runs at once, even if the original only starts it; the instruction that ends it
        forwards the result.
        """
        shape: Shape = old.shape
        if old.opcode in ("all-gather-start", "collective-permute-start"):
            shape = shape.elements[1]  # type: ignore[attr-defined]
        attributes = {key: self._remapped(value) for key, value in old.attributes.items() if key not in self.dropped}
        opcode = old.opcode.removesuffix("-start")
        return self._add(old.name, opcode, without_layouts(shape), operands, **attributes | devices)

    def _partition_id(self, old: Instruction, operands: Operands) -> Instruction:
        return self._number_of_device(old, "remainder")

    def _replica_id(self, old: Instruction, operands: Operands) -> Instruction:
        return self._number_of_device(old, "divide")

    def _number_of_device(self, old: Instruction, opcode: str) -> Instruction:
        device = self._add(f"{old.name}.device", "replica-id", old.shape, ())
        assert isinstance(old.shape, ArrayShape)
        literal = np.array(self.sizes[1], old.shape.element_type.dtype)
        partitions = self._add(f"{old.name}.partitions", "constant", old.shape, (), literal=literal)
        return self._add(old.name, opcode, old.shape, (device, partitions))

    RULES: ClassVar[Mapping[str, Callable[..., Instruction]]] = {
        **Rewriter.RULES,
        **dict.fromkeys([*_GROUPED, "all-gather-start", "all-reduce-start"], _grouped),
        **dict.fromkeys(["collective-permute", "collective-permute-start"], _permute),
        **dict.fromkeys(["all-gather-done", "all-reduce-done", "collective-permute-done"], Rewriter._first_operand),
        "partition-id": _partition_id,
        "replica-id": _replica_id,
    }

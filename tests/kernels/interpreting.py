"""Modules for CuPy whose kernels the interpreter runs, on the twin; or both, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import xla2py
from xla2py.targets.cupy.twin.device_array import DeviceArray, operand
from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.tests.kernels.interpreter import Interpreter
from xla2py.transpile.compilation import compile
from xla2py.transpile.emission.module.generated import GeneratedModule
from xla2py.transpile.emission.module.module_writer import write_module
from xla2py.transpile.equivalence.verdicts.comparison import flatten
from xla2py.transpile.kernels.kernel import Kernel
from xla2py.transpile.options import FAST, Options
from xla2py.transpile.target import load_target

CUPY = load_target("cupy")


class Interpreted:
    """Takes the place of a kernel in a module."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __call__(self, *arguments: Any) -> Any:
        made = [DeviceArray(array) for array in self.interpreter(arguments).run()]
        return made[0] if len(made) == 1 else tuple(made)

    def interpreter(self, arguments: Sequence[Any]) -> Interpreter:
        """The kernel on the arrays of a call; behind these may be others to write into."""
        return Interpreter(self.kernel, [operand(each) for each in arguments[: len(self.kernel.inputs)]])


class Compared(Interpreted):
    """Runs the kernel that it takes the place of, and compares some of its lines or elements with the interpreter."""

    def __init__(self, kernel: Kernel, own: Any, most: int, differ: Any) -> None:
        super().__init__(kernel)
        self.own, self.most, self.differ, self.compared = own, most, differ, 0

    def __call__(self, *arguments: Any) -> Any:
        interpreter = self.interpreter(arguments)
        results = self.own(*arguments)
        numbers = sorted({round(k) for k in np.linspace(0, interpreter.count - 1, self.most)})
        some = interpreter.some(numbers)
        for found, (expected, is_there) in zip(results if isinstance(results, tuple) else [results], some, strict=True):
            if self.kernel.parts == 1:  # which elements a part has, each language decides
                self.compared += int(is_there.sum())
                self.differ(expected[is_there], found.on_host.reshape(expected.shape)[is_there])
        return results


def kernel_module(text: str) -> tuple[GeneratedModule, dict[str, Kernel]]:
    """A module in the style ``fast``, not formatted, and its kernels by name."""
    module = xla2py.load(text) if isinstance(text, str) else text
    compiled = compile(module, CUPY, Options(style=FAST))
    written = write_module(compiled.program, compiled.target, Options(checks="none", style=FAST))
    source = "\n\n\n".join(written.pieces)
    return GeneratedModule(source, "kernels", "cupy", written.constants, (), compiled.program), written.kernels


def by_interpreter(text: str, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a program whose kernels are interpreted."""
    emitted, kernels = kernel_module(text)
    with twin():
        loaded = emitted.load()
        vars(loaded).update((name, Interpreted(kernel)) for name, kernel in kernels.items())
        results = to_host(loaded.main(*to_device(list(arguments))))
    return [array for _, array in flatten(results)]

"""The result of emission: source, constants, and ways to save and to load it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from inspect import unwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ...array.program import Program
from ...dataclass import dataclass
from ...files import write_atomically
from ...hlo.ir import ResultTree
from ...options import LINE_LENGTH
from ...target import Plan, load_target
from ..functions.sidecars import SharedTensors, Sidecar, sidecars, storable
from ..lines import WrittenFunction
from .compiled_functions import is_compiled, kept_module, without_cache
from .helper_modules import HelpersFile, add_helpers, placed, show_lines, with_imports
from .line_map import LineMap, map_lines
from .shared_helpers import names_from, stem


@dataclass(frozen=True, slots=True, repr=False)
class GeneratedModule:
    """An emitted module. ``constants`` are the arrays in files beside it, by name; there are often none.

    ``functions`` says which values of the array dialect each statement computes, in the order of the text, without the
    prelude; :func:`.places.statements` finds the statements in the source. ``sizes`` has the range of each free size of
    a module for any size. ``callbacks`` are the functions that :meth:`load` passes to ``main`` by name, those of a JAX
    function of this process. ``helpers`` are the texts of the helper files beside the module that it imports from, by
    target, those first from which others import; ``line_length`` is their line length. ``shapes`` are the parameter
    shapes of functions that are kernels. ``plan`` describes how the module runs in chunks, if it does. With
    ``has_tensors``, the constants are in a ``.safetensors`` file. ``result_tree`` is the tree that ``main`` returns,
    with the numbers of the results as leaves, and None if it returns a single array or a flat tuple.
    """

    source: str
    name: str
    target: str
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    functions: Sequence[WrittenFunction] = field(default=(), compare=False)
    program: Program | None = field(default=None, compare=False)
    sizes: Mapping[str, range] = field(default_factory=dict)
    callbacks: Mapping[str, Callable[..., Any]] = field(default_factory=dict, compare=False)
    helpers: Mapping[str, str] = field(default_factory=dict)
    line_length: int = LINE_LENGTH  # of the helper files
    shapes: Mapping[str, Mapping[str, Sequence[int]]] = field(default_factory=dict, compare=False)
    plan: Plan | None = field(default=None, compare=False)
    has_tensors: bool = False
    result_tree: ResultTree = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"<GeneratedModule {self.name} for {self.target}: {len(self.source.splitlines())} lines>"

    def _repr_markdown_(self) -> str:
        """Return the highlighted source for notebooks."""
        fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", self.source)), 3)
        return f"{fence}python\n{self.source}{fence}\n"

    def line_map(self) -> LineMap:
        """Return which source lines compute which HLO instructions, and where in your files these come from."""
        return map_lines(self.source, self.functions)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text and the constants only."""
        kept = (self.helpers, self.has_tensors, self.line_length)
        return _restored, (self.source, self.name, self.target, self.constants, *kept)

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the source to ``path``, with constants and helpers beside it; return the files written."""
        path = Path(path)
        files = list(self.sidecars(path))
        for sidecar in files:
            sidecar.write()
        write_atomically(path, self.placed_in(path.parent).source.encode())
        return [path, *(sidecar.path for sidecar in files)]

    def placed_in(self, folder: Path) -> GeneratedModule:
        """Return the module for a folder: its imports of helpers are relative only in a package."""
        return replace(self, source=placed(self.source, self.target, folder))

    def sidecars(self, path: Path) -> Iterator[Sidecar | SharedTensors | HelpersFile]:
        """Yield the files with constants and helpers that the module needs beside its source at ``path``."""
        helpers = path.with_name(f"{stem(self.target)}.py") if self.helpers else None
        yield from sidecars(self.constants, path, as_tensors=self.has_tensors, helpers=helpers)
        for target in self.helpers:
            place = path.with_name(f"{stem(target)}.py")
            yield HelpersFile(place, self.names_from(target), target, self.line_length)

    def names_from(self, target: str) -> set[str]:
        """Return the names that the module, and its other helper files, import from the helper file of a target."""
        return names_from([self.source, *self.helpers.values()], target)

    def load(self, *, keep_compiled: bool = True) -> ModuleType:
        """Return the module, imported from memory. Tracebacks and debuggers show its lines.

        A module with compiled functions is first written to a file in the user's cache, so that other processes need
        not compile them again. It is not if ``keep_compiled`` is false, or if the module is for arrays in chunks: its
        functions are sent to workers, which would not find the file.
        """
        keep_compiled = keep_compiled and is_compiled(self.source) and load_target(self.target).arrange is None
        if keep_compiled:
            module = kept_module(self.name, self.source)
        else:
            module = ModuleType(self.name)
            module.__file__ = f"<xla2py generated {self.name} for {self.target} {id(module.__dict__):x}>"
        if self.helpers:
            add_helpers(module, self.helpers)
        source, filename = self.source if keep_compiled else without_cache(self.source), str(module.__file__)
        source = with_imports(source, self.target) if self.helpers else source
        if not keep_compiled:
            show_lines(module.__dict__, filename, source)
        exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)
        if self.callbacks:
            unwrap(module.main).__kwdefaults__.update(self.callbacks)
        if self.constants:
            stored = {name: storable(array) for name, array in self.constants.items()}
            for function in ("constant", "mapped_constant"):
                module.__dict__[function] = lambda name, *_: stored[name]
            module.__dict__["mapped_tensor"] = lambda name, *_: self.constants[name]
        return module

    def as_jax(self, *, gradient: GeneratedModule | None = None) -> Callable[..., Any]:
        """Return ``main`` as a function of JAX: it works in ``jax.jit`` and ``jax.vmap``, and runs on the host.

        XLA calls it directly, without Python if ``main`` only passes arrays to compiled functions. Arguments and
        results are those of ``main``, of any target whose arrays NumPy can read. ``jax.vmap`` calls it once for each
        element. ``gradient`` is the emitted module of a function of the arguments and the cotangents of the results,
        which returns a tuple with the cotangent of each argument; with it, ``jax.grad`` works, too. Raises
        ``UsageError`` without JAX (XP430), and if the shapes of the results are unknown (XP726): for a module for any
        size or for several devices, or from another process.
        """
        from .inside_jax import function_of_jax

        return function_of_jax(self, gradient)


def _restored(
    source: str,
    name: str,
    target: str,
    constants: dict[str, np.ndarray],
    helpers: dict[str, str],
    has_tensors: bool,
    line_length: int,
) -> GeneratedModule:
    return GeneratedModule(
        source, name, target, constants, helpers=helpers, has_tensors=has_tensors, line_length=line_length
    )

"""An emitted module as a function of JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...array.node import Node
from ...array.program import Program
from ...array.result_trees import mapped
from ...errors import Diagnostic, UsageError
from ...frontends.jax import required_jax
from ...hlo.ir import Built, ResultTree


class Emitted(Protocol):
    """What is asked of a :class:`.GeneratedModule`."""

    @property
    def name(self) -> str: ...
    @property
    def program(self) -> Program | None: ...
    @property
    def sizes(self) -> Mapping[str, range]: ...
    @property
    def result_tree(self) -> ResultTree: ...
    def load(self) -> ModuleType: ...


class _Array(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def function_of_jax(generated: Emitted, gradient: Emitted | None) -> Callable[..., Any]:
    """Return ``main`` as a function of JAX; :meth:`.GeneratedModule.as_jax` says what it does."""
    jax = required_jax()
    called = _called_back(jax, generated)
    if gradient is None:
        return called
    derived = _called_back(jax, gradient)
    function = jax.custom_vjp(called)
    function.defvjp(lambda *arguments: (called(*arguments), arguments), lambda kept, given: derived(*kept, given))
    return function  # type: ignore[no-any-return]


def _called_back(jax: Any, generated: Emitted) -> Callable[..., Any]:
    """Return a function that calls ``main`` on the host, at each execution."""
    module, tree = generated.load(), jax.tree_util
    results = _results(generated, module)

    def on_host(*arguments: Any, **named: Any) -> Any:
        positional, by_name = tree.tree_map(np.asarray, (arguments, named))
        leaves = tree.tree_leaves(module.main(*positional, **by_name))
        return tree.tree_unflatten(structure, [np.asarray(leaf) for leaf in leaves])

    shapes = mapped_objects(results, module, lambda node: jax.ShapeDtypeStruct(*node))
    structure = tree.tree_structure(shapes)

    def called(*arguments: Any, **named: Any) -> Any:
        return jax.pure_callback(on_host, shapes, *arguments, vmap_method="sequential", **named)

    called.__name__, called.__doc__ = generated.name, module.__doc__
    return called


def _results(generated: Emitted, module: ModuleType) -> Any:
    """Return the tree of results, with shapes and dtypes as leaves. Raises UsageError (XP726) where it is not known."""
    program = generated.program
    nodes = program.entry.results if program is not None and hasattr(module, "main") else None
    parts = list(nodes) if isinstance(nodes, tuple | list) else [nodes]
    arrays = [
        _Array(part.shape, part.element_type.dtype)
        for part in parts
        if isinstance(part, Node) and part.element_type is not None
    ]
    if len(arrays) < len(parts) or generated.sizes:
        hint = "emit a program for one device, with all sizes, in this process"
        raise UsageError(Diagnostic("XP726", f"the shapes that {generated.name} returns are not known", hint=hint))
    numbers: ResultTree = generated.result_tree
    if numbers is None:
        return arrays[0] if len(arrays) == 1 and not isinstance(nodes, tuple | list) else tuple(arrays)
    return mapped(numbers, arrays.__getitem__)


def mapped_objects(results: Any, module: ModuleType, made: Callable[[_Array], Any]) -> Any:
    """Return the tree of results with what is ``made`` of its leaves, and objects of the module's classes."""
    if isinstance(results, Built):
        parts = [mapped_objects(part, module, made) for part in results.parts]
        build = getattr(module, results.name)
        return build(**dict(zip(results.fields, parts, strict=True))) if results.fields else build(*parts)
    if isinstance(results, dict):
        return {key: mapped_objects(part, module, made) for key, part in results.items()}
    if isinstance(results, list | tuple) and not isinstance(results, _Array):
        return type(results)(mapped_objects(part, module, made) for part in results)
    return None if results is None else made(results)

"""An emitted module as a function of JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from ...array.node import Node
from ...array.program import Program
from ...array.result_trees import mapped
from ...errors import Diagnostic, UsageError
from ...frontends.jax import required_jax
from ...hlo.ir import Built, ResultTree
from ..trees.result_trees import with_objects


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
    shapes = _shapes(jax, generated, module)
    structure = tree.tree_structure(shapes)

    def on_host(*arguments: Any, **named: Any) -> Any:
        positional, by_name = tree.tree_map(np.asarray, (arguments, named))
        leaves = tree.tree_leaves(module.main(*positional, **by_name))
        return tree.tree_unflatten(structure, [np.asarray(leaf) for leaf in leaves])

    def called(*arguments: Any, **named: Any) -> Any:
        return jax.pure_callback(on_host, shapes, *arguments, vmap_method="sequential", **named)

    called.__name__, called.__doc__ = generated.name, module.__doc__
    return called


def _shapes(jax: Any, generated: Emitted, module: ModuleType) -> Any:
    """Return what ``main`` returns, with shapes in place of arrays. Raises UsageError (XP726) where it is not known."""
    program = generated.program
    nodes = program.entry.results if program is not None and hasattr(module, "main") else None
    parts = list(nodes) if isinstance(nodes, tuple | list) else [nodes]
    arrays = [
        jax.ShapeDtypeStruct(part.shape, part.element_type.dtype)
        for part in parts
        if isinstance(part, Node) and part.element_type is not None
    ]
    if len(arrays) < len(parts) or generated.sizes:
        hint = "emit a program for one device, with all sizes, in this process"
        raise UsageError(Diagnostic("XP726", f"the shapes that {generated.name} returns are not known", hint=hint))
    if generated.result_tree is None:
        return arrays[0] if isinstance(nodes, Node) else tuple(arrays)

    def made(built: Built) -> Any:
        build = getattr(module, built.name)
        return build(**dict(zip(built.fields, built.parts, strict=True))) if built.fields else build(*built.parts)

    return with_objects(mapped(generated.result_tree, arrays.__getitem__), made)

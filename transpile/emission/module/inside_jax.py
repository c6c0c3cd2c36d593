"""An emitted module as a function of JAX."""

from __future__ import annotations

import inspect
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
from .compiled_functions import is_compiled
from .compiled_handler import handler_of


class Emitted(Protocol):
    """What is asked of a :class:`.GeneratedModule`."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
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
    called = _called(jax, generated)
    if gradient is None:
        return called
    derived, structure = _called(jax, gradient), jax.tree_util.tree_structure
    function = jax.custom_vjp(called)

    def pulled(kept: tuple[Any, ...], given: Any) -> Any:
        found = derived(*kept, given)  # a module gives an array in place of a tuple of one
        return found if len(kept) > 1 or structure(found) == structure(kept) else (found,)

    function.defvjp(lambda *arguments: (called(*arguments), arguments), pulled)
    return function  # type: ignore[no-any-return]


def _called(jax: Any, generated: Emitted) -> Callable[..., Any]:
    """Return a function that calls ``main``: its compiled code where it has that, or Python."""
    module = generated.load()
    shapes = _shapes(jax, generated, module)
    found = _compiled(jax, generated, module, shapes) if is_compiled(generated.source) else None
    called = found or _called_back(jax, module, shapes)
    called.__name__, called.__doc__ = generated.name, module.__doc__
    return called


def _compiled(jax: Any, generated: Emitted, module: ModuleType, shapes: Any) -> Callable[..., Any] | None:
    """Return a function that calls the compiled code of ``main``, None where it takes trees or cannot be compiled."""
    assert generated.program is not None
    parameters = generated.program.entry.parameters
    wanted = [(each.shape, str(each.element_type.dtype)) for each in parameters if each.element_type is not None]
    signature, leaves = inspect.signature(module.main), jax.tree_util.tree_leaves(shapes)
    names = [name for name, each in signature.parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    results = [(each.shape, str(each.dtype)) for each in leaves]
    if len(names) < len(signature.parameters) or len(names) != len(wanted) or generated.result_tree is not None:
        return None
    is_tuple = isinstance(shapes, tuple)
    target = handler_of(jax, generated.source, module, wanted, results, is_tuple=is_tuple)
    if not target:
        return None
    call = jax.ffi.ffi_call(target, shapes, vmap_method="sequential")

    def called(*arguments: Any, **named: Any) -> Any:
        arrays = [jax.numpy.asarray(x) for x in signature.bind(*arguments, **named).args]
        for name, x, expected in zip(names, arrays, wanted, strict=True):
            if (x.shape, str(x.dtype)) != expected:
                raise TypeError(f"{name}: expected {_text(expected)}, got {_text((x.shape, str(x.dtype)))}")
        return call(*arrays)

    return called


def _text(array: tuple[tuple[int, ...], str]) -> str:
    return f"{array[1]}{[*array[0]]}"


def _called_back(jax: Any, module: ModuleType, shapes: Any) -> Callable[..., Any]:
    """Return a function that calls ``main`` on the host, at each execution."""
    tree = jax.tree_util
    structure = tree.tree_structure(shapes)

    def on_host(*arguments: Any, **named: Any) -> Any:
        positional, by_name = tree.tree_map(np.asarray, (arguments, named))
        leaves = tree.tree_leaves(module.main(*positional, **by_name))
        return tree.tree_unflatten(structure, [np.asarray(leaf) for leaf in leaves])

    def called(*arguments: Any, **named: Any) -> Any:
        return jax.pure_callback(on_host, shapes, *arguments, vmap_method="sequential", **named)

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

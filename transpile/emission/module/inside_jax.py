"""An emitted module as a function of JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from hashlib import sha256
from types import ModuleType
from typing import Any, Protocol
from uuid import uuid4

import numpy as np

from ...array.node import Node
from ...array.program import Program
from ...array.result_trees import mapped
from ...errors import Diagnostic, UsageError
from ...frontends.jax import required_jax
from ...hlo.element_types import from_dtype
from ...hlo.ir import Built, ResultTree
from ..trees.result_groups import with_objects
from .compiled_functions import is_compiled
from .xla_handlers import Array, Handler, compiled_handler, python_handler, register, unchecked_main

_KEPT: dict[str, Handler] = {}  # the handlers of this process, by name: compiled programs call them at their address


class Emitted(Protocol):
    """The part of a :class:`.GeneratedModule` that is used here."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def program(self) -> Program | None: ...
    @property
    def sizes(self) -> Mapping[str, range]: ...
    @property
    def callbacks(self) -> Mapping[str, Callable[..., Any]]: ...
    @property
    def result_tree(self) -> ResultTree: ...
    def load(self) -> ModuleType: ...


def function_of_jax(generated: Emitted, gradient: Emitted | None) -> Callable[..., Any]:
    """Return ``main`` as a function of JAX; see :meth:`.GeneratedModule.as_jax`."""
    jax = required_jax()
    called = _called(jax, generated)
    if gradient is None:
        return called
    derived, structure = _called(jax, gradient), jax.tree_util.tree_structure
    _require_cotangents(inspect.signature(called), inspect.signature(derived))
    function = jax.custom_vjp(called)

    def pulled(kept: tuple[Any, ...], given: Any) -> Any:
        found = derived(*kept, given)  # a module returns an array in place of a tuple of one
        return found if len(kept) > 1 or structure(found) == structure(kept) else (found,)

    function.defvjp(lambda *arguments: (called(*arguments), arguments), pulled)
    return function  # type: ignore[no-any-return]


def _require_cotangents(function: inspect.Signature, gradient: inspect.Signature) -> None:
    """Raise UsageError (XP726) unless the gradient takes the function's arguments and the cotangents of the results."""
    try:
        gradient.bind(*function.parameters, "cotangents")
    except TypeError:
        names = ", ".join(gradient.parameters)
        message = f"the gradient takes ({names}): the cotangents of the results are missing behind the arguments"
        hint = "emit lambda x, given: jax.vjp(function, x)[1](given)"
        raise UsageError(Diagnostic("XP726", message, hint=hint)) from None


def _called(jax: Any, generated: Emitted) -> Callable[..., Any]:
    """Return a function that calls ``main`` on the host: by a handler of XLA, or by a callback on other devices."""
    module, tree = generated.load(), jax.tree_util
    shapes = _shapes(jax, generated, module)
    returned, structure = tree.tree_flatten(shapes)
    returns, is_tuple = _arrays(returned), isinstance(shapes, tuple)
    is_tree = structure not in (tree.tree_structure(0), tree.tree_structure((0,) * len(returned)))
    signature, expected = inspect.signature(module.main), _flat_arguments(generated, module)
    is_checked = bool(expected) and not generated.callbacks  # by JAX
    main = unchecked_main(generated.source, module) if is_checked else module.main
    compiled = None
    if expected and not is_tree and is_compiled(generated.source):
        compiled = compiled_handler(generated.source, module, [*expected.values()], returns, is_tuple=is_tuple)

    def called(*arguments: Any, **named: Any) -> Any:
        bound = signature.bind(*arguments, **named)
        leaves, form = tree.tree_flatten((bound.args, bound.kwargs))
        leaves = [jax.numpy.asarray(x) for x in leaves]
        given = _arrays(leaves)
        for name, found in zip(expected, given, strict=False):
            if found != expected[name]:
                raise TypeError(f"{name}: expected {_text(expected[name])}, got {_text(found)}")

        are_flat = form == tree.tree_structure(((0,) * len(leaves), {}))

        def on_host(*arrays: Any) -> Sequence[Any]:
            positional, by_name = (arrays, {}) if are_flat else tree.tree_unflatten(form, arrays)
            result = main(*positional, **by_name)
            return tree.tree_leaves(result) if is_tree else result if is_tuple else (result,)

        is_packed = any(from_dtype(each.dtype).bits < 8 for each in (*leaves, *returned))
        if jax.default_backend() == "cpu" and not is_packed:
            target = _target(jax, generated, f"{form} {given}", compiled or python_handler(on_host, given, returns))
            found = jax.ffi.ffi_call(target, returned, vmap_method="sequential")(*leaves)
        else:
            found = jax.pure_callback(_on_arrays(on_host), returned, *leaves, vmap_method="sequential")
        return tree.tree_unflatten(structure, found)

    called.__name__, called.__doc__ = generated.name, module.__doc__
    called.__signature__ = signature  # type: ignore[attr-defined]
    return jax.jit(called)  # type: ignore[no-any-return]


def _on_arrays(function: Callable[..., Sequence[Any]]) -> Callable[..., list[Any]]:
    """Return the function with NumPy arrays as arguments and results, for JAX's callbacks."""
    return lambda *arrays: [*map(np.asarray, function(*map(np.asarray, arrays)))]


def _target(jax: Any, generated: Emitted, form: str, handler: Handler) -> str:
    """Return XLA's name of a handler, the same in each process, as compiled programs are cached."""
    unique = uuid4().hex if generated.callbacks else ""
    name = f"xla2py_{sha256(f'{generated.source}{form}{unique}'.encode()).hexdigest()[:32]}"
    if name not in _KEPT:
        _KEPT[name] = handler
        register(jax, name, handler)
    return name


def _flat_arguments(generated: Emitted, module: ModuleType) -> dict[str, Array]:
    """Return the shapes and types of ``main``'s arguments by name, or {} if it takes a tree."""
    assert generated.program is not None
    program = generated.program
    parameters = program.entry.parameters[: len(program.entry.parameters) - len(program.original.stored)]
    given = inspect.signature(module.main).parameters.items()
    names = [name for name, each in given if each.kind is each.POSITIONAL_OR_KEYWORD]
    arrays = [(each.shape, str(each.element_type.dtype)) for each in parameters if each.element_type is not None]
    return dict(zip(names, arrays, strict=True)) if len(names) == len(arrays) else {}


def _arrays(leaves: Sequence[Any]) -> tuple[Array, ...]:
    return tuple((each.shape, str(each.dtype)) for each in leaves)


def _text(array: Array) -> str:
    return f"{array[1]}{[*array[0]]}"


def _shapes(jax: Any, generated: Emitted, module: ModuleType) -> Any:
    """Return the result of ``main`` with shapes in place of arrays. Raises UsageError (XP726) if they are unknown."""
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
        whole = build(**dict(zip(built.fields, built.parts, strict=True))) if built.fields else build(*built.parts)
        if is_dataclass(build) and jax.tree_util.all_leaves([whole]):  # a class of the module's own
            jax.tree_util.register_dataclass(build, data_fields=built.fields, meta_fields=())
        return whole

    return with_objects(mapped(generated.result_tree, arrays.__getitem__), made)

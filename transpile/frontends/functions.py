"""Programs named in Python: ``package.module:function(f32[4,8], s32[])``.

The object may be a function that JAX can trace, or a method, ``module:model.step(..)``, with the types of its
arguments; or, without parentheses, an object that already is a program: a ``jax.stages.Lowered``, a
``jax.export.Exported``, a module.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import Diagnostic, UsageError
from ..hlo.ir import HloModule
from .checkpoints import as_tree, read_checkpoint
from .jax import WIDE, required_jax, wide_types
from .loading import is_function, of_object
from .signatures import WEIGHTS, Argument, Arguments, Named, Sizes, filled, leaves, parse_arguments, shown_sizes
from .unread_sizes import keeping_unread, loses_sizes

_WAY = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_REFERENCE = re.compile(rf"(?P<module>{_WAY}):(?P<name>{_WAY})(?:\((?P<arguments>.*)\))?")


def is_reference(argument: str) -> bool:
    """Return whether a word names an object in a Python module rather than a file."""
    return _REFERENCE.fullmatch(argument) is not None and not Path(argument).exists()


def reference_parts(reference: str) -> tuple[str, str]:
    """Return the module and the name in a reference: ``function``, or ``model.step`` for an object's method."""
    match = _REFERENCE.fullmatch(reference)
    assert match is not None
    return match["module"], match["name"]


def referenced(reference: str, folder: Path) -> Any:
    """Return the object that a reference names, imported with ``folder`` first on the path. Raises ``UsageError``
    (XP721).
    """
    with _importing_from(folder):
        return _object(*reference_parts(reference))


def load_function(
    reference: str, folder: Path, sizes: Sizes = MappingProxyType({}), gradient: str = "", weights: str = ""
) -> HloModule:
    """Return the program of an importable object. Its module is imported with ``folder`` first on the path.

    ``sizes`` has numbers for named sizes. ``gradient`` is the number of an argument: the program is then
    ``jax.value_and_grad`` of the function. ``weights`` is the path of the checkpoint whose arrays are the argument
    ``weights``. 64-bit arguments enable JAX's 64-bit types, as ``JAX_ENABLE_X64`` does. Raises ``UsageError``: XP425 if
    a name has no number, XP721 if there is no such object or its import fails, XP722 if it is not a program or does not
    take such arguments; ``HloSyntaxError`` for invalid types.
    """
    match = _REFERENCE.fullmatch(reference)
    assert match is not None
    has_arguments = match["arguments"] is not None
    arguments = parse_arguments(reference, *match.span("arguments")) if has_arguments else ()
    parts = [each for each in leaves(arguments) if each != WEIGHTS]
    if missing := next((name for each in parts for name in each.names if name not in sizes), ""):
        raise UsageError(Diagnostic("XP425", f"{reference} has no number for {missing}"))
    name = f"{reference} at {shown_sizes(sizes)}" if sizes else reference
    tree = _tree_of(weights) if WEIGHTS in leaves(arguments) else None
    is_wide = any(isinstance(each, Argument) and each.is_wide for each in parts) or _is_wide(tree)
    with _importing_from(folder), wide_types(is_wide):
        found = _object(match["module"], match["name"])
        if not has_arguments and is_function(found):
            hint = "say what it takes: 'module:function(f32[4,8], s32[])', or 'module:function()'"
            raise UsageError(Diagnostic("XP722", "the shapes of the function's arguments are not known", hint=hint))
        found = with_gradient(found, gradient) if gradient else found
        examples = _examples(arguments, match["module"], sizes, tree) if has_arguments else ()
        required_jax().clear_caches()  # what was traced before has the stack frames of its first caller
        try:
            module = of_object(found, examples, name)
            if loses_sizes(module, _free_sizes(arguments)):
                module = of_object(keeping_unread(required_jax(), found), examples, name)
        except UsageError as error:
            raise error if tree is None else _with_hint(error, weights, tree) from error
    module = replace(module, examples=_values_of(examples, module))
    return module if module.source is None else replace(module, source=replace(module.source, name=reference))


def _free_sizes(arguments: Arguments) -> list[tuple[str, ...]]:
    """Return the names of the free sizes of each leaf of the arguments; nothing if some are not types of arrays."""
    parts = required_jax().tree_util.tree_leaves(filled(arguments, lambda each: each))
    return [each.names for each in parts] if all(isinstance(each, Argument) for each in parts) else []


def _values_of(examples: Any, module: HloModule) -> tuple[Any, ...]:
    """Return for each parameter the array among the examples; None for a type, and for what is no array of NumPy."""
    found = dict(enumerate(required_jax().tree_util.tree_leaves(examples)))
    numbers = module.trees.leaves if module.trees is not None else ()
    values = []
    for number, parameter in zip(numbers, module.entry.parameters, strict=False):
        value, shape = found.get(number), parameter.array_shape
        kind = (getattr(value, "shape", None), getattr(value, "dtype", None))
        is_array = hasattr(value, "__array__") and kind == (shape.dimensions, shape.element_type.dtype)
        values.append(np.asarray(value) if is_array else None)
    return tuple(values)


def with_gradient(function: Any, argument: str) -> Any:
    """Return ``jax.value_and_grad`` of a function with respect to the argument with that number."""
    return required_jax().value_and_grad(function, int(argument))


def _object(module: str, name: str) -> Any:
    try:
        return attrgetter(name)(importlib.import_module(module))
    except Exception as error:  # whatever the user's module raises
        message = f"cannot import {name} from {module}: {type(error).__name__}: {error}"
        raise UsageError(Diagnostic("XP721", message)) from error


def _tree_of(weights: str) -> Any:
    """Return the pytree of a checkpoint, of shapes and types. Raises ``UsageError`` (XP722) if no checkpoint is
    given.
    """
    if not weights:
        raise UsageError(Diagnostic("XP722", "there are no weights", hint="name a checkpoint with --weights"))
    arrays = read_checkpoint(Path(weights))
    return as_tree({name: required_jax().ShapeDtypeStruct(x.shape, x.dtype) for name, x in arrays.items()})


def _with_hint(error: UsageError, weights: str, tree: Any) -> UsageError:
    """Return an error of a function of a checkpoint that tells the ways to its first arrays."""
    paths = [path for path, _ in required_jax().tree_util.tree_leaves_with_path(tree)][:3]
    ways = ", ".join(f"weights{required_jax().tree_util.keystr(path)}" for path in paths)
    return UsageError(*(replace(each, hint=each.hint or f"{weights} has {ways}, ..") for each in error.diagnostics))


def _is_wide(tree: Any) -> bool:
    return any(leaf.dtype in WIDE for leaf in required_jax().tree_util.tree_leaves(tree)) if tree is not None else False


def _examples(arguments: Arguments, module: str, sizes: Sizes, tree: Any = None) -> Any:
    """Return the values with which JAX traces the function, abstract ones for types; ``tree`` replaces the weights."""
    shape = required_jax().ShapeDtypeStruct

    def example(each: Any) -> Any:
        if each == WEIGHTS:
            return tree
        return (
            _named(each, module, sizes)
            if isinstance(each, Named)
            else shape(each.shape(sizes), each.element_type.dtype)
        )

    return filled(arguments, example)


def _named(each: Named, module: str, sizes: Sizes) -> Any:
    """Return an object of the user's module, or what it returns. Raises ``UsageError`` (XP721)."""
    way = each.way if each.sizes is None else f"{each.way}({', '.join(map(str, each.sizes))})"
    try:
        found = attrgetter(each.way)(importlib.import_module(module))
        return found if each.sizes is None else found(*(sizes.get(str(size), size) for size in each.sizes))
    except Exception as error:  # whatever the user's module raises
        message = f"{way} is neither an element type nor an object of {module}: {type(error).__name__}: {error}"
        raise UsageError(Diagnostic("XP721", message)) from error


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    place = str(folder.resolve())
    sys.path.insert(0, place)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(place)

"""JAX functions of arrays with free sizes."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError, XlaToPythonWarning
from ..hlo.ir import HloModule
from .jax import WIDE, lower, not_lowered, required_jax, wide_types
from .loading import is_function, of_object
from .unread_sizes import keeping_unread, loses_sizes
from .witnesses import NAME, Assignment, Witnesses, or_at_sizes, witnesses


@dataclass(frozen=True, slots=True)
class FreeArray:
    """An array of some element type; its sizes are numbers, or names of free sizes."""

    sizes: tuple[int | str, ...]
    dtype: str

    def at(self, sizes: Assignment) -> Any:
        """Return the abstract value that JAX traces at chosen sizes."""
        shape = tuple(sizes[size] if isinstance(size, str) else size for size in self.sizes)
        return required_jax().ShapeDtypeStruct(shape, self.dtype)


def array(sizes: str, dtype: str = "float32") -> FreeArray:
    """Return an example argument for :func:`from_jax`: ``array("B, T, 64")``, where names stand for any size.

    Raises ``UsageError`` (XP425) if ``sizes`` is not a list of names and numbers.
    """
    words = [word.strip() for word in sizes.split(",") if word.strip()]
    for word in words:
        if not (NAME.fullmatch(word) or word.isdecimal()):
            raise UsageError(Diagnostic("XP425", f"'{word}' is neither a number nor a name of a size"))
    return FreeArray(tuple(int(word) if word.isdecimal() else word for word in words), dtype)


def from_jax(fn: Any, *example_args: Any, **example_kwargs: Any) -> HloModule | Witnesses:
    """Lower ``fn`` for arguments with the shapes and dtypes of the examples (arrays or ``jax.ShapeDtypeStruct``).

    ``fn`` is a function or the result of ``jax.jit``. It may also be a lowered program, without examples: a
    ``jax.stages.Traced``, ``Lowered`` or ``Compiled``, or a ``jax.export.Exported``. The module contains all constants
    and stack frames; ``sources`` has the ``.py`` files of ``fn`` and of what it calls; ``trees`` describes the
    arguments and the result. If an example is an ``xla2py.array("B, 64")``, also within a tree, or if an ``Exported``
    has symbolic sizes, the result is the program at several sizes, and :func:`xla2py.emit` turns it into a module for
    any size.

    Without ``JAX_ENABLE_X64``, JAX computes in 32 bits for 64-bit examples, with a warning; a 64-bit ``xla2py.array``
    switches it on. Raises ``UsageError``: XP425 if a symbol depends on several names, XP430 without jax, XP722 for an
    object that is not a program; and whatever tracing ``fn`` raises.
    """
    if not is_function(fn):
        return or_at_sizes(partial(of_object, fn))
    leaves = list(_leaves((example_args, example_kwargs)))
    free = dict.fromkeys(size for leaf in leaves for size in _names(leaf))
    if not leaves:
        _warn_of_wide(example_args, example_kwargs)
        return lower(fn, *example_args, **example_kwargs)

    parts = required_jax().tree_util.tree_leaves((example_args, example_kwargs), is_leaf=_is_free)
    are_arrays = all(_is_free(part) or hasattr(part, "dtype") for part in parts)
    named = [_names(part) for part in parts] if are_arrays else []
    is_wide = any(np.dtype(leaf.dtype) in WIDE for leaf in leaves)

    def at(sizes: Assignment) -> HloModule:
        args, kwargs = required_jax().tree_util.tree_map(
            lambda part: part.at(sizes) if _is_free(part) else part, (example_args, example_kwargs), is_leaf=_is_free
        )
        try:
            with wide_types(is_wide):
                module = lower(fn, *args, **kwargs)
                if not loses_sizes(module, named):
                    return module
                return lower(keeping_unread(required_jax(), fn), *args, **kwargs)
        except (TypeError, ValueError, AssertionError, LookupError, ArithmeticError) as error:
            raise not_lowered("the function", error) from error

    return witnesses(tuple(free), at) if free else at({})


def _warn_of_wide(*examples: Any) -> None:
    """Warn of 64-bit examples that JAX traces in 32 bits."""
    jax = required_jax()
    wide = {leaf.dtype for leaf in jax.tree_util.tree_leaves(examples) if getattr(leaf, "dtype", None) in WIDE}
    if wide and not jax.config.jax_enable_x64:
        pairs = ", ".join(sorted(f"{own} is {jax.dtypes.canonicalize_dtype(own)}" for own in wide))
        on = 'JAX_ENABLE_X64=1 or jax.config.update("jax_enable_x64", True)'
        message = f"JAX traces without 64 bits: {pairs} in the module; {on} keeps them"
        warnings.warn(message, XlaToPythonWarning, stacklevel=3)


def _leaves(tree: Any) -> list[FreeArray]:
    parts = required_jax().tree_util.tree_leaves(tree, is_leaf=_is_free)
    return [part for part in parts if _is_free(part)]


def _names(part: Any) -> tuple[str, ...]:
    """Return the names of the free sizes of an example."""
    return tuple(size for size in part.sizes if isinstance(size, str)) if _is_free(part) else ()


def _is_free(part: Any) -> bool:
    return isinstance(part, FreeArray)

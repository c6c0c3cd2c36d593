"""Arguments of a function that are not arrays, such as the activation of a layer: the traced function closes over
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any


def jitted(jax: Any, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return ``jax.jit`` of a function with arguments that it can trace: (function, args, kwargs).

    The returned function closes over functions and strings among the leaves of the arguments; they are None in the
    returned arguments. So are numbers if ``fn`` is a result of ``equinox.filter_jit``, which closes over them, too.
    ``fn`` may be an object that is not hashable.
    """
    is_filtered = hasattr(fn, "lower") and type(fn).__module__.startswith("equinox.")
    if hasattr(fn, "lower") and not is_filtered:
        return fn, args, kwargs
    is_array = _has_type if is_filtered else _may_be_array
    if not is_filtered and all(map(is_array, jax.tree.leaves((args, kwargs)))) and _has_hash(fn):
        return jax.jit(fn), args, kwargs
    return wrapper(jax, fn.__wrapped__ if is_filtered else fn, args, kwargs, is_array)  # type: ignore[attr-defined]


def wrapper(
    jax: Any, fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any], is_array: Callable[[Any], bool]
) -> tuple[Any, Any, Any]:
    """Return ``jax.jit`` of a function that closes over the leaves that are not arrays, and its arguments without these
    leaves.
    """
    leaves, tree = jax.tree.flatten((args, kwargs))

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = zip(leaves, tree.flatten_up_to((args, kwargs)), strict=True)
        args, kwargs = tree.unflatten([array if is_array(leaf) else leaf for leaf, array in given])
        return jax.tree.map(lambda leaf: leaf if is_array(leaf) else None, fn(*args, **kwargs))

    wrapped.__name__ = type(fn).__name__  # for objects, which have no name
    arrays = [leaf if is_array(leaf) else None for leaf in leaves]
    return jax.jit(update_wrapper(wrapped, fn, updated=())), *tree.unflatten(arrays)


def _has_type(leaf: Any) -> bool:
    return hasattr(leaf, "dtype")


def _may_be_array(leaf: Any) -> bool:
    return not (isinstance(leaf, str) or callable(leaf))


def _has_hash(fn: Any) -> bool:
    try:
        hash(fn)
    except TypeError:
        return False
    return True

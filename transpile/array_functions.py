"""JAX functions as functions of an array library: ``@xla2py.numpy``.

Such a function is traced when it is first called with arguments of new shapes or dtypes; then the emitted module runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial, update_wrapper
from inspect import signature
from typing import Any

import numpy as np

from .dataclass import dataclass
from .emission import GeneratedModule, emit
from .emission.trees.argument_trees import Path, leaf_paths
from .errors import Diagnostic, UsageError
from .frontends.jax import lowered, required_jax
from .hlo.ir import HloModule
from .hlo.shapes import ArrayShape
from .target import Target, load_target, target_names

_SCALARS = (bool, int, float, complex)


def decorator(name: str) -> Callable[..., Any] | None:
    """Return the decorator of a target by its Python name (``array_api`` for ``array-api``); None if there is no such
    target.
    """
    wanted = name.replace("_", "-")
    if not name.isidentifier() or wanted not in target_names():
        return None
    bound = partial(array_function, load_target(wanted))

    def of_target(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
        return bound(fn, **options)

    of_target.__name__, of_target.__doc__ = name, array_function.__doc__  # help() does not document a partial
    return update_wrapper(of_target, bound, assigned=())


def array_function(
    target: Target,
    fn: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    **options: Any,
) -> Any:
    """Turn a JAX function into a function of the target's array library: a decorator, with or without options.

    ``fn`` is a function, or the result of ``jax.jit``. ``static_argnums`` and ``static_argnames`` are passed to
    ``jax.jit`` if ``fn`` is not yet its result. ``options`` are those of :func:`xla2py.emit`. Arguments are numbers, or
    pytrees of arrays of the library, of NumPy or of JAX; they are cast to the dtypes that JAX would compute with. A
    random key, ``jax.random.key(0)``, is passed and returned as its data, ``uint32[2]``. A call raises what
    :func:`xla2py.from_jax` and :func:`xla2py.emit` raise.
    """
    given: dict[str, Any] = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    static = {name: value for name, value in given.items() if value != ()}
    if fn is None:
        return partial(array_function, target, **static, **options)
    return ArrayFunction(fn, target, static, options)


@dataclass(frozen=True, slots=True)
class _Traced:
    """The emitted module of a function for arguments of some shapes and dtypes.

    ``arguments`` extract the arguments of ``main`` from the traced (args, kwargs) and their leaves. Their keys are
    positions, names, ``*`` for ``*args`` and ``**`` for ``**kwargs``. ``dtypes`` are those of the leaves, None for
    unused leaves; ``given`` and ``results`` are the tree definitions.
    """

    generated: GeneratedModule
    main: Callable[..., Any]
    arguments: Mapping[int | str, Callable[..., Any]]
    dtypes: tuple[np.dtype[Any] | None, ...]
    given: Any
    results: Any

    def run(self, given: Any, leaves: Sequence[Any]) -> Any:
        """Call ``main`` with the arguments in the traced (args, kwargs), and return its results."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for place, argument in self.arguments.items():
            value = argument(given, leaves)
            if place == "*":
                positional += value
            elif place == "**":
                named |= value
            elif isinstance(place, str):
                named[place] = value
            else:
                positional.append(value)
        return self.main(*positional, **named)


class ArrayFunction:
    """A JAX function as a function of an array library; :func:`array_function` makes it."""

    def __init__(
        self, fn: Callable[..., Any], target: Target, static: Mapping[str, Any], options: Mapping[str, Any]
    ) -> None:
        update_wrapper(self, fn)
        self.target = target
        self._options = options
        self._util = required_jax().tree_util
        self._jitted: Any = fn if hasattr(fn, "lower") else required_jax().jit(fn, **static)
        self._has_static = bool(static) or hasattr(fn, "lower")
        self._static_places = _places(fn, static)
        self._traced: dict[Any, _Traced] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the emitted module; return its results in the pytree that the function returns."""
        traced = self._trace(args, kwargs)
        leaves = self._util.tree_leaves(self._read(args, kwargs, traced.given))
        cast = [self._cast(leaf, dtype) for leaf, dtype in zip(leaves, traced.dtypes, strict=True)]
        given = self._util.tree_unflatten(traced.given, cast)
        results = traced.run(given, cast)
        return self._util.tree_unflatten(traced.results, _leaves(self._util, results))

    def module(self, *args: Any, **kwargs: Any) -> GeneratedModule:
        """Return the emitted module for arguments of these shapes, without running it."""
        return self._trace(args, kwargs).generated

    @property
    def source(self) -> str:
        """The text of the module that was emitted last.

        Raises ``UsageError`` (XP724) if the function has not been called: ``module(*examples).source`` needs no call.
        """
        if not self._traced:
            hint = "call the function, or use .module(*examples).source"
            raise UsageError(Diagnostic("XP724", "there is no source yet: the shapes are not known", hint=hint))
        return list(self._traced.values())[-1].generated.source

    def __repr__(self) -> str:
        name = getattr(self, "__name__", "function")
        count = len(self._traced)
        return f"<{name} for {self.target.title}, traced for {count} shape{'s' * (count != 1)}>"

    def _repr_markdown_(self) -> str:
        """Return the Markdown for notebooks: the source that was emitted last, highlighted, or the name before the
        first call.
        """
        traced = list(self._traced.values())
        return traced[-1].generated._repr_markdown_() if traced else f"`{self!r}`"

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Traced:
        leaves, definition = self._util.tree_flatten((args, kwargs))
        key = definition, tuple(map(self._key, leaves)), required_jax().config.jax_enable_x64
        if key not in self._traced:
            example_args, example_kwargs = self._util.tree_unflatten(definition, map(_example, leaves))
            self._traced[key] = self._emitted(*lowered(self._jitted, *example_args, **example_kwargs))
        return self._traced[key]

    def _emitted(self, module: HloModule, program: Any) -> _Traced:
        generated = emit(module, self.target, **self._options)
        count = program.in_tree.num_leaves
        filled = self._util.tree_unflatten(program.in_tree, range(count))
        ways = [tuple(map(_word, keys)) for keys, _ in self._util.tree_flatten_with_path(filled)[0]]
        is_nested = self._options.get("nested") is not False
        dtypes: list[np.dtype[Any] | None] = [None] * count
        paths = leaf_paths(module) if is_nested else [None] * len(module.entry.parameters)
        words = {path.keys[0]: None for path in paths if path is not None and path.stars == "**"}
        arguments: dict[object, tuple[str, Callable[..., Any]]] = {}
        leaves = range(count) if module.trees is None else module.trees.leaves
        for leaf, parameter, path in zip(leaves, module.entry.parameters, paths, strict=True):
            assert isinstance(parameter.shape, ArrayShape)
            dtypes[leaf] = parameter.shape.element_type.dtype
            if path is None:
                arguments[leaf] = "", partial(_leaf, leaf)
            else:
                arguments.setdefault(path.root, (path.stars, partial(_argument, ways[leaf], path, words)))
        main, trees = generated.load().main, (program.in_tree, program.out_tree)
        return _Traced(generated, main, _by_parameter(main, arguments.values()), tuple(dtypes), *trees)

    def _read(self, args: tuple[Any, ...], kwargs: dict[str, Any], definition: Any) -> Any:
        """Return (args, kwargs) without the static arguments. Raises ``UsageError`` (XP722) if it is unknown which are
        static.
        """
        positions, names = self._util.tree_unflatten(definition, range(definition.num_leaves))
        if len(args) != len(positions):
            args = tuple(value for place, value in enumerate(args) if place not in self._static_places)
        if len(args) != len(positions):
            hint = "give the function itself, and static_argnames"
            raise UsageError(Diagnostic("XP722", "it is not known which of the arguments are static", hint=hint))
        return args, {name: kwargs[name] for name in names}

    def _key(self, leaf: Any) -> object:
        """Return the cache key of a leaf: shape and dtype, or the type or value of a scalar, which may be static."""
        if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
            return tuple(leaf.shape), leaf.dtype if _is_random_key(leaf) else np.dtype(leaf.dtype)
        return type(leaf) if isinstance(leaf, _SCALARS) and not self._has_static else (type(leaf), leaf)

    def _cast(self, leaf: Any, dtype: np.dtype[Any] | None) -> Any:
        """Return an argument as an array of the library, with the dtype that JAX would compute with."""
        if dtype is None:
            return leaf
        leaf = required_jax().random.key_data(leaf) if _is_random_key(leaf) else leaf
        if isinstance(leaf, (np.ndarray, np.generic, *_SCALARS)) or hasattr(leaf, "addressable_shards"):  # JAX's arrays
            return self.target.adopt(np.asarray(leaf, dtype))
        return leaf if leaf.dtype == dtype else leaf.astype(dtype)


def _leaves(util: Any, results: Any) -> list[Any]:
    """Return the leaves of the results of ``main``, including fields of its dataclasses."""
    found: list[Any] = []
    for leaf in util.tree_leaves(results):
        parts = [getattr(leaf, field.name) for field in fields(leaf)] if is_dataclass(leaf) else None
        found += [leaf] if parts is None else _leaves(util, parts)
    return found


def _example(leaf: Any) -> Any:
    """Return the abstract value that JAX traces for an argument. Raises ``UsageError`` (XP722) if its sizes are
    unknown.
    """
    jax = required_jax()
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        if any(map(np.isnan, leaf.shape)):  # of Dask's arrays
            message = f"an array of shape {leaf.shape} has sizes that are not known yet"
            raise UsageError(Diagnostic("XP722", message, hint="call its compute_chunk_sizes() before"))
        dtype = leaf.dtype if _is_random_key(leaf) else jax.dtypes.canonicalize_dtype(leaf.dtype)
        return jax.ShapeDtypeStruct(leaf.shape, dtype)
    return leaf


def _is_random_key(leaf: Any) -> bool:
    """Return whether an array is one of JAX's typed random keys, whose dtype no array library has."""
    is_of_jax = hasattr(leaf, "dtype") and hasattr(leaf, "addressable_shards")
    return is_of_jax and not isinstance(leaf.dtype, np.dtype)


def _places(fn: Callable[..., Any], static: Mapping[str, Any]) -> frozenset[int]:
    """Return the positions of static arguments."""
    numbers, names = static.get("static_argnums", ()), static.get("static_argnames", ())
    names = (names,) if isinstance(names, str) else names
    order = list(signature(fn).parameters) if names else []
    numbers = (numbers,) if isinstance(numbers, int) else numbers
    return frozenset((*numbers, *(order.index(name) for name in names if name in order)))


def _word(key: Any) -> Any:
    """Return the key, index or name in a key of a JAX tree path."""
    return next(getattr(key, word) for word in ("key", "idx", "name") if hasattr(key, word))


def _by_parameter(
    main: Callable[..., Any], arguments: Iterable[tuple[str, Callable[..., Any]]]
) -> dict[int | str, Callable[..., Any]]:
    """Return the arguments by how ``main`` takes them: by position, by name if they follow ``*args``, or as stars."""
    names = iter(signature(main).parameters)
    places: dict[int | str, Callable[..., Any]] = {}
    for stars, argument in arguments:
        name = next(names) if stars != "**" else stars
        places[stars or (name if "*" in places else len(places))] = argument
    return places


def _leaf(number: int, given: Any, leaves: Sequence[Any]) -> Any:
    """Return the leaf with a number; the signature is that of all extractors of arguments."""
    return leaves[number]


def _argument(way: Sequence[Any], path: Path, words: Iterable[Any], given: Any, leaves: Sequence[Any]) -> Any:
    """Return the argument of ``main`` that contains a leaf. ``way`` leads from (args, kwargs) to the leaf, ``path``
    from the argument to the leaf.

    ``words`` are the keys that ``**kwargs`` collects.
    """
    is_named, place = way[:2]
    if path.stars == "**":
        return {word: given[1][word] for word in words}
    return given[0][place - path.keys[0] :] if path.stars else given[is_named][place]

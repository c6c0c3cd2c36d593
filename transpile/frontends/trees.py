"""The pytrees that a JAX function takes and returns, from JAX's tree definitions."""

from __future__ import annotations

import ast
import re
from dataclasses import fields, is_dataclass, replace
from keyword import iskeyword
from operator import attrgetter
from typing import Any

from ..hlo.ir import Built, ResultTree, Trees, is_plain_key

_DEEPEST = 12  # levels; deeper trees do not help a reader
_SHORT = re.compile(r"[ !#-\[\]-~]{1,400}")  # no character that strings escape
_KEPT = ("module_kept_var_idx", "_lowering.compile_args", "_executable._kept_var_idx")  # of Exported, Lowered, Compiled


def trees_of(jax: Any, lowered: Any, parameter_count: int) -> Trees | None:
    """Return the trees of a ``jax.stages.Lowered``, ``Compiled`` or ``jax.export.Exported``.

    None if it is unknown which leaf of the arguments each parameter is.
    """
    leaves = _kept(lowered, parameter_count)
    if leaves is None:
        return None
    util, found = jax.tree_util, _ResultTrees(jax)
    try:
        given, results = (
            util.tree_unflatten(d, map(_Leaf, range(d.num_leaves))) for d in (lowered.in_tree, lowered.out_tree)
        )
    except Exception:  # a class that is unflattened with numbers may raise anything
        return None
    paths = [path for path, _ in util.tree_flatten_with_path(given)[0]]
    has_name = [not any(isinstance(key, util.FlattenedIndexKey) for key in path) for path in paths]
    unnamed = {k: _by_attributes(util, given, paths[leaf]) for k, leaf in enumerate(leaves) if not has_name[leaf]}
    attribute_paths = {k: util.keystr(path[len(("args", 0)) :]) for k, path in unnamed.items() if path is not None}
    nameless = frozenset(unnamed.keys() - attribute_paths.keys())
    depths = tuple(len(paths[leaf]) - len(("args", 0)) for leaf in leaves)
    return Trees(leaves, nameless, depths, found.tree(results), tuple(found.notes), attribute_paths)


def _by_attributes(util: Any, tree: Any, path: Any) -> tuple[Any, ...] | None:
    """Return a path with attributes in place of the numbers of objects' parts; None if a part is not an attribute.

    A class that is registered without keys may keep its parts as attributes.
    """
    found: list[Any] = []
    for key in path:
        children, _ = _one_level(util, tree) or ((), None)
        part = next(child for own, child in children if own == key)
        if isinstance(key, util.FlattenedIndexKey):
            name = _attribute(tree, part)
            if not name:
                return None
            key = util.GetAttrKey(name)
        found.append(key)
        tree = part
    return tuple(found)


def _one_level(util: Any, tree: Any) -> Any:
    """Return the keys and parts of a tree, and the rest of its definition; None for a leaf."""
    found = util.default_registry.flatten_one_level_with_keys(tree)
    if found is None or not _is_named_tuple(tree):
        return found
    parts, static = found  # JAX gives all parts the first name
    return [(util.GetAttrKey(name), part) for name, (_, part) in zip(tree._fields, parts, strict=True)], static


def _is_named_tuple(tree: Any) -> bool:
    return isinstance(tree, tuple) and hasattr(tree, "_fields")


def _attribute(tree: Any, part: Any) -> str:
    """Return the name of the only attribute that is a part of an object; "" if there is none, or several."""
    names = [name for name, value in _attributes(tree).items() if value is part]
    return names[0] if len(names) == 1 and _is_word(names[0]) else ""


def _kept(lowered: Any, parameter_count: int) -> tuple[int, ...] | None:
    """Return the leaves of the arguments that became parameters: ``jit`` drops unused ones. None if unknown."""
    if lowered.in_tree.num_leaves == parameter_count:
        return tuple(range(parameter_count))
    for place in _KEPT:
        try:
            found = attrgetter(place)(lowered)
        except AttributeError:
            continue
        kept = tuple(sorted(found["kept_var_idx"] if isinstance(found, dict) else found))
        if len(kept) == parameter_count:
            return kept
    return None


class _Leaf(int):
    """The number of a leaf as a distinct object, so that identity finds its attribute."""


class _NoTreeError(Exception):
    """A definition that no emitted text can express."""


class _ResultTrees:
    """A converter of trees of results, with notes on results that are returned in another form than the function's."""

    def __init__(self, jax: Any) -> None:
        self.util = jax.tree_util
        self.notes: dict[str, None] = {}

    def tree(self, filled: Any) -> ResultTree:
        """Return the tree of a pytree with numbers as leaves.

        None if it has keys that are not plain, or is too deep: then the results stay a flat tuple.
        """
        try:
            return self._tree(filled, _DEEPEST)
        except _NoTreeError:
            return None

    def _tree(self, value: Any, levels: int) -> ResultTree:
        found = _one_level(self.util, value)
        if value is None or found is None:
            return None if value is None else int(value)
        if not levels:
            raise _NoTreeError
        children, static = found
        keys, parts = [key for key, _ in children], [self._tree(child, levels - 1) for _, child in children]
        if type(value) in (list, tuple):
            return type(value)(parts)
        if isinstance(value, dict) or (keys and all(isinstance(key, self.util.DictKey) for key in keys)):
            return self._dict(type(value), [key.key for key in keys], parts)
        return _object(self.util, value, children, parts, static)

    def _dict(self, kind: type, words: list[Any], parts: list[ResultTree]) -> ResultTree:
        if not all(map(is_plain_key, words)):
            raise _NoTreeError
        if kind is not dict:
            self.notes[f"{kind.__name__} is returned as a dict"] = None
        return dict(zip(words, parts, strict=True))


def _object(util: Any, value: Any, children: list[tuple[Any, Any]], parts: list[ResultTree], static: Any) -> ResultTree:
    """Return an object with the known way to make it again."""
    kind = type(value)
    names = [key.name if isinstance(key, util.GetAttrKey) else _attribute(value, part) for key, part in children]
    has_names = all(map(_is_word, names)) and len(set(names)) == len(names)
    built = Built(kind.__module__, kind.__qualname__, tuple(parts), tuple(names) if has_names else ())
    if not _is_importable(kind):
        return built
    if _is_named_tuple(value):
        return replace(built, maker="call")
    if hasattr(kind, "tree_unflatten"):
        return replace(built, maker="unflatten", constants=_literal(static)) if _is_literal(static) else built
    attributes = _attributes(value)
    constants = {name: own for name, own in attributes.items() if name not in names}
    if not has_names or not set(names) <= set(attributes) or not _is_literal(constants):
        return built
    return replace(built, maker="set", constants=_literal(constants) if constants else "")


def _is_importable(kind: type) -> bool:
    """Return whether another module can import a class by name."""
    return kind.__module__ != "__main__" and all(map(_is_word, f"{kind.__module__}.{kind.__qualname__}".split(".")))


def _is_word(name: Any) -> bool:
    """Return whether a name can be an attribute."""
    return isinstance(name, str) and name.isidentifier() and name.isascii() and not iskeyword(name)


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, in order."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if hasattr(value, field.name)}
    if isinstance(value, tuple):
        return {name: getattr(value, name) for name in getattr(value, "_fields", ())}
    return dict(getattr(value, "__dict__", {}))


def _literal(value: Any) -> str:
    """Return the Python literal of a value."""
    return repr(value).replace("'", '"')


def _is_literal(value: Any) -> bool:
    """Return whether a value equals its short Python literal."""
    text = repr(value)
    if not _SHORT.fullmatch(text):
        return False
    try:
        return bool(ast.literal_eval(text) == value)
    except (ValueError, SyntaxError, TypeError):
        return False

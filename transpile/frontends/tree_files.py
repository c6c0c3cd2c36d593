"""Sidecar files with the pytrees of a traced function, which HLO text cannot hold."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..errors import Diagnostic, UsageError
from ..files import read_text
from ..hlo.ir import Built, HloModule, ResultTree, Trees

SUFFIX = ".trees.json"  # replaces the suffix of the HLO text
_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_./~-]{1,200}")
_TUPLE, _DICT, _OBJECT = "tuple", "dict", "object"
MAKERS = ("call", "set", "unflatten")  # see ``Built``


def trees_as_json(module: HloModule) -> str:
    """Return the text of a sidecar for :func:`with_trees_beside`: the trees of a module, and the names of its
    constants.
    """
    record: dict[str, Any] = {"constants": dict(module.constant_names)}
    if module.loop_paths:
        record["loops"] = dict(module.loop_paths)
    if (trees := module.trees) is not None:
        record |= asdict(replace(trees, results=None, nameless=frozenset()))
        record |= {"nameless": sorted(trees.nameless), "results": _coded(trees.results)}
        record["ways"] = record.pop("attribute_paths")  # its name in files
    return json.dumps(record, indent=1) + "\n"


def with_trees_beside(module: HloModule, path: Path) -> HloModule:
    """Return the module with the trees in the sidecar of its text at ``path``; unchanged if there is no such file.

    Raises ``UsageError`` (XP725) for a file without valid trees for this module.
    """
    place = path.with_suffix(SUFFIX)
    if module.trees is not None or not place.is_file():
        return module
    text = read_text(place)
    try:
        record = json.loads(text)
        trees = _read(record, len(module.entry.parameters)) if "results" in record else None
        loops = {str(name): tuple(map(str, paths)) for name, paths in record.get("loops", {}).items()}
        return replace(module, trees=trees, constant_names=_names(record["constants"]), loop_paths=loops)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(Diagnostic("XP725", f"{place} has no trees of {path.name}: {error}")) from error


def _names(found: dict[str, Any]) -> dict[str, str]:
    """Return names of constants by hash. Raises ValueError for a name that is not words joined by dots."""
    for name in found.values():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a constant")
    return dict(found)


def _read(record: dict[str, Any], count: int) -> Trees:
    leaves, depths = (tuple(map(int, record[key])) for key in ("leaves", "depths"))
    if len(leaves) != count or len(depths) != count:
        raise ValueError(f"it is about {len(leaves)} arguments, and there are {count}")
    attribute_paths = {int(number): str(path) for number, path in record["ways"].items()}
    notes = tuple(map(str, record["notes"]))
    return Trees(leaves, frozenset(record["nameless"]), depths, _decoded(record["results"]), notes, attribute_paths)


def _coded(tree: ResultTree) -> Any:
    if isinstance(tree, dict):
        return {_DICT: [[key, _coded(part)] for key, part in tree.items()]}
    if isinstance(tree, Built):
        parts, fields = list(map(_coded, tree.parts)), list(tree.fields)
        return {_OBJECT: [tree.module, tree.name, parts, fields, tree.maker, tree.constants]}
    parts = list(map(_coded, tree)) if isinstance(tree, list | tuple) else tree
    return {_TUPLE: parts} if isinstance(tree, tuple) else parts


def _decoded(found: Any) -> ResultTree:
    if isinstance(found, list):
        return list(map(_decoded, found))
    if not isinstance(found, dict):
        return None if found is None else int(found)
    ((kind, parts),) = found.items()
    if kind == _TUPLE:
        return tuple(map(_decoded, parts))
    if kind == _DICT:
        return {key: _decoded(part) for key, part in parts}
    return _object(*parts)


def _object(module: str, name: str, parts: list[Any], fields: list[str], maker: str, constants: str) -> Built:
    """Return an object. Raises ValueError unless its parts are names and literals, because they become code."""
    if not all(word.isidentifier() for word in (*module.split("."), *name.split("."), *fields)):
        raise ValueError(f"'{module}.{name}' is not a class")
    if maker not in ("", *MAKERS):
        raise ValueError(f"no object is made by '{maker}'")
    if constants:
        ast.literal_eval(constants)
    return Built(module, name, tuple(map(_decoded, parts)), tuple(fields), maker, constants)

"""Arguments as the trees that the traced function took: ``params["w"]`` of one argument ``params``.

JAX writes the path of each leaf into the parameter's op_name: ``params['layers'][0].scale``. A parameter without such a
path, or whose path conflicts with those before it, stays an argument of its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from keyword import iskeyword
from typing import Any

from ...dataclass import dataclass
from ...errors import Diagnostic
from ...hlo.ir import HloModule, Instruction
from ..naming.identifiers import RESERVED
from ..texts import quoted_key

_NUMBER = r"-?(?:0|[1-9]\d{0,8})"
_WORDS = rf"\((?:(?:'[\w ]{{1,60}}'|{_NUMBER})(?:, |,?(?=\)))){{1,12}}\)"  # a key of several words and numbers
_ESCAPE = r"""\\(?:[\\'"nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"""
_WORD = rf"""'(?:[^'\\\n]|{_ESCAPE}){{0,400}}'|"(?:[^"\\\n]|{_ESCAPE}){{0,400}}\""""  # as Python writes it
_STEP = rf"\[(?:{_WORD})\]|\[{_WORDS}\]|\[(?:{_NUMBER}|True|False)\]|\.(?!__)[A-Za-z_]\w{{0,60}}"
_PATH = re.compile(rf"([A-Za-z]\w{{0,60}})((?:{_STEP}){{1,12}})", re.ASCII)
_KEY = re.compile(
    rf"\[(?P<word>{_WORD})\]|\[(?P<words>{_WORDS})\]|\[(?P<place>{_NUMBER}|True|False)\]|(?P<attribute>\.\w+)"
)

# "w", True or ("w", 0) of a dict, 0 of a sequence, ".scale" of an object
Key = str | int | tuple[str | int, ...]
Tree = dict[Key, Any]  # key: a tree or a leaf


@dataclass(frozen=True, slots=True)
class Path:
    """The place of a leaf in its argument; ``stars`` marks an argument that collects ``*args`` or ``**kwargs``."""

    root: str
    keys: tuple[Key, ...]
    stars: str = ""

    def text(self, argument: str, counter: tuple[int, str] | None = None) -> str:
        """Return the expression of the leaf, given the argument's name.

        ``counter`` is the place of a key, and the text to put there instead.
        """
        steps = list(map(_step, self.keys))
        if counter is not None:
            place, name = counter
            steps[place] = f"[{name}]"
        return argument + "".join(steps)

    def argument_of(self, text: str) -> str:
        """Return the argument's name in such a text."""
        return text[: -sum(len(_step(key)) for key in self.keys)]


def _step(key: Key) -> str:
    return key if isinstance(key, str) and key.startswith(".") else f"[{quoted_key(key)}]"


def leaf_paths(module: HloModule) -> list[Path | None]:
    """Return the path of each parameter that is a leaf of a tree, None for the others."""
    attribute_paths = module.trees.attribute_paths if module.trees is not None else {}
    found = [_path(parameter, attribute_paths.get(k, "")) for k, parameter in enumerate(module.entry.parameters)]
    if module.trees is not None:
        nameless = module.trees.nameless
        found = [
            None if path is None or k in nameless else _with_stars(path, depth)
            for k, (path, depth) in enumerate(zip(found, module.trees.depths, strict=True))
        ]
    leaves: dict[str, list[tuple[Key, ...]]] = {}  # argument: the paths of its leaves
    for path in found:
        if path is not None:
            leaves.setdefault(path.root, []).append(path.keys)
    trees = {root for root, own in leaves.items() if _is_tree(own)}
    return [path if path is not None and path.root in trees else None for path in found]


def captured_objects(module: HloModule) -> list[Diagnostic]:
    """Return a diagnostic (XP307) for each argument that is an object with attributes, or that collects others.

    Graphs copy arrays only from dicts, lists and tuples, which are passed by position.
    """
    found: dict[str, tuple[str, Instruction]] = {}
    for path, parameter in zip(leaf_paths(module), module.entry.parameters, strict=True):
        if path is not None and path.stars:
            found[path.root] = "it collects others, and graphs take each by its position", parameter
        elif path is not None and any(isinstance(key, str) and key.startswith(".") for key in path.keys):
            found.setdefault(path.root, ("it is an object, and graphs know dicts, lists and tuples", parameter))
    hint = "leave --nested out: main takes the arrays themselves then"
    message = "the argument {} cannot be captured: {}"
    return [Diagnostic("XP307", message.format(name, why), leaf.span, hint=hint) for name, (why, leaf) in found.items()]


def _path(parameter: Instruction, way: str) -> Path | None:
    """Return the path of a parameter, with the keys of ``way`` if it is not empty; None for any other name."""
    op_name = parameter.metadata.op_name if parameter.metadata is not None else ""
    op_name = re.split(r"[.\[]", op_name, maxsplit=1)[0] + way if way else op_name
    match = _PATH.fullmatch(op_name) or _PATH.fullmatch(op_name.replace("\\'", "'"))
    if match is None or match[1] in RESERVED:
        return None
    keys = [_key(part) for part in _KEY.finditer(match[2])]
    return Path(match[1], tuple(keys)) if None not in keys else None  # type: ignore[arg-type]


def _with_stars(path: Path, depth: int) -> Path:
    """Return the path with its stars: JAX names the items of ``*args`` ``args[0]``, so the path has an extra key."""
    if len(path.keys) != depth + 1:
        return path
    return replace(path, stars="*" if isinstance(path.keys[0], int) else "**")


def _key(part: re.Match[str]) -> Key | None:
    """Return a key, or None for one that could be mistaken: a leading dot, an attribute that is a keyword."""
    written = part["place"] or part["words"]
    if written is not None:
        key: Key = ast.literal_eval(written)
        return key
    if part["attribute"] is not None:
        return part["attribute"] if not iskeyword(part["attribute"][1:]) else None
    try:
        word: str = ast.literal_eval(part["word"])
    except (SyntaxError, ValueError):  # no character has such a number
        return None
    return None if word.startswith(".") else word


def _is_tree(leaves: Sequence[tuple[Key, ...]]) -> bool:
    """Return whether no leaf of an argument is on the path to another, and none occurs twice."""
    inner = {keys[:size] for keys in leaves for size in range(len(keys))}
    return len(set(leaves)) == len(leaves) and not inner.intersection(leaves)


def tree_of(leaves: Sequence[tuple[str, tuple[Key, ...], str]]) -> Tree:
    """Return nested dicts of (argument, keys, leaf): the leaf itself if there are no keys."""
    tree: Tree = {}
    for argument, keys, leaf in leaves:
        *way, last = (argument, *keys)
        branch = tree
        for key in way:
            branch = branch.setdefault(key, {})
        branch[last] = leaf
    return tree

"""The names of a program's arguments, from the paths that JAX gives them.

Long paths are shortened together, so that they stay distinct: first the parts that all their siblings share go, then
the outer words of keys, then parts from the front. No shortened name equals another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

from ...hlo.ir import Instruction
from .identifiers import identifier

_LONGEST = 40  # characters of a name; longer ones are shortened
_SHORT = 20  # characters of a name that becomes a part of others
_KEYED = re.compile(r"[A-Za-z_]\w*(?:\[[^\[\]]*\]|\.\w+)+", re.ASCII)
_REACTANT = re.compile(r"(\S+) \(path=\(.*\)\)", re.ASCII)  # ``arg3.weight (path=(:args, 3, 1))``
_NUMBERED = re.compile(r"arg\d+", re.ASCII)  # Reactant's name of an argument without a name
_NO_NAMES = frozenset(("xla__device_data",))  # PyTorch/XLA's name of every parameter
_PART = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+|\d+", re.ASCII)

Path = tuple[str, ...]


def argument_names(instructions: Sequence[Instruction]) -> list[str]:
    """Return a name for each parameter: its path if the program has it, else the instruction's own name.

    An argument keeps its capitals, a key in it has none: ``X``, ``params_dense_0`` for ``params['Dense_0']``.
    """
    return _names(_paths(instructions), _LONGEST)


def short_names(instructions: Sequence[Instruction]) -> list[str]:
    """Return shorter names: ``mu_dense_0`` for ``opt_state[0].mu['params']['Dense_0']``."""
    return _names(_paths(instructions), _SHORT)


def own_words(instructions: Sequence[Instruction]) -> list[str]:
    """Return the words that gradients of parameters are named after.

    These are the last parts of a path that no other leaf of its argument ends in, ``kernel_1`` for
    ``params['kernel_1']``, or the whole name if these begin with a digit.
    """
    whole = _paths(instructions)
    paths = list(zip([path[0] for path in whole], _shortened(whole, _SHORT), strict=True))
    endings = Counter((root, path[k:]) for root, path in set(paths) for k in range(len(path)))
    return [_joined(_own_end(root, path, endings)) or "x" for root, path in paths]


def _own_end(root: str, path: Path, endings: Counter[tuple[str, Path]]) -> Path:
    inner = path[1:] if path[0] == root else path
    own = (inner[k:] for k in reversed(range(len(inner))) if endings[root, inner[k:]] == 1)
    end = next(own, path)
    return path if end[0][0].isdigit() else (end[0].lower(), *end[1:])


def _names(paths: list[Path], longest: int) -> list[str]:
    return [_joined(path) or "x" for path in _shortened(paths, longest)]


def _shortened(paths: list[Path], longest: int) -> list[Path]:
    for shorten in (_without_shared, _with_last_words, partial(_from_the_front, longest=longest)):
        long = {path[0] for path in paths if len(_joined(path)) > longest}  # all paths of these arguments are shortened
        if not long:
            break
        shorter = [new if path[0] in long else path for path, new in zip(paths, shorten(paths), strict=True)]
        counts = Counter(map(_joined, shorter))
        paths = [new if counts[_joined(new)] == 1 else path for path, new in zip(paths, shorter, strict=True)]
    return paths


def _paths(instructions: Sequence[Instruction]) -> list[Path]:
    """Return the path of each parameter; for Reactant, without a numbered argument if the rest is unique."""
    whole = [path_of(instruction) for instruction in instructions]
    inner = [
        path[1:]
        if len(path) > 1 and _REACTANT.fullmatch(_front_end_name(instruction)) and _NUMBERED.fullmatch(path[0])
        else path
        for path, instruction in zip(whole, instructions, strict=True)
    ]
    counts = Counter(map(_joined, inner))
    return [short if counts[_joined(short)] == 1 else path for short, path in zip(inner, whole, strict=True)]


def is_leaf(instruction: Instruction) -> bool:
    """Return whether a parameter is a part of an argument: ``params['w']``."""
    return len(path_of(instruction)) > 1


def path_of(instruction: Instruction) -> Path:
    """Return the parts of a front end's name of a parameter: its argument, then keys."""
    op_name = _REACTANT.sub(r"\1", _front_end_name(instruction))
    is_path = "/" not in op_name or _KEYED.fullmatch(op_name)  # the name of an operation has scopes before it
    parts = tuple(_PART.findall(op_name)) if is_path else ()
    return parts or (re.sub(r"[.]\d+$", "", instruction.name),)


def _front_end_name(instruction: Instruction) -> str:
    """Return the front end's name of a parameter, or an empty string."""
    op_name = instruction.metadata.op_name if instruction.metadata is not None else ""
    return "" if op_name in _NO_NAMES else op_name


def _joined(path: Path) -> str:
    return identifier("_".join([path[0], *(part.lower() for part in path[1:])]))


def _without_shared(paths: Sequence[Path]) -> list[Path]:
    """Return paths without inner parts that have no siblings: ``0`` and ``params`` in
    ``state[0].mu['params']['w']``.
    """
    beside: dict[Path, set[str]] = {}
    for path in paths:
        for k, part in enumerate(path):
            beside.setdefault(path[:k], set()).add(part)
    return [
        tuple(part for k, part in enumerate(path) if k in (0, len(path) - 1) or len(beside[path[:k]]) > 1)
        for path in paths
    ]


def _with_last_words(paths: Sequence[Path]) -> list[Path]:
    """Return paths with the last word of long keys: ``attention_0`` for ``MultiHeadDotProductAttention_0``."""
    return [(path[0], *map(last_word, path[1:])) for path in paths]


def last_word(part: str) -> str:
    """Return the last word of a key of several words, with its number: ``Attention_0``."""
    words = _WORDS.findall(part)
    numbers = [word for word in words[-1:] if word.isdigit()]
    kept = [word for word in words if not word.isdigit()][-1:]
    return "_".join([*kept, *numbers]) if len(words) > 2 else part


def _from_the_front(paths: Sequence[Path], longest: int) -> list[Path]:
    """Return paths without their first parts: for all paths of an argument, as many as its longest path requires."""
    dropped: dict[str, int] = {}
    for path in paths:
        begins = [k for k, part in enumerate(path) if not part.isdigit()] or [0]
        needed = next((k for k in begins if len(_joined(path[k:])) <= longest), begins[-1])
        dropped[path[0]] = max(needed, dropped.get(path[0], 0))
    return [path[_begin(path, dropped[path[0]]) :] for path in paths]


def _begin(path: Path, number: int) -> int:
    """Return the position of the last part, among the first ``number`` and the next, that is not a number."""
    return max((k for k, part in enumerate(path[: number + 1]) if not part.isdigit()), default=0)

"""The names of a program's arguments, from the paths that JAX gives them.

Long paths are shortened together, by what tells them apart: first go the parts that all arguments beside them share,
then the outer words of keys, then parts from the front. No name is cut so that it reads like another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

from ...hlo.ir import Instruction
from .identifiers import identifier

_LONGEST = 40  # characters of a name that says enough when it is shortened
_SHORT = 20  # and of one that is a part of others
_KEYED = re.compile(r"[A-Za-z_]\w*(?:\[[^\[\]]*\]|\.\w+)+", re.ASCII)
_REACTANT = re.compile(r"(\S+) \(path=\(.*\)\)", re.ASCII)  # ``arg3.weight (path=(:args, 3, 1))``
_NUMBERED = re.compile(r"arg\d+", re.ASCII)  # what Reactant calls an argument without a name
_NO_NAMES = frozenset(("xla__device_data",))  # PyTorch/XLA calls every parameter so
_PART = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+|\d+", re.ASCII)

Path = tuple[str, ...]


def argument_names(instructions: Sequence[Instruction]) -> list[str]:
    """A name for each parameter: its path, where the program has it; else the instruction's own name.

    An argument keeps its capitals, a key in it has none: ``X``, ``params_dense_0`` of ``params['Dense_0']``.
    """
    return _names(_paths(instructions), _LONGEST)


def short_names(instructions: Sequence[Instruction]) -> list[str]:
    """Return shorter names: ``mu_dense_0`` for what is called after ``opt_state[0].mu['params']['Dense_0']``."""
    return _names(_paths(instructions), _SHORT)


def own_words(instructions: Sequence[Instruction]) -> list[str]:
    """Return what gradients are called after: the last parts of a path that no other leaf of its argument ends in,
    ``kernel_1`` of ``params['kernel_1']``; the whole name where these begin with a number.
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
        long = {path[0] for path in paths if len(_joined(path)) > longest}  # these arguments are shortened as a whole
        if not long:
            break
        shorter = [new if path[0] in long else path for path, new in zip(paths, shorten(paths), strict=True)]
        counts = Counter(map(_joined, shorter))
        paths = [new if counts[_joined(new)] == 1 else path for path, new in zip(paths, shorter, strict=True)]
    return paths


def _paths(instructions: Sequence[Instruction]) -> list[Path]:
    """Return the path of each parameter, without an argument that is only a number where the rest tells it apart."""
    whole = [path_of(instruction) for instruction in instructions]
    inner = [
        path[1:] if len(path) > 1 and _REACTANT.fullmatch(_told(instruction)) and _NUMBERED.fullmatch(path[0]) else path
        for path, instruction in zip(whole, instructions, strict=True)
    ]
    counts = Counter(map(_joined, inner))
    return [short if counts[_joined(short)] == 1 else path for short, path in zip(inner, whole, strict=True)]


def is_leaf(instruction: Instruction) -> bool:
    """Tell whether a parameter is a part of an argument: ``params['w']``."""
    return len(path_of(instruction)) > 1


def path_of(instruction: Instruction) -> Path:
    """Return the parts of what a front end calls a parameter: its argument, then keys."""
    op_name = _REACTANT.sub(r"\1", _told(instruction))
    is_path = "/" not in op_name or _KEYED.fullmatch(op_name)  # the name of an operation has scopes before it
    parts = tuple(_PART.findall(op_name)) if is_path else ()
    return parts or (re.sub(r"[.]\d+$", "", instruction.name),)


def _told(instruction: Instruction) -> str:
    """Return what a front end calls a parameter; the empty string where that is no name."""
    op_name = instruction.metadata.op_name if instruction.metadata is not None else ""
    return "" if op_name in _NO_NAMES else op_name


def _joined(path: Path) -> str:
    return identifier("_".join([path[0], *(part.lower() for part in path[1:])]))


def _without_shared(paths: Sequence[Path]) -> list[Path]:
    """Return paths without the parts inside that stand alone among those beside them: ``0`` and ``params`` of
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
    """Keys of many words by the last of them: ``attention_0`` of ``MultiHeadDotProductAttention_0``."""
    return [(path[0], *map(last_word, path[1:])) for path in paths]


def last_word(part: str) -> str:
    """The last word of a key of many, with its number: ``Attention_0``."""
    words = _WORDS.findall(part)
    numbers = [word for word in words[-1:] if word.isdigit()]
    kept = [word for word in words if not word.isdigit()][-1:]
    return "_".join([*kept, *numbers]) if len(words) > 2 else part


def _from_the_front(paths: Sequence[Path], longest: int) -> list[Path]:
    """Return paths without as many of the first parts, in all paths of an argument, as are too many in one of them."""
    dropped: dict[str, int] = {}
    for path in paths:
        begins = [k for k, part in enumerate(path) if not part.isdigit()] or [0]
        needed = next((k for k in begins if len(_joined(path[k:])) <= longest), begins[-1])
        dropped[path[0]] = max(needed, dropped.get(path[0], 0))
    return [path[_begin(path, dropped[path[0]]) :] for path in paths]


def _begin(path: Path, number: int) -> int:
    """The last part that is no number, of the first ``number`` and the next."""
    return max((k for k, part in enumerate(path[: number + 1]) if not part.isdigit()), default=0)

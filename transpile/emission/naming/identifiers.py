"""Names for values, from argument paths and operations, with identifier characters only."""

from __future__ import annotations

import builtins
import itertools
import keyword
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ...array.graph import Graph
from ...array.node import Node
from ...array.operations import OPERATIONS
from ...array.program import Function
from ...array.scalars import is_matrix
from ...hlo.carriers import NARROWING, WIDENING
from ...hlo.element_types import PRED

_OF_MODULES = "np ml_dtypes main Array Scalar Block Group SIGNATURE SIZES".split()
_OF_TYPING = "Any Callable Sequence Iterator Mapping NamedTuple".split()
RESERVED = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *_OF_MODULES, *_OF_TYPING))
_LONGEST = 72
_TABLE = re.compile(r"TABLE(_\d+)?")  # the constants of a module

# The names of the results of collectives.
_COLLECTIVES = {
    "all_reduce": "reduced",
    "reduce_scatter": "shard",
    "all_gather": "gathered",
    "all_to_all": "exchanged",
    "ragged_all_to_all": "exchanged",
    "collective_permute": "received",
    "collective_broadcast": "received",
    "collective_reduce": "reduced",
}


@lru_cache(maxsize=1 << 14)
def identifier(text: str) -> str:
    """Return the nearest Python identifier: ``params_w`` for ``params['w']``; empty if nothing is left."""
    words = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    words = re.sub(r"__+", "_", words)[:_LONGEST].rstrip("_")
    if words and words[0].isdigit():
        words = "x" + words
    return words


class Names:
    """The names taken in one function."""

    def __init__(self, reserved: set[str]) -> None:
        self.reserved = RESERVED | reserved
        self.taken = set(self.reserved)
        self.numbered: dict[str, str] = {}  # name with a number: the name that was wanted
        self._numbers: dict[str, int] = {}  # base: the first number that may be free

    def fresh(self, wanted: str) -> str:
        """Take the name that :meth:`free` returns."""
        name = self.free(wanted)
        self.taken.add(name)
        base = identifier(wanted) or "value"
        if name not in (base, base + "_"):
            self.numbered[name] = base
        return name

    def free(self, wanted: str) -> str:
        """Return ``wanted``, with an underscore if it is reserved, or with the first free number if it is taken."""
        base = identifier(wanted) or "value"
        base = base.lower() if _TABLE.fullmatch(base) else base
        if base not in self.taken:
            return base
        if base in self.reserved and base + "_" not in self.taken:
            return base + "_"
        number = self._numbers.get(base, 2)
        while f"{base}_{number}" in self.taken:
            number += 1
        self._numbers[base] = number
        return f"{base}_{number}"

    def kept(self, name: str) -> str:
        """Take an identifier as it is if it is free, else a fresh one."""
        if name in self.taken:
            return self.fresh(name)
        self.taken.add(name)
        return name


def own_name(function: Function) -> str:
    """Return the name of a function without XLA's and JAX's additions."""
    return plain_name(function.name)


def plain_name(name: str) -> str:
    """Return a function's name without XLA's and JAX's additions."""
    return re.sub(r"[.]\d+$", "", name).removeprefix("jit_")


def base_name(node: Node, graph: Graph) -> str:
    """Return the name of a value by its operation, before numbering."""
    if node.opcode == "blockwise" and "stands_for" not in node.parameters:
        return "parts"
    if node.opcode == "combine" and node.parameters["stands_for"] is None:
        return "total"
    if node.parameters.get("is_part"):
        return base_name(node.parameters["stands_for"], graph) + "_parts"
    node = node.parameters.get("stands_for") or node
    if is_matrix(node):
        return "matrix"
    if node in graph.called:
        return identifier(plain_name(graph.called[node]))
    call, index = (node.operands[0], node.parameters["index"]) if node.opcode == "item" else (node, 0)
    call = call.parameters.get("stands_for") or call
    if call.opcode == "prelude" and call.parameters["function"] in NARROWING | WIDENING and call.operands[0].operands:
        return base_name(call.operands[0], graph)
    if call.opcode == "prelude":
        function = call.parameters["function"]
        name = function if isinstance(function, str) else function.name
        return _default_name(call, index, f"{name}_out")
    if call.opcode == "library":
        return _default_name(call, index, call.parameters["function"].rpartition(".")[2])
    if call.opcode == "qr":
        return _default_name(call, index, "")
    if call.opcode == "collective":
        return _COLLECTIVES[call.parameters["method"]]
    if call.opcode == "call":
        return _name_of_result(call.parameters["function"], index)
    while (_is_called_like_its_operand(node) or _is_squeezed(node)) and node.operands[0].operands:
        node = node.operands[0]
        if node.opcode in ("prelude", "library"):
            return base_name(node, graph)
    noun = _default_name(node, 0, identifier(node.opcode))
    return "bits" if noun == "mask" and node.element_type is not PRED else noun


def _name_of_result(function: Function, index: int) -> str:
    """Return a name for a function's result: of several, the name inside it; of one, a name after the function."""
    results = function.flat_results
    name = base_name(results[index], function.graph) if 1 < len(results) > index and results[index].operands else ""
    return identifier(function.label or own_name(function)) + "_out" if name in ("", "value") else name


def common_words(names_of_values: Sequence[Sequence[str]]) -> list[str]:
    """Return for each of several values the words that all its names end in, or else begin with, without numbers.

    If another value has the same ending, it is the common beginning instead; if that is not unique either, both. Empty
    if the names have no words in common.
    """
    words = [[re.sub(r"_\d+$", "", name).split("_") for name in names] for names in names_of_values]
    starts = ["_".join(_common_start(each)) for each in words]
    ends = ["_".join(_common_start([part[::-1] for part in each])[::-1]) for each in words]
    found = [end if end and not end[0].isdigit() else start for start, end in zip(starts, ends, strict=True)]
    counts, by_start = Counter(found), Counter(starts)
    return [
        own if not start or counts[own] == 1 else start if by_start[start] == 1 else _joined(start, own)
        for start, own in zip(starts, found, strict=True)
    ]


def _joined(start: str, end: str) -> str:
    """Return ``params_block_bias`` for ``params_block`` and ``bias``, or the longer one if it contains the other."""
    return start if start.endswith(end) else end if end.startswith(start) else f"{start}_{end}"


_NO_NOUNS = ("ed", "s", "chosen", "hidden", "taken")  # endings of words without a plural, or that are plurals


def plural(name: str) -> str:
    """Return the plural of a name: ``energies``, ``losses``, ``xs``, ``all_joined``."""
    if name.endswith(("ss", "sh", "ch", "x")) and name.rpartition("_")[2] != "x":
        return f"{name}es"
    if name.endswith(_NO_NOUNS) or name[-1].isdigit():
        return f"all_{name}"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2:-1] not in "aeiou" else f"{name}s"


def outer_words(names: Sequence[str]) -> str:
    """Return the words that all names begin with and those that all end in.

    They are ``new_block_norm_0`` for ``new_block_1_norm_0`` and ``new_block_2_norm_0``.
    """
    words = [name.split("_") for name in names]
    return _joined("_".join(_common_start(words)), "_".join(_common_start([each[::-1] for each in words])[::-1]))


def common_start(names: Sequence[str]) -> str:
    """Return the words that all names begin with."""
    return "_".join(_common_start([name.split("_") for name in names]))


def _common_start(words: Sequence[Sequence[str]]) -> list[str]:
    same = itertools.takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False))
    return [each[0] for each in same]


def is_argument(node: Node) -> bool:
    """Return whether a node is an argument of the program."""
    return node.opcode == "parameter" and "argument" in node.parameters


def given_arguments(function: Function) -> dict[Node, list[int]]:
    """Return, by parameter, the numbers of the program's arguments that calls pass for it, if they pass no others."""
    if not function.repeated:
        return {node: [node.parameters["argument"]] for node in function.parameters if is_argument(node)}
    pairs = zip(function.parameters, function.repeated, strict=True)
    return {node: [n.parameters["argument"] for n in given] for node, given in pairs if all(map(is_argument, given))}


_NUMPY_WORDS = frozenset(("clip", "where"))  # for clamp and select


def is_operation(word: str) -> bool:
    """Return whether a word is the name of an operation, and so describes no result."""
    is_row = word in OPERATIONS or word.replace("_", "-") in OPERATIONS or word in _NUMPY_WORDS
    return is_row or isinstance(getattr(np, word, None), np.ufunc)


def _default_name(node: Node, index: int, otherwise: str) -> str:
    """Return the default name of an operation's result, from its row; the last name serves for all further results."""
    names = node.operation.default_names
    return names[min(index, len(names) - 1)] if names else otherwise


def _is_called_like_its_operand(node: Node) -> bool:
    return node.operation.is_view and node.operation.is_light and not node.operation.default_names


def _is_squeezed(node: Node) -> bool:
    """Return whether a node is a whole array without an axis of one element: ``x[:, 0]``."""
    return node.opcode == "getitem" and math.prod(node.shape) == math.prod(node.operands[0].shape)

"""Names of values after the calls and scopes that they leave, which the program contains without its source.

A tracer keeps the names of the functions and of the scopes around each operation. The value that a call returns is
named after the function. A value that stays inside gets the function's name before its own, if it would need a number
otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...array.graph import Graph
from ...array.node import Node, Region
from ...array.program import Function
from ...array.traversal import users_of
from ...dataclass import dataclass
from ...hlo.function_words import own_parts, word_of
from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.stack_frames import CallChains
from ..module.sections import scope_parts
from .identifiers import base_name, own_name, plain_name

_LONGEST = 20  # characters of a name for a value within a call; numbers are better than longer ones

_CALLED = re.compile(r"\bjit\((\w+)\)", re.ASCII)

GRADIENT = "d_"  # prefix of the names of gradients


@dataclass(frozen=True, slots=True)
class Level:
    """A call or a scope around an operation, identified by its key. The word is its name, which may be empty."""

    key: object
    word: str


Levels = tuple[Level, ...]


class Around(NamedTuple):
    """The scopes and the calls around an operation, outermost first, and the function that the calls begin in.

    Operations that were traced elsewhere and cached begin in another function, and the nesting of the two is unknown.
    """

    kinds: tuple[Levels, Levels]  # scopes say more than calls
    root: str


_NOWHERE = Around(((), ()), "")  # around the results of a function

# (call or scope that is left, whether gradients leave it): the values, each with its name after the call or scope.
_Values = dict[tuple[object, bool], list[tuple[Node, str]]]


def called_names(module: HloModule) -> dict[Computation, str]:
    """Return the names of jitted functions as their calls have them, ``transpose(jvp(jit(softmax)))``.

    The computation may be ``softmax_9``, because JAX numbered functions of the same name, or may only be a gradient.
    """
    found: dict[Computation, set[str]] = {}
    for instruction in module.instructions():
        computations = instruction.called if instruction.opcode == "call" else ()
        for computation in computations:
            place = instruction.metadata.op_name.rpartition("/")[2] if instruction.metadata is not None else ""
            jitted, own = _CALLED.findall(place), plain_name(computation.name)
            is_known = bool(jitted) and re.fullmatch(re.escape(jitted[-1]) + r"(_\d+)?", own) is not None
            name = (GRADIENT if "transpose(" in place else "") + jitted[-1] if is_known else ""
            found.setdefault(computation, set()).add(name)
    return {computation: name for computation, (name, *others) in found.items() if name and not others}


class ContextNames:
    """The names of a module's values after the calls and scopes around them."""

    def __init__(self, module: HloModule, chains: CallChains) -> None:
        self._chains = chains
        self._known: dict[tuple[str, tuple[int, ...]], Around] = {}  # by op_name and frames
        traced = module.name.removeprefix("jit_")
        names = [frame.function_name for frame in self._chains.frames]
        self._own = own_parts(names, traced)
        self._called = called_names(module)

    def names(
        self, graph: Graph, nodes: Sequence[Node], results: Iterable[Node], named: set[Node]
    ) -> tuple[dict[Node, str], dict[Node, str]]:
        """Return names of values after the calls or scopes that they leave, and of the others after those they are in.

        ``named`` are those of ``nodes``, the live nodes of a function, that have statements of their own.
        """
        origins = {node: origin for node in nodes if (origin := _instruction(graph, node)) is not None}
        around = {node: levels for node, origin in origins.items() if (levels := self._levels(origin)) is not None}
        if not any(any(levels.kinds) for levels in around.values()):
            return {}, {}
        gradients = {node for node in around if is_gradient(origins[node])}
        wanted = [n for n in nodes if n in named and n in around and not n.results and n.opcode != "item"]
        left = _Leaving(around, gradients, users_of(nodes, results))
        leaving, inside = left.sorted(wanted)
        found = left.last_values(leaving, inside)
        return found, _told_apart(inside, graph, around, gradients)

    def of_called(self, function: Function) -> str:
        """Return the name of a function in its calls, without XLA's and JAX's additions."""
        return self._called.get(function.computation) or own_name(function)

    def of_function(self, instructions: Iterable[Instruction]) -> str:
        """Return the word of the innermost call or scope around all instructions of a function, or an empty string.

        A scope inside one that has the name of the call says more than the call.
        """
        around = [levels for instruction in instructions if (levels := self._levels(instruction)) is not None]
        scopes, calls = (_common_words([levels.kinds[kind] for levels in around]) for kind in (0, 1))
        words = scopes if not calls or calls[-1] in scopes[:-1] else calls
        return words[-1] if words else ""

    def _levels(self, instruction: Instruction) -> Around | None:
        """Return the scopes and the calls around an instruction, or None if unknown."""
        if instruction.metadata is None:
            return None
        chain = self._chains.of(instruction)
        if self._chains.frames and not chain:
            return None
        key = instruction.metadata.op_name, chain
        if key not in self._known:
            self._known[key] = self._found(*key)
        return self._known[key]

    def _found(self, op_name: str, chain: tuple[int, ...]) -> Around:
        frames = [self._chains.frames[frame_id - 1] for frame_id in chain]
        calls = (
            Level(caller, word_of(frame.function_name, self._own))
            for caller, frame in zip(chain, frames[1:], strict=False)
        )
        return Around((self._scopes(op_name), tuple(calls)), frames[0].function_name if frames else "")

    def _scopes(self, op_name: str) -> Levels:
        """Return the scopes in an op_name."""
        found: list[Level] = []
        path: tuple[str, ...] = ()
        for part in scope_parts(op_name):
            path = (*path, part)
            found.append(Level(path, word_of(part.rpartition(".")[2], self._own)))
        return tuple(found)


class _Leaving:
    """The calls and scopes that values leave: those around a value that are not around its users."""

    def __init__(self, around: dict[Node, Around], gradients: set[Node], users: dict[Node, list[Node | None]]) -> None:
        self.around = around
        self.gradients = gradients
        self.users = users
        self.common = _shared(around.values())

    def sorted(self, nodes: Sequence[Node]) -> tuple[_Values, list[Node]]:
        """Return the values that leave a call or a scope, each with its name after that, and the other values."""
        leaving: _Values = {}
        inside: list[Node] = []
        for node in nodes:
            level, name = self._left(node)
            if level is None:
                inside.append(node)
            else:
                leaving.setdefault((level.key, node in self.gradients), []).append((node, name.format(level.word)))
        return leaving, inside

    def _left(self, node: Node) -> tuple[Level | None, str]:
        """Return the call or scope that a value leaves, or None, and the form of its name."""
        around = self.around[node]
        known = [
            u
            for u in self.users.get(node, ())
            if u is None or (u in self.around and self.around[u].root == around.root)
        ]
        into = [self.around[user] for user in known if user is not None and user in self.gradients]
        others = [_NOWHERE if user is None else self.around[user] for user in known if user not in self.gradients]
        if all(operand.is_literal for operand in node.operands):
            return None, ""  # a constant is the same anywhere
        if node in self.gradients and into:  # it enters the call that it is the gradient of
            return _left(into[-1], [around], self.common), GRADIENT + "{}"
        if node in self.gradients:  # of a parameter
            return _innermost(around, self.common), "{}_gradient"
        return _left(around, others, self.common), "{}"  # uses by gradients are factors of a derivative

    def last_values(self, leaving: _Values, inside: list[Node]) -> dict[Node, str]:
        """Return the name, after each call or scope, of the last value that leaves it; add the others to ``inside``."""
        last: dict[object, Node] = {}  # call or scope: the last node in it, its value
        for node, levels in self.around.items():
            if node not in self.gradients:
                last.update((level.key, node) for kind in levels.kinds for level in kind)
        found: dict[Node, str] = {}
        for (key, gradient), values in leaving.items():
            (node, name) = values[-1]
            if gradient or node is last[key]:
                found[node] = name
                values.pop()
            inside += [node for node, _ in values]
        return found


def _told_apart(
    inside: Iterable[Node], graph: Graph, around: dict[Node, Around], gradients: set[Node]
) -> dict[Node, str]:
    """Return names after the innermost call or scope for the values that would need a number."""
    in_region: dict[Region, list[Around]] = {}
    for node, levels in around.items():
        in_region.setdefault(node.region, []).append(levels)
    within = {region: _shared(given) for region, given in in_region.items()}
    bases = {node: base_name(node, graph) for node in inside}
    counts = Counter(bases.values())
    found: dict[Node, str] = {}
    for node, base in bases.items():
        level = _innermost(around[node], within[node.region])
        if counts[base] > 1 and level is not None and level.word != base:
            name = f"{level.word}_{'gradient' if node in gradients else base}"
            if len(name) <= _LONGEST:
                found[node] = name
    return found


def is_gradient(instruction: Instruction) -> bool:
    """Return whether an instruction is the transpose of another, as in reverse differentiation."""
    return instruction.metadata is not None and "transpose(" in instruction.metadata.op_name


def is_differentiated(instruction: Instruction) -> bool:
    """Return whether an instruction was traced for a gradient."""
    return instruction.metadata is not None and "jvp(" in instruction.metadata.op_name


def instructions_of(graph: Graph, node: Node) -> Sequence[Instruction]:
    """Return the instructions whose result a node is, or the instruction that it was derived from by a rewrite."""
    origin = graph.origins.get(node)
    return graph.results.get(node) or ([] if origin is None else [origin])


def _instruction(graph: Graph, node: Node) -> Instruction | None:
    """Return the instruction whose result a node is, or that it comes from; the last outside gradients, if any."""
    made = instructions_of(graph, node)
    last = made[-1] if made else None
    return next((each for each in reversed(made) if not is_gradient(each)), last)


def _shared(around: Iterable[Around]) -> list[int]:
    """Return how many scopes, and how many calls, are around all values."""
    each = {id(levels): levels.kinds for levels in around}
    return [_common(given) for given in zip(*each.values(), strict=True)]


def _common(levels: Sequence[Levels]) -> int:
    """Return the number of leading levels that all share."""
    count = 0
    for same in zip(*levels, strict=False):
        if len({level.key for level in same}) > 1:
            break
        count += 1
    return count


def _common_words(levels: Sequence[Levels]) -> list[str]:
    """Return the words of the levels common to all values that are in any, outermost first."""
    given = [each for each in levels if each]
    return [level.word for level in given[0][: _common(given)] if level.word] if given else []


def _left(around: Around, users: Sequence[Around], common: Sequence[int]) -> Level | None:
    """Return the outermost level with a word that a value leaves, or None if its users are inside all of them."""
    if not users:
        return None
    for kind in (0, 1):
        shared = min(
            common[kind] if user is _NOWHERE else _common([around.kinds[kind], user.kinds[kind]]) for user in users
        )
        for level in around.kinds[kind][shared:]:
            if level.word:
                return level
    return None


def _innermost(around: Around, common: Sequence[int]) -> Level | None:
    """Return the innermost level with a word that is not around all values, or None."""
    for levels, shared in zip(around.kinds, common, strict=True):
        for level in reversed(levels[shared:]):
            if level.word:
                return level
    return None

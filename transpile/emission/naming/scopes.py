"""Names of values after the calls and scopes that they leave: what the program tells without its source.

A tracer keeps the names of the functions and of the scopes around each operation. The value that a call hands out is
what the author would call after the function; values that only stay inside get its name before their own, where they
would be told apart by a number else.
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

_LONGEST = 20  # characters of a name that tells values within a call apart: longer ones cost more than numbers

_CALLED = re.compile(r"\bjit\((\w+)\)", re.ASCII)

GRADIENT = "d_"  # before the name of what it is the gradient of


@dataclass(frozen=True, slots=True)
class Level:
    """A call or a scope around an operation: equal keys are the same one. The word is what it may be called."""

    key: object
    word: str


Levels = tuple[Level, ...]


class Around(NamedTuple):
    """The scopes and the calls around an operation, outermost first, and the function that the calls begin in.

    What was traced elsewhere and kept begins in another: nothing is known of how the two are nested.
    """

    kinds: tuple[Levels, Levels]  # scopes say more than calls
    root: str


_NOWHERE = Around(((), ()), "")  # around what a function returns

# By the call or scope that they leave, and whether they are gradients: values, and the name that they have after it.
_Values = dict[tuple[object, bool], list[tuple[Node, str]]]


def called_names(module: HloModule) -> dict[Computation, str]:
    """Return the names of jitted functions as their calls have them, ``transpose(jvp(jit(softmax)))``, where JAX told
    several of one name apart by numbers, ``softmax_9``, or a computation is only a gradient.
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
        self._known: dict[tuple[str, tuple[int, ...]], Around] = {}  # by the name of an operation and its frames
        traced = module.name.removeprefix("jit_")
        names = [frame.function_name for frame in self._chains.frames]
        self._own = own_parts(names, traced)
        self._called = called_names(module)

    def names(
        self, graph: Graph, nodes: Sequence[Node], results: Iterable[Node], named: set[Node]
    ) -> tuple[dict[Node, str], dict[Node, str]]:
        """Return names for those of ``nodes``, the live nodes of a function, that have statements of their own: of
        values after what they leave, and of values inside after what is around them.
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
        """The name of a function without what XLA and JAX add to it: that which its calls have for it."""
        return self._called.get(function.computation) or own_name(function)

    def of_function(self, instructions: Iterable[Instruction]) -> str:
        """The word of the innermost call or scope that is around all instructions of a function; empty for none.

        A scope inside of one that is called as the call is says more than the call.
        """
        around = [levels for instruction in instructions if (levels := self._levels(instruction)) is not None]
        scopes, calls = (_common_words([levels.kinds[kind] for levels in around]) for kind in (0, 1))
        words = scopes if not calls or calls[-1] in scopes[:-1] else calls
        return words[-1] if words else ""

    def _levels(self, instruction: Instruction) -> Around | None:
        """The scopes and the calls around an instruction, outermost first; None where the program does not tell."""
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
        """The scopes that the name of an operation tells."""
        found: list[Level] = []
        path: tuple[str, ...] = ()
        for part in scope_parts(op_name):
            path = (*path, part)
            found.append(Level(path, word_of(part.rpartition(".")[2], self._own)))
        return tuple(found)


class _Leaving:
    """Finds the calls and scopes that values leave: those around a value that are not around what uses it."""

    def __init__(self, around: dict[Node, Around], gradients: set[Node], users: dict[Node, list[Node | None]]) -> None:
        self.around = around
        self.gradients = gradients
        self.users = users
        self.common = _shared(around.values())

    def sorted(self, nodes: Sequence[Node]) -> tuple[_Values, list[Node]]:
        """Return the values that leave a call or a scope, each with its name after that, and those that stay inside."""
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
        """Return what a value leaves, and the form of its name."""
        own = self.around[node]
        known = [u for u in self.users.get(node, ()) if u is None or self._begins_alike(u, own)]
        into = [self.around[user] for user in known if user is not None and user in self.gradients]
        others = [_NOWHERE if user is None else self.around[user] for user in known if user not in self.gradients]
        if all(operand.is_literal for operand in node.operands):
            return None, ""  # the same wherever it stands
        if node in self.gradients and into:  # it comes into what it is the gradient of
            return _left(into[-1], [own], self.common), GRADIENT + "{}"
        if node in self.gradients:  # of a parameter
            return _innermost(own, self.common), "{}_gradient"
        return _left(own, others, self.common), "{}"  # what gradients take is a factor of a derivative

    def _begins_alike(self, user: Node, own: Around) -> bool:
        return user in self.around and self.around[user].root == own.root

    def last_values(self, leaving: _Values, inside: list[Node]) -> dict[Node, str]:
        """Name the last value that leaves each call or scope after that; add the others to those that stay inside."""
        last: dict[object, Node] = {}  # by call or scope: what it makes last, its value
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
    """Names after the innermost call or scope of those values that would be told apart by numbers."""
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
    """Tell whether JAX made an instruction to transpose another, as reverse differentiation does."""
    return instruction.metadata is not None and "transpose(" in instruction.metadata.op_name


def instructions_of(graph: Graph, node: Node) -> Sequence[Instruction]:
    """Return what a node is the result of; what it comes from where a rewrite made it of something else."""
    origin = graph.origins.get(node)
    return graph.results.get(node) or ([] if origin is None else [origin])


def _instruction(graph: Graph, node: Node) -> Instruction | None:
    """Return what a node is the result of, or comes from; of several the last that is of no gradient."""
    made = instructions_of(graph, node)
    last = made[-1] if made else None
    return next((each for each in reversed(made) if not is_gradient(each)), last)


def _shared(around: Iterable[Around]) -> list[int]:
    """Return how many scopes, and how many calls, all values are in."""
    each = {id(levels): levels.kinds for levels in around}
    return [_common(given) for given in zip(*each.values(), strict=True)]


def _common(levels: Sequence[Levels]) -> int:
    """Return how many levels all share."""
    count = 0
    for same in zip(*levels, strict=False):
        if len({level.key for level in same}) > 1:
            break
        count += 1
    return count


def _common_words(levels: Sequence[Levels]) -> list[str]:
    """Return the words of the levels that are in common to all values that are in any, outermost first."""
    given = [each for each in levels if each]
    return [level.word for level in given[0][: _common(given)] if level.word] if given else []


def _left(own: Around, users: Sequence[Around], common: Sequence[int]) -> Level | None:
    """The outermost level with a word that a value leaves; None where it is used inside of all of them."""
    if not users:
        return None
    for kind in (0, 1):
        shared = min(
            common[kind] if user is _NOWHERE else _common([own.kinds[kind], user.kinds[kind]]) for user in users
        )
        for level in own.kinds[kind][shared:]:
            if level.word:
                return level
    return None


def _innermost(around: Around, common: Sequence[int]) -> Level | None:
    """The innermost level with a word that not all values are in."""
    for levels, shared in zip(around.kinds, common, strict=True):
        for level in reversed(levels[shared:]):
            if level.word:
                return level
    return None

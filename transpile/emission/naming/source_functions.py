"""The author's names of the parameters of functions, and of the values that a loop carries.

A function is found by the frames of its instructions. Its parameters are identified by the expressions that use them,
because the order in HLO is not the author's.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from ...dataclass import dataclass
from ...hlo.ir import Computation, Instruction, InstructionUsers, StackFrame, callees_first
from ...hlo.stack_frames import CallChains
from .source_reads import MOST_FILES, OPERATORS, SEEN_THROUGH

# For each function that makes a loop: the argument with its step, the index of the step's carried parameter, and the
# number of counters that JAX may carry before it; the stacked outputs of a scan come after it.
_LOOPS = {"scan": ((0, "f"), 0, 1), "fori_loop": ((2, "body_fun"), 1, 2), "while_loop": ((1, "body_fun"), 0, 0)}

Way = tuple[str, ...]  # a parameter, then keys: ("state", "position", "mu")

_PART = re.compile(r"\w+", re.ASCII)
_LONGEST = 24  # characters of a name of several keys, unless one key is not unique
_RESULT = "result["  # what the step of a scan gives to be stacked

# The parameters of JAX's own functions, whose files are not those of the author.
_OF_JAX = {
    "_randint": ("key", "minval", "maxval"),
    "_truncated_normal": ("key", "lower", "upper"),
    "_uniform": ("key", "minval", "maxval"),
}


@dataclass(slots=True)
class _File:
    """The parts of a source file that give names.

    For places: the names that are read there (``expressions``), the names on both sides of an operator by its opcode
    (``operations``), the target that its value is unpacked into (``unpacked``), and the loop that is made
    there (``loops``). ``definitions`` has the functions by their names, ``scopes`` the function or class that each is
    defined in.
    """

    definitions: dict[tuple[str, str], list[ast.FunctionDef]] = field(default_factory=dict)
    expressions: dict[tuple[str, int, int], set[str]] = field(default_factory=dict)
    operations: dict[tuple[str, int, int, str], tuple[set[str], set[str]]] = field(default_factory=dict)
    unpacked: dict[tuple[str, int, int], ast.Tuple] = field(default_factory=dict)
    loops: dict[tuple[str, int, int], tuple[str, ast.Call]] = field(default_factory=dict)
    scopes: dict[ast.FunctionDef, ast.AST] = field(default_factory=dict)


@lru_cache(MOST_FILES)
def _read(file_name: str, tree: ast.Module) -> _File:
    file = _File()
    for node, scope in _with_scopes(tree):
        if isinstance(node, ast.FunctionDef):
            file.definitions.setdefault((file_name, node.name), []).append(node)
            file.scopes[node] = scope
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            target = node.targets[0]
            file.unpacked[file_name, node.value.lineno, node.value.col_offset] = target
            read = file.expressions.setdefault((file_name, target.lineno, target.col_offset), set())
            read.update(_names_read(node.value))
        elif isinstance(node, ast.expr):
            place = (file_name, node.lineno, node.col_offset)
            file.expressions.setdefault(place, set()).update(_names_read(node))
            if isinstance(node, ast.Call) and (made := _last_name(node.func)) in _LOOPS:
                file.loops[place] = made, node
            if isinstance(node, ast.BinOp) and (opcode := OPERATORS.get(type(node.op))) is not None:
                file.operations[*place, opcode] = _names_read(node.left), _names_read(node.right)
    return file


def _with_scopes(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield the nodes of a file as ``ast.walk`` does, each with the function, class or file that it is in."""
    waiting = deque[tuple[ast.AST, ast.AST]]([(tree, tree)])
    while waiting:
        node, scope = waiting.popleft()
        yield node, scope
        inside = node if isinstance(node, ast.FunctionDef | ast.ClassDef) else scope
        waiting.extend((child, inside) for child in ast.iter_child_nodes(node))


class SourceFunctions:
    """The functions in the Python files of a module."""

    def __init__(self, chains: CallChains, trees: Mapping[str, ast.Module]) -> None:
        self.chains = chains
        self.users = InstructionUsers()
        files = [_read(file_name, tree) for file_name, tree in trees.items()]
        self.definitions = {key: found for file in files for key, found in file.definitions.items()}
        self.expressions = {key: found for file in files for key, found in file.expressions.items()}
        self.operations = {key: found for file in files for key, found in file.operations.items()}
        self.unpacked = {key: found for file in files for key, found in file.unpacked.items()}
        self.loops = {key: found for file in files for key, found in file.loops.items()}
        self._scopes = {file_name: (tree, _read(file_name, tree).scopes) for file_name, tree in trees.items()}

    # -- parameters

    def parameters(self, computation: Computation, name: str) -> list[str | None]:
        """Return the author's name for each parameter of a function, or None if its uses are ambiguous."""
        instructions, wanted = computation.parameters, self._arguments_of(name, computation)
        if not wanted:
            own_of_jax = _OF_JAX.get(name, ())
            return [*own_of_jax] if len(own_of_jax) == len(instructions) else [None] * len(instructions)
        possible = [self._possible(computation, p, name, set(wanted)) for p in instructions]
        found = [own in names for own, names in zip(wanted, possible, strict=False)]
        fits = len(wanted) == len(possible) and all(
            is_read or not names for is_read, names in zip(found, possible, strict=True)
        )
        if fits and 2 * sum(found) >= len(found):  # else the values may be others, in an order of their own
            return _telling(wanted)
        chosen = _only_choices(possible)
        left = [name for name in wanted if name not in chosen]
        if len(wanted) == len(instructions) and len(left) == 1:
            chosen[chosen.index(None)] = left[0]
        return _telling(chosen)

    def order(self, computation: Computation, name: str) -> list[int]:
        """Return for each parameter of a function the index of the author's parameter that it is, or is a part of.

        Parameters that the function closes over come after these.
        """
        wanted = self._arguments_of(name, computation)
        chosen = self.parameters(computation, name)
        possible = (self._possible(computation, p, name, set(wanted)) for p in computation.parameters)
        alone = (own or (min(names) if len(names) == 1 else "") for own, names in zip(chosen, possible, strict=True))
        return [wanted.index(own) if own in wanted else len(wanted) for own in alone]

    def _arguments_of(self, name: str, computation: Computation) -> list[str]:
        """Return the parameters of the function of a name that all instructions of a computation come from; none if
        there are several.
        """
        named = [each for (_, own), found in self.definitions.items() if own == name for each in found]
        if len(named) > 1:
            lines = {place for each in computation.instructions for place in self._lines_in(each, name)}
            named = [each for file_name, line in lines for each in self._around(file_name, name, line)]
        return _arguments(named[0]) if len(set(named)) == 1 else []

    def _lines_in(self, instruction: Instruction, name: str) -> Iterator[tuple[str, int]]:
        """Yield file and line of the frames in functions of a name around an instruction."""
        for frame_id in self.chains.of(instruction):
            frame = self.chains.frames[frame_id - 1]
            if frame.function_name.rsplit(".", 1)[-1] == name:
                yield frame.file_name, frame.line

    def _around(self, file_name: str, name: str, line: int) -> Iterator[ast.FunctionDef]:
        """Yield the definitions of a name that a line is in."""
        for definition in self.definitions.get((file_name, name), ()):
            if definition.lineno <= line <= (definition.end_lineno or line):
                yield definition

    def _possible(self, computation: Computation, parameter: Instruction, name: str, wanted: set[str]) -> set[str]:
        """Return the author's parameters that all expressions read which use a parameter."""
        read = list(self._read(computation, parameter, name, wanted))
        return set.intersection(*read) if read else set()

    def _read(self, computation: Computation, value: Instruction, name: str, wanted: set[str]) -> Iterator[set[str]]:
        """Yield the ``wanted`` names that each expression of a function reads which uses a value.

        For an operator, these are the names on the side of the value.
        """
        own = {value}  # and its reshapes and broadcasts
        for user in self.users.of(computation, value, _is_seen_through):
            if _is_seen_through(user):
                own.add(user)
                continue
            for frame_id in self.chains.of(user):
                frame = self.chains.frames[frame_id - 1]
                if frame.function_name.rsplit(".", 1)[-1] == name:
                    place = frame.place
                    sides = self.operations.get((*place, user.opcode))
                    read = [names for names, given in zip(sides or (), user.operands, strict=False) if given in own]
                    names = read[0] if len(read) == 1 else self.expressions.get(place, set())
                    yield names & wanted

    # -- loops

    def traced(self, loop: Instruction, paths: Sequence[str], taken: Collection[str]) -> dict[int, str]:
        """Return names for elements of a loop's carried tuple after their ``paths`` in the author's step.

        Numbers in paths are the names that the step, or the line with the call, unpacks its values into. These stand
        before a key whose name is ``taken`` by other values: ``cache_key``.
        """
        known = self._step_in_call(loop)
        definition = known[0] if known is not None else self._step(loop)
        chain = self.chains.of(loop)
        target = self.unpacked.get(self.chains.frames[chain[-1] - 1].place) if chain else None
        unpacked = {**_unpacked_in(definition), **_places_in(target, ("result",))}
        ways = [_named(tuple(_PART.findall(path)), unpacked) for path in paths]
        outputs = {k for k, path in enumerate(paths) if path.startswith(_RESULT)}
        carried = _ends([() if k in outputs else way for k, way in enumerate(ways)])
        stacked = _ends([way if k in outputs else () for k, way in enumerate(ways)])
        needs_more = [k in outputs or name in taken for k, name in enumerate(carried)]
        named = (k for k, path in enumerate(paths) if needs_more[k] and path and not path.startswith(ways[k][0]))
        whole = {k: "_".join(ways[k]) for k in named if ways[k][0] != "_"}
        own = {k: name for k, name in whole.items() if len(name) <= _LONGEST}
        return {k: name for k in range(len(paths)) if (name := own.get(k) or carried[k] or stacked[k])}

    def carried(self, loop: Instruction, elements: Sequence[int | None], stacked: int) -> list[str] | None:
        """Return the author's names for elements of a loop's carried tuple, or None.

        These are the parameters of the loop's step, or the names that these are unpacked into. The last ``stacked``
        elements are the stacked outputs, or more if some are not stored any more.
        """
        stacked = stacked and max(stacked, _filled_by_rows(loop))
        known, counters = self._step_in_call(loop), 1
        if known is not None:
            definition, carried, counters = known
            stacked = stacked if counters == 1 else 0
            parameters = _arguments(definition)[carried : carried + 1]
        else:
            found = self._step(loop)
            if found is None:
                return None
            definition, parameters = found, _arguments(found)
            if len(parameters) == 2 and not _returns_pairs(definition):
                parameters = parameters[::-1]  # a step of fori_loop is given the counter first
        inside = (value for computation in callees_first(loop["body"]) for value in computation.instructions)
        chains = (self.chains.of(value) for value in inside if value.opcode == "slice")
        rows = {self.chains.frames[frame_id - 1].place[1:] for chain in chains for frame_id in chain}
        taken = {name: _taken_apart(definition, name, rows) if name != "_" else [] for name in _arguments(definition)}
        known_names = {part for parts in taken.values() for part in parts}
        for name in parameters:
            parts = taken[name]
            places = _places(loop, parts, stacked, counters)
            names = [places.get(element, "") for element in elements]
            is_whole = names and all(names) and (known is not None or len(parts) == len(elements))
            own = dict(zip(elements, names, strict=True))
            if is_whole and self._are_read(loop["body"], definition, own, known_names):
                return ["state" if part == "_" else part for part in names]
        return None

    def _are_read(
        self, body: Computation, step: ast.FunctionDef, names: Mapping[int | None, str], known: set[str]
    ) -> bool:
        """Return whether the step reads each carried element by its name, if it reads the element by any that is
        ``known``.
        """
        for value in body.instructions:
            name = names.get(value["index"]) if value.opcode == "get-tuple-element" else None
            if name is not None and value.operands == tuple(body.parameters):
                read = set[str]().union(*self._read(body, value, step.name, known))
                if read and name not in read:
                    return False
        return True

    def cotangents(self, loop: Instruction) -> dict[int, str]:
        """Return the author's names for the carries whose gradients the transpose of a scan carries, by their index.

        The gradients of what the step closes over are added up before them. Which carries have no gradient is unknown,
        so there must be one for each name.
        """
        known = self._step_in_call(loop)
        definition = known[0] if known is not None else self._step(loop)
        arguments = [] if definition is None else _arguments(definition)
        if definition is None or len(arguments) != 2:
            return {}
        is_counted = known[1] == 1 if known is not None else not _returns_pairs(definition)
        names = _taken_apart(definition, arguments[is_counted], set())
        body: Computation = loop["body"]
        own = {
            value["index"]: value
            for value in body.instructions
            if value.opcode == "get-tuple-element" and value.operands == tuple(body.parameters)
        }
        found: list[int] = []
        for index, following in enumerate(body.root.operands[1:], 1):
            value = own.get(index)
            readers = [] if value is None else [*self.users.of(body, value, lambda _: False)]
            if _is_row_update(following) or any(each.opcode == "dynamic-slice" for each in readers):
                break  # stacked outputs, or rows of what was saved
            if not self._is_added_up(body, readers, following):
                found.append(index)
        return dict(zip(found, names, strict=True)) if len(found) == len(names) and "_" not in names else {}

    def _is_added_up(self, body: Computation, readers: list[Instruction], following: Instruction) -> bool:
        """Return whether a carried value with these readers is only added to in each iteration, and read by nothing."""
        made = _made(following)
        call = following if following.opcode == "call" else following.operands[0]
        inside = body if made is following else call["to_apply"]
        while len(readers) == 1 and readers[0].opcode == "add":
            readers = [*self.users.of(inside, readers[0], lambda _: False)]
            if readers and all(each.opcode == "tuple" for each in readers):
                return made.opcode == "add"
        return False

    def stacks(self, loop: Instruction) -> bool:
        """Return whether a loop is a scan of the author's that stacks what its step gives."""
        known = self._step_in_call(loop)
        return known is not None and known[2] == 1 and _filled_by_rows(loop) > 0

    def stacked(self, loop: Instruction, count: int, total: int) -> list[str] | None:
        """Return the author's names for the last ``count`` of ``total`` results of a loop, its stacked outputs."""
        for frame_id in self.chains.of(loop)[-1:]:
            frame = self.chains.frames[frame_id - 1]
            target = self.unpacked.get(frame.place)
            elements = target.elts if target is not None else []
            parts = [[name.id for name in _flat(part) if isinstance(name, ast.Name)] for part in elements]
            names = [name for part in parts for name in part]
            if not count or "_" in names[-count:]:
                continue
            is_pair = len(parts) == 2 and len(parts[1]) == count
            if is_pair and (len(names) == total or self._stacks_all(loop, count)):
                return parts[1]
            if len(names) == total and all(len(part) == 1 for part in parts):
                return names[-count:]
        return None

    def _stacks_all(self, loop: Instruction, count: int) -> bool:
        """Return whether a loop still has all outputs of the author's scan, and stacks no others.

        Outputs that are not read are dropped, as carries are, and gradients stack values of their own.
        """
        known = None if _is_differentiated(loop) else self._step_in_call(loop)
        if known is None or known[1:] != (0, 1) or _filled_by_rows(loop) != count:
            return False
        arguments = _arguments(known[0])
        names = _taken_apart(known[0], arguments[0], set()) if arguments else []
        return len(_changing(loop)) <= 1 + len(names) + count

    def rows(self, loop: Instruction) -> dict[Instruction, str]:
        """Return the author's names for the rows that each iteration of a scan reads.

        These are the second parameter of its step, or the names that this is unpacked into.
        """
        known = self._step_in_call(loop)
        if known is None or known[1:] != (0, 1) or len(arguments := _arguments(known[0])) != 2:
            return {}
        bodies = [loop["body"], *(each["to_apply"] for each in loop["body"].instructions if _is_whole_body(each))]
        place = self.chains.frames[self.chains.of(loop)[-1] - 1].place
        reads = [
            each
            for each in (each for body in bodies for each in body.instructions)
            if _reads_row(each) and (chain := self.chains.of(each)) and self.chains.frames[chain[-1] - 1].place == place
        ]
        names = _taken_apart(known[0], arguments[1], set())
        return dict(zip(reads, names, strict=True)) if len(reads) == len(names) else {}

    def _call_of(self, loop: Instruction) -> tuple[str, ast.expr | None, StackFrame] | None:
        """Return the JAX function that makes a loop, the expression of its step, and the frame; None if unknown."""
        for frame_id in self.chains.of(loop)[-1:]:
            frame = self.chains.frames[frame_id - 1]
            made, call = self.loops.get(frame.place, ("", None))
            if call is not None:
                (position, keyword), *_ = _LOOPS[made]
                given = [*call.args[position : position + 1], *(k.value for k in call.keywords if k.arg == keyword)]
                return made, given[0] if given else None, frame
        return None

    def _step_in_call(self, loop: Instruction) -> tuple[ast.FunctionDef, int, int] | None:
        """Return the step passed to the call that makes a loop, the index of its carried parameter, and JAX's counters.

        None if the call or the step is unknown.
        """
        made, step, frame = self._call_of(loop) or ("", None, None)
        if step is None or frame is None:
            return None
        _, carried, counters = _LOOPS[made]
        for name, number in _called_with(step, carried):
            definition = self._visible(name, frame)
            if definition is not None:
                return definition, number, counters
        return None

    def _visible(self, name: str, frame: StackFrame) -> ast.FunctionDef | None:
        """Return the function that a name means in a frame's line; None for a parameter of a function around it."""
        tree, scopes = self._scopes[frame.file_name]
        found = [each for each in self.definitions.get((frame.file_name, name), ()) if each.lineno < frame.line]
        around = [each for each in scopes if each.lineno <= frame.line <= (each.end_lineno or 0)]
        for scope in (*sorted(around, key=lambda each: -each.lineno), tree):
            own = [each for each in found if scopes[each] is scope]
            if own:
                return max(own, key=lambda each: each.lineno)
            if isinstance(scope, ast.FunctionDef) and name in _arguments(scope):
                return None
        return None

    def _step(self, loop: Instruction) -> ast.FunctionDef | None:
        """Return the function that most instructions of the body come from, below the loop's frames; None for a lambda.

        Instructions that read and store a loop's rows do not count, as they may have been traced for another loop.
        """
        call = self._call_of(loop)
        if call is not None and isinstance(call[1], ast.Lambda):
            return None
        around = {self._function(frame_id) for frame_id in self.chains.of(loop)}
        votes: Counter[tuple[str, str, int]] = Counter()
        computations = callees_first(loop["body"])
        for instruction in (each for computation in computations for each in computation.instructions):
            chain = self.chains.of(instruction)
            if not chain or self.chains.frames[chain[-1] - 1].place in self.loops:
                continue
            for frame_id in chain:
                if self._function(frame_id) not in around:
                    votes[(*self._function(frame_id), self.chains.frames[frame_id - 1].line)] += 1
                    break
        for (file_name, name, line), _ in votes.most_common(1):
            return next(self._around(file_name, name, line), None)
        return None

    def _function(self, frame_id: int) -> tuple[str, str]:
        frame = self.chains.frames[frame_id - 1]
        return frame.file_name, frame.function_name.rsplit(".", 1)[-1]


def _places(loop: Instruction, names: Sequence[str], stacked: int, counters: int) -> dict[int | None, str]:
    """Return the names of the elements of a loop's carried tuple by index.

    Names belong to the last elements that change, before the stacked outputs, provided that only JAX's counters precede
    them. Otherwise the elements are leaves of fewer names, and the result is empty.
    """
    changing = _changing(loop)
    first = len(changing) - stacked - len(names)
    return dict(zip(changing[first:], names, strict=False)) if 0 <= first <= counters else {}


def _changing(loop: Instruction) -> list[int]:
    """Return the indices of the elements of a loop's carried tuple that its body changes."""
    body: Computation = loop["body"]
    (parameter,) = body.parameters
    root = body.root
    operands = root.operands if root.opcode == "tuple" else ()
    return [
        k
        for k, operand in enumerate(operands)
        if operand.opcode != "get-tuple-element" or operand.operands != (parameter,) or operand["index"] != k
    ]


def _is_differentiated(loop: Instruction) -> bool:
    """Return whether a loop was traced for a gradient."""
    return loop.metadata is not None and "jvp(" in loop.metadata.op_name


def _filled_by_rows(loop: Instruction) -> int:
    """Return how many elements of a loop's carried tuple are updates of slices."""
    root = loop["body"].root
    return sum(map(_is_row_update, root.operands if root.opcode == "tuple" else ()))


def _is_row_update(value: Instruction) -> bool:
    """Return whether a value is an update of a slice, directly or in a function that is called."""
    return _made(value).opcode == "dynamic-update-slice"


def _made(value: Instruction) -> Instruction:
    """Return the instruction that computes a value, if need be in the function whose result it is."""
    if value.opcode == "get-tuple-element" and (call := value.operands[0]).opcode == "call":
        made = call["to_apply"].root
        return made.operands[value["index"]] if made.opcode == "tuple" else value
    return value["to_apply"].root if value.opcode == "call" else value


def _is_whole_body(call: Instruction) -> bool:
    return call.opcode == "call" and call["to_apply"].name.startswith("closed_call")


def _reads_row(instruction: Instruction) -> bool:
    """Return whether an instruction reads a slice of an array, directly or in a function that it calls."""
    if instruction.opcode == "call" and not _is_whole_body(instruction):
        return any(each.opcode == "dynamic-slice" for each in instruction["to_apply"].instructions)
    return instruction.opcode == "dynamic-slice"


def _is_seen_through(user: Instruction) -> bool:
    """Return whether an operation has no place in the source, or only adapts shapes."""
    return user.opcode in SEEN_THROUGH or user.metadata is None or not user.metadata.stack_frame_id


def _only_choices(possible: list[set[str]]) -> list[str | None]:
    """Return for each parameter the name that is possible for it alone, by elimination, or None."""
    chosen: list[str | None] = [None] * len(possible)
    left = [set(names) for names in possible]
    while True:
        single = next((k for k, names in enumerate(left) if len(names) == 1 and chosen[k] is None), None)
        if single is None:
            return chosen
        (name,) = left[single]
        chosen[single] = name
        for k, names in enumerate(left):
            if k != single:
                names.discard(name)


def _last_name(function: ast.expr) -> str:
    """Return ``scan`` for ``jax.lax.scan``."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _names_read(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _called_with(step: ast.expr, carried: int) -> Iterator[tuple[str, int]]:
    """Yield the functions that a step is, or passes its parameter ``carried`` to, with the parameter's index there."""
    if not isinstance(step, ast.Lambda):
        yield from ((name, carried) for name in sorted(_names_read(step)))
        return
    parameters = _arguments(step)
    own = parameters[carried] if carried < len(parameters) else None
    for call in (node for node in ast.walk(step.body) if isinstance(node, ast.Call)):
        given = [part.id if isinstance(part, ast.Name) else "" for part in call.args]
        if isinstance(call.func, ast.Name) and own in given:
            yield call.func.id, given.index(own)


def _arguments(definition: ast.FunctionDef | ast.Lambda) -> list[str]:
    given = definition.args
    return [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _returns_pairs(definition: ast.FunctionDef) -> bool:
    """Return whether every ``return`` has two values, as in a step of a scan."""
    values = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return)]
    return all(isinstance(value, ast.Tuple) and len(value.elts) == 2 for value in values)


def _taken_apart(definition: ast.FunctionDef, name: str, rows: set[tuple[int, int]]) -> list[str]:
    """Return the names of ``a, (b, c) = state`` in order.

    The result is the name itself if it is not unpacked, or if it is an array whose ``rows`` are read there.
    """
    for statement in ast.walk(definition):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Name):
            continue
        target = statement.targets[0]
        is_tuple = isinstance(target, ast.Tuple) and (target.lineno, target.col_offset) not in rows
        if statement.value.id == name and is_tuple:
            return [part.id for part in _flat(target) if isinstance(part, ast.Name)]
    return [name]


def _unpacked_in(definition: ast.FunctionDef | None) -> dict[Way, str]:
    """Return the names that ``a, (b, c) = state`` in a function has for parts of its parameters, by their ways."""
    found: dict[Way, str] = {}
    for statement in ast.walk(definition) if definition is not None else ():
        match statement:
            case ast.Assign([ast.Tuple() as target], ast.Name(name)):
                found.update(_places_in(target, (name,)))
    return found


def _places_in(target: ast.expr | None, way: Way) -> dict[Way, str]:
    """Return the names in a target by their ways."""
    if isinstance(target, ast.Name):
        return {way: target.id}
    parts = target.elts if isinstance(target, ast.Tuple) else ()
    return {own: name for k, part in enumerate(parts) for own, name in _places_in(part, (*way, str(k))).items()}


def _named(way: Way, unpacked: Mapping[Way, str]) -> Way:
    """Return a way from the last name that the author has for what is on it."""
    known = next((k for k in range(len(way), 1, -1) if way[:k] in unpacked), 0)
    return (unpacked[way[:known]], *way[known:]) if known else way


def _ends(ways: Sequence[Way]) -> list[str]:
    """Return the shortest ending of each way that begins with a word and that no other way has; empty without one."""
    counts = Counter(way[k:] for way in ways for k in range(len(way)))
    ends = [
        next((way[k:] for k in reversed(range(len(way))) if counts[way[k:]] == 1 and not way[k].isdigit()), ())
        for way in ways
    ]
    return ["" if end[-1:] == ("_",) or "".join(end[-1:]).isdigit() else "_".join(end) for end in ends]


def _flat(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _flat(part)
    else:
        yield target


def _telling(names: Sequence[str | None]) -> list[str | None]:
    """Return the names without those of a method's object, ``self`` and ``cls``."""
    return [None if name in ("self", "cls") else name for name in names]

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
from functools import cache, lru_cache

from ...dataclass import dataclass
from ...hlo.ir import Computation, Instruction, InstructionUsers, StackFrame, callees_first
from ...hlo.stack_frames import CallChains
from .scopes import is_differentiated
from .source_reads import COMMUTATIVE, MOST_FILES, NO_VALUES, OPERATORS, SEEN_THROUGH

# For each function that makes a loop: the argument with its step, the index of the step's carried parameter, and the
# number of counters that JAX may carry before it; the stacked outputs of a scan come after it.
_LOOPS = {"scan": ((0, "f"), 0, 1), "fori_loop": ((2, "body_fun"), 1, 2), "while_loop": ((1, "body_fun"), 0, 0)}

_OBJECTS = ("self", "cls")

Way = tuple[str, ...]  # a parameter, then keys: ("state", "position", "mu")

_PART = re.compile(r"\w+", re.ASCII)
_LONGEST = 24  # characters of a name of several keys, unless one key is not unique
_RESULT = "result["  # what the step of a scan gives to be stacked

# The parameters of JAX's own functions, whose files are not those of the author.
_OF_JAX = {
    "_normal": ("key",),
    "_normal_real": ("key",),
    "_randint": ("key", "minval", "maxval"),
    "_threefry_split": ("key",),
    "_truncated_normal": ("key", "lower", "upper"),
    "_uniform": ("key", "minval", "maxval"),
}


@dataclass(slots=True)
class _File:
    """The parts of a source file that give names.

    For places: what is read there (``expressions``), what is read on both sides of an operator by its opcode
    (``operations``), the calls by the function's name (``calls``), the target that its value is unpacked into
    (``unpacked``), and the loop that is made there (``loops``). ``definitions`` has the functions by their names,
    ``scopes`` the function or class that each is defined in.
    """

    definitions: dict[tuple[str, str], list[ast.FunctionDef]] = field(default_factory=dict)
    expressions: dict[tuple[str, int, int], set[Way]] = field(default_factory=dict)
    operations: dict[tuple[str, int, int, str], tuple[set[Way], set[Way]]] = field(default_factory=dict)
    calls: dict[tuple[str, int, int, str], ast.Call] = field(default_factory=dict)
    unpacked: dict[tuple[str, int, int], ast.Tuple] = field(default_factory=dict)
    loops: dict[tuple[str, int, int], tuple[str, ast.Call]] = field(default_factory=dict)
    scopes: dict[ast.FunctionDef, ast.AST] = field(default_factory=dict)


@lru_cache(MOST_FILES)
def _read(file_name: str, tree: ast.Module) -> _File:
    file, inner = _File(), set[ast.AST]()  # the parts of names with attributes and keys
    for node, scope in _with_scopes(tree):
        inner.update([node.value] if isinstance(node, ast.Attribute | ast.Subscript) else ())
        inner.update([node.func] if isinstance(node, ast.Call) else ())
        if isinstance(node, ast.FunctionDef):
            file.definitions.setdefault((file_name, node.name), []).append(node)
            file.scopes[node] = scope
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            target = node.targets[0]
            file.unpacked[file_name, node.value.lineno, node.value.col_offset] = target
            read = file.expressions.setdefault((file_name, target.lineno, target.col_offset), set())
            read.update(_ways_read(node.value))
        elif isinstance(node, ast.expr) and not (node in inner and _way(node)) and not _is_target(node):
            place = (file_name, node.lineno, node.col_offset)
            file.expressions.setdefault(place, set()).update(_ways_read(node))
            if isinstance(node, ast.Call):
                file.calls[*place, (made := _last_name(node.func))] = node
                if made in _LOOPS:
                    file.loops[place] = made, node
            if isinstance(node, ast.BinOp) and (opcode := OPERATORS.get(type(node.op))) is not None:
                file.operations[*place, opcode] = _ways_read(node.left), _ways_read(node.right)
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
        self.calls = {key: found for file in files for key, found in file.calls.items()}
        self.unpacked = {key: found for file in files for key, found in file.unpacked.items()}
        self.loops = {key: found for file in files for key, found in file.loops.items()}
        self._scope_of = {key: found for file in files for key, found in file.scopes.items()}
        self._scopes = {file_name: (tree, _read(file_name, tree).scopes) for file_name, tree in trees.items()}

    # -- parameters

    def parameters(self, computation: Computation, name: str) -> list[str | None]:
        """Return the author's name for each parameter of a function, or None if its uses are ambiguous."""
        instructions, definition = computation.parameters, self._definition(name, computation)
        if definition is None:
            own_of_jax = _OF_JAX.get(name, ())
            return [*own_of_jax] if len(own_of_jax) == len(instructions) else [None] * len(instructions)
        ways = self._ways(computation, definition)
        names = [None if way is None else _aliases(definition).get(way, way[-1]) for way in ways]
        many = {each for each, count in Counter(names).items() if count > 1}
        whole = ["_".join(way[way[0] in _OBJECTS :]) if way is not None else None for way in ways]
        return _telling([own if each in many else each for each, own in zip(names, whole, strict=True)])

    def order(self, computation: Computation, name: str) -> list[tuple[int, Way]]:
        """Return for each parameter of a function the place of the author's parameter that it is, or is a part of.

        Parameters that the function closes over come after these.
        """
        definition = self._definition(name, computation)
        ways = [None] * len(computation.parameters) if definition is None else self._ways(computation, definition)
        wanted = [] if definition is None else _arguments(definition)
        known = [way for way in ways if way is not None and way[0] in wanted]
        return [
            (wanted.index(way[0]), tuple(key for key in way[1:2] if key.isdigit()))
            if way in known
            else (len(wanted), ())
            for way in ways
        ]

    def _ways(self, computation: Computation, definition: ast.FunctionDef) -> list[Way | None]:
        """Return for each parameter of a computation the author's parameter, or the part of one, that it is.

        None if its uses are ambiguous.
        """
        wanted = _arguments(definition)
        possible = [self._possible(computation, each, definition) for each in computation.parameters]
        own_ways = [[way for way in ways if way[0] == own] for own, ways in zip(wanted, possible, strict=False)]
        found = [len(ways) > 0 for ways in own_ways]
        fits = len(wanted) == len(possible) and all(
            is_read or not ways for is_read, ways in zip(found, possible, strict=True)
        )
        if fits and 2 * sum(found) >= len(found):  # else the values may be others, in an order of their own
            return [ways[0] if len(ways) == 1 else (own,) for own, ways in zip(wanted, own_ways, strict=True)]
        chosen = _only_choices(possible)
        left = [name for name in wanted if all(way is None or way[0] != name for way in chosen)]
        if len(wanted) == len(possible) and len(left) == 1 and None in chosen:
            place = chosen.index(None)
            is_other = possible[place] and all(way[0] != left[0] for way in possible[place])
            chosen[place] = None if is_other else (left[0],)
        return chosen

    def _definition(self, name: str, computation: Computation) -> ast.FunctionDef | None:
        """Return the innermost function of a name that all instructions of a computation come from; None if there is
        none.
        """
        named = [each for (_, own), found in self.definitions.items() if own == name for each in found]
        if len(named) > 1:
            places = (self._lines_in(each, name) for each in computation.instructions)
            around = [[each for file, line in own for each in self._around(file, name, line)] for own in places]
            known = [own for own in around if own]
            named = [each for own in known[:1] for each in own if all(each in other for other in known)]
        return named[-1] if named else None

    def _lines_in(self, instruction: Instruction, name: str) -> Iterator[tuple[str, int]]:
        """Yield file and line of the frames in functions of a name around an instruction."""
        for frame_id in self.chains.of(instruction):
            frame = self.chains.frames[frame_id - 1]
            if _own_name(frame) == name:
                yield frame.file_name, frame.line

    def _around(self, file_name: str, name: str, line: int) -> Iterator[ast.FunctionDef]:
        """Yield the definitions of a name that a line is in."""
        for definition in self.definitions.get((file_name, name), ()):
            if definition.lineno <= line <= (definition.end_lineno or line):
                yield definition

    def _is_in(self, frame: StackFrame, function: ast.FunctionDef) -> bool:
        """Return whether a frame is one of this function, of several of its name."""
        around = [*self._around(frame.file_name, function.name, frame.line)]
        return function in around or not around

    def _possible(self, computation: Computation, value: Instruction, definition: ast.FunctionDef) -> set[Way]:
        """Return the author's parameters, or parts of these, that all expressions read which use a value."""
        parts = {name: way for way, name in _aliases(definition).items()}
        wanted = {*_arguments(definition), *self._closed_over(definition)}
        read = [
            {(*parts.get(name, (name,)), *keys) for name, *keys in ways}
            for ways in self._read(computation, value, definition.name, definition)
        ]
        whole = [{way[:1] for way in ways} for ways in read]
        found = set.intersection(*read) or set.intersection(*whole) if read else set[Way]()
        found = {way for way in found if way[0] in wanted}
        of_one = {way[0] for way in found} if not any(way[-1].isdigit() for way in found) else ()
        return {way[:1] for way in found} if len(found) > len(of_one) == 1 else found

    def _closed_over(self, definition: ast.FunctionDef) -> Iterator[str]:
        """Yield the variables of the functions around a function."""
        around = self._scope_of.get(definition)
        while isinstance(around, ast.FunctionDef):
            inside = [each for each, scope in self._scope_of.items() if scope is around]
            yield from {*_arguments(around), *_stored(around)} - {name for each in inside for name in _stored(each)}
            around = self._scope_of.get(around)

    def _read(
        self, computation: Computation, value: Instruction, name: str, function: ast.FunctionDef | None = None
    ) -> Iterator[set[Way]]:
        """Yield what each expression of a function reads which uses a value; of all functions of that name, or of one.

        For an operator, this is what is on the side of the value.
        """
        for operand, user in self.users.of(computation, value, _is_seen_through):
            if not _is_seen_through(user):
                frames = [self.chains.frames[frame_id - 1] for frame_id in self.chains.of(user)]
                for k, frame in enumerate(frames):
                    if _own_name(frame) == name and (function is None or self._is_in(frame, function)):
                        yield self._read_by(frames[k:], operand, user)

    def _read_by(self, frames: Sequence[StackFrame], operand: Instruction, user: Instruction) -> set[Way]:
        """Return what the expression of the first of ``frames`` reads for an operand of an instruction of the last.

        What a function called there reads by its parameters is what the call gives for these.
        """
        read: set[Way] | None = None
        for k in reversed(range(len(frames))):
            place = frames[k].place
            if k == len(frames) - 1:
                sides: Sequence[set[Way]] = self.operations.get((*place, user.opcode)) or ()
                if sides and user.opcode in COMMUTATIVE and any(map(_is_number, user.operands)):
                    sides = (set.union(*sides),)  # JAX puts numbers last, whatever they were computed from
                own = [ways for ways, given in zip(sides, user.operands, strict=False) if given is operand]
                read = own[0] if len(own) == 1 else None
            else:
                inner = next(self._around(frames[k + 1].file_name, _own_name(frames[k + 1]), frames[k + 1].line), None)
                call = self.calls.get((*place, _own_name(frames[k + 1])))
                read = _passed(call, inner, read) if read and call is not None and inner is not None else None
            read = read or self.expressions.get(place, set())
        return read or set()

    # -- loops

    def traced(self, loop: Instruction, paths: Sequence[str], taken: Collection[str]) -> dict[int, str]:
        """Return names for elements of the tuple that a loop carries, or branches give, after their ``paths`` in the
        author's functions.

        Numbers in paths are the names that the step, or the line with the call, unpacks its values into. These stand
        before a key whose name is ``taken`` by other values: ``cache_key``.
        """
        known = self._step_in_call(loop)
        definition = known[0] if known is not None else self._step(loop) if loop.opcode == "while" else None
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
                read = {way[0] for ways in self._read(body, value, step.name) for way in ways} & known
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
            readers = [] if value is None else [user for _, user in self.users.of(body, value, lambda _: False)]
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
            readers = [user for _, user in self.users.of(inside, readers[0], lambda _: False)]
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
        known = None if is_differentiated(loop) else self._step_in_call(loop)
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


def _is_number(operand: Instruction) -> bool:
    while operand.opcode in SEEN_THROUGH:
        (operand,) = operand.operands
    return operand.opcode == "constant"


def _only_choices(possible: list[set[Way]]) -> list[Way | None]:
    """Return for each parameter what is possible for it alone, by elimination, or None, as for those of which nothing
    tells which is meant.
    """
    chosen: list[Way | None] = [None] * len(possible)
    left = [set(ways) for ways in possible]
    while True:
        single = next((k for k, ways in enumerate(left) if len(ways) == 1 and chosen[k] is None), None)
        if single is None:
            return chosen
        (way,) = left[single]
        if left.count({way}) > 1:
            left = [set() if ways == {way} else ways for ways in left]
            continue
        chosen[single] = way
        for k, ways in enumerate(left):
            if k != single:
                ways.discard(way)


def _last_name(function: ast.expr) -> str:
    """Return ``scan`` for ``jax.lax.scan``."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _names_read(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _ways_read(node: ast.AST) -> set[Way]:
    """Return the names that an expression reads, each with the attributes and keys that it reads of them."""
    found = set[Way]()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        way = _way(part.func.value if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) else part)
        found |= {way} if way else set()
        waiting += [] if way and not isinstance(part, ast.Call) else ast.iter_child_nodes(part)
        if isinstance(part, ast.Call) and (way or isinstance(part.func, ast.Name)):
            waiting.remove(part.func)
    return found


def _is_target(node: ast.expr) -> bool:
    """Return whether a name, or what is unpacked into, is assigned, not read."""
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _way(expression: ast.AST) -> Way:
    """Return ``("state", "position")`` for ``state.position``; empty for what is no name with attributes and keys."""
    match expression:
        case ast.Name(name):
            return (name,)
        case ast.Attribute(value, key) if key in NO_VALUES:
            return _way(value)
        case ast.Attribute(value, key) | ast.Subscript(value, ast.Constant(str(key))):
            way = _way(value)
            return (*way, key) if way else ()
    return ()


def _passed(call: ast.Call, definition: ast.FunctionDef, read: set[Way]) -> set[Way] | None:
    """Return what a call gives for the parameters that are ``read`` in its function; None for other values of it."""
    names = _arguments(definition)
    is_method = names[:1] == ["self"] and isinstance(call.func, ast.Attribute)
    given = dict(zip(names[is_method:], call.args, strict=False)) | {each.arg: each.value for each in call.keywords}
    if is_method and isinstance(call.func, ast.Attribute):
        given["self"] = call.func.value
    own, found = _stored(definition), set[Way]()
    for way in read:
        if way[0] in own or any(isinstance(each, ast.Starred) for each in call.args):
            return None
        if way[0] in given:
            whole = _way(given[way[0]])
            found |= {(*whole, *way[1:])} if whole else _ways_read(given[way[0]])
    return found


@cache
def _stored(definition: ast.FunctionDef) -> Counter[str]:
    """Return how often a function assigns each of its variables."""
    names = (each for each in ast.walk(definition) if isinstance(each, ast.Name))
    return Counter(each.id for each in names if isinstance(each.ctx, ast.Store))


@cache
def _aliases(definition: ast.FunctionDef) -> dict[Way, str]:
    """Return the names that a function has for parts of its parameters and that it assigns once, by the parts."""
    parts, stored = _unpacked_in(definition), _stored(definition)
    for statement in ast.walk(definition):
        match statement:
            case ast.Assign([ast.Name(name)], value) if len(way := _way(value)) > 1:
                parts[way] = name
    wanted = _arguments(definition)
    return {way: name for way, name in parts.items() if stored[name] == 1 and way[0] in wanted}


def _own_name(frame: StackFrame) -> str:
    """Return the name of a frame's function without those around it."""
    return frame.function_name.rsplit(".", 1)[-1]


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
    return [None if name in _OBJECTS else name for name in names]

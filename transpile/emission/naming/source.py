"""Variable names from the user's own Python source.

XLA keeps, for each instruction, the file, line and start column of the expression it was traced from. If that
expression is the value of an assignment, the target is the author's name. For a ``return``, the line of the caller
decides. Only identifiers are ever taken from the files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from string import digits

from ...array.graph import Graph
from ...array.node import Node
from ...array.program import Function, Program, roots
from ...array.rewriting import rewrite
from ...array.traversal import dependencies, topological
from ...dataclass import dataclass
from ...hlo.element_types import PRED
from ...hlo.ir import HloModule, Instruction
from ...hlo.shapes import ArrayShape
from ...hlo.stack_frames import CallChains, has_own_lines
from ...passes.calls.inlining import handed_on
from ...walks import reached
from .gradients import ArgumentGradients
from .scopes import GRADIENT, ContextNames, instructions_of, is_gradient
from .source_functions import SourceFunctions
from .source_reads import MOST_FILES, NO_VALUES, ReadNames, SourceTables

Place = tuple[str, int, int]  # file, line from 1, column from 0

Site = tuple[str, Place, int]  # name, place, frame around it


@dataclass(frozen=True, slots=True)
class Returned:
    """An expression that a function returns, or the element ``index`` of a tuple that it returns."""

    index: int | None = None


@dataclass(frozen=True, slots=True)
class ReturnedVariable:
    """The last value of a returned variable with an uninformative ``name``: the caller's name goes first."""

    name: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the expression at ``place``: what it computes is a step of that."""

    place: Place


Target = str | tuple[str, ...] | Returned | ReturnedVariable | Part  # a tuple: the names that a value is unpacked into
Targets = dict[Place, Target]
TakenApart = tuple[tuple[str, ...], Place, int]  # the names, where the assignment is, and the frame around it


_EMPTY_WORDS = frozenset(
    "out outs output outputs res result results ret val value values x y tmp".split()
)  # as names of values


_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)  # statements of one expression
_COMPUTING = (ast.Attribute, ast.BinOp, ast.Call, ast.Compare, ast.Subscript, ast.UnaryOp)
_FORMS = frozenset("all array arrays as flat leaf leaves list".split())  # words for the form of a value


def is_empty_word(name: str) -> bool:
    """Return whether a name of the author's is uninformative: ``out``, ``d_y``, ``val2``."""
    return name.removeprefix(GRADIENT).rstrip(digits) in _EMPTY_WORDS


def _is_of_plumbing(name: str) -> bool:
    """Return whether a name only describes the form of a value: ``flat_out``, ``out_as_array``, ``leaves``."""
    words = {word.rstrip(digits) for word in name.split("_")}
    return bool(words & _FORMS) and words <= _EMPTY_WORDS | _FORMS


class SourceNames:
    """The author's names of the values of a module."""

    def __init__(self, module: HloModule) -> None:
        self.program_name = module.name.removeprefix("jit_")
        self.chains = CallChains(module)
        self.loop_paths = module.loop_paths
        self.has_own_lines = has_own_lines(module)
        self.targets: Targets = {}  # from statements
        self.hints: Targets = {}  # also from keywords, keys, attributes, tuples and lambdas
        self.apart: dict[Place, tuple[tuple[str, ...], Place]] = {}  # unpacking, by its value and target
        self.first_lines: dict[tuple[str, int], int] = {}  # of statements, by their other lines
        trees = {file_name: parsed(text) for file_name, text in sorted(module.sources.items())}
        for file_name, tree in trees.items():
            self.targets.update(targets(file_name, tree))
            self.hints.update(hints(file_name, tree))
            self.apart.update(apart(file_name, tree))
            self.first_lines.update(first_lines(file_name, tree))
        self.hints.update(self.targets)
        self.steps: Targets = {}  # also from the expressions inside
        for file_name, tree in trees.items():
            self.steps.update(parts(file_name, tree))
        self.steps.update(self.targets)
        self.functions = SourceFunctions(self.chains, trees)
        self.reads = ReadNames(module, self.chains, trees)
        self.tables = SourceTables(trees)
        self._computations = module.computations
        self._beside: dict[bool, dict[Instruction, list[Instruction]]] = {}  # of each table: those of the same site
        self._of_results: dict[Function, dict[Node, str]] = {}
        self.contexts = ContextNames(module, self.chains)
        self.gradients = ArgumentGradients()

    def site(self, instruction: Instruction, table: Targets) -> Site | None:
        """Return the author's name for an instruction's value, with its place and the frame around it, or None."""
        metadata = instruction.metadata
        if metadata is None or not table:
            return None
        prefix = GRADIENT if is_gradient(instruction) else ""  # gradient of the value computed there
        if not metadata.stack_frame_id:
            place = (metadata.source_file, metadata.source_line, metadata.source_column)
            name = table.get(place)
            name = name.name if isinstance(name, ReturnedVariable) else name
            return (prefix + name, place, 0) if isinstance(name, str) else None
        index: int | None = None  # in the tuple that the inner function returns
        inner: Site | None = None  # used if no caller has a better name
        for frame_id in reversed(self.chains.around(self._own_frame(metadata.stack_frame_id))):
            frame = self.chains.frames[frame_id - 1]
            place = frame.place
            target = table.get(place)
            if isinstance(target, Part):
                place, index, inner = target.place, None, None
                target = table.get(place)
            if isinstance(target, tuple):
                target = target[index] if index is not None and index < len(target) else None
            if target is None:
                return inner
            if isinstance(target, str):
                return inner if inner is not None and is_empty_word(target) else (prefix + target, place, frame.parent)
            if isinstance(target, ReturnedVariable):
                inner = inner or (prefix + target.name, place, frame.parent)
            elif isinstance(target, Returned) and index is None:
                index = target.index
        return inner

    def of_result(self, function: Function, index: int) -> str | None:
        """Return the author's name for one of several results of a function, from inside it or its callees, or None."""
        results = function.flat_results
        if not 1 < len(results) > index:
            return None
        if function not in self._of_results:
            nodes = topological(roots(function))
            left, inside = self.contexts.names(function.graph, nodes, results, set(results))
            found = inside | left | self.names(function.graph, nodes, results, self.hints)
            self._of_results[function] = found | self.names(function.graph, nodes, results)
        node = results[index]
        if node not in self._of_results[function] and node.opcode == "item" and node.operands[0].opcode == "call":
            return self.of_result(node.operands[0].parameters["function"], node.parameters["index"])
        return self._of_results[function].get(node)

    def _own_frame(self, frame_id: int) -> int:
        """Return the frame in which a chain of frames first reaches its innermost function."""
        chain = self.chains.once(frame_id)
        functions = [(frame.file_name, frame.function_name) for frame in (self.chains.frames[k - 1] for k in chain)]
        while len(functions) > 1 and functions[-1] == functions[-2]:
            functions.pop()
        return chain[len(functions) - 1] if chain else frame_id

    def names(
        self, graph: Graph, nodes: list[Node], results: Sequence[Node], table: Targets | None = None
    ) -> dict[Node, str]:
        """Return names for the values that leave the expressions they were assigned from."""
        table = self.targets if table is None else table
        if not table:
            return {}
        sites = self._sites(graph, nodes, table)
        leaving: dict[Site, list[Node]] = {}
        for node, site in _used_outside(graph, nodes, results, sites):
            leaving.setdefault(site, []).append(node)
        # The last node of an expression is its value; so are similar nodes, if the expression runs several times.
        last = {site: max(found, key=lambda node: node.number) for site, found in leaving.items()}
        only_returned = set(results) - {operand for node in nodes for operand in dependencies(node)}
        values: dict[Site, list[Node]] = {}
        for site, found in leaving.items():
            values[site] = [node for node in found if _is_like(node, last[site], sites)]
            are_leaves = len(values[site]) > 1 and only_returned.issuperset(values[site])
            if are_leaves or _is_one_of_several(last[site], found, site[0]):
                values[site] = []  # the tree has that name
        continued = self._continued(nodes, sites, table)
        named: dict[Node, str] = {}
        for node in nodes:  # a value that a later expression passes on is its value, too
            for site in sites.get(node, []):
                same = [other for other in sites[node] if other[:2] == site[:2]]  # other calls of the function there
                is_value = all(node in values.get(other, ()) for other in same) and (node, site) not in continued
                if is_value and not self._is_only_asked(graph, node, site, table):
                    named[node] = site[0]
        return named

    def _is_only_asked(self, graph: Graph, node: Node, site: Site, table: Targets) -> bool:
        """Return whether a node is a mask in an expression with another value: ``x > 0`` in ``y = where(x > 0, x, 0)``.

        It leaves the expression if its value became a part of another one, or if the gradient reads the mask.
        """
        made = next((each for each in graph.results.get(node, ()) if self.site(each, table) == site), None)
        if node.element_type is not PRED or made is None:
            return False
        beside = self._beside.setdefault(table is self.targets, {})
        for computation in self._computations if not beside else ():
            of_sites: dict[Site | None, list[Instruction]] = {}
            for each in computation.instructions:
                of_sites.setdefault(self.site(each, table), []).append(each)
            beside.update((each, found) for key, found in of_sites.items() if key is not None for each in found)
        others = [
            each
            for each in beside.get(made, ())
            if isinstance(each.shape, ArrayShape) and each.shape.element_type is not PRED
        ]
        return bool(others) and not {*reached([made], lambda each: each.operands)}.issuperset(others)

    def taken_apart(self, instruction: Instruction | None) -> TakenApart | None:
        """Return the names and the place of the author's unpacking that an instruction comes from, or None."""
        metadata = None if instruction is None else instruction.metadata
        chain = () if metadata is None else self.chains.around(self._own_frame(metadata.stack_frame_id))
        if not chain:
            return None
        frame = self.chains.frames[chain[-1] - 1]
        found = self.apart.get(frame.place)
        return None if found is None else (*found, frame.parent)

    def places(self, made: Instruction | None) -> list[tuple[str, str, int]]:
        """Return file, function and first line of an instruction's statement, and of the calls around it."""
        if made is None or made.metadata is None:
            return []
        frames = [self.chains.frames[frame_id - 1] for frame_id in self.chains.of(made)]
        found = [(frame.file_name, frame.function_name, frame.line) for frame in frames]
        if not frames and made.metadata.source_line:
            found = [(made.metadata.source_file, "", made.metadata.source_line)]
        return [(name, function, self.first_lines.get((name, line), line)) for name, function, line in found]

    def names_around(self, graph: Graph, node: Node) -> list[str]:
        """Return the author's names for the values of the expressions that a node is computed in."""
        tables = (self._sites(graph, [node], table).get(node, []) for table in (self.targets, self.steps))
        return list(dict.fromkeys(name for name, *_ in next(filter(None, tables), [])))

    def is_step(self, graph: Graph, node: Node, value: Node, name: str) -> bool:
        """Return whether a node is computed in the expression whose value has this name."""
        sites = self._sites(graph, [node, value], self.targets)
        return any(site[0] == name and site in sites.get(value, ()) for site in sites.get(node, ()))

    def _sites(self, graph: Graph, nodes: list[Node], table: Targets) -> dict[Node, list[Site]]:
        """Return the sites of the expressions that each node is computed in."""
        sites: dict[Node, list[Site]] = {}
        for node in nodes:
            if node.opcode not in ("literal", "integer", "parameter"):
                given = [self.site(instruction, table) for instruction in graph.results.get(node, [])]
                sites[node] = list(dict.fromkeys(site for site in given if site is not None))
        return sites

    def _continued(self, nodes: list[Node], sites: dict[Node, list[Site]], table: Targets) -> set[tuple[Node, Site]]:
        """Return nodes and sites whose expression continues in a function of blocks or in a repeated function."""
        found: set[tuple[Node, Site]] = set()
        for call in nodes:
            if call.opcode not in ("blockwise", "call"):
                continue
            block: Function = call.parameters["function"]
            if call.opcode == "call" and not block.repeated:
                continue
            inside = self._sites(block.graph, topological(roots(block)), table)
            for operand, given in zip(call.operands, block.parameters, strict=True):
                readers = [own for node, own in inside.items() if given in dependencies(node)]
                goes_on = [site for site in sites.get(operand, ()) if readers and all(site in own for own in readers)]
                found.update((operand, site) for site in goes_on)
        return found


def _is_one_of_several(node: Node, nodes: Sequence[Node], name: str) -> bool:
    """Return whether others of the nodes are results of the same conditional or call as a node.

    What a gradient's call returns beside the gradient is no part of it.
    """
    makers = ("conditional",) if name.startswith(GRADIENT) else ("conditional", "call")
    if node.opcode != "item" or node.operands[0].opcode not in makers:
        return False
    return any(each.opcode == "item" and each.operands == node.operands for each in nodes if each is not node)


def _is_like(node: Node, other: Node, sites: dict[Node, list[Site]]) -> bool:
    """Return whether two nodes may be one expression that runs again.

    They are the same operation of equal rank and dtype, and neither is a part of the other.
    """
    if node is other or _is_call_like(node, other):
        return True
    if node.opcode == "item" == other.opcode:
        maker, others = node.operands[0], other.operands[0]
        if maker is others or _is_call_like(maker, others):
            return bool(node.parameters["index"] == other.parameters["index"])
    kinds = [(each.opcode, each.parameters.get("function"), each.element_type, each.ndim) for each in (node, other)]
    is_value = not any(name.startswith(GRADIENT) for name, *_ in sites[node])
    return kinds[0] == kinds[1] and is_value and node not in _parts(other, sites)


def _is_call_like(node: Node, other: Node) -> bool:
    return node.opcode == "call" == other.opcode and node.parameters["function"] is other.parameters["function"]


def _parts(node: Node, sites: dict[Node, list[Site]]) -> set[Node]:
    """Return the nodes that a node is computed from within its own expressions."""
    own = set(sites[node])
    inner = reached([node], lambda part: (each for each in part.operands if own & set(sites.get(each, ()))))
    return {part for part in inner if part is not node}


def _used_outside(
    graph: Graph, nodes: list[Node], results: Sequence[Node], sites: dict[Node, list[Site]]
) -> Iterator[tuple[Node, Site]]:
    """Return the nodes of each site that nodes of other sites use, or that the function returns.

    A node that is used by gradients only is a factor of a derivative, not the value of its expression.
    """
    gradients = {node for node in nodes if any(map(is_gradient, instructions_of(graph, node)))}
    outside = {(node, site) for node in results for site in sites.get(node, ())}
    for user in nodes:
        for operand in dependencies(user):
            is_factor = user in gradients and operand not in gradients
            for site in sites.get(operand, ()):
                if not is_factor and (site not in sites.get(user, ()) or _is_call_like(user, operand)):
                    outside.add((operand, site))
    return ((node, site) for node in nodes for site in sites.get(node, ()) if (node, site) in outside)


@lru_cache(MOST_FILES)
def parsed(text: str) -> ast.Module:
    """Return the tree of a file, or an empty one if it is not valid Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


@lru_cache(MOST_FILES)
def targets(file_name: str, tree: ast.Module) -> Targets:
    """Return the targets of assignments and returns in a file by the places where their values start."""
    found: Targets = {}
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            _add(found, file_name, statement.targets[0], statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            _add(found, file_name, statement.target, statement.value)
        elif isinstance(statement, ast.AugAssign):
            _add(found, file_name, statement.target, statement)  # the operation starts with the statement
        elif isinstance(statement, ast.Return) and statement.value is not None:
            _add_returned(found, file_name, statement.value)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        _add_handed(found, file_name, function)
    return found


def _add_handed(table: Targets, file_name: str, function: ast.FunctionDef) -> None:
    """Add the last value of a variable that a function returns if the variable's name is uninformative."""
    returned = function.body[-1]
    name = returned.value.id if isinstance(returned, ast.Return) and isinstance(returned.value, ast.Name) else ""
    if name not in _EMPTY_WORDS:
        return
    last: ast.Assign | ast.AugAssign | None = None
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign) and (last is None or node.lineno > last.lineno):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                last = node
    if last is not None:
        table[_place(file_name, last if isinstance(last, ast.AugAssign) else last.value)] = ReturnedVariable(name)


@lru_cache(MOST_FILES)
def parts(file_name: str, tree: ast.Module) -> Targets:
    """Return the expressions inside those that a file assigns to names or returns, by their places."""
    found: Targets = {}
    for statement in ast.walk(tree):
        match statement:
            case ast.Assign([ast.Name()], value) | ast.Return(value) if value is not None:
                place = _place(file_name, value)
                found.update((_place(file_name, part), Part(place)) for part in _parts_of(value))
    return found


def _parts_of(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions inside one, but for those in comprehensions and functions, and the keywords of calls."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _COMPUTING):
            if part is not value:
                yield part
            inner = [*part.args, part.func] if isinstance(part, ast.Call) else list(ast.iter_child_nodes(part))
            waiting.extend(each for each in inner if isinstance(each, ast.expr))


@lru_cache(MOST_FILES)
def apart(file_name: str, tree: ast.Module) -> dict[Place, tuple[tuple[str, ...], Place]]:
    """Return the names of unpacking assignments and the target's place, by the places of both target and value."""
    found: dict[Place, tuple[tuple[str, ...], Place]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign([ast.Tuple() as target], value) if (names := _own_names(target)) is not None:
                place = _place(file_name, target)
                found[place] = found[_place(file_name, value)] = names, place
    return found


@lru_cache(MOST_FILES)
def first_lines(file_name: str, tree: ast.Module) -> dict[tuple[str, int], int]:
    """Return the first line of each statement of several lines that contains no other, by its other lines."""
    return {
        (file_name, line): node.lineno
        for node in ast.walk(tree)
        if isinstance(node, _SIMPLE)
        for line in range(node.lineno + 1, (node.end_lineno or 0) + 1)
    }


@lru_cache(MOST_FILES)
def hints(file_name: str, tree: ast.Module) -> Targets:
    """Return names from keywords, keys, attributes and tuples, and results of lambdas, by the places of values."""
    found: Targets = {}
    for node in ast.walk(tree):
        named: list[tuple[ast.expr, str | tuple[str, ...] | None]] = []
        match node:
            case ast.Call(keywords=keywords):
                named = [(keyword.value, keyword.arg) for keyword in keywords]
            case ast.Dict(keys, values):
                named = [(value, _word(key)) for key, value in zip(keys, values, strict=True)]
            case ast.Assign([ast.Tuple() as target], value) if (names := _own_names(target)) is not None:
                named = [(value, names)]
            case ast.Assign([ast.Attribute(attr=name)], value) | ast.NamedExpr(ast.Name(name), value):
                named = [(value, name)]
            case ast.Assign([ast.Subscript(slice=key)], value):
                named = [(value, _word(key))]
            case ast.Lambda(body=body):
                _add_returned(found, file_name, body)
        for value, word in named:
            if word is not None:
                found.setdefault(_place(file_name, value), word)
    return found


def _place(file_name: str, value: ast.expr | ast.stmt) -> Place:
    return file_name, value.lineno, value.col_offset


def _own_names(target: ast.Tuple) -> tuple[str, ...] | None:
    """Return the names of a target, or None if it has other parts."""
    names = tuple(part.id for part in target.elts if isinstance(part, ast.Name))
    return names if len(names) == len(target.elts) else None


def _word(key: ast.expr | None) -> str | None:
    """Return a key that is an identifier, or None."""
    is_word = isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier()
    return key.value if is_word else None  # type: ignore[union-attr]


def _add_returned(table: Targets, file_name: str, value: ast.expr) -> None:
    """Add an expression that a function returns; for a tuple, every element."""
    table.setdefault(_place(file_name, value), Returned())
    if (wrapped := _wrapped(value)) is not None:
        table.setdefault(_place(file_name, wrapped), Returned())
    if isinstance(value, ast.Tuple):
        for index, item in enumerate(value.elts):
            place = _place(file_name, item)
            if index or place != _place(file_name, value):
                table.setdefault(place, Returned(index))
            else:
                table[place] = Returned(index)  # without brackets a tuple starts where its first element does


def _add(table: Targets, file_name: str, target: ast.expr, value: ast.expr | ast.AugAssign) -> None:
    """Add a target; for a tuple of targets and a tuple of values, each element."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, item in zip(target.elts, value.elts, strict=True):
            _add(table, file_name, part, item)
    elif isinstance(target, ast.Name) and target.id.isidentifier() and not _is_of_plumbing(target.id):
        table[_place(file_name, value)] = target.id
        if (wrapped := _wrapped(value)) is not None:
            table.setdefault(_place(file_name, wrapped), target.id)


def _wrapped(value: ast.expr | ast.AugAssign) -> ast.expr | None:
    """Return the expression whose value an object holds, as in ``GridArray(a + b, grid)`` and ``(x**ω + y**ω).ω``."""
    match value:
        case ast.Attribute(inner, attr) if attr not in NO_VALUES and isinstance(inner, ast.BinOp):
            return inner
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), [inner, *_]):
            return inner if name == "ω" or not name.lstrip("_")[:1].islower() else None
    return None


def in_authors_order(program: Program, names: SourceNames) -> None:
    """Put the parameters of functions, and the operands of their calls, into the order of the source."""
    fixed = handed_on(program.functions)
    for function in program.functions[:-1]:
        name = names.contexts.of_called(function)
        is_written = not (function.repeated or function.block_of or function.origin or name.startswith(GRADIENT))
        if is_written and function not in fixed:
            order = names.functions.order(function.computation, name)
            parameters = function.parameters
            places = sorted(range(len(parameters)), key=lambda k: order[parameters[k].parameters["argument"]])
            if places != sorted(places):
                _reorder(program, function, places)


def _reorder(program: Program, function: Function, places: Sequence[int]) -> None:
    function.parameters = [function.parameters[place] for place in places]
    function.live = None
    for caller in program.functions:
        rewrite(caller, ("call",), partial(_reordered, caller.graph, function, places, set()))


def _reordered(graph: Graph, function: Function, places: Sequence[int], done: set[Node], node: Node) -> Node | None:
    """Return a call with its operands in the order of ``places``, or None.

    The new call is pinned: it must not become one with an equal call that is still to be reordered.
    """
    if node.parameters["function"] is not function or node in done:
        return None
    operands = tuple(node.operands[place] for place in places)
    shape, element_type, results = node.shape, node.element_type, node.results
    new = graph.typed("call", operands, shape, element_type, results=results, pinned=True, **node.parameters)
    done.add(new)
    return new

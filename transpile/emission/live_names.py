"""Which names of an emitted function are needed at once: those that one variable must not stand for.

The text of the function is read backwards, as a compiler does for its registers: a name is live where a later statement
may read it before another binds it. Two names interfere where one is bound while the other is live. Most lines are
assignments of one name whose words say all; only the others need a syntax tree.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field

from .lines import Line, parsed

NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*+(?!=[^=])")  # neither an attribute nor the keyword of an argument
_ASSIGNMENT = re.compile(r"(\w+) = ([^\"'{}\n]+)")
_NOT_PLAIN = re.compile(r":=|\b(?:for|lambda)\b| = ")  # what binds other names as well

# These may read names after their statement has run; the places of names in format strings are not known.
_LATER = (ast.Lambda, ast.FunctionDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr)
_BINDING = (ast.NamedExpr, ast.With, ast.Try, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Delete)
_NOT_FOLLOWED = frozenset((*_LATER, *_BINDING))
# By the kind of a node, the fields that may have names in them.
_FIELDS = {
    kind: tuple(name for name in kind._fields if name not in ("id", "ctx", "op", "ops", "attr"))
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}

Live = frozenset[str]
_NONE: Live = frozenset()


@dataclass
class LiveNames:
    """The liveness of the ``tracked`` names of a function.

    ``interfering``: by name, those that are needed beside it. ``fixed`` are names that must stay as they are: closures
    read them, or statements bind them in ways that are not followed here. ``plain`` are the tracked names in the lines
    that assign one, which stands first, by the number of the line; ``places`` are where names stand in other lines,
    whose row of the text is one of ``rows``, by the number of the line and of the row in it.
    """

    tracked: Set[str]
    places: dict[ast.Name, None] = field(default_factory=dict)
    interfering: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    fixed: set[str] = field(default_factory=set)
    plain: dict[int, list[str]] = field(default_factory=dict)
    rows: list[tuple[int, int]] = field(default_factory=list)

    def read(self, lines: Sequence[Line], parameters: Iterable[str]) -> None:
        """Read the lines of a whole function, whose parameters are bound before its body."""
        for number, line in enumerate(lines):
            assigned = _ASSIGNMENT.fullmatch(line.text)
            if assigned is not None and not (assigned[2].isidentifier() or _NOT_PLAIN.search(assigned[2])):
                self.plain[number] = [assigned[1], *(self.tracked & set(NAME.findall(assigned[2])))]
        function, self.rows = parsed(lines, self.plain)
        self._bind(set(parameters), self._block(function.body, _NONE, (_NONE, _NONE)))

    def _block(self, statements: Sequence[ast.stmt], after: Live, around: tuple[Live, Live]) -> Live:
        """The names that are live before statements; ``around`` are those behind the loop around, and at its head."""
        for statement in reversed(statements):
            after = self._before(statement, after, around)
        return after

    def _before(self, statement: ast.stmt, after: Live, around: tuple[Live, Live]) -> Live:
        match statement:
            case ast.Pass():
                return self._plain_line(self.rows[statement.lineno - 2][0], after)
            case ast.If(test, body, otherwise):
                return self._block(body, after, around) | self._block(otherwise, after, around) | self._reads(test)
            case ast.While(test, body, otherwise):
                return self._loop([], [test], body, self._block(otherwise, after, around), after)
            case ast.For(target, iterator, body, otherwise):
                behind = self._block(otherwise, after, around)
                return self._loop([target], [], body, behind, after) | self._reads(iterator)
            case ast.Break():
                return around[0]
            case ast.Continue():
                return around[1]
            case ast.Return() | ast.Raise():
                return self._reads(statement)
            case ast.Assign():
                return self._assignment(statement, after)
        return after | self._names(statement)

    def _loop(
        self, targets: Sequence[ast.expr], tests: Sequence[ast.expr], body: Sequence[ast.stmt], end: Live, behind: Live
    ) -> Live:
        """The names that are live at the head of a loop: a round may follow a round, or none."""
        reads = _NONE.union(*map(self._reads, tests))
        head = end | reads
        while True:
            first = self._bind(_NONE.union(*map(self._names, targets)), self._block(body, head, (behind, head)))
            if head >= first:
                return head
            head |= first

    def _assignment(self, statement: ast.Assign, after: Live) -> Live:
        bound: list[str] = []
        read: list[str] = []
        for name in self._found(statement):
            (bound if type(name.ctx) is ast.Store else read).append(name.id)
        for target in statement.targets:
            if type(target) is not ast.Name:
                after |= self._reads(target)  # ``i`` of ``x[i], y = ..``, which is read behind what is bound
            for own, given in _copies(target, statement.value):
                if {own, given} <= self.tracked:
                    self._interfere([own], {given})  # as one name this would be ``x = x``
        return self._bind(frozenset(bound), after).union(read)

    def _plain_line(self, number: int, after: Live) -> Live:
        names = self.plain.get(number)
        if names is None:  # no assignment, but the author's ``pass``
            return after
        return self._bind({names[0]}, after).union(names[1:])

    def _bind(self, bound: Set[str], live: Live) -> Live:
        """Bind names, all at once, while others are live behind that; what is live before."""
        own = self.tracked & bound
        self._interfere(own, live | own)
        return live - own

    def _interfere(self, names: Iterable[str], others: Collection[str]) -> None:
        for name in names:
            self.interfering[name].update(others)
            for other in others:
                self.interfering[other].add(name)

    def _reads(self, node: ast.AST) -> Live:
        return frozenset([name.id for name in self._found(node) if isinstance(name.ctx, ast.Load)])

    def _names(self, node: ast.AST) -> Live:
        return frozenset([name.id for name in self._found(node)])

    def _found(self, root: ast.AST) -> list[ast.Name]:
        """The tracked names in a tree; their places are noted, and those that must stay as they are."""
        nodes = _nodes(root)
        found = self._tracked(nodes)
        self.places |= dict.fromkeys(found)
        for node in nodes:
            if type(node) in _NOT_FOLLOWED:
                self.fixed.update(name.id for name in self._tracked(_nodes(node)))
        return found

    def _tracked(self, nodes: Iterable[ast.AST]) -> list[ast.Name]:
        return [node for node in nodes if type(node) is ast.Name and node.id in self.tracked]


def _nodes(root: ast.AST) -> list[ast.AST]:
    """The nodes of a tree but constants, operators and contexts, in a third of the time of ``ast.walk``."""
    found = [root]
    for node in found:
        for field_name in _FIELDS[type(node)]:
            value = getattr(node, field_name)
            if type(value) is list:
                found += [child for child in value if isinstance(child, ast.AST)]
            elif isinstance(value, ast.AST) and type(value) is not ast.Constant:
                found.append(value)
    return found


def _copies(target: ast.expr, value: ast.expr) -> list[tuple[str, str]]:
    """The names that an assignment gives the value of another, ``x = y`` or a part of ``x, i = y, 0``."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [pair for own, given in zip(target.elts, value.elts, strict=True) for pair in _copies(own, given)]
    return [(target.id, value.id)] if isinstance(target, ast.Name) and isinstance(value, ast.Name) else []

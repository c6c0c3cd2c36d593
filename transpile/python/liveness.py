"""Liveness and interference of the names of a function: which names may share a variable.

Statements are visited backwards, as in a compiler's register allocation: a name is live if a later statement may read
it before another binds it. Two names interfere if one is bound while the other is live.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import field

from ..dataclass import dataclass
from .names import Names, names_of
from .templates import template_of

Live = frozenset[str]
_NONE: Live = frozenset()


@dataclass(slots=True)
class Block:
    """A statement with its nested statements."""

    tree: ast.AST  # of a simple statement, or of the head of a compound one
    names: Names
    body: list[Block] = field(default_factory=list)
    otherwise: list[Block] = field(default_factory=list)

    def walk(self) -> Iterator[Block]:
        """Yield the statement and all nested ones."""
        yield self
        for inner in (*self.body, *self.otherwise):
            yield from inner.walk()

    def all(self) -> set[str]:
        """Return all names, including those in nested statements."""
        return {name for block in self.walk() for name in block.names.all}


def blocks(rows: Sequence[tuple[int, str]]) -> list[Block]:
    """Return the statements of a body. Each row has its indentation and its text, which for a compound statement is its
    head.
    """
    found, end = _blocks(rows, 0, rows[0][0] if rows else 0)
    assert end == len(rows)
    return found


def _blocks(rows: Sequence[tuple[int, str]], begin: int, indent: int) -> tuple[list[Block], int]:
    found: list[Block] = []
    while begin < len(rows) and rows[begin][0] >= indent:
        text = rows[begin][1]
        made = template_of(text)
        block = Block(made.tree, names_of(text))
        inside, begin = _blocks(rows, begin + 1, indent + 1)
        if not made.continues:
            block.body = inside
            found.append(block)
            head = block
        elif isinstance(made.tree, ast.If):
            block.body = inside
            head.otherwise = [block]
            head = block
        else:
            head.otherwise = inside
    return found, begin


@dataclass
class LiveNames:
    """The liveness of the ``tracked`` names of a function.

    ``interfering``: for each name, the names that interfere with it. ``fixed``: the names that must stay as they are,
    because closures read them or statements bind them in ways that are not analysed here.
    """

    tracked: Set[str]
    interfering: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    fixed: set[str] = field(default_factory=set)

    def read(self, rows: Sequence[tuple[int, str]], parameters: Iterable[str]) -> None:
        """Analyse the rows of a whole function, whose parameters are bound before its body."""
        self._bind(frozenset(parameters), self._block(blocks(rows), _NONE, (_NONE, _NONE)))

    def _block(self, statements: Sequence[Block], after: Live, around: tuple[Live, Live]) -> Live:
        """Return the names that are live before statements. ``around`` has those live behind the enclosing loop and at
        its head.
        """
        for statement in reversed(statements):
            self.fixed |= self.tracked & statement.names.fixed
            after = self._before(statement, after, around)
        return after

    def _before(self, block: Block, after: Live, around: tuple[Live, Live]) -> Live:
        names = block.names
        read = self.tracked & names.read
        match block.tree:
            case ast.Pass():
                return after
            case ast.If():
                return self._block(block.body, after, around) | self._block(block.otherwise, after, around) | read
            case ast.While():
                return self._loop(_NONE, read, block.body, self._block(block.otherwise, after, around), after)
            case ast.For():
                behind = self._block(block.otherwise, after, around)
                return self._loop(names.bound, _NONE, block.body, behind, after) | read
            case ast.Break():
                return around[0]
            case ast.Continue():
                return around[1]
            case ast.Return() | ast.Raise():
                return frozenset(read)
            case ast.Assign():
                for own, given in names.copies:
                    if {own, given} <= self.tracked:
                        self._interfere([own], {given})  # sharing a variable would give ``x = x``
                return self._bind(names.bound, after | (self.tracked & names.behind)) | read
        inside = self.tracked & block.all()
        self.fixed |= inside if block.body else _NONE
        return after | inside

    def _loop(self, targets: Live, reads: Set[str], body: Sequence[Block], end: Live, behind: Live) -> Live:
        """Return the names that are live at the head of a loop, by iteration to a fixed point: the body may run again,
        or not at all.
        """
        head = end | reads
        while True:
            first = self._bind(targets, self._block(body, head, (behind, head)))
            if head >= first:
                return head
            head |= first

    def _bind(self, bound: Set[str], live: Live) -> Live:
        """Bind names all at once while ``live`` are live behind; return the names live before."""
        own = self.tracked & bound
        self._interfere(own, live | own)
        return live - own

    def _interfere(self, names: Iterable[str], others: Collection[str]) -> None:
        for name in names:
            self.interfering[name].update(others)
            for other in others:
                self.interfering[other].add(name)

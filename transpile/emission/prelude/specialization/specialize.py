"""The specialization of prelude functions to the calls of a module.

Facts about the arguments of the module's calls are propagated through the functions to a fixed point (interprocedural
constant propagation): a fact about a parameter is the join over all reachable calls. Then each function is written
again without branches that cannot be taken, and without parameters that are always the same. Groups of functions
that share none are specialized apart, with a cache.
"""

from __future__ import annotations

import ast
import json
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, lru_cache
from typing import Any

from .....templates import of_prelude
from ....dataclass import dataclass
from ....python.modules import mentioned, statement_of
from ....python.printer import head
from ..library import Definition, needed_by
from .dead_code import cleaned
from .docstrings import docstring
from .evaluation import Evaluator
from .folding import Folder
from .inlining import merged
from .lattice import Call, Fact, Known, OneOf, Several, alternatives, defaults_of, joined, parameters_of
from .layout import laid_out

# The prelude functions that are evaluated on known values.
_FOLDED = {place.split(".")[1]: of_prelude(place) for place in ("precision.working_dtype", "convolution.window_counts")}
_MOST_CASES = 8  # distinct calls of a function that are evaluated one by one
LONGEST = 24  # characters of the text that replaces a parameter
_WITHOUT_RULES = (ast.Match, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom)
_MOST_KNOWN = 512  # groups of functions


@dataclass(frozen=True, slots=True)
class Cut:
    """Specialized functions by name, and for each the parameters that it lost, with their positions."""

    definitions: dict[str, Definition]
    lost: dict[str, dict[str, int]]


@dataclass(slots=True)
class _Use:
    """The uses of a function: the ``facts`` about its parameters.

    ``given`` are the parameters that some call passes, ``by_module`` those that the module's own calls pass,
    ``required`` those that every call passes. ``derived`` are the parameters whose facts follow from shapes of arrays,
    or from parameters that the module passes. ``cases`` are the facts of each distinct call: they may decide a test
    that the joined ``facts`` leave open.
    """

    facts: dict[str, Fact] = field(default_factory=dict)
    cases: list[dict[str, Fact]] = field(default_factory=list)
    given: set[str] = field(default_factory=set)
    by_module: set[str] = field(default_factory=set)
    derived: set[str] = field(default_factory=set)
    required: set[str] | None = None
    is_whole: bool = False

    def tells(self, part: str) -> bool:
        """Return whether a parameter is informative: anything but a known number."""
        fact = self.facts.get(part)
        return not isinstance(fact, Known) or type(fact.value) is not int


def cut_together(
    definitions: Mapping[str, Definition],
    used: Iterable[str],
    calls: Mapping[str, Sequence[Call]],
    namespace: str = "np",
) -> Cut:
    """Return the prelude functions behind ``used`` names, specialized to the module's ``calls``.

    ``namespace`` is the library's name. Functions without an entry in ``calls`` are used in unknown ways, and stay
    whole.
    """
    opened: frozenset[tuple[str, str]] = frozenset()
    used = list(used)
    while True:
        cutter = _Cutter(definitions, namespace, opened)
        result = cutter.cut(used, calls)
        if cutter.hidden <= opened:
            whole = ChainMap(result.definitions, definitions)  # type: ignore[arg-type]
            return replace(result, definitions=result.definitions | merged(whole, used))
        opened |= cutter.hidden


@cache
def _parsed(source: str) -> ast.FunctionDef | None:
    """Return the syntax tree of a function that can be specialized, or None."""
    statement = statement_of(source)
    if not isinstance(statement, ast.FunctionDef) or statement.decorator_list or not source.isascii():
        return None
    parts = list(ast.walk(statement))
    has_decorators = any(isinstance(part, ast.FunctionDef) and part.decorator_list for part in parts)
    return None if has_decorators or any(isinstance(part, _WITHOUT_RULES) for part in parts) else statement


@cache
def _constant(source: str) -> Fact:
    """Return the fact about a constant of the prelude: a number or a tuple of numbers."""
    statement = statement_of(source)
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
        return Evaluator({}, {}).of(statement.value, {})
    return None


class _Cutter:
    """The specialization of functions, given that the values of ``opened`` parameters count as unknown.

    ``hidden`` are the parameters that the module passes and that nothing reads.
    """

    def __init__(
        self, definitions: Mapping[str, Definition], namespace: str, opened: frozenset[tuple[str, str]]
    ) -> None:
        self.namespace = namespace
        self.opened = opened
        self.hidden: set[tuple[str, str]] = set()
        self.definitions = definitions
        self.functions: dict[str, ast.FunctionDef] = {}
        self.constants: dict[str, Fact] = {}
        self.uses: dict[str, _Use] = {}
        self.waiting: list[str] = []
        self.bodies: dict[tuple[Any, ...], tuple[list[str], set[str]]] = {}

    def cut(self, used: Iterable[str], calls: Mapping[str, Sequence[Call]]) -> Cut:
        self._read(used)
        for name in used:
            if name in self.functions and calls.get(name):
                for call in calls[name]:
                    self._called(name, call, by_module=True)
            else:
                self._whole(name)
        while self.waiting:
            name = self.waiting.pop()
            self._follow(name, self._folder(name, {}, {}))
        return self._written()

    def _read(self, used: Iterable[str]) -> None:
        """Parse the definitions that the names need."""
        for name, definition in needed_by(self.definitions, used).items():
            function = _parsed(definition.source)
            if function is not None:
                self.functions[name] = function
            elif isinstance(statement_of(definition.source), ast.Assign | ast.AnnAssign):
                self.constants[name] = _constant(definition.source)

    # -- propagation of facts

    def _whole(self, name: str) -> None:
        """Record that a definition is used in an unknown way."""
        use = self.uses.setdefault(name, _Use())
        if use.is_whole or name not in self.definitions:
            return
        use.is_whole = True
        if name in self.functions:
            use.facts = {part.arg: None for part in parameters_of(self.functions[name])}
            if self._calls_others(name):
                self.waiting.append(name)
        else:
            for other in self.definitions[name].uses:
                self._whole(other)

    def _called(self, name: str, call: Call | None, *, by_module: bool) -> None:
        """Record a call."""
        function = self.functions[name]
        names = [part.arg for part in parameters_of(function)]
        if call is None or len(call.arguments) > len(names) - len(function.args.kwonlyargs):
            self._whole(name)
            return
        use = self.uses.setdefault(name, _Use())
        given = dict(zip(names, call.arguments, strict=False)) | call.keywords
        use.given |= given.keys()
        use.required = set(given) if use.required is None else use.required & given.keys()
        use.by_module |= given.keys() if by_module else set()
        before = set(use.derived)
        use.derived |= {names[place] if isinstance(place, int) else place for place in call.derived}
        if use.is_whole:
            return
        defaults = defaults_of(function)
        own: dict[str, Fact] = {}
        facts: dict[str, Fact] = {}
        for part in names:
            fact = given[part] if part in given else self._default(defaults.get(part))
            if (name, part) in self.opened:
                fact = opened(fact)
            own[part] = fact
            facts[part] = joined(use.facts[part], fact) if part in use.facts else fact
        is_new = own not in use.cases
        if is_new:
            use.cases.append(own)
        if is_new or facts != use.facts or use.derived != before or not use.facts:
            use.facts = facts
            self.waiting.append(name)

    def _default(self, default: ast.expr | None) -> Fact:
        return None if default is None else Evaluator(self.constants, {}).of(default, {})

    def _folder(self, name: str, dropped: Mapping[str, str], lost: Mapping[str, frozenset[str]]) -> Folder:
        evaluator = Evaluator(self.constants, _FOLDED)
        function = self.functions[name]
        source, use = self.definitions[name].source, self.uses[name]
        handed = frozenset(use.by_module | use.derived)

        def folder(facts: Mapping[str, Fact], verdicts: Mapping[ast.If, bool]) -> Folder:
            others = self.functions
            return Folder(source, function, facts, handed, evaluator, others, dropped, lost, self.namespace, verdicts)

        is_told_apart = not use.is_whole and 1 < len(use.cases) <= _MOST_CASES
        cases = [folder(case, {}) for case in use.cases] if is_told_apart else []
        return folder(use.facts, _verdicts(cases))

    def _follow(self, name: str, folder: Folder) -> None:
        """Record the calls in the reachable code of a function."""
        folder.body()
        for called, call in folder.calls:
            self._called(called, call, by_module=False)
        for escaped in folder.escaped:
            self._whole(escaped)
        local = {*self.functions, *folder.names}
        for other in self.definitions[name].uses:
            if other in self.definitions and other not in local:
                self._whole(other)

    def _calls_others(self, name: str) -> bool:
        """Return whether a function calls other functions of the prelude."""
        return any(other in self.functions for other in self.definitions[name].uses if other != name)

    # -- specialized text

    def _written(self) -> Cut:
        names = [name for name in self.uses if name in self.functions]
        dropped = {
            name: self._droppable(name) for name in names if self._calls_others(name) or not self.uses[name].is_whole
        }
        while True:
            lost = {name: frozenset(texts) for name, texts in dropped.items()}
            blocked = {}
            for name, texts in dropped.items():
                _, parameters = self._body(name, texts, lost)
                if parameters & texts.keys():
                    blocked[name] = parameters
            if not blocked:
                break
            for name, parameters in blocked.items():
                dropped[name] = {k: text for k, text in dropped[name].items() if k not in parameters}
        lost = self._without_unread(dropped, lost)
        written = {}
        for name in dropped:
            source = self._source(name, dropped[name], lost)
            if source != self.definitions[name].source:
                written[name] = replace(self.definitions[name], source=source)
        places = {
            name: {part.arg: k for k, part in enumerate(parameters_of(self.functions[name])) if part.arg in own}
            for name, own in lost.items()
        }
        return Cut(written, {name: own for name, own in places.items() if own})

    def _body(
        self, name: str, dropped: Mapping[str, str], lost: Mapping[str, frozenset[str]]
    ) -> tuple[list[str], set[str]]:
        """Return the specialized lines of a function's body, and the parameters that cannot be dropped."""
        called = ((other, lost.get(other, frozenset())) for other in self.definitions[name].uses)
        key = (name, frozenset(dropped.items()), lost.get(name), frozenset(called))
        if key not in self.bodies:
            folder = self._folder(name, dropped, lost)
            self.bodies[key] = folder.body(), folder.blocked
        return self.bodies[key]

    def _droppable(self, name: str) -> dict[str, str]:
        """Return the parameters that can be replaced by a text, with that text."""
        use, function = self.uses[name], self.functions[name]
        if use.is_whole:
            return {}
        found: dict[str, str] = {}
        defaults, kept = defaults_of(function), use.by_module | use.derived
        for part in parameters_of(function):
            fact, text = use.facts.get(part.arg), None
            if part.arg not in use.given:
                text = _simple(defaults[part.arg]) if part.arg in defaults else None
            elif isinstance(fact, Known) and not isinstance(fact.value, tuple) and part.arg not in kept:
                text = literal(fact.value)
            if text is not None and len(text) <= LONGEST:
                found[part.arg] = text
        return found

    def _without_unread(
        self, dropped: Mapping[str, Mapping[str, str]], lost: Mapping[str, frozenset[str]]
    ) -> dict[str, frozenset[str]]:
        """Return ``lost`` with the parameters that are no longer read; those that the module passes become ``hidden``.

        Numbers that the module passes are lost, too, as the shapes of arrays show them.
        """
        unread = {name: self._unread(name, dropped[name], lost) for name in dropped}
        kept = {name: frozenset(filter(self.uses[name].tells, self.uses[name].by_module)) for name in dropped}
        self.hidden = {(name, part) for name in unread for part in unread[name] & kept[name]}
        found = {name: lost[name] | (unread[name] - kept[name]) for name in dropped}
        return found if found == lost else self._without_unread(dropped, found)

    def _unread(self, name: str, dropped: Mapping[str, str], lost: Mapping[str, frozenset[str]]) -> frozenset[str]:
        """Return the parameters that are always the same and that the remaining code does not read."""
        use, function = self.uses[name], self.functions[name]
        if use.is_whole:
            return frozenset()
        text = cleaned("\n".join([head(function, frozenset()), *self._body(name, dropped, lost)[0]]))
        names = {part.arg for part in parameters_of(function)} - mentioned(text).keys() - lost[name]
        return frozenset(part for part in names if isinstance(use.facts.get(part), Known))

    def _required(self, name: str) -> frozenset[str]:
        """Return the parameters that every call passes, never as None."""
        use = self.uses[name]
        parts = set() if use.is_whole else (use.required or set()) & use.facts.keys()
        return frozenset(part for part in parts if not {None, Known(None)} & set(alternatives(use.facts[part])))

    def _source(self, name: str, dropped: Mapping[str, str], lost: Mapping[str, frozenset[str]]) -> str:
        """Return the text of a specialized function."""
        function = self.functions[name]
        source = self.definitions[name].source
        lines = source.split("\n")
        body, _ = self._body(name, dropped, lost)
        own = lost.get(name, frozenset())
        required = self._required(name)
        first = function.body[0]
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        top = lines[: function.lineno - 1]
        if head(function, own, required) != head(function, frozenset()):
            start, text = [*top, head(function, own, required)], docstring(function, own, dropped)
        else:
            end = first.lineno - 1
            start, text = lines[:end], lines[end : first.end_lineno] if is_text else []
        text_of_body = cleaned("\n".join([head(function, own), *body])).split("\n")[1:]
        if "\n".join([*start, *text, *text_of_body]) == source:
            return source
        return laid_out("\n".join([*start, *text, *text_of_body]))


def _verdicts(cases: Sequence[Folder]) -> dict[ast.If, bool]:
    """Return the outcomes of tests that have the same outcome in all calls that reach them."""
    outcomes: dict[ast.If, set[bool | None]] = {}
    for case in cases:
        case.body()
        for test, found in case.outcomes.items():
            outcomes.setdefault(test, set()).update(found)
    alike = ((test, found.pop()) for test, found in outcomes.items() if len(found) == 1)
    return {test: outcome for test, outcome in alike if outcome is not None}


def opened(fact: Fact) -> Fact:
    """Return a fact without its value: a bool, or a tuple of known length."""
    if not isinstance(fact, Known):
        return fact
    if isinstance(fact.value, bool):
        return OneOf((Known(False), Known(True)))
    return Several(tuple(opened(Known(part)) for part in fact.value)) if isinstance(fact.value, tuple) else None


def _simple(default: ast.expr) -> str | None:
    """Return the text of a default that can be repeated wherever its parameter is read, or None."""
    is_simple = all(
        isinstance(part, ast.Constant | ast.Tuple | ast.UnaryOp | ast.USub | ast.Attribute | ast.Name | ast.Load)
        for part in ast.walk(default)
    )
    if not is_simple:
        return None
    value = Evaluator({}, {}).of(default, {})
    return (
        ast.unparse(default)
        if value is None or isinstance(default, ast.Attribute)
        else literal(value.value)
        if isinstance(value, Known)
        else None
    )


def literal(value: Any) -> str | None:
    """Return the text of a value, or None if it has no short text."""
    if isinstance(value, str):
        return json.dumps(value)
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, tuple):
        parts = [literal(part) for part in value]
        inner = ", ".join(part for part in parts if part is not None)
        return None if None in parts else f"({inner},)" if len(parts) == 1 else f"({inner})"
    return None


@dataclass(frozen=True, slots=True)
class _Group:
    """Functions that share definitions, with everything that determines how they are specialized."""

    used: tuple[str, ...]
    calls: tuple[tuple[object, ...], ...]
    texts: tuple[tuple[object, ...], ...]
    namespace: str
    definitions: Mapping[str, Definition] = field(compare=False)
    calls_by_name: Mapping[str, Sequence[Call]] = field(compare=False)


def cut(
    definitions: Mapping[str, Definition],
    used: Iterable[str],
    calls: Mapping[str, Sequence[Call]],
    namespace: str = "np",
) -> Cut:
    """Return the prelude functions behind ``used`` names, specialized to the module's ``calls``.

    The result is that of :func:`.specialize.cut_together`.
    """
    found = Cut({}, {})
    for names, needed in _groups(definitions, used):
        group = _Group(
            tuple(names),
            tuple(_key_of_call(name, call) for name in names if name in calls for call in calls[name]),
            tuple(_key_of_definition(definitions[name]) for name in needed),
            namespace,
            definitions,
            {name: calls[name] for name in names if name in calls},
        )
        part = _cut(group)
        found.definitions.update(part.definitions)
        found.lost.update(part.lost)
    return found


@lru_cache(_MOST_KNOWN)
def _cut(group: _Group) -> Cut:
    return cut_together(group.definitions, group.used, group.calls_by_name, group.namespace)


def _key_of_call(name: str, call: Call) -> tuple[object, ...]:
    return name, call.arguments, tuple(call.keywords.items()), call.derived


def _key_of_definition(definition: Definition) -> tuple[object, ...]:
    return (
        definition.name,
        definition.source,
        definition.order,
        definition.module,
        frozenset(definition.imports.items()),
    )


_Sharing = tuple[list[str], dict[str, Definition]]  # names, and all that they need


def _groups(definitions: Mapping[str, Definition], used: Iterable[str]) -> list[_Sharing]:
    """Return the used names in groups that have no definition in common, each with all that it needs."""
    groups: list[_Sharing] = []
    for name in used:
        names, needed = [name], needed_by(definitions, [name])
        for group in [group for group in groups if not needed.keys().isdisjoint(group[1])]:
            groups.remove(group)
            names, needed = [*group[0], *names], group[1] | needed
        groups.append((names, needed))
    return groups

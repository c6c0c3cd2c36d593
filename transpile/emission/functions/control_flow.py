"""Loops and branches as Python statements."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from ...array.in_place import is_own_array
from ...array.node import Node, Region
from ...array.program import Branch, Carry, Loop
from ...array.traversal import is_inside, topological
from ...python.templates import Expression
from ...walks import reached
from ..arrangement.assignments import mentions, one_after_another
from ..arrangement.schedule import Body, schedule
from ..lines import Line
from ..naming.identifiers import identifier
from ..naming.known_types import becomes_anything, is_flag
from .context import Writing
from .rerolled_loop_writer import COUNTERS, letter

_SHORT = 20  # characters of a value that may share a line
_MOST_TOGETHER = 2  # values that share a line
_MOST_MOVED = 4  # names that are assigned in one line
_MANY_BRANCHES = 3  # the fewest before which common results are assigned
_FEWEST_LEFT = 2  # lines of a body that is left by a break


class ControlFlowWriter:
    """The writer of the loops and branches of one function."""

    names_of_arrays: frozenset[str] = frozenset()  # which counters may not have

    def __init__(self, writer: Writing) -> None:
        self.writer = writer
        self.declared: set[str] = set()  # names of flags, whose types are written once
        # The branch that is being written, and the values that the targets of its conditional had before.
        self.known_before: tuple[Region | None, Mapping[str, Node]] = (None, {})
        self.heads: dict[Node, tuple[str, Expression]] = {}  # of conditionals: the macro of the first line and its test

    def loop(self, node: Node) -> None:
        """Write the lines of a loop, or the call of the function that it is compiled to."""
        compiler = self.writer.loop_compiler
        if compiler is not None and node.parameters["loop"].is_compiled:
            compiler.compile(self.writer, node)
        else:
            self.lines_of_loop(node)

    def lines_of_loop(self, node: Node) -> None:
        """Write the lines of a loop, from the initial values to the end of the body."""
        loop: Loop = node.parameters["loop"]
        self._name_carries(node, loop)
        if loop.runs_once:
            self.give_results(self.writer.region(loop.region, loop).moves)
            return
        self._initialise(node, loop)
        counter = ""
        first: frozenset[Node] = frozenset()
        resumable = node in self.writer.renderer.resumable
        start: int | str = self._resume(loop) if resumable else loop.start
        if loop.counter is not None:
            counter = self._counter(loop, named=resumable)
            if loop.count is not None:
                count = self.writer.text(loop.count)
                head = self.writer.renderer.statement("for_count", counter, count, loop.step < 0)
            else:
                start, stop = self._bounds(loop, start)
                head = self.writer.renderer.statement("for_range", counter, start, stop, loop.step)
            self.writer.line(head, node)
        else:
            first = self._condition_statements(loop)
            condition = "True" if first else self.writer.text(loop.condition)  # type: ignore[arg-type]
            self.writer.line(self.writer.renderer.statement("while", condition), node)
        inside = self.writer.lines[-1].inside
        inside.update((carry.parameter, self.writer.texts[carry.parameter]) for carry in loop.carries)
        if loop.counter is not None:
            inside[loop.counter] = counter
        self.writer.bound(*self.writer.items.get(node, {}).values())
        self.writer.indent += 1
        before = len(self.writer.lines)
        if first:
            self._while_true(loop, first)
            first = self._condition_statements(loop)  # fitting long lines may have named more parts
        body = self.writer.region(loop.region, loop, first)
        self.move(body.moves)
        self._settle(loop)
        if resumable:
            self._snapshot(loop, counter)
        if len(self.writer.lines) == before:
            self.writer.line(self.writer.renderer.statement("nothing"))
        self._leave_where_nothing_changes(loop, body, before)
        self.writer.indent -= 1
        if counter in COUNTERS:
            self.writer.names.taken.discard(counter)

    def _leave_where_nothing_changes(self, loop: Loop, body: Body, begin: int) -> None:
        """Write ``if not more: break`` before the lines of a body that are all under ``if more:``, if later iterations
        would not get there either: the test reads only what these lines change.
        """
        head, *lines = self.writer.lines[begin:]
        tested = [each for each in body.statements if isinstance(each, Node) and each.opcode == "conditional"]
        if len(tested) != 1 or len(lines) < _FEWEST_LEFT or any(line.indent <= head.indent for line in lines):
            return
        chooser = self._chooser(tested[0])
        if not _is_predicate(chooser) or loop.counter is None or loop.counter in topological([chooser]):
            return
        name, test = self.heads[tested[0]]
        head.text = self.writer.renderer.statement("if" if name == "unless" else "unless", test)
        for line in lines:
            line.indent -= 1
        self.writer.lines.insert(begin + 1, Line(head.indent + 1, self.writer.renderer.statement("leave_loop")))

    def _bounds(self, loop: Loop, start: int | str) -> tuple[int | str, int | str]:
        """Return the start and the stop of the counter."""
        if loop.bounds is None:
            return start, loop.stop
        first, last = (b.parameters["value"] if b.opcode == "integer" else self.writer.text(b) for b in loop.bounds)
        return first, last

    def _settle(self, loop: Loop) -> None:
        """Write the statement with which lazy libraries evaluate the carried values of a loop that may be long."""
        arrays = [c.parameter for c in loop.carries if not c.parameter.is_python_int and c.following is not c.parameter]
        names = [self.writer.texts[parameter] for parameter in arrays]
        count = loop.trip_count if loop.counter is not None else None
        text = self.writer.renderer.statement("settle", names, count) if names else ""
        if text:
            self.writer.line(text)

    def _name_carries(self, node: Node, loop: Loop) -> None:
        parts = self.writer.items.get(node, {})
        wanted = self.writer.wanted.of_source(node, loop)
        taken = {self.writer.texts.get(part) for part in parts.values()}  # next values of carries of the loop around
        for k, carry in enumerate(loop.carries):
            item = parts.get(k)
            name = self.writer.texts.get(item) if item is not None else None
            if name is None:
                is_authors = carry in wanted
                own = wanted[carry] if is_authors else self.writer.wanted.of_carry(carry, loop)
                name = self._shared_name(node, carry, item, own)
                if name is None or name in taken or (is_authors and name != identifier(own)):
                    name = Expression(self.writer.names.fresh(own))
            self.writer.texts[carry.parameter] = name
            if item is not None:
                self.writer.texts[item] = name

    def _shared_name(self, node: Node, carry: Carry, result: Node | None, wanted: str) -> Expression | None:
        """Return the name of the initial value if the carry may take it over, or None: nothing else reads the value, or
        nothing reads it later and its name is the wanted one.
        """
        initial = carry.initial
        is_taken = initial.opcode == "copy" and initial in self.writer.taken_over
        if initial.opcode == "copy" and carry.following is not None:
            (initial,) = initial.operands  # a copy for the loop may have the name of its operand
        if (
            initial not in self.writer.texts
            or self.writer.texts[initial] in self.writer.constants.names
            or not (is_taken or self.writer.plan.uses.get(initial, 0) == 1 or self._goes_on(initial, node, wanted))
            or initial.region is not node.region
            or initial in self.writer.arguments.leaf_names  # the text is a part of the caller's tree, not a name
            or not self.writer.texts[initial].isidentifier()  # a part of a NamedTuple
        ):
            return None
        if initial.opcode == "item" and initial.operands[0].opcode == "parameter":
            return None
        if initial.opcode != "parameter" and self.writer.allocation.is_lent(initial):
            return None  # its name is lent by a carry of the loop around
        if result is not None and not self.writer.allocation.lends(initial, result):
            return None  # the next value of that carry is assigned before the last read of the result
        return self.writer.texts[initial]

    def _goes_on(self, initial: Node, node: Node, wanted: str) -> bool:
        """Return whether a value has the name that is wanted for a carry, the last to read it."""
        loop: Loop = node.parameters["loop"]
        starts = [carry.initial for carry in loop.carries]
        count = starts.count(initial) + sum(start.opcode == "copy" and start.operands[0] is initial for start in starts)
        is_alone = count == 1 and not self.writer.allocation.is_needed_after(initial, node)
        return is_alone and self.writer.texts[initial] == identifier(wanted)

    def _initialise(self, node: Node, loop: Loop) -> None:
        """Assign the initial values of the carries, together if that is short; some carries get type annotations."""
        pairs, known = [], self.writer.allocation.known_types
        for carry in loop.carries:
            name = self.writer.texts[carry.parameter]
            value = self.beginning(node, carry)
            kind = "flag" if is_flag(carry.initial) else "anything" if becomes_anything(carry, known) else ""
            declared = self.writer.renderer.statement(kind, name) if kind and name not in self.declared else name
            if declared != name:
                self.declared.add(name)
                self.writer.assign([declared], value, node)
            elif value != name:
                pairs.append((name, value))
        self._assign_together(pairs, node)

    def beginning(self, node: Node, carry: Carry) -> Expression:
        """Return the text of a carry's initial value."""
        start = self.start(node, carry.initial)
        return self.writer.renderer.begun(start, self.writer.array_text(start))

    def start(self, node: Node, initial: Node) -> Node:
        """Return the initial value of a loop, without the copy if the array was made for the loop alone."""
        if initial.opcode != "copy":
            return initial
        (made,) = initial.operands
        if initial in self.writer.taken_over:
            return made
        is_own = is_own_array(made)
        alone = self.writer.plan.uses.get(made, 0) == 1 and made.region is node.region
        return made if is_own and alone else initial

    def _assign_together(self, pairs: list[tuple[Expression, Expression]], node: Node | None = None) -> None:
        if not pairs:
            return
        names = {name for name, _ in pairs}
        together = Expression(", ".join(value for _, value in pairs), 1)
        line = self.writer.renderer.statement("assign", [name for name, _ in pairs], together)
        independent = not any(mentions(value, names - {name}) for name, value in pairs)
        if independent and (len(pairs) > 4 or not self.writer.renderer.layout.fits(line, 4 * self.writer.indent)):
            for group in self._grouped(pairs):
                value = Expression(", ".join(value for _, value in group), 1) if len(group) > 1 else group[0][1]
                self.writer.assign([name for name, _ in group], value, node)
        else:
            self.writer.line(line, node)

    def _grouped(self, pairs: list[tuple[Expression, Expression]]) -> list[list[tuple[Expression, Expression]]]:
        """Return groups of assignments: short values share a line, any other has a line of its own."""
        groups: list[list[tuple[Expression, Expression]]] = []
        for name, value in pairs:
            last = groups[-1] if groups else []
            texts = [text for pair in [*last, (name, value)] for text in pair]
            layout = self.writer.renderer.layout
            fits = 4 * self.writer.indent + sum(layout.columns(text) + 2 for text in texts) <= layout.line_length
            short = all(layout.columns(own) <= _SHORT for _, own in [*last, (name, value)])
            if last and short and fits and len(last) < _MOST_TOGETHER:
                last.append((name, value))
            else:
                groups.append([(name, value)])
        return groups

    def _resume(self, loop: Loop) -> str:
        """Write the statement that resumes from a snapshot, if there is one; return the name of the counter's start."""
        names = [self.writer.texts[carry.parameter] for carry in loop.carries]
        start = self.writer.names.fresh("start") if loop.counter is not None else ""
        counted = loop.counter is not None
        self.writer.line(
            self.writer.renderer.statement(
                "resume", [start, *names] if counted else names, [loop.start, *names] if counted else names
            )
        )
        return start

    def _snapshot(self, loop: Loop, counter: str) -> None:
        """Write the snapshot at the end of an iteration: the values that the next one begins with."""
        values: list[str] = [self.writer.texts[carry.parameter] for carry in loop.carries]
        if counter:
            values = [self.writer.renderer.statement("stepped", counter, loop.step), *values]
        self.writer.line(self.writer.renderer.statement("snapshot", values))

    def _counter(self, loop: Loop, *, named: bool = False) -> str:
        assert loop.counter is not None
        if not named and not self.writer.plan.uses.get(loop.counter):
            return "_"
        name = letter(self.writer, self.names_of_arrays)
        self.writer.texts[loop.counter] = Expression(name)
        return name

    def _condition_statements(self, loop: Loop) -> frozenset[Node]:
        """Return the named nodes in the loop that its condition needs; with any, the condition is not in the head."""
        assert loop.condition is not None

        def inside(nodes: Iterable[Node]) -> list[Node]:
            return [node for node in nodes if is_inside(node.region, loop.region) and node.opcode != "parameter"]

        needed = reached(inside([loop.condition]), lambda node: inside(node.operands))
        return frozenset(node for node in needed if node in self.writer.plan.named)

    def _while_true(self, loop: Loop, first: frozenset[Node]) -> None:
        """Write the statements of the condition, then ``if not condition: break``."""
        members = {node for node in first if node.region is loop.region}
        body = schedule(loop.region, members, self.writer.reads, self.writer.priority)
        for statement in body.statements:
            self.writer.statement(statement)
        condition = self.writer.text(loop.condition)  # type: ignore[arg-type]
        self.writer.line(self.writer.renderer.statement("unless", condition))
        self.writer.indent += 1
        self.writer.line(self.writer.renderer.statement("leave_loop"))
        self.writer.indent -= 1

    def move(self, moves: Sequence[Carry]) -> None:
        """Assign the next values of the carries that are not written in place."""
        pairs = []
        for carry in moves:
            assert carry.following is not None
            pairs.append((self.writer.texts[carry.parameter], self.writer.array_text(carry.following)))
        self.give(pairs)

    def give_results(self, moves: Sequence[Carry]) -> None:
        """Assign the results of a body that runs once."""
        self.move(moves)

    def give(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Assign values to names, all at once if that fits into one line, else one after another."""
        pairs = [(name, value) for name, value in pairs if name != value]
        if not pairs:
            return
        together = self._assignment(pairs)
        fits = self.writer.renderer.layout.fits(together, 4 * self.writer.indent)
        if (fits and len(pairs) <= _MOST_MOVED) or not all(name.isidentifier() for name, _ in pairs):
            self.writer.line(together)
            return
        for group in one_after_another(pairs):
            self.writer.line(self._assignment(group))

    def _assignment(self, pairs: Sequence[tuple[str, str]]) -> str:
        value = Expression(", ".join(value for _, value in pairs), 1)
        return self.writer.renderer.statement("assign", [name for name, _ in pairs], value)

    def conditional(self, node: Node) -> None:
        branches: tuple[Branch, ...] = node.parameters["branches"]
        if node is self.writer.returning:
            self._return_choice(node)
            return
        targets = self.writer.targets(node)
        before = self._known_before(node, targets)
        common = self.common_results(node, targets, before)
        self.give([(targets[k], self.writer.array_text(result)) for k, result in common.items()])
        before |= common
        around = self.known_before
        heads: list[int] = []
        tests = self._tests(node)
        for position, (branch, test) in enumerate(tests):
            heads.append(len(self.writer.lines))
            if position == len(branches) - 1 and position:
                self.writer.line(self.writer.renderer.statement("otherwise"))
            else:
                self.writer.line(self.writer.renderer.statement("elif" if position else "if", test), node)
                if not position:
                    self.writer.bound(*self.writer.items.get(node, {}).values())
            self.known_before = branch.region, {targets[k]: result for k, result in before.items()}
            self._branch(node, branch, [self._target_in(branch, k, targets, before) for k in range(len(targets))])
        self.known_before = around
        is_negated = len(branches) > 1 and self._leave_out_empty(
            heads, test if _is_predicate(self._chooser(node)) else None, [text for _, text in tests]
        )
        self.heads[node] = "unless" if is_negated else "if", test

    def _known_before(self, node: Node, targets: Sequence[str]) -> dict[int, Node]:
        """Return, by number, the values that the targets have already if these branches are within another branch."""
        region, known = self.known_before
        found = {k: known[target] for k, target in enumerate(targets) if target in known}
        return found if node.region is region else {}

    def common_results(self, node: Node, targets: Sequence[str], known: Container[int]) -> dict[int, Node]:
        """Return, by number, the results that some of many branches, the last among them, give in common: values from
        outside, and copies of these. They are assigned before the branches, except those that are ``known``.
        """
        branches: tuple[Branch, ...] = node.parameters["branches"]
        if len(branches) < _MANY_BRANCHES:
            return {}
        outside = [self.writer.texts[read] for read in self.writer.reads.of(node) if read in self.writer.texts]
        found = {}
        for k, target in enumerate(targets):
            last = branches[-1].results[k]
            is_shared = sum(_same_given(branch.results[k], last) for branch in branches) > 1
            if k not in known and target != "_" and is_shared and self._is_at_hand(last, branches[-1]):
                found[k] = last
        is_read = any(mentions(text, {targets[k]}) for k in found for text in outside)
        return {} if is_read else found

    def _is_at_hand(self, result: Node, branch: Branch) -> bool:
        """Return whether a result of a branch is a literal or a value with a name outside, or a copy of one."""
        if result.opcode == "copy" and result not in self.writer.plan.named:
            (result,) = result.operands
        return result.is_literal or (result in self.writer.texts and not is_inside(result.region, branch.region))

    @staticmethod
    def _target_in(branch: Branch, number: int, targets: Sequence[str], before: Mapping[int, Node]) -> str:
        """Return the target of a result in a branch: none if what was assigned before the branches is the result."""
        is_given = number in before and _same_given(branch.results[number], before[number])
        return "_" if is_given else targets[number]

    def _return_choice(self, node: Node) -> None:
        """Write branches that each return the function's result; the last follows the ``if`` statements, unindented."""
        *tests, (last, _) = self._tests(node)
        for branch, test in tests:
            self.writer.line(self.writer.renderer.statement("if", test), node)
            self.writer.indent += 1
            self._return(node, branch)
            self.writer.indent -= 1
        self._return(node, last)

    def _return(self, node: Node, branch: Branch) -> None:
        self.writer.region(branch.region)
        (result,), (item,) = branch.results, self.writer.items[node].values()
        text = self.writer.array_text(result)
        self.writer.written[item] = text
        self.writer.line(self.writer.renderer.statement("return", text))

    def _tests(self, node: Node) -> list[tuple[Branch, Expression]]:
        """Return the branches of a conditional in written order, each with the test that selects it."""
        branches: tuple[Branch, ...] = node.parameters["branches"]
        which = self._chooser(node)
        number = self.writer.text(which)
        if _is_predicate(which):
            return [(branch, number) for branch in reversed(branches)]
        renderer, is_cut = self.writer.renderer, which is not node.operands[0]
        tests = ("is_at_most" if is_cut and not k else "is_branch" for k in range(len(branches)))
        return [(branches[k], renderer.expression(test, number, k)) for k, test in enumerate(tests)]

    def _chooser(self, node: Node) -> Node:
        """Return the node that selects a branch.

        A clamp to the numbers of the branches is left out, as the first and the last branch handle all values below and
        above.
        """
        (which, *_), last = node.operands, len(node.parameters["branches"]) - 1
        if which.opcode != "clamp" or which in self.writer.texts:
            return which
        low, number, high = which.operands
        are_known = low.interval == (0, 0) and high.interval == (last, last)
        return number if are_known and number.element_type is which.element_type else which

    def _leave_out_empty(self, heads: list[int], predicate: Expression | None, tests: Sequence[Expression]) -> bool:
        """Leave out an empty last branch, and then all that are empty; if two branches are selected by a ``predicate``,
        also an empty first one. Return whether the other one is then under the negated predicate.
        """
        lines, nothing = self.writer.lines, self.writer.renderer.statement("nothing")
        if lines[heads[-1] + 1].text == nothing:
            del lines[heads[-1] :]
            left = [head for head in heads[:-1] if lines[head + 1].text != nothing]
            for head in reversed(heads[:-1]):
                if left and head not in left:
                    del lines[head : head + 2]
            if left and left[0] != heads[0]:
                lines[heads[0]].text = self.writer.renderer.statement("if", tests[heads.index(left[0])])
        elif predicate is not None and lines[heads[0] + 1].text == nothing:
            lines[heads[0]].text = self.writer.renderer.statement("unless", predicate)
            del lines[heads[0] + 1 : heads[1] + 1]
            return True
        return False

    def _branch(self, node: Node, branch: Branch, targets: list[str]) -> None:
        self.writer.indent += 1
        before = len(self.writer.lines)
        pairs = [(t, r) for t, r in zip(targets, branch.results, strict=True) if t != "_"]
        self.writer.region(branch.region, given=self._given(node, branch, pairs))
        self.result_of_branch(pairs)
        if len(self.writer.lines) == before:
            self.writer.line(self.writer.renderer.statement("nothing"))
        self.writer.indent -= 1

    def _given(self, node: Node, branch: Branch, pairs: Sequence[tuple[str, Node]]) -> list[Carry]:
        """Return the results of a branch as carries, so that their own statements may assign the targets.

        The carried value is the node that has the target's name before. The list is empty if expressions outside
        mention a target in another way.
        """
        writer = self.writer
        outside = [(read, writer.texts[read]) for read in writer.reads.of(node) if read in writer.texts]
        given = []
        for target, result in pairs:
            before = [read for read, text in outside if mentions(text, {target})]
            if len(before) > 1 or any(writer.texts[read] != target for read in before):
                return []
            (old,) = before or [item for item in writer.items[node].values() if writer.texts[item] == target]
            given.append(Carry(old, old, result))
        return given

    def result_of_branch(self, pairs: Sequence[tuple[str, Node]]) -> None:
        """Assign the results of a branch to its targets."""
        self.give([(target, self.writer.array_text(result)) for target, result in pairs])


def _is_predicate(which: Node) -> bool:
    return which.element_type is not None and which.element_type.name == "pred"


def _same_given(one: Node, other: Node) -> bool:
    """Return whether the results of two branches are the same value from outside, or copies of it."""
    are_copies = one.opcode == other.opcode == "copy"
    return one is other or (are_copies and one.operands == other.operands)
